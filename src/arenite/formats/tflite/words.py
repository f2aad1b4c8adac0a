"""Text and message helpers that import and export share."""

from collections.abc import Iterable
from itertools import islice

from arenite._base.errors import ModelError

_MAX_PROBLEMS = 50
_MAX_SHOWN = 80


def clean(text: str) -> str:
    r"""Text as it can be printed: bytes that were no UTF-8, and control characters, become `\xNN`."""
    if text.isprintable():
        return text
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(text: str | None) -> str:
    """A stored name for a message, quoted, and not longer than a line."""
    if text is None:
        return "(no name)"
    text = clean(text)
    return f"'{text}'" if len(text) <= _MAX_SHOWN else f"'{text[:_MAX_SHOWN]}...'"


def raise_for(problems: Iterable[str]) -> None:
    """Raise when there are problems.

    Raises:
        ModelError: the problems, the first so many of them.
    """
    remaining = iter(problems)
    found = list(islice(remaining, _MAX_PROBLEMS))
    if not found:
        return
    rest = sum(1 for _ in remaining)
    raise ModelError(found + ([f"... and {rest} more problems of this kind"] if rest else []))
