"""What is kept between invocations: a static region beside the arena, and the function that puts it back."""

from collections.abc import Iterator

from arenite.codegen.names import Names
from arenite.lower.program import Program, State, StateRef

BYTES_HEADER = "arenite_bytes.h"
_ALIGNMENT = 8


def state_lines(program: Program, names: Names) -> Iterator[str]:
    """The region, and whether it has been started."""
    if not program.states:
        return
    yield ""
    yield f"static ARENITE_ALIGNED({_ALIGNMENT}) uint8_t {names.state}[{max(1, program.state_nbytes)}];"
    if _must_start(program):
        yield f"static uint8_t {names.started};"


def start_lines(program: Program, names: Names) -> Iterator[str]:
    """At the start of each invocation: the region holds zeros until somebody has called reset."""
    if _must_start(program):
        yield f"    if (ARENITE_UNLIKELY(!{names.started})) {{"
        yield f"        {names.reset}();"
        yield "    }"


def reset_lines(program: Program, names: Names) -> Iterator[str]:
    """The body of reset."""
    for state in program.states:
        place = f"{names.state} + {state.offset}"
        if isinstance(state.initial, int):
            yield f"    arenite_fill({place}, {state.initial}, {state.nbytes});"
        else:
            yield f"    arenite_copy({place}, {names.constant(state.initial.constant)}, {state.nbytes});"
    if _must_start(program):
        yield f"    {names.started} = 1;"


def state_pointer(program: Program, ctype: str, const: str, ref: StateRef) -> str:
    """A pointer into the region, which a layer calls `state`."""
    (found,) = (state for state in program.states if state.name == ref.state)
    return f"({ctype} *)({const}void *)(state + {found.offset + ref.offset_nbytes})"


def _must_start(program: Program) -> bool:
    return any(not _is_zero(state) for state in program.states)


def _is_zero(state: State) -> bool:
    return state.initial == 0
