"""Executes a program by its kernels' numpy references, at the planned offsets, inside one poisoned arena.

Every byte of the arena knows whose it is. Two copies of the arena run in lock-step and differ only in their poison,
so that a byte which depends on memory that nobody wrote differs between the two, and is refused as soon as it is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.errors import DataError, SelfCheckError
from arenite.ir.graph import Array
from arenite.kernels.manifest import Argument, Role
from arenite.lower.kernel import Kernel
from arenite.lower.kernelset import KernelSet
from arenite.lower.program import Buffer, BufferRef, ConstantRef, KernelCall, Port, Program, Ref, StateRef, is_result

POISONS = (0xA5, 0x5A)
"""They differ in every bit, and as int8, int16, int32 or float they are far from each other."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Traced:
    """What a call has written.

    Attributes:
        step: index of the call.
        argument: which of the kernel's arguments it is.
        value: name of the value, or of the state.
        data: a copy, as a flat array.
        written: for each byte, whether anybody has written it yet: calls may fill a value by and by.
    """

    step: int
    argument: str
    value: str
    data: Array
    written: npt.NDArray[np.bool_]


Trace = Callable[[Traced], None]
"""Is told of each result, and of each state that a call may have changed."""


class States:
    """What a program keeps between invocations, as it is at first. One copy goes with each copy of the arena."""

    def __init__(self, program: Program) -> None:
        constants = {constant.name: constant.data for constant in program.constants}
        self.copies: tuple[dict[str, Bytes], ...] = tuple(
            {
                state.name: np.full(state.nbytes, state.initial, np.uint8)
                if isinstance(state.initial, int)
                else constants[state.initial.constant].view(np.uint8).copy()
                for state in program.states
            }
            for _ in POISONS
        )

    def check(self, name: str, where: str) -> None:
        """Refuses contents that depend on memory that nobody wrote."""
        first, second = (copy[name] for copy in self.copies)
        if not np.array_equal(first, second):
            raise SelfCheckError(f"{where}: state '{name}' now depends on memory that nobody wrote")


def run(
    program: Program,
    kernels: KernelSet,
    inputs: Sequence[Array],
    trace: Trace | None = None,
    states: States | None = None,
) -> list[Array]:
    """One invocation.

    Args:
        program: what to run.
        kernels: where the calls' references are found.
        inputs: arrays of the ports' shapes and dtypes.
        trace: is told of each result.
        states: what earlier invocations have left, which this one changes; None: a fresh one.

    Returns:
        The outputs, of the ports' shapes and dtypes.

    Raises:
        DataError: the inputs are not those of the program.
        SelfCheckError: the program reads or writes bytes that are another value's, or bytes that nobody wrote.
    """
    _check_inputs(program, inputs)
    arena = _Arena(program, states or States(program))
    arena.begin_step(0)
    for port, array in zip(program.inputs, inputs, strict=True):
        arena.store(port, array)
    for step, call in enumerate(program.calls):
        if step:
            arena.begin_step(step)
        _execute(arena, step, call, kernels.get(call.op, call.variant), trace)
    return [arena.load(port) for port in program.outputs]


def _check_inputs(program: Program, inputs: Sequence[Array]) -> None:
    if len(inputs) != len(program.inputs):
        raise DataError(f"program '{program.name}' has {len(program.inputs)} inputs, {len(inputs)} arrays were given")
    problems = [
        f"input '{port.name}' is {port.dtype}{list(port.shape)}, the array given is {array.dtype}{list(array.shape)}"
        for port, array in zip(program.inputs, inputs, strict=True)
        if array.shape != port.shape or array.dtype != port.dtype.numpy
    ]
    if problems:
        raise DataError(problems)


