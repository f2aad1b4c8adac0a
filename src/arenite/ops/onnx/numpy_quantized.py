"""Quantization by numpy: rounding to nearest even, then saturation."""

from collections.abc import Sequence

import numpy as np

from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.invocation import (
    Invocation,
    Kernels,
    NotHereError,
    Numbers,
    axis_of,
    optional,
    required,
)
from arenite.ops.onnx.tensors import DTYPES

_WHOLE_BYTES = (np.int8, np.uint8, np.int16, np.uint16)


def _along(call: Invocation, parameter: Numbers, x: Numbers) -> Numbers:
    """Scale or zero point, shaped to broadcast with x: one for all, or one per slice of `axis`."""
    if parameter.size == 1:
        return parameter.reshape(())
    if call.attrs.integer("block_size", 0) or parameter.ndim != 1:
        raise NotHereError
    axis = axis_of(call.attrs.integer("axis", 1), x.ndim)
    if len(parameter) != x.shape[axis]:
        raise OpError(f"{len(parameter)} scales for dimension {axis} of {list(x.shape)}")
    shape = [1] * x.ndim
    shape[axis] = len(parameter)
    return parameter.reshape(shape)


def _quantize_linear(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, scale, zero_point = required(operands, 0, "x"), required(operands, 1, "y_scale"), optional(operands, 2)
    wanted = DTYPES.get(call.attrs.integer("output_dtype", 0))
    dtype = zero_point.dtype if zero_point is not None else np.dtype(np.uint8) if wanted is None else wanted.numpy
    if dtype not in _WHOLE_BYTES or x.dtype not in (np.float32, np.int32) or scale.dtype != np.float32:
        raise NotHereError
    if call.attrs.integer("precision", 0):
        raise NotHereError
    zero = np.int32(0) if zero_point is None else _along(call, zero_point, x).astype(np.int32)
    limits = np.iinfo(dtype)
    steps = np.rint(x.astype(np.float32) / _along(call, scale, x))
    return np.clip(steps + zero, limits.min, limits.max).astype(dtype)


def _dequantize_linear(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, scale, zero_point = required(operands, 0, "x"), required(operands, 1, "x_scale"), optional(operands, 2)
    if (
        x.dtype not in (*_WHOLE_BYTES, np.int32)
        or scale.dtype != np.float32
        or call.attrs.integer("output_dtype", 1) != 1
    ):
        raise NotHereError
    zero = np.int32(0) if zero_point is None else _along(call, zero_point, x).astype(np.int32)
    return ((x.astype(np.int32) - zero).astype(np.float32) * _along(call, scale, x)).astype(np.float32)


def _dynamic_quantize_linear(call: Invocation, operands: Sequence[Array | None]) -> tuple[Array, Array, Array]:
    x = required(operands, 0, "x")
    if x.dtype != np.float32 or x.size == 0:
        raise NotHereError
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = np.float32(1) if low == high else np.float32((high - low) / np.float32(255))
    zero = np.uint8(np.clip(np.rint(np.float32(0) - low / scale), 0, 255))
    y = np.clip(np.rint(x / scale) + np.float32(zero), 0, 255).astype(np.uint8)
    return y, np.asarray(scale), np.asarray(zero)


def _centred(x: Numbers, zero_point: Numbers | None, *, rows: bool) -> Numbers:
    wide = x.astype(np.int32)
    if zero_point is None:
        return wide
    zero = zero_point.astype(np.int32)
    if zero.ndim == 1 and zero.size > 1 and rows:
        zero = zero.reshape(-1, 1)
    return np.asarray(wide - zero)


def _matmul_integer(call: Invocation, operands: Sequence[Array | None]) -> Array:
    a, b = required(operands, 0, "A"), required(operands, 1, "B")
    left = _centred(a, optional(operands, 2), rows=True)
    right = _centred(b, optional(operands, 3), rows=False)
    try:
        return np.asarray(np.matmul(left, right))
    except ValueError:
        raise OpError(f"A {list(a.shape)} and B {list(b.shape)} cannot be multiplied") from None


KERNELS: Kernels = {
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "QuantizeLinear": _quantize_linear,
}
"""4-bit, 8-bit float and blocked forms are left to other engines."""
