"""What elementwise ops of two operands share: numpy broadcasting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Array
from arenite.ir.opdef import Cost, OpCall, OpError
from arenite.ir.types import TensorType
from arenite.ops.constraints import declared_result, static_dims


def broadcast_result(call: OpCall) -> tuple[TensorType, ...]:
    """The result's type: the operands' shapes broadcast, the rest as declared.

    Raises:
        OpError: a shape is unknown, or they do not broadcast.
    """
    first, second = static_dims(call, 0, "operand 0"), static_dims(call, 1, "operand 1")
    try:
        shape = np.broadcast_shapes(first, second)
    except ValueError:
        raise OpError(
            f"the operands' shapes must broadcast (each pair of dimensions from the back equal, or one of them 1), "
            f"found {list(first)} and {list(second)}"
        ) from None
    return (declared_result(call, shape),)


def operand_pair(operands: Sequence[Array | None], dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both operands as arrays of one type."""
    return np.asarray(operands[0], dtype), np.asarray(operands[1], dtype)


def one_operation_each(call: OpCall) -> Cost:
    """The cost of one operation for each element of the result."""
    return Cost(ops=broadcast_result(call)[0].nelem)
