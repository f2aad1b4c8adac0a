"""A planner that is slow and plainly right, and random problems for it."""

from dataclasses import dataclass
from itertools import permutations

from hypothesis import strategies as st

from arenite.memory import Buffer, Lifetime, Problem


def optimum(problem: Problem) -> int:
    """Smallest arena, by trying every order in which buffers can be put down at their lowest free offset.

    Some optimal plan is found so: push every buffer of an optimal plan down, lowest first, until none can
    move; placing them by first fit in the order of their offsets gives that plan again. So orders in which
    an offset would be lower than the one before it are left out.
    """
    pinned = [(b.offset, b) for b in problem.buffers if b.offset is not None and b.nbytes]
    free = sorted((b for b in problem.buffers if b.offset is None and b.nbytes), key=lambda b: -b.nbytes)
    base = max((offset + b.nbytes for offset, b in pinned), default=0)
    least = max([base, *stacks(list(problem.buffers))])
    search = _Search(least, base + sum(b.nbytes + b.alignment for b in free))
    search.descend(pinned, free, (0, ""), base)
    return search.best


def stacks(buffers: list[Buffer]) -> list[int]:
    """Bytes live in every step in which something starts."""
    steps = {b.lifetime.first for b in buffers}
    return [sum(b.nbytes for b in buffers if b.lifetime.first <= s < b.lifetime.end) for s in steps]


@dataclass
class _Search:
    least: int  # nothing can be smaller: the most bytes live in any step
    best: int

    def descend(self, placed: list[tuple[int, Buffer]], free: list[Buffer], last: tuple[int, str], top: int) -> None:
        if not free:
            self.best = min(self.best, top)
        # None of the rest lies below the last offset.
        if last[0] + max(stacks(free), default=0) >= self.best:
            return
        for index, buffer in enumerate(free):
            offset = first_fit(placed, buffer)
            end = max(top, offset + buffer.nbytes)
            if (offset, buffer.name) > last and end < self.best > self.least:
                rest = free[:index] + free[index + 1 :]
                self.descend([*placed, (offset, buffer)], rest, (offset, buffer.name), end)


def first_fit(placed: list[tuple[int, Buffer]], buffer: Buffer) -> int:
    """Lowest aligned offset at which `buffer` meets none of the placed ones."""
    met = [(o, o + b.nbytes) for o, b in placed if b.lifetime.overlaps(buffer.lifetime)]
    candidates = {0} | {-(-end // buffer.alignment) * buffer.alignment for _, end in met}
    return min(c for c in candidates if all(c + buffer.nbytes <= start or c >= end for start, end in met))


def every_order(problem: Problem) -> int:
    """The same without pruning: the best over all permutations. For very small problems."""
    free = [b for b in problem.buffers if b.offset is None and b.nbytes]
    tops = []
    for order in permutations(free):
        placed = [(b.offset, b) for b in problem.buffers if b.offset is not None and b.nbytes]
        for buffer in order:
            placed.append((first_fit(placed, buffer), buffer))
        tops.append(max((o + b.nbytes for o, b in placed), default=0))
    return min(tops)


@st.composite
def problems(
    draw: st.DrawFn, most: int = 8, alignments: tuple[int, ...] = (1, 1, 4, 8), largest: int = 24, pins: bool = True
) -> Problem:
    """Problems that tend to have gaps: few steps, few sizes, mixed alignments, sometimes pinned buffers."""
    steps = draw(st.integers(1, 8))
    buffers: list[Buffer] = []
    for index in range(draw(st.integers(0, most))):
        first = draw(st.integers(0, steps - 1))
        lifetime = Lifetime(first, draw(st.integers(first + 1, steps)))
        alignment = draw(st.sampled_from(alignments))
        offset = None
        buffer = Buffer(f"b{index}", draw(st.integers(0, largest)), lifetime, alignment)
        if pins and draw(st.integers(0, 5)) == 0:
            offset = draw(st.integers(0, 6)) * alignment
            clash = any(
                o.offset is not None
                and o.lifetime.overlaps(lifetime)
                and max(o.offset, offset) < min(o.offset + o.nbytes, offset + buffer.nbytes)
                for o in buffers
            )
            offset = None if clash else offset
        buffers.append(Buffer(buffer.name, buffer.nbytes, lifetime, alignment, offset))
    return Problem(tuple(buffers))
