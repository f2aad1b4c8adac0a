"""`plan`: a memory problem as CSV becomes a plan, without any model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from arenite._base.errors import LimitError
from arenite._base.files import check_outputs, written_whole
from arenite.memory import Buffer, Problem, Region, RegionalPlan, Solution, plan, plan_in_regions
from arenite.memory.csvfile import format_csv, read_csv
from arenite.memory.planner import DEFAULT_NODE_LIMIT

_MAX_NAMED = 8


@dataclass(frozen=True)
class Planned:
    """A problem and its plan.

    Attributes:
        problem: as it was read.
        solution: its plan; offsets are addresses where there are regions.
        regional: the plan across regions; None where there is one arena.
    """

    problem: Problem
    solution: Solution
    regional: RegionalPlan | None = None

    def to_json(self) -> dict[str, object]:
        solution = self.solution
        return {
            **self._sizes(),
            "optimal": solution.optimal,
            "method": solution.method,
            "nodes": solution.nodes,
            "seconds": solution.seconds,
            "buffers": [{"name": b.name, "offset": solution.offsets[b.name]} for b in self.problem.buffers],
        }

    def _sizes(self) -> dict[str, object]:
        if self.regional is None:
            return {"arena_nbytes": self.solution.nbytes, "lower_bound_nbytes": self.solution.lower_bound_nbytes}
        used = ((region, self.regional.used_nbytes(region)) for region in self.regional.regions)
        return {"regions": [{"origin": r.origin, "nbytes": r.nbytes, "used_nbytes": nbytes} for r, nbytes in used]}

    def summary(self) -> str:
        solution = self.solution
        effort = f"{solution.method}, {solution.nodes:,} nodes, {solution.seconds:.2f} s"
        if self.regional is None:
            proof = "proved optimal" if solution.optimal else f"lower bound {solution.lower_bound_nbytes:,}"
            return f"{len(self.problem.buffers)} buffers in {solution.nbytes:,} bytes ({proof}; {effort})"
        proof = "no plan takes less of the last" if solution.optimal else "not proved to be the best"
        lines = [f"{len(self.problem.buffers)} buffers ({proof}; {effort})"]
        used = ((region, self.regional.used_nbytes(region)) for region in self.regional.regions)
        lines += [f"  {region.origin:#010x} {nbytes:>12,} of {region.nbytes:,} bytes" for region, nbytes in used]
        return "\n".join(lines)


def plan_file(
    path: Path,
    output: Path | None,
    *,
    capacity: int | None = None,
    regions: Sequence[tuple[int, int]] = (),
    seconds: float | None = None,
) -> Planned:
    """Plan the buffers of a CSV file, and write them with their offsets.

    Args:
        path: `id,lower,upper,size[,alignment][,offset]`, lifetimes half-open.
        output: the same with every offset; None: not written.
        capacity: bytes that must not be exceeded.
        regions: address and bytes of the memories there are, instead of one arena from 0; offsets, also pinned ones,
            are addresses then.
        seconds: most time of the exact search.

    Raises:
        DataError: the file is no memory problem, or the output cannot be written.
        ModelError: regions overlap or are none, or pinned buffers lie outside of them.
        LimitError: no plan within the capacity or the regions was found; says whether there can be one.
    """
    if output is not None:
        check_outputs([output], [path])
    problem = read_csv(path, capacity)
    # With a limit in seconds, nodes are no limit.
    node_limit = DEFAULT_NODE_LIMIT if seconds is None else 2**62
    if regions:
        regional = plan_in_regions(problem, [Region(*region) for region in regions], node_limit, seconds)
        if not regional.fits:
            raise LimitError(_outside(regional))
        planned = Planned(problem, regional.solution, regional)
    else:
        planned = Planned(problem, plan(problem, node_limit, seconds))
        if capacity is not None and planned.solution.nbytes > capacity:
            raise LimitError(_over(problem, planned.solution, capacity))
    if output is not None:
        with written_whole(output) as temporary:
            temporary.write_text(format_csv(problem, planned.solution), encoding="utf-8")
    return planned


def _outside(regional: RegionalPlan) -> str:
    end = regional.regions[-1].end
    listed = ", ".join(f"{region.nbytes:,} bytes at {region.origin:#x}" for region in regional.regions)
    missing = f"the regions ({listed}) lack {regional.solution.nbytes - end:,} bytes at the end of the last"
    if regional.solution.lower_bound_nbytes > end:
        return f"{missing}: no plan can do with less than {regional.solution.lower_bound_nbytes - end:,} more"
    return f"{missing}: no plan was found, though one is not ruled out; try more --seconds"


def _over(problem: Problem, solution: Solution, capacity: int) -> str:
    return (
        f"the buffers need {solution.nbytes:,} bytes, {capacity:,} are allowed: {_verdict(problem, solution, capacity)}"
    )


def _verdict(problem: Problem, solution: Solution, capacity: int) -> str:
    bound = solution.lower_bound_nbytes
    if bound <= capacity:
        return f"no plan was found, though {bound:,} is not ruled out; try more --seconds"
    pinned = [b for b in problem.buffers if b.nbytes and b.offset is not None and b.offset + b.nbytes > capacity]
    if pinned:
        return f"no plan can: these are pinned beyond it: {_named(pinned, lambda b: (b.offset or 0) + b.nbytes, 'to ')}"
    step, alive_nbytes = _peak(problem)
    alive = [b for b in problem.buffers if b.lifetime.first <= step < b.lifetime.end]
    listed = _named(alive, lambda b: b.nbytes)
    if alive_nbytes > capacity:
        return f"no plan can: at step {step} alone {alive_nbytes:,} bytes are alive: {listed}"
    return (
        f"no plan can: {alive_nbytes:,} bytes are the most that are alive at once, at step {step}: {listed}; but "
        f"alignments, pins and what is alive before and after leave gaps, and {bound:,} bytes are the least"
    )


def _peak(problem: Problem) -> tuple[int, int]:
    """The first step at which the most bytes are alive, and how many those are."""
    changes: dict[int, int] = {}
    for b in problem.buffers:
        changes[b.lifetime.first] = changes.get(b.lifetime.first, 0) + b.nbytes
        changes[b.lifetime.end] = changes.get(b.lifetime.end, 0) - b.nbytes
    steps = sorted(changes)
    alive = list(accumulate(changes[step] for step in steps))
    most = max(alive, default=0)
    return (steps[alive.index(most)], most) if steps else (0, 0)


def _named(buffers: Sequence[Buffer], number: Callable[[Buffer], int], word: str = "") -> str:
    """The first of them by their numbers, largest first."""
    largest = sorted(buffers, key=number, reverse=True)[:_MAX_NAMED]
    more = f" and {len(buffers) - _MAX_NAMED:,} more" if len(buffers) > _MAX_NAMED else ""
    return ", ".join(f"'{b.name}' {word}{number(b):,}" for b in largest) + more
