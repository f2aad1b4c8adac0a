"""Two graphs row by row: what is the same stands side by side, and long stretches of it are drawn as one box."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from arenite.report.result import GraphsRecord

MAX_ROWS = 400
"""More than that is no picture any more: the rest is one box."""

# How many nodes stay at each end of a stretch that is the same, and how many there are of one that is not, before it is
# drawn as a box: the first pair that makes few enough rows is taken.
_LIMITS = ((2, 24), (1, 8), (1, 3))

Nodes = tuple[int, ...]
"""Indices of nodes that one box stands for."""


@dataclass(frozen=True)
class Row:
    """What stands side by side; nothing where a side is empty. `same`: no pass touched it."""

    before: Nodes
    after: Nodes
    same: bool


@dataclass(frozen=True)
class _Part:
    """A stretch of pairs that no pass touched, or what lies between two such."""

    before: Nodes
    after: Nodes
    same: bool
    paired: bool


def aligned(graphs: GraphsRecord) -> tuple[Row, ...]:
    """Every node of both graphs in one row each, in their orders; at most `MAX_ROWS` rows."""
    parts = tuple(_parts(graphs))
    rows: list[Row] = []
    for ends, most in _LIMITS:
        rows = [row for part in parts for row in _rows(part, ends, most)]
        if len(rows) <= MAX_ROWS:
            return tuple(rows)
    rest = rows[MAX_ROWS - 1 :]
    before = tuple(index for row in rest for index in row.before)
    after = tuple(index for row in rest for index in row.after)
    return (*rows[: MAX_ROWS - 1], Row(before, after, all(row.same for row in rest)))


def heirs_of(graphs: GraphsRecord) -> list[int | None]:
    """Of each node of the model, the one that stands for it: of the same name if there is one."""
    first: dict[str, int] = {}
    named: dict[str, int] = {}
    for index, node in enumerate(graphs.after):
        for origin in node.origin:
            first.setdefault(origin, index)
            if node.name == origin:
                named.setdefault(origin, index)
    return [named.get(node.name, first.get(node.name)) for node in graphs.before]


def _parts(graphs: GraphsRecord) -> Iterator[_Part]:
    i = j = 0
    stretch: list[tuple[int, int]] = []
    for left, right in _pairs(graphs):
        same = graphs.after[right].origin == (graphs.before[left].name,) and not graphs.before[left].change
        if (i, j) != (left, right) or not same:
            yield from _stretch(stretch)
            stretch = []
        if (i, j) != (left, right):
            yield _Part(tuple(range(i, left)), tuple(range(j, right)), same=False, paired=False)
        if same:
            stretch.append((left, right))
        else:
            yield _Part((left,), (right,), same=False, paired=True)
        i, j = left + 1, right + 1
    yield from _stretch(stretch)
    if i < len(graphs.before) or j < len(graphs.after):
        yield _Part(tuple(range(i, len(graphs.before))), tuple(range(j, len(graphs.after))), same=False, paired=False)


def _stretch(pairs: Sequence[tuple[int, int]]) -> Iterator[_Part]:
    if pairs:
        yield _Part(tuple(left for left, _ in pairs), tuple(right for _, right in pairs), same=True, paired=True)


def _pairs(graphs: GraphsRecord) -> list[tuple[int, int]]:
    """Nodes that are still there, as (before, after): the longest series in which both rise."""
    found = [
        (index, heir)
        for index, heir in enumerate(heirs_of(graphs))
        if heir is not None and not graphs.before[index].fate and graphs.before[index].op == graphs.after[heir].op
    ]
    last: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for place, (_, heir) in enumerate(found):
        length = bisect_left(last, heir)
        last[length:] = [heir] if length == len(last) else [heir, *last[length + 1 :]]
        ends[length:] = [place] if length == len(ends) else [place, *ends[length + 1 :]]
        previous.append(ends[length - 1] if length else -1)
    chain = []
    place = ends[-1] if ends else -1
    while place >= 0:
        chain.append(found[place])
        place = previous[place]
    return chain[::-1]


def _rows(part: _Part, ends: int, most: int) -> Iterator[Row]:
    if part.paired:
        pairs = list(zip(part.before, part.after, strict=True))
        hidden = pairs[ends:-ends] if len(pairs) > 2 * ends + 2 else []
        head = pairs[:ends] if hidden else pairs
        for left, right in head:
            yield Row((left,), (right,), part.same)
        if hidden:
            yield Row(tuple(left for left, _ in hidden), tuple(right for _, right in hidden), part.same)
            for left, right in pairs[-ends:]:
                yield Row((left,), (right,), part.same)
        return
    for before, after in zip_longest(_shortened(part.before, most), _shortened(part.after, most), fillvalue=()):
        yield Row(before, after, same=False)


def _shortened(nodes: Nodes, most: int) -> list[Nodes]:
    """A box for each node, or for the first ones and one for all others."""
    if len(nodes) <= most:
        return [(node,) for node in nodes]
    return [*((node,) for node in nodes[: most - 1]), nodes[most - 1 :]]
