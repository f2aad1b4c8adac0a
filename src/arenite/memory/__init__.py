"""Plans arenas: buffers with lifetimes in, offsets out. Knows nothing of models."""

from arenite.memory.planner import plan
from arenite.memory.problem import Buffer, Lifetime, Problem, Solution
from arenite.memory.validate import Violation, validate

__all__ = ["Buffer", "Lifetime", "Problem", "Solution", "Violation", "plan", "validate"]
