"""Names of nodes as people write and read them: converters make them hundreds of characters long."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from arenite._base.errors import UsageError
from arenite._base.text import short_name

_LONG = 40
_MOST_LISTED = 8


def find_name(asked: str, known: Sequence[str]) -> str:
    """The one name that is meant: it itself, one of the parts that `;` and `/` set apart, or any piece of it.

    Raises:
        UsageError: there is none, or there are several: those are listed, or the nearest ones suggested.
    """
    names = list(dict.fromkeys(known))
    if asked in names:
        return asked
    lower = asked.lower()
    for found in (
        [name for name in names if name.split(";")[0] == asked],
        [name for name in names if asked in name.split(";")],
        [name for name in names if asked in re.split("[;/]", name)],
        [name for name in names if asked in name],
        [name for name in names if lower in name.lower()],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(_ambiguous(asked, found, short_names(names)))
    parts = {part: name for name in names for part in (*name.split(";"), name)}
    near = [short_name(parts[part], _LONG) for part in get_close_matches(asked, list(parts), n=3)]
    suggested = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    raise UsageError(f"no node is called '{asked}', and none has it in its name{suggested}")


def _ambiguous(asked: str, found: list[str], short: Mapping[str, str]) -> str:
    listed = ", ".join(short[name] for name in found[:_MOST_LISTED])
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return f"'{asked}' is in the names of {len(found)} nodes: {listed}{more}; write more of the one that you mean"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name made short enough to read; no two become the same, and `find_name` finds each again."""
    whole = list(dict.fromkeys(names))
    short = {name: name if len(name) <= _LONG and ";" not in name else name.partition(";")[0] for name in whole}
    often = Counter([*short.values(), *(name for name in whole if short[name] != name)])
    return {name: name if often[text] > 1 else text for name, text in short.items()}
