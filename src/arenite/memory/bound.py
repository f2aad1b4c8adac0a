"""A size below which no plan of a problem can go."""

import numpy as np

from arenite.memory.problem import Problem
from arenite.memory.sections import Ints, Sections, make_sections


def lower_bound(problem: Problem) -> int:
    """Bytes that every valid plan needs at least.

    The largest sum of live bytes over the steps, sharpened by alignment: of the live buffers whose offsets
    are all multiples of g, each but the topmost fills a multiple of g bytes.
    """
    return sections_bound(make_sections(problem))


def sections_bound(sections: Sections) -> int:
    """The same for a problem that is cut into sections already."""
    if not sections.buffers:
        return 0
    bound = int(sections.sums(sections.nbytes).max())
    pinned = sections.pinned >= 0
    if pinned.any():
        bound = max(bound, int((sections.pinned + sections.nbytes)[pinned].max()))
    for grain in sorted({int(a) for a in sections.alignment if a > 1}):
        bound = max(bound, _aligned_bound(sections, grain))
    return bound


def _aligned_bound(sections: Sections, grain: int) -> int:
    regular = np.where(sections.pinned >= 0, sections.pinned, sections.alignment) % grain == 0
    padding = np.where(regular, -sections.nbytes % grain, 0)
    rounded = np.where(regular, sections.nbytes + padding, 0)
    return int((sections.sums(rounded) - largest_in_section(sections, padding)).max())


def largest_in_section(sections: Sections, amounts: Ints) -> Ints:
    """Largest of `amounts` (one per buffer, not negative) over the live buffers of every section."""
    largest = np.zeros(sections.count, np.int64)
    for index in np.argsort(amounts, kind="stable"):
        largest[sections.lo[index] : sections.hi[index]] = amounts[index]
    return largest
