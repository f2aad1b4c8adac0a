"""Names made short enough to read."""

from collections.abc import Mapping


def short_name(name: str, limit: int = 44) -> str:
    """A name to read at a glance: converters join the names of all operators that they fused by semicolons.

    The first of them, and of that its end, where layers differ.
    """
    first = name.partition(";")[0] or name
    return first if len(first) <= limit else "…" + first[1 - limit :]


def shortened(text: str, short: Mapping[str, str]) -> str:
    """A text in which names, where they stand whole, are the short ones."""
    for name in sorted(short, key=len, reverse=True):
        if short[name] != name:
            text = text.replace(name, short[name])
    return text
