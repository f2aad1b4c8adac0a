"""What stands around the declarations of every header that C and C++ may include."""

from collections.abc import Iterable

from arenite.codegen.comments import block_comment


def public_header(guard: str, about: Iterable[str], includes: Iterable[str], body: Iterable[str]) -> str:
    """A header's text.

    Args:
        guard: the macro that keeps it from being read twice.
        about: paragraphs of the comment at its top.
        includes: what it includes, with quotes or angle brackets.
        body: lines of declarations, which C++ takes as C.
    """
    included = [f"#include {name}" for name in includes]
    lines = [
        *block_comment(about),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *included,
        *([""] if included else []),
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *body,
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"
