"""The buffers of a problem as integer arrays, with time cut into the fewest sections that tell who meets whom."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.memory.problem import Buffer, Problem

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sections:
    """Buffers of more than zero bytes, in the problem's order, one array element each.

    Two buffers meet in time exactly when their section ranges `[lo, hi)` overlap. A section stands for a
    step at which the set of live buffers is maximal; steps whose live set is part of a neighbour's are left
    out (the consecutive order of an interval graph's maximal cliques).

    Attributes:
        buffers: the buffers themselves.
        nbytes, alignment, lo, hi: int64, one element per buffer.
        pinned: the pinned offset, or -1 where the planner chooses.
        count: number of sections.
    """

    buffers: tuple[Buffer, ...]
    nbytes: Ints
    alignment: Ints
    pinned: Ints
    lo: Ints
    hi: Ints
    count: int

    def sums(self, amounts: Ints) -> Ints:
        """Sum of `amounts` (one per buffer) over the live buffers of every section."""
        steps = np.zeros(self.count + 1, np.int64)
        np.add.at(steps, self.lo, amounts)
        np.subtract.at(steps, self.hi, amounts)
        result: Ints = np.cumsum(steps)[:-1]
        return result


def make_sections(problem: Problem) -> Sections:
    """Compress the lifetimes of a problem's buffers; buffers of zero bytes are left out."""
    buffers = tuple(buffer for buffer in problem.buffers if buffer.nbytes)
    events = sorted(
        [(b.lifetime.first, 1, i) for i, b in enumerate(buffers)]
        + [(b.lifetime.end, 0, i) for i, b in enumerate(buffers)]
    )
    lo, hi = [0] * len(buffers), [0] * len(buffers)
    count, growing = 0, False
    for _, starts, index in events:
        if starts:
            growing = True
            lo[index] = count
        else:
            # The live set was maximal if something started since the last end: that closes a section.
            count += growing
            growing = False
            hi[index] = count
    return Sections(
        buffers,
        np.array([b.nbytes for b in buffers], np.int64),
        np.array([b.alignment for b in buffers], np.int64),
        np.array([-1 if b.offset is None else b.offset for b in buffers], np.int64),
        np.array(lo, np.int64),
        np.array(hi, np.int64),
        count,
    )
