"""Plans arenas: buffers with lifetimes in, offsets out. Knows nothing of models."""

from arenite.memory.planner import plan
from arenite.memory.problem import Buffer, Lifetime, Problem, Solution
from arenite.memory.regions import Region, RegionalPlan, plan_in_regions
from arenite.memory.validate import Violation, validate

__all__ = [
    "Buffer",
    "Lifetime",
    "Problem",
    "Region",
    "RegionalPlan",
    "Solution",
    "Violation",
    "plan",
    "plan_in_regions",
    "validate",
]
