"""A lowered network: kernel calls over buffers at known offsets. What codegen prints and lower.arena executes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.kernels.manifest import Argument, Role

ParamValue = int | float | tuple[int, ...]


@dataclass(frozen=True)
class Buffer:
    """A piece of the arena.

    Attributes:
        name: of the value (or `<layer>/scratch`) that it holds.
        first, end: half-open lifetime in schedule steps (step i is calls[i]; inputs live from step 0, outputs until
            len(calls)).
    """

    name: str
    nbytes: int
    alignment: int
    first: int
    end: int


@dataclass(frozen=True)
class BufferRef:
    """Bytes of the arena.

    Attributes:
        buffer: which buffer. Views and in-place results refer into another value's buffer.
        offset_nbytes: where in it they start.
        nbytes: how many they are, so that a plan that is wrong about a buffer's size can be told from the call.
        value: name of the value whose bytes are expected there (of a chain of views, the first), or the buffer's own
            name for scratch: a buffer holds several values in turn once results are computed in place.
    """

    buffer: str
    offset_nbytes: int
    nbytes: int
    value: str


class ConstantKind(Enum):
    """For the report: WEIGHTS counts weights and biases; TABLE multipliers, shifts, look-up tables."""

    WEIGHTS = "weights"
    TABLE = "table"


@dataclass(frozen=True)
class Constant:
    """Data in flash; equal bytes are stored once."""

    name: str
    data: npt.NDArray[np.generic]
    kind: ConstantKind


@dataclass(frozen=True)
class ConstantRef:
    constant: str


@dataclass(frozen=True)
class State:
    """Memory that is kept between invocations, outside the arena.

    Attributes:
        name: of the variable that it holds.
        offset: in the region of all states, in bytes.
        initial: what it holds at first: a constant of as many bytes, or one byte throughout.
    """

    name: str
    offset: int
    nbytes: int
    initial: ConstantRef | int


@dataclass(frozen=True)
class StateRef:
    """Bytes of a state.

    Attributes:
        offset_nbytes: where in it they start.
        nbytes: how many they are.
    """

    state: str
    offset_nbytes: int
    nbytes: int


@dataclass(frozen=True)
class Alternative:
    """A kernel that was not chosen, and why not."""

    kernel: str
    cost: float | None
    why_not: str


Ref = BufferRef | ConstantRef | StateRef
"""Where an argument's bytes are: in the arena, in flash, or in the states."""


def is_result(ref: Ref | None, argument: Argument) -> TypeGuard[BufferRef | StateRef]:
    """Whether a call's argument is something that it leaves to others."""
    if isinstance(ref, StateRef):
        return argument.role in (Role.STATE, Role.OUTPUT)
    return isinstance(ref, BufferRef) and argument.role is Role.OUTPUT


@dataclass(frozen=True)
class KernelCall:
    """One call of a C kernel: one layer of the generated code.

    Attributes:
        name: of the node; unique among calls.
        op: of the node.
        kernel: symbol of its KernelInfo.
        variant: name of the chosen lowering (for people: `direct`, `im2col`...).
        params: value of each field of the parameter struct.
        arguments: what each pointer argument gets; None is a null pointer.
        macs: multiply-accumulates.
        origin: source operator names.
        summary: shapes and attributes, for the comment above the layer.
        why: why this kernel was chosen.
    """

    name: str
    op: str
    kernel: str
    variant: str
    params: Mapping[str, ParamValue]
    arguments: Mapping[str, Ref | None]
    macs: int
    origin: tuple[str, ...]
    summary: str
    why: str
    alternatives: tuple[Alternative, ...] = ()
    scratch_nbytes: int = 0


@dataclass(frozen=True)
class Port:
    """An input or output of the network.

    Attributes:
        ref: where its bytes are; of an input always in the arena. Several outputs may share bytes, with an input too.
        scale, zero_point: None when it is not quantized.
    """

    name: str
    ref: BufferRef | ConstantRef
    dtype: DType
    shape: tuple[int, ...]
    scale: float | None
    zero_point: int | None

    @property
    def nelem(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.nelem * self.dtype.itemsize


@dataclass(frozen=True)
class Placement:
    """Where each buffer is.

    Attributes:
        offsets: of each buffer, in bytes from the arena's start.
        lower_bound_nbytes: no plan of these buffers needs less.
        optimal: the plan is proved to be the smallest.
    """

    offsets: Mapping[str, int]
    arena_nbytes: int
    lower_bound_nbytes: int
    optimal: bool
    alignment: int
    method: str = ""


@dataclass(frozen=True)
class Program:
    """A network ready to be printed.

    Attributes:
        name: C-safe.
        calls: in schedule order.
        states: in the order of their offsets.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Constant, ...]
    calls: tuple[KernelCall, ...]
    placement: Placement
    states: tuple[State, ...] = ()

    @property
    def state_nbytes(self) -> int:
        """Bytes of the region of all states."""
        return max((state.offset + state.nbytes for state in self.states), default=0)
