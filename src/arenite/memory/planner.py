"""The planner: greedy first, the exact search only when a gap to the lower bound is left."""

import time
from collections.abc import Mapping
from types import MappingProxyType

from arenite._base.errors import SelfCheckError
from arenite.memory.bound import sections_bound
from arenite.memory.exact import improve
from arenite.memory.greedy import greedy
from arenite.memory.problem import Problem, Solution
from arenite.memory.sections import make_sections
from arenite.memory.validate import validate

# About a second. Nodes and not seconds, so that equal problems get equal plans on every machine.
DEFAULT_NODE_LIMIT = 50_000


def plan(problem: Problem, node_limit: int = DEFAULT_NODE_LIMIT, seconds_limit: float | None = None) -> Solution:
    """Place every buffer in an arena as small as can be found within the limits.

    The plan may exceed the problem's capacity: look at `Solution.nbytes`. `Solution.optimal` says whether it is
    proved to be the smallest.

    Args:
        problem: the buffers.
        node_limit: effort of the exact search; 0 for greedy alone.
        seconds_limit: also stop the exact search after so many seconds; plans then depend on the machine.

    Raises:
        SelfCheckError: the plan failed the independent validator.
    """
    began = time.perf_counter()
    sections = make_sections(problem)
    bound = sections_bound(sections)
    placed, nbytes, method = greedy(sections, bound)
    offsets = {b.name: int(offset) for b, offset in zip(sections.buffers, placed, strict=True)}
    deadline = float("inf") if seconds_limit is None else began + seconds_limit
    found = improve(problem, nbytes, bound, node_limit, deadline)
    solution = Solution(
        _complete(problem, offsets | (found.offsets or {})),
        found.nbytes,
        found.lower_bound_nbytes,
        found.method or method,
        time.perf_counter() - began,
        found.nodes,
    )
    if broken := [v.text for v in validate(problem, solution) if v.kind != "capacity"]:
        raise SelfCheckError(f"memory plan ({solution.method}): {text}" for text in broken)
    return solution


def _complete(problem: Problem, offsets: Mapping[str, int]) -> Mapping[str, int]:
    """Offsets in the problem's order; a buffer of zero bytes lies at its pin or at 0."""
    return MappingProxyType({b.name: offsets.get(b.name, b.offset or 0) for b in problem.buffers})
