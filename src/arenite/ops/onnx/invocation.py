"""One evaluation of an operator by numpy, as the kernels see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.attrs import OnnxAttrs

Numbers = npt.NDArray[Any]
"""Elements that numpy computes with."""


class NotHereError(Exception):
    """A kernel does not know this form of its operator; another engine must evaluate it."""


@dataclass(frozen=True)
class Invocation:
    """What a kernel gets besides operands.

    Attributes:
        attrs: of the node.
        opset: the model's version of the default domain.
        n_results: how many results are wanted.
    """

    attrs: OnnxAttrs
    opset: int
    n_results: int


Kernel = Callable[[Invocation, Sequence[Array | None]], Array | tuple[Array, ...]]
"""Results from operands, as the operator's version in this opset says.

Raises OpError when the operands misfit the operator, NotHereError when it is not for this kernel.
"""

Kernels = Mapping[str, Kernel]
"""Kernels by operator, of the default domain."""


def required(operands: Sequence[Array | None], index: int, name: str) -> Numbers:
    """An operand that must be there.

    Raises:
        OpError: it is absent.
    """
    value = optional(operands, index)
    if value is None:
        raise OpError(f"operand {index} ('{name}') is absent, but is needed")
    return value


def optional(operands: Sequence[Array | None], index: int) -> Numbers | None:
    """An operand, or None where it is absent.

    Raises:
        NotHereError: it is a sequence.
    """
    value = operands[index] if index < len(operands) else None
    if value is not None and not isinstance(value, (np.ndarray, np.generic)):
        raise NotHereError
    return None if value is None else np.asarray(value)


def integers(array: Array, name: str) -> tuple[int, ...]:
    """A list of integers that an operand holds.

    Raises:
        OpError: it holds something else.
    """
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise OpError(f"'{name}' must be a list of integers, found {array.dtype}{list(array.shape)}")
    return tuple(int(value) for value in array.reshape(-1))


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """An axis counted from the front.

    Raises:
        OpError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise OpError(f"{name} is {axis}, but there are {rank} dimensions")
    return axis % rank if rank else 0


def axes_of(axes: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front; raises as `axis_of` does, and when one is given twice."""
    found = tuple(axis_of(axis, rank, name) for axis in axes)
    if len(set(found)) != len(found):
        raise OpError(f"{name} {list(axes)} name a dimension twice")
    return found


def attr_or_operand(
    call: Invocation, operands: Sequence[Array | None], name: str, index: int, since: int
) -> tuple[int, ...] | None:
    """A list of integers that was an attribute before an opset and is an operand from it on; None where absent."""
    if call.opset < since:
        return call.attrs.integers(name)
    value = optional(operands, index)
    return None if value is None else integers(value, name)


def broadcast(*arrays: Array) -> tuple[int, ...]:
    """The shape that arrays broadcast to.

    Raises:
        OpError: they do not.
    """
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise OpError(f"shapes {shapes} do not broadcast") from None
