"""Names of nodes as people write and read them: converters make them hundreds of characters long."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from arenite._base.errors import UsageError
from arenite._base.text import short_name

_LONG = 40
_MOST_LISTED = 12

# How far a piece of a name reaches beyond what was typed, in parts; and how many pieces are tried.
_REACH = 3
_MOST_PIECES = 200


def find_name(asked: str, known: Sequence[str]) -> str:
    """The one name that is meant: it itself, one of the parts that `;` and `/` set apart, or any piece of it.

    Raises:
        UsageError: there is none, or there are several: those are listed, or the nearest ones suggested.
    """
    names = list(dict.fromkeys(known))
    found = _meant(asked, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(_ambiguous(asked, found, names))
    parts = {part: name for name in names for part in (*name.split(";"), name)}
    near = [short_name(parts[part], _LONG) for part in get_close_matches(asked, list(parts), n=3)]
    suggested = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    raise UsageError(f"no node is called '{asked}', and none has it in its name{suggested}")


def _meant(asked: str, names: Sequence[str]) -> list[str]:
    """Every name that the closest way of reading what was typed finds."""
    if asked in names:
        return [asked]
    lower = asked.lower()
    readings: tuple[Callable[[str], bool], ...] = (
        lambda name: name.split(";")[0] == asked,
        lambda name: asked in name.split(";"),
        lambda name: asked in re.split("[;/]", name),
        lambda name: asked in name,
        lambda name: lower in name.lower(),
    )
    return next((found for reads in readings if (found := [name for name in names if reads(name)])), [])


def _ambiguous(asked: str, found: Sequence[str], names: Sequence[str]) -> str:
    listed = ", ".join(piece_with(asked, name, names) for name in found[:_MOST_LISTED])
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return f"'{asked}' is in the names of {len(found)} nodes; write more of the one that you mean: {listed}{more}"


def piece_with(asked: str, name: str, names: Sequence[str]) -> str:
    """The shortest piece of a name that holds what was typed and that `find_name` takes for this name alone.

    It begins and ends where `;` and `/` set parts apart; the whole name if no such piece will do.
    """
    ends = [match.start() for match in re.finditer("[;/]", name)]
    starts, ends = [0, *(end + 1 for end in ends)], [*ends, len(name)]
    place = name.lower().find(asked.lower())
    pieces: list[str] = []
    while place >= 0 and len(pieces) < _MOST_PIECES:
        first = bisect_right(starts, place) - 1
        last = bisect_left(ends, place + len(asked))
        pieces += [
            name[starts[begin] : ends[end]]
            for begin in range(max(0, first - _REACH), first + 1)
            for end in range(last, min(last + _REACH, len(ends) - 1) + 1)
        ]
        place = name.lower().find(asked.lower(), place + 1)
    unique = (piece for piece in sorted(dict.fromkeys(pieces), key=len) if _meant(piece, names) == [name])
    return next(unique, name)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name made short enough to read; no two become the same, and `find_name` finds each again."""
    whole = list(dict.fromkeys(names))
    short = {name: name if len(name) <= _LONG and ";" not in name else name.partition(";")[0] for name in whole}
    often = Counter([*short.values(), *(name for name in whole if short[name] != name)])
    return {name: name if often[text] > 1 else text for name, text in short.items()}
