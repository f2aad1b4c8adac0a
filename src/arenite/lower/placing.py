"""Asks the planner where each buffer lies, and explains a limit that cannot be kept."""

from collections.abc import Sequence

from arenite import memory
from arenite._base.errors import LimitError, SelfCheckError
from arenite.lower.program import Buffer, KernelCall, Placement

_MAX_NAMED = 8


def problem_of(buffers: Sequence[Buffer]) -> memory.Problem:
    """The memory problem of a program's buffers."""
    return memory.Problem(
        tuple(memory.Buffer(b.name, b.nbytes, memory.Lifetime(b.first, b.end), b.alignment) for b in buffers)
    )


def place(buffers: Sequence[Buffer], alignment: int) -> Placement:
    """A plan that the independent validator has passed.

    Raises:
        SelfCheckError: it has not.
    """
    problem = problem_of(buffers)
    solution = memory.plan(problem)
    if broken := memory.validate(problem, solution):
        raise SelfCheckError(f"memory plan ({solution.method}): {violation.text}" for violation in broken)
    return Placement(
        offsets=dict(solution.offsets),
        arena_nbytes=solution.nbytes,
        lower_bound_nbytes=solution.lower_bound_nbytes,
        optimal=solution.optimal,
        alignment=alignment,
        method=solution.method,
    )


def check_limit(
    buffers: Sequence[Buffer], calls: Sequence[KernelCall], placement: Placement, limit: int, state_nbytes: int = 0
) -> None:
    """Refuses an arena that takes more than `limit` bytes together with the state.

    Raises:
        LimitError: it is larger; tells the step that needs most, who is alive there, and how much must go.
    """
    whole, limit = limit, limit - state_nbytes
    excess = placement.arena_nbytes - limit
    if excess <= 0:
        return
    peak = max(range(max(1, len(calls))), key=lambda step: _live_nbytes(buffers, step))
    live = sorted((b for b in buffers if b.first <= peak < b.end), key=lambda b: -b.nbytes)
    step = f"step {peak}, '{calls[peak].name}' ({calls[peak].op})" if calls else "the only step"
    named = ", ".join(f"'{b.name}' {b.nbytes:,}" for b in live[:_MAX_NAMED])
    rest = live[_MAX_NAMED:]
    if rest:
        named += f" and {len(rest)} more of {sum(b.nbytes for b in rest):,} in all"
    needed = _live_nbytes(buffers, peak)
    if limit < 0:
        verdict = f"the state alone takes {-limit:,} more than the limit, so that no plan of buffers can help"
    elif placement.lower_bound_nbytes > limit:
        verdict = (
            f"no plan of these buffers can do with less than {placement.lower_bound_nbytes:,}, so "
            f"{placement.lower_bound_nbytes - limit:,} bytes of that step's buffers would have to go"
        )
    else:
        verdict = "its buffers would fit, but no plan was found that places all steps within the limit"
    kept = f" and the state {state_nbytes:,}" if state_nbytes else ""
    raise LimitError(
        f"the arena needs {placement.arena_nbytes:,} bytes of RAM{kept}, {excess:,} more than the limit of {whole:,}: "
        f"at {step}, {needed:,} bytes are alive: {named}; {verdict}"
    )


def _live_nbytes(buffers: Sequence[Buffer], step: int) -> int:
    return sum(b.nbytes for b in buffers if b.first <= step < b.end)
