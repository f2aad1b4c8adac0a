"""Kernels of batch_matmul."""

import math

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import requantize, wrap_int32
from arenite.ir.opdef import OpCall
from arenite.kernels.families.norm import BATCH_MATMUL_S8, BATCH_MATMUL_S16
from arenite.lower.broadcast import gather
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.lower.program import ParamValue
from arenite.ops.constraints import per_tensor
from arenite.ops.matmul import LARGEST_RANK, matmul_attrs, matmul_scaling, matmul_shape

_BATCH_RANK = LARGEST_RANK - 2
_ARGUMENTS: Given = {"x": OperandRef(0), "y": OperandRef(1), "output": ResultRef()}


def _batch_strides(dims: tuple[int, ...]) -> tuple[int, ...]:
    """From one matrix to the next along each leading dimension, 0 where there is but one."""
    padded = (1,) * (LARGEST_RANK - len(dims)) + dims
    steps = (math.prod(padded[axis + 1 :]) for axis in range(_BATCH_RANK))
    return tuple(0 if size == 1 else step for size, step in zip(padded, steps, strict=False))


def _walk(call: OpCall) -> dict[str, ParamValue]:
    shape, attrs = matmul_shape(call), matmul_attrs(call)
    x, y = call.operand(0).dims, call.operand(1).dims
    row_stride, depth_stride_x = (1, x[-1]) if attrs.adj_x else (x[-1], 1)
    depth_stride_y, column_stride = (1, y[-1]) if attrs.adj_y else (y[-1], 1)
    return {
        "batch": (1,) * (_BATCH_RANK - len(shape.batch)) + shape.batch,
        "batch_strides_x": _batch_strides(x),
        "batch_strides_y": _batch_strides(y),
        "rows": shape.rows,
        "depth": shape.depth,
        "columns": shape.columns,
        "row_stride": row_stride,
        "depth_stride_x": depth_stride_x,
        "depth_stride_y": depth_stride_y,
        "column_stride": column_stride,
    }


def _macs(call: OpCall) -> int:
    return call.results[0].nelem * matmul_shape(call).depth


def _prepare_s8(call: OpCall) -> tuple[Prepared, ...]:
    scaling = matmul_scaling(call)
    params: Filled = {
        **_walk(call),
        "zero_point_x": per_tensor(call.operand(0), "operand 0").zero_point,
        "zero_point_y": per_tensor(call.operand(1), "operand 1").zero_point,
        "multiplier": scaling.multiplier,
        "shift": scaling.shift,
        "zero_point": per_tensor(call.results[0], "the result").zero_point,
    }
    return (Prepared(params, _ARGUMENTS, _macs(call)),)


def _prepare_s16(call: OpCall) -> tuple[Prepared, ...]:
    scaling = matmul_scaling(call)
    reduced = min((scaling.multiplier + (1 << 15)) >> 16, 0x7FFF)
    params: Filled = {**_walk(call), "multiplier": reduced, "right": 15 - scaling.shift}
    return (Prepared(params, _ARGUMENTS, _macs(call)),)


def _matrices(
    params: Params, arguments: Arguments, name: str, inner: tuple[tuple[int, ...], tuple[int, ...]]
) -> npt.NDArray[np.int64]:
    sizes, strides = inner
    every = (*integers(params, "batch"), *sizes)
    steps = (*integers(params, f"batch_strides_{name}"), *strides)
    return gather(array(arguments, name), every, steps).reshape(-1, *sizes)


def _sums(params: Params, arguments: Arguments, zero_points: tuple[int, int]) -> npt.NDArray[np.int64]:
    rows, depth, columns = (integer(params, name) for name in ("rows", "depth", "columns"))
    along_x = (integer(params, "row_stride"), integer(params, "depth_stride_x"))
    along_y = (integer(params, "depth_stride_y"), integer(params, "column_stride"))
    x = _matrices(params, arguments, "x", ((rows, depth), along_x)) - zero_points[0]
    y = _matrices(params, arguments, "y", ((depth, columns), along_y)) - zero_points[1]
    return np.asarray(np.matmul(x, y), np.int64).reshape(-1)


def _s8_reference(params: Params, arguments: Arguments) -> None:
    sums = wrap_int32(_sums(params, arguments, (integer(params, "zero_point_x"), integer(params, "zero_point_y"))))
    scaled = requantize(sums, integer(params, "multiplier"), integer(params, "shift"))
    array(arguments, "output")[:] = np.clip(scaled + integer(params, "zero_point"), -128, 127)


def _s16_reference(params: Params, arguments: Arguments) -> None:
    right = integer(params, "right")
    scaled = (_sums(params, arguments, (0, 0)) * integer(params, "multiplier") + (1 << (right - 1))) >> right
    array(arguments, "output")[:] = np.clip(scaled, -32768, 32767)


def _cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=_macs(call) * 6 + call.results[0].nelem * 30, flash_nbytes=350)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "batch_matmul",
        "int8",
        BATCH_MATMUL_S8,
        (dtypes((DType.INT8, DType.INT8), DType.INT8),),
        _prepare_s8,
        _cost,
        _s8_reference,
    ),
    Kernel(
        "batch_matmul",
        "int16",
        BATCH_MATMUL_S16,
        (dtypes((DType.INT16, DType.INT16), DType.INT16),),
        _prepare_s16,
        _cost,
        _s16_reference,
    ),
)