def _execute(arena: "_Arena", step: int, call: KernelCall, kernel: Kernel, trace: Trace | None) -> None:
    where = f"step {step} '{call.name}' ({call.kernel})"
    arguments = [(argument, call.arguments[argument.name]) for argument in kernel.info.arguments]
    for argument, ref in arguments:
        if isinstance(ref, BufferRef) and _reads(argument):
            arena.check_read(ref, f"{where}, {argument.name}")
    for argument, ref in arguments:
        if isinstance(ref, BufferRef) and not _reads(argument):
            arena.claim(ref, f"{where}, {argument.name}")
    for copy in range(len(POISONS)):
        kernel.reference(call.params, {a.name: arena.view(copy, a, ref) for a, ref in arguments})
    for argument, ref in arguments:
        if isinstance(ref, StateRef):
            arena.states.check(ref.state, f"{where}, {argument.name}")
        if trace is not None and is_result(ref, argument):
            trace(arena.traced(step, argument, ref))


def _reads(argument: Argument) -> bool:
    return argument.role in (Role.INPUT, Role.CONSTANT)


@dataclass(frozen=True)
class _Owner:
    buffer: Buffer
    value: str

    def __str__(self) -> str:
        of = f"'{self.value}'" + (f" in buffer '{self.buffer.name}'" if self.value != self.buffer.name else "")
        return f"{of} [{self.buffer.first}, {self.buffer.end})"


