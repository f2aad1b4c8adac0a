"""Kernels of average_pool2d and max_pool2d."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.kernels.families.pool import (
    AVERAGE_POOL_S8,
    AVERAGE_POOL_S16,
    AVERAGE_POOL_U8,
    MAX_POOL_S8,
    MAX_POOL_S16,
)
from arenite.lower.common import Arguments, Filled, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.ops.pool import pool_clamp, pool_windows

_INT8 = dtypes((DType.INT8,), DType.INT8)
_INT16 = dtypes((DType.INT16,), DType.INT16)
_UINT8 = dtypes((DType.UINT8,), DType.UINT8)


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    rows, columns = pool_windows(call)
    batches, height, width, channels = call.operand(0).dims
    low, high = pool_clamp(call)
    params: Filled = {
        "batches": batches,
        "input_height": height,
        "input_width": width,
        "channels": channels,
        "output_height": rows.output,
        "output_width": columns.output,
        "filter_height": rows.filter,
        "filter_width": columns.filter,
        "stride_height": rows.stride,
        "stride_width": columns.stride,
        "pad_top": rows.pad_before,
        "pad_left": columns.pad_before,
        "low": low,
        "high": high,
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


Cells = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _average(cells: Cells) -> Cells:
    """Mean over the first two dimensions, halves away from zero."""
    total, count = cells.sum(axis=(0, 1)), cells.shape[0] * cells.shape[1]
    mean: Cells = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return mean


def _largest(cells: Cells) -> Cells:
    largest: Cells = cells.max(axis=(0, 1))
    return largest


def _reference(combine: Callable[[Cells], Cells]) -> Callable[[Params, Arguments], None]:
    def reference(params: Params, arguments: Arguments) -> None:
        p = {name: integer(params, name) for name in params}
        shape = (p["batches"], p["input_height"], p["input_width"], p["channels"])
        x = array(arguments, "input").reshape(shape).astype(np.int64)
        y = np.empty((p["batches"], p["output_height"], p["output_width"], p["channels"]), np.int64)
        for batch, row, column in np.ndindex(*y.shape[:3]):
            top, left = row * p["stride_height"] - p["pad_top"], column * p["stride_width"] - p["pad_left"]
            down = slice(max(top, 0), top + p["filter_height"])
            across = slice(max(left, 0), left + p["filter_width"])
            y[batch, row, column] = combine(x[batch, down, across])
        array(arguments, "output")[:] = np.clip(y, p["low"], p["high"]).reshape(-1)

    return reference


def _cost(call: OpCall) -> KernelCost:
    rows, columns = pool_windows(call)
    results = call.operand(0).dims[0] * rows.output * columns.output * call.operand(0).dims[3]
    return KernelCost(instructions=results * (rows.filter * columns.filter * 6 + 30), flash_nbytes=300)


KERNELS: tuple[Kernel, ...] = (
    Kernel("average_pool2d", "direct", AVERAGE_POOL_S8, (_INT8,), _prepare, _cost, _reference(_average)),
    # On no negative number, halves away from zero are halves upwards.
    Kernel("average_pool2d", "uint8", AVERAGE_POOL_U8, (_UINT8,), _prepare, _cost, _reference(_average)),
    Kernel("average_pool2d", "int16", AVERAGE_POOL_S16, (_INT16,), _prepare, _cost, _reference(_average)),
    Kernel("max_pool2d", "direct", MAX_POOL_S8, (_INT8,), _prepare, _cost, _reference(_largest)),
    Kernel("max_pool2d", "int16", MAX_POOL_S16, (_INT16,), _prepare, _cost, _reference(_largest)),
)
