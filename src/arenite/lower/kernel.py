"""Kernels as lowering sees them: which nodes they take, at what cost, and how a node becomes a C call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.manifest import KernelInfo
from arenite.lower.program import ConstantKind, ParamValue

Array = npt.NDArray[np.generic]

Reference = Callable[[Mapping[str, ParamValue], Mapping[str, "Array | None"]], None]
"""The kernel in numpy: the same parameters and arguments as in C. Arguments are flat arrays of the manifest's ctype;
outputs and scratch are views into the arena that it fills. It reads packed weights as they are packed."""


@dataclass(frozen=True)
class PreparedConstant:
    data: Array
    kind: ConstantKind


@dataclass(frozen=True)
class OperandRef:
    """An argument that is the node's operand `index`, `offset_nbytes` into it."""

    index: int
    offset_nbytes: int = 0


@dataclass(frozen=True)
class ResultRef:
    """An argument that is the node's result `index`, `offset_nbytes` into it."""

    index: int = 0
    offset_nbytes: int = 0


@dataclass(frozen=True)
class Prepared:
    """One C call, prepared.

    Attributes:
        params: every field of the parameter struct.
        arguments: every argument of the manifest: an operand, a result, a constant, the bytes of scratch it needs
            (an int), or None for a null pointer.
        macs: multiply-accumulates that this call does.
    """

    params: Mapping[str, ParamValue]
    arguments: Mapping[str, OperandRef | ResultRef | PreparedConstant | int | None]
    macs: int = 0


@dataclass(frozen=True)
class KernelCost:
    """An estimate to choose by: instructions on the target's class of core, bytes of flash (code and data), scratch."""

    instructions: float
    flash_nbytes: int
    scratch_nbytes: int = 0


@dataclass(frozen=True)
class Kernel:
    """One way to execute an op.

    Attributes:
        op: name of the op.
        variant: short name for people, unique per op.
        info: the C kernel.
        constraints: what a node must fulfil; the texts serve errors, explanations and docs.
        prepare: node → calls (usually one; a concatenation has one per operand).
        cost: estimate for a node that fulfils the constraints.
        reference: the kernel in numpy.
        in_place: operand indices whose buffer the result may take over (same size, each element read before its
            place is written).
    """

    op: str
    variant: str
    info: KernelInfo
    constraints: tuple[Constraint, ...]
    prepare: Callable[[OpCall], tuple[Prepared, ...]]
    cost: Callable[[OpCall], KernelCost]
    reference: Reference
    in_place: tuple[int, ...] = field(default=())
