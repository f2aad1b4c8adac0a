"""The planner: greedy first, the exact search only when a gap to the lower bound is left."""

import time
from types import MappingProxyType

from arenite._base.errors import SelfCheckError
from arenite.memory.bound import sections_bound
from arenite.memory.greedy import greedy
from arenite.memory.problem import Problem, Solution
from arenite.memory.sections import Ints, Sections, make_sections
from arenite.memory.validate import validate


def plan(problem: Problem) -> Solution:
    """Place every buffer in an arena as small as can be found.

    Raises:
        SelfCheckError: the plan failed the independent validator.
    """
    began = time.perf_counter()
    sections = make_sections(problem)
    bound = sections_bound(sections)
    offsets, nbytes, method = greedy(sections, bound)
    solution = Solution(_named(problem, sections, offsets), nbytes, bound, method, time.perf_counter() - began)
    if broken := [v.text for v in validate(problem, solution) if v.kind != "capacity"]:
        raise SelfCheckError(f"memory plan ({method}): {text}" for text in broken)
    return solution


def _named(problem: Problem, sections: Sections, offsets: Ints) -> MappingProxyType[str, int]:
    """Offsets by buffer name, in the problem's order; a buffer of zero bytes lies at its pin or at 0."""
    placed = {b.name: int(offset) for b, offset in zip(sections.buffers, offsets, strict=True)}
    return MappingProxyType({b.name: placed.get(b.name, b.offset or 0) for b in problem.buffers})
