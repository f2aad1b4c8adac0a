"""Names made short enough to read, and texts that can be printed."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

_MOST_LISTED = 8


def short_name(name: str, limit: int = 44) -> str:
    """A name to read at a glance: converters join the names of all operators that they fused by semicolons.

    The first of them, and of that its end, where layers differ.
    """
    first = name.partition(";")[0] or name
    return first if len(first) <= limit else "…" + first[1 - limit :]


def counted(number: int, noun: str) -> str:
    """How many there are of something: `1 node`, `1,234 nodes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """Names in a sentence, of many the first: `a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def listed(numbers: Iterable[object]) -> str:
    """Numbers in a sentence, of many the first: `[1, 2, 3]`, `[1, 1, 1, 1, 1, 1, 1, 1, ...]`."""
    shown = [str(number) for number in islice(numbers, _MOST_LISTED + 1)]
    return f"[{', '.join([*shown[:_MOST_LISTED], *['...'][: len(shown) > _MOST_LISTED]])}]"


def shortened(text: str, short: Mapping[str, str]) -> str:
    """A text in which names, where they stand whole, are the short ones."""
    for name in sorted(short, key=len, reverse=True):
        if short[name] != name:
            text = text.replace(name, short[name])
    return text


def printable(text: str) -> str:
    """A text in which what is not for people to read is escaped: names may hold what commands a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)
