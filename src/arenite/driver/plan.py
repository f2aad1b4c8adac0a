"""`plan`: a memory problem as CSV becomes a plan, without any model."""

from dataclasses import dataclass
from pathlib import Path

from arenite._base.errors import LimitError
from arenite.driver.output import written_whole
from arenite.memory import Problem, Solution, plan
from arenite.memory.csvfile import format_csv, read_csv


@dataclass(frozen=True)
class Planned:
    """A problem and its plan."""

    problem: Problem
    solution: Solution

    def to_json(self) -> dict[str, object]:
        solution = self.solution
        return {
            "arena_nbytes": solution.nbytes,
            "lower_bound_nbytes": solution.lower_bound_nbytes,
            "optimal": solution.optimal,
            "method": solution.method,
            "nodes": solution.nodes,
            "seconds": solution.seconds,
            "buffers": [{"name": name, "offset": offset} for name, offset in solution.offsets.items()],
        }

    def summary(self) -> str:
        solution = self.solution
        proof = "proved optimal" if solution.optimal else f"lower bound {solution.lower_bound_nbytes:,}"
        return (
            f"{len(self.problem.buffers)} buffers in {solution.nbytes:,} bytes ({proof}; {solution.method}, "
            f"{solution.nodes:,} nodes, {solution.seconds:.2f} s)"
        )


def plan_file(path: Path, output: Path | None, *, capacity: int | None, seconds: float | None) -> Planned:
    """Plan the buffers of a CSV file, and write them with their offsets.

    Args:
        path: `id,lower,upper,size[,alignment][,offset]`, lifetimes half-open.
        output: the same with every offset; None: not written.
        capacity: bytes that must not be exceeded.
        seconds: most time of the exact search.

    Raises:
        DataError: the file is no memory problem, or the output cannot be written.
        LimitError: no plan within the capacity was found; says whether there can be one.
    """
    problem = read_csv(path, capacity)
    # With a limit in seconds, nodes are no limit.
    solution = plan(problem) if seconds is None else plan(problem, node_limit=2**62, seconds_limit=seconds)
    if capacity is not None and solution.nbytes > capacity:
        raise LimitError(_over(problem, solution, capacity))
    if output is not None:
        with written_whole(output) as temporary:
            temporary.write_text(format_csv(problem, solution), encoding="utf-8")
    return Planned(problem, solution)


def _over(problem: Problem, solution: Solution, capacity: int) -> str:
    steps = sorted({buffer.lifetime.first for buffer in problem.buffers})

    def live(step: int) -> int:
        return sum(b.nbytes for b in problem.buffers if b.lifetime.first <= step < b.lifetime.end)

    peak = max(steps, key=live)
    largest = sorted((b for b in problem.buffers if b.lifetime.first <= peak < b.lifetime.end), key=lambda b: -b.nbytes)
    named = ", ".join(f"'{b.name}' {b.nbytes:,}" for b in largest[:8])
    verdict = (
        f"no plan can: at step {peak} alone {live(peak):,} bytes are alive: {named}"
        if solution.lower_bound_nbytes > capacity
        else f"no plan was found, though {solution.lower_bound_nbytes:,} is not ruled out; try more --seconds"
    )
    return f"the buffers need {solution.nbytes:,} bytes, {capacity:,} are allowed: {verdict}"
