"""Checks a program from its calls alone: nothing here is shared with what made it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.errors import SelfCheckError
from arenite.kernels.manifest import Role
from arenite.lower.kernelset import KernelSet
from arenite.lower.program import Buffer, BufferRef, ConstantRef, Program, Ref, StateRef


def verify(program: Program, kernels: KernelSet) -> None:
    """Checks that every access lies inside a buffer that is live, in the arena, aligned, and not another's.

    State lies apart: each access inside its own, and none in another's.

    Raises:
        SelfCheckError: some do not; names step, argument and the buffers concerned.
    """
    if problems := list(_problems(program, kernels)):
        raise SelfCheckError(f"program '{program.name}': {problem}" for problem in problems)


def _problems(program: Program, kernels: KernelSet) -> Iterator[str]:
    last = max(1, len(program.calls)) - 1
    yield from _overlapping_states(program)
    for step, live in enumerate(_live_buffers(program)):
        here = _Step(program, step, live)
        for port in program.inputs if step == 0 else ():
            yield from here.access(port.ref, port.dtype.itemsize, f"input '{port.name}'")
        for call in program.calls[step : step + 1]:
            for argument in kernels.get(call.op, call.variant).info.arguments:
                ref = call.arguments[argument.name]
                where = f"step {step} '{call.name}', {argument.name}"
                if argument.role is Role.SCRATCH and not isinstance(ref, BufferRef | None):
                    yield f"{where}: is scratch but not in the arena"
                if argument.role is Role.OUTPUT and isinstance(ref, ConstantRef):
                    yield f"{where}: is written but constant"
                if argument.role is Role.STATE and not isinstance(ref, StateRef):
                    yield f"{where}: is to be kept but not in a state"
                yield from here.access(ref, NUMPY_OF_CTYPE[argument.ctype].itemsize, where)
        for port in program.outputs if step == last else ():
            yield from here.access(port.ref, port.dtype.itemsize, f"output '{port.name}'")


def _overlapping_states(program: Program) -> Iterator[str]:
    for one, other in pairwise(sorted(program.states, key=lambda state: state.offset)):
        if one.offset + one.nbytes > other.offset:
            yield f"states '{one.name}' and '{other.name}' overlap"


def _state_access(program: Program, ref: StateRef, width: int, where: str) -> Iterator[str]:
    found = next((state for state in program.states if state.name == ref.state), None)
    first, last = ref.offset_nbytes, ref.offset_nbytes + ref.nbytes
    if found is None:
        yield f"{where}: there is no state '{ref.state}'"
    elif first < 0 or last > found.nbytes:
        yield f"{where}: bytes [{first}, {last}) of state '{ref.state}', which has {found.nbytes}"
    elif (found.offset + first) % width:
        yield f"{where}: state '{ref.state}' at {found.offset + first} is not aligned to {width}"


def _live_buffers(program: Program) -> Iterator[dict[str, Buffer]]:
    """The buffers that are live, for each step; a program without calls has one step."""
    starting: dict[int, list[Buffer]] = {}
    for buffer in program.buffers:
        starting.setdefault(buffer.first, []).append(buffer)
    live: dict[str, Buffer] = {}
    for step in range(max(1, len(program.calls))):
        live = {name: buffer for name, buffer in live.items() if buffer.end > step}
        live.update((buffer.name, buffer) for buffer in starting.get(step, ()))
        yield live


@dataclass(frozen=True)
class _Step:
    program: Program
    step: int
    live: Mapping[str, Buffer]

    def access(self, ref: Ref | None, width: int, where: str) -> Iterator[str]:
        """What is wrong with an access to elements of `width` bytes at this step."""
        if isinstance(ref, StateRef):
            yield from _state_access(self.program, ref, width, where)
        if not isinstance(ref, BufferRef):
            return
        buffer, offsets = self.live.get(ref.buffer), self.program.placement.offsets
        if buffer is None or ref.buffer not in offsets:
            yield f"{where}: buffer '{ref.buffer}' is not live at step {self.step}"
            return
        first, last = ref.offset_nbytes, ref.offset_nbytes + ref.nbytes
        start, end = offsets[ref.buffer] + first, offsets[ref.buffer] + last
        if first < 0 or last > buffer.nbytes:
            yield f"{where}: bytes [{first}, {last}) of buffer '{ref.buffer}', which has {buffer.nbytes}"
        if start < 0 or end > self.program.placement.arena_nbytes:
            yield f"{where}: bytes [{start}, {end}) of the arena, which has {self.program.placement.arena_nbytes}"
        if start % width:
            yield f"{where}: buffer '{ref.buffer}' at {start} is not aligned to {width}"
        for other in self.live.values():
            begin = offsets.get(other.name, end)
            if other is not buffer and begin < end and start < begin + other.nbytes:
                yield f"{where}: bytes [{start}, {end}) of buffer '{ref.buffer}' are also those of '{other.name}'"
