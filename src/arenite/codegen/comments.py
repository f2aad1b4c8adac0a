"""Text of strangers inside C comments."""

import re
import textwrap
from collections.abc import Iterable

_MAX_TEXT = 300
# Without `*`, `?` and `\` there is no end of comment, no nested comment, no trigraph and no spliced line.
_UNSAFE = re.compile(r"[^ !-)+->@-\[\]-~]")


def comment_text(text: str, limit: int = _MAX_TEXT) -> str:
    """One line of printable ASCII, at most `limit` long and harmless in any C comment; all else becomes `_`."""
    safe = _UNSAFE.sub("_", text[: limit + 1])
    return safe if len(safe) <= limit else f"{safe[: limit - 3]}..."


def block_comment(paragraphs: Iterable[str], width: int = 110) -> list[str]:
    """Lines of a block comment; each paragraph is made harmless and wrapped."""
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(comment_text(paragraph, 2000), width - 3, subsequent_indent="  ") or [""]
    commented = [f" * {line}".rstrip() for line in lines]
    commented[0] = f"/* {lines[0]}".rstrip()
    commented[-1] += " */"
    return commented