class _Arena:
    def __init__(self, program: Program, states: States) -> None:
        self._program = program
        self.states = states
        self._buffers = {buffer.name: buffer for buffer in program.buffers}
        self._constants = {constant.name: constant.data for constant in program.constants}
        nbytes = program.placement.arena_nbytes
        self._copies = [np.full(nbytes, poison, np.uint8) for poison in POISONS]
        # Who owns each byte, as an index into _owners; 0 is nobody.
        self._owner_of = np.zeros(nbytes, np.int32)
        self._owners: list[_Owner | None] = [None]
        self._index: dict[_Owner, int] = {}

    def begin_step(self, step: int) -> None:
        """Poison what has ended, then what begins: its bytes are nobody's until they are written."""
        for buffer in self._program.buffers:
            if buffer.end == step:
                self._poison(buffer)
        for buffer in self._program.buffers:
            if buffer.first == step:
                self._poison(buffer)
                self._extent(buffer, 0, buffer.nbytes, self._owner_of)[:] = self._index_of(buffer.name, buffer.name)

    def store(self, port: Port, array: Array) -> None:
        """Write an input, as the caller of the generated code does."""
        assert isinstance(port.ref, BufferRef), "inputs are in the arena"
        self.claim(port.ref, f"input '{port.name}'")
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for copy in self._copies:
            self._bytes(copy, port.ref)[:] = raw

    def load(self, port: Port) -> Array:
        """Read an output, as the caller does."""
        assert not isinstance(port.ref, StateRef), "outputs are no state"
        if isinstance(port.ref, ConstantRef):
            raw = self._constants[port.ref.constant]
        else:
            self.check_read(port.ref, f"output '{port.name}'")
            raw = self._bytes(self._copies[0], port.ref).copy()
        return raw.view(port.dtype.numpy).reshape(port.shape)

    def view(self, copy: int, argument: Argument, ref: Ref | None) -> Array | None:
        """What a reference gets for an argument: read-only unless it is written."""
        if ref is None:
            return None
        if isinstance(ref, ConstantRef):
            return self._constants[ref.constant].view(NUMPY_OF_CTYPE[argument.ctype])
        raw: npt.NDArray[np.generic]
        if isinstance(ref, StateRef):
            raw = self.states.copies[copy][ref.state][ref.offset_nbytes : ref.offset_nbytes + ref.nbytes]
        else:
            raw = self._bytes(self._copies[copy], ref)
        view = raw.view(NUMPY_OF_CTYPE[argument.ctype])
        view.flags.writeable = not _reads(argument)
        return view

    def traced(self, step: int, argument: Argument, ref: BufferRef | StateRef) -> Traced:
        """What a call has written by now."""
        first, second = (self.view(copy, argument, ref) for copy in range(len(POISONS)))
        assert first is not None, "a result has a view"
        assert second is not None, "a result has a view"
        value = ref.value if isinstance(ref, BufferRef) else ref.state
        return Traced(step, argument.name, value, first.copy(), first.view(np.uint8) == second.view(np.uint8))

    def claim(self, ref: BufferRef, where: str) -> None:
        """Let the bytes be `ref.value`'s from now on; they must be its buffer's now."""
        owners = self._bytes(self._owner_of, ref)
        for index in np.unique(owners):
            owner = self._owners[index]
            if owner is None or owner.buffer.name != ref.buffer:
                raise SelfCheckError(f"{where}: writes {self._text(ref, owners == index, owner)}")
        owners[:] = self._index_of(ref.buffer, ref.value)

    def check_read(self, ref: BufferRef, where: str) -> None:
        """Refuses to read bytes that are another value's, or that depend on memory that nobody wrote."""
        owners = self._bytes(self._owner_of, ref)
        wanted = self._index_of(ref.buffer, ref.value)
        for index in np.unique(owners):
            if index != wanted:
                raise SelfCheckError(f"{where}: reads {self._text(ref, owners == index, self._owners[index])}")
        first, second = (self._bytes(copy, ref) for copy in self._copies)
        if not np.array_equal(first, second):
            _, text = self._run(ref, first != second)
            raise SelfCheckError(f"{where}: reads {text}, which depend on memory that nobody wrote")

    def _bytes(self, array: npt.NDArray[np.generic], ref: BufferRef) -> npt.NDArray[np.generic]:
        return self._extent(self._buffers[ref.buffer], ref.offset_nbytes, ref.nbytes, array)

    def _extent(
        self, buffer: Buffer, offset: int, nbytes: int, array: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.generic]:
        start = self._program.placement.offsets[buffer.name] + offset
        if start < 0 or start + nbytes > array.size:
            raise SelfCheckError(
                f"bytes [{start}, {start + nbytes}) of buffer '{buffer.name}' leave the arena of {array.size} bytes"
            )
        return array[start : start + nbytes]

    def _poison(self, buffer: Buffer) -> None:
        for copy, poison in zip(self._copies, POISONS, strict=True):
            self._extent(buffer, 0, buffer.nbytes, copy)[:] = poison

    def _index_of(self, buffer: str, value: str) -> int:
        owner = _Owner(self._buffers[buffer], value)
        if owner not in self._index:
            self._index[owner] = len(self._owners)
            self._owners.append(owner)
        return self._index[owner]

    def _text(self, ref: BufferRef, wrong: npt.NDArray[np.bool_], owner: _Owner | None) -> str:
        """Whose bytes a call expects, and whose they are."""
        (start, end), text = self._run(ref, wrong)
        mine = self._buffers[ref.buffer]
        offsets = self._program.placement.offsets
        rivals = [
            f"'{b.name}' [{b.first}, {b.end})"
            for b in self._program.buffers
            if b is not mine and (owner is None or b is not owner.buffer) and b.first < mine.end and mine.first < b.end
            if offsets[b.name] < end and start < offsets[b.name] + b.nbytes
        ]
        planned = f"; planned there at the same time: {', '.join(rivals)}" if rivals else ""
        whose = "nobody's" if owner is None else f"those of {owner}"
        return f"{text}, which are {whose}{planned}"

    def _run(self, ref: BufferRef, wrong: npt.NDArray[np.bool_]) -> tuple[tuple[int, int], str]:
        """The first run of wrong bytes: where, and `'x' [0, 3): bytes [4, 5) of the arena`."""
        first = int(np.argmax(wrong))
        nbytes = int(np.argmin(wrong[first:])) or wrong.size - first
        start = self._program.placement.offsets[ref.buffer] + ref.offset_nbytes + first
        text = f"{_Owner(self._buffers[ref.buffer], ref.value)}: bytes [{start}, {start + nbytes}) of the arena"
        return (start, start + nbytes), text
