"""Plans across several memories: what lies between them is occupied from the first step to the last.

With that a plan across regions is a plan in one address space, and the same solvers and the same validator serve.
Offsets are addresses then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from arenite._base.errors import ModelError, SelfCheckError
from arenite.memory.planner import DEFAULT_NODE_LIMIT, plan
from arenite.memory.problem import MAX_NBYTES, Buffer, Lifetime, Problem, Solution


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """The bytes at the addresses `[origin, origin + nbytes)`."""

    origin: int
    nbytes: int

    @property
    def end(self) -> int:
        return self.origin + self.nbytes

    def __str__(self) -> str:
        return f"[{self.origin:#x}, {self.end:#x})"


@dataclass(frozen=True)
class RegionalPlan:
    """A plan across the regions that it needs, by rising address.

    Attributes:
        problem: the buffers, and as pinned ones what lies between the regions.
        solution: addresses; `nbytes` is the address behind the last byte that is used, which is the least that there
            is where `optimal` says so.
        regions: those that are used: the first ones, as few as a plan was found for.
    """

    problem: Problem
    solution: Solution
    regions: tuple[Region, ...]

    @property
    def fits(self) -> bool:
        """Whether every buffer lies in a region."""
        return self.solution.nbytes <= self.regions[-1].end

    def used_nbytes(self, region: Region) -> int:
        """Bytes from the region's start to the end of the last buffer in it."""
        offsets = self.solution.offsets
        ends = (offsets[b.name] + b.nbytes for b in self.buffers if b.nbytes)
        return max((end - region.origin for end in ends if region.origin < end <= region.end), default=0)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those of the caller."""
        return self.problem.buffers[: len(self.problem.buffers) - len(self.regions)]


def plan_in_regions(
    problem: Problem,
    regions: Sequence[Region],
    node_limit: int = DEFAULT_NODE_LIMIT,
    seconds_limit: float | None = None,
) -> RegionalPlan:
    """Place every buffer in one of the regions: in the lowest ones, and as little as can be in the last that is needed.

    When no plan was found it is the one for all regions, and it does not fit.

    Args:
        problem: the buffers; pinned offsets are addresses.
        regions: at least one, in any order; those that touch are one.
        node_limit: effort of each exact search; there is one for each number of regions.
        seconds_limit: also stop each exact search after so many seconds.

    Raises:
        ModelError: regions are empty or overlap, or pinned buffers lie outside of them. All such problems at once.
        SelfCheckError: a plan failed the independent validator.
    """
    ordered = tuple(sorted(regions))
    if problems := [*_region_problems(ordered), *_pin_problems(problem, ordered)]:
        raise ModelError(problems)
    joined = _joined(ordered)
    for count in range(1, len(joined) + 1):
        used = joined[:count]
        walled = replace(problem, buffers=(*problem.buffers, *_walls(problem, used)), capacity=None)
        found = RegionalPlan(walled, plan(walled, node_limit, seconds_limit), used)
        if found.fits:
            _check(found)
            break
    return found


def _joined(ordered: Sequence[Region]) -> tuple[Region, ...]:
    joined: list[Region] = []
    for region in ordered:
        touches = bool(joined) and joined[-1].end == region.origin
        start = joined.pop().origin if touches else region.origin
        joined.append(Region(start, region.end - start))
    return tuple(joined)


def _walls(problem: Problem, regions: Sequence[Region]) -> Iterator[Buffer]:
    always = Lifetime(0, max((b.lifetime.end for b in problem.buffers), default=1))
    start = 0
    for region in regions:
        name = f"no memory at [{start:#x}, {region.origin:#x})"
        yield Buffer(name, region.origin - start, always, offset=start)
        start = region.end


def _region_problems(ordered: Sequence[Region]) -> Iterator[str]:
    if not ordered:
        yield "no region is given; expected at least one"
    for region in ordered:
        if region.origin < 0 or region.nbytes < 1 or region.end > MAX_NBYTES:
            yield f"region {region} is empty or leaves the addresses [0, {MAX_NBYTES:#x})"
    for before, after in pairwise(ordered):
        if after.origin < before.end:
            yield f"regions {before} and {after} overlap"


def _pin_problems(problem: Problem, ordered: Sequence[Region]) -> Iterator[str]:
    for b in problem.buffers:
        if b.offset is None or not b.nbytes:
            continue
        if not any(r.origin <= b.offset and b.offset + b.nbytes <= r.end for r in _joined(ordered)):
            yield f"buffer {b.name!r} is pinned at {b.offset:#x}, {b.nbytes} bytes: that is in no region"


def _check(found: RegionalPlan) -> None:
    """Asked of the plan itself: that walls do their work is not taken for granted."""
    outside = []
    for b in found.buffers:
        start = found.solution.offsets[b.name]
        if b.nbytes and not any(r.origin <= start and start + b.nbytes <= r.end for r in found.regions):
            outside.append(f"memory plan: {b.name!r} at {start:#x}, {b.nbytes} bytes, is in no region")
    if outside:
        raise SelfCheckError(outside)
