"""Reductions, softmax and their like, by numpy. float16 and bfloat16 are computed in float32 and rounded once."""

from collections.abc import Callable, Sequence

import numpy as np

from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.invocation import (
    Invocation,
    Kernel,
    Kernels,
    NotHereError,
    Numbers,
    attr_or_operand,
    axes_of,
    axis_of,
    optional,
    required,
)
from arenite.ops.onnx.numpy_elementwise import widened

Reduce = Callable[[Numbers, tuple[int, ...]], object]
"""Reduces over axes, keeping them as 1."""


def reduction(function: Reduce, *, since: int = 18, needs_elements: bool = False) -> Kernel:
    """A kernel whose axes are an attribute before opset `since`, an operand from it on."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        data = required(operands, 0, "data")
        axes = attr_or_operand(call, operands, "axes", 1, since)
        if not axes:
            if call.attrs.integer("noop_with_empty_axes", 0):
                return _identity_or_other(function, data)
            axes = tuple(range(data.ndim))
        places = axes_of(axes, data.ndim)
        if data.size == 0 and needs_elements:
            raise NotHereError
        result = np.asarray(function(widened(data), places)).astype(data.dtype, copy=False)
        if call.attrs.integer("keepdims", 1):
            return result
        return result.reshape([dim for axis, dim in enumerate(data.shape) if axis not in places])

    return kernel


def _identity_or_other(function: Reduce, data: Numbers) -> Numbers:
    """Over no axes, a reduction is still applied to each element."""
    return np.asarray(function(widened(data), ())).astype(data.dtype, copy=False)


def _mean(x: Numbers, axes: tuple[int, ...]) -> object:
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    total = np.sum(x, axes, keepdims=True, dtype=x.dtype)
    if x.dtype.kind in "iu":
        if not count:
            raise NotHereError
        return np.trunc(total / count)
    return total / x.dtype.type(count)


def _log_sum_exp(x: Numbers, axes: tuple[int, ...]) -> object:
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)
    top = np.max(x, axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    return np.log(np.sum(np.exp(x - top), axes, keepdims=True)) + top


def _l2(x: Numbers, axes: tuple[int, ...]) -> object:
    wide = x.astype(np.float64) if x.dtype.kind in "iu" else x
    return np.sqrt(np.sum(wide * wide, axes, keepdims=True))


def _arg(function: Callable[..., Numbers]) -> Kernel:
    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        data = required(operands, 0, "data")
        axis = axis_of(call.attrs.integer("axis", 0), data.ndim)
        if data.ndim == 0 or data.shape[axis] == 0:
            raise NotHereError
        if call.attrs.integer("select_last_index", 0):
            index = data.shape[axis] - 1 - function(np.flip(data, axis), axis)
        else:
            index = function(data, axis)
        found = np.asarray(index, np.int64)
        return np.expand_dims(found, axis) if call.attrs.integer("keepdims", 1) else found

    return kernel


def _along_axis(function: Callable[[Numbers, int | tuple[int, ...]], Numbers]) -> Kernel:
    """Softmax and the like: before opset 13 over all dimensions from `axis` on, then over one."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        x = required(operands, 0, "input")
        axis = axis_of(call.attrs.integer("axis", 1 if call.opset < 13 else -1), x.ndim)
        where: int | tuple[int, ...] = tuple(range(axis, x.ndim)) if call.opset < 13 else axis
        if x.size == 0 or x.ndim == 0:
            raise NotHereError
        return np.asarray(function(widened(x), where)).astype(x.dtype, copy=False)

    return kernel


def _softmax(x: Numbers, axis: int | tuple[int, ...]) -> Numbers:
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return np.asarray(e / np.sum(e, axis, keepdims=True))


def _log_softmax(x: Numbers, axis: int | tuple[int, ...]) -> Numbers:
    shifted = x - np.max(x, axis, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True)))


def _cumsum(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, axis = required(operands, 0, "x"), required(operands, 1, "axis")
    if axis.size != 1 or axis.dtype.kind not in "iu":
        raise OpError(f"axis must be one integer, found {axis.dtype}{list(axis.shape)}")
    place = axis_of(int(axis.reshape(())), x.ndim)
    ordered = np.flip(x, place) if call.attrs.integer("reverse", 0) else x
    total: Numbers = np.cumsum(ordered, place, dtype=x.dtype)
    if call.attrs.integer("exclusive", 0):
        total = np.roll(total, 1, place)
        first = [slice(None)] * x.ndim
        first[place] = slice(0, 1)
        total[tuple(first)] = 0
    return np.flip(total, place) if call.attrs.integer("reverse", 0) else total


def _topk(call: Invocation, operands: Sequence[Array | None]) -> tuple[Array, Array]:
    x = required(operands, 0, "X")
    if call.opset < 10:
        count = call.attrs.integer("k")
    else:
        k = required(operands, 1, "K")
        if k.size != 1:
            raise OpError(f"K must be one integer, found shape {list(k.shape)}")
        count = int(k.reshape(()))
    axis = axis_of(call.attrs.integer("axis", -1), x.ndim)
    if not 0 <= count <= x.shape[axis]:
        raise OpError(f"cannot take {count} of {x.shape[axis]} elements")
    if call.attrs.integer("largest", 1):
        # Stable from the end backwards, so that of equal elements the first comes first.
        order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    chosen = np.take(order, np.arange(count), axis)
    return np.take_along_axis(x, chosen, axis), chosen.astype(np.int64)


def _one_hot(call: Invocation, operands: Sequence[Array | None]) -> Array:
    indices, depth, values = (required(operands, i, name) for i, name in enumerate(("indices", "depth", "values")))
    if depth.size != 1 or values.shape != (2,):
        raise OpError(f"depth must be one number and values two, found {list(depth.shape)} and {list(values.shape)}")
    size = int(depth.reshape(-1)[0])
    if size < 0 or indices.size * size > 2**31:
        raise OpError(f"depth {size} is not possible")
    axis = axis_of(call.attrs.integer("axis", -1), indices.ndim + 1)
    places = np.expand_dims(indices.astype(np.int64), axis)
    places = np.where(places < 0, places + size, places)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = size
    return np.asarray(np.where(places == np.arange(size).reshape(shape), values[1], values[0]), values.dtype)


def _dropout(call: Invocation, operands: Sequence[Array | None]) -> Array:
    mode = optional(operands, 2)
    if call.n_results != 1 or (mode is not None and mode.any()):
        raise NotHereError
    return required(operands, 0, "data")


KERNELS: Kernels = {
    "ArgMax": _arg(np.argmax),
    "ArgMin": _arg(np.argmin),
    "CumSum": _cumsum,
    "Dropout": _dropout,
    "LogSoftmax": _along_axis(_log_softmax),
    "OneHot": _one_hot,
    "ReduceL1": reduction(lambda x, axes: np.sum(np.abs(x), axes, keepdims=True, dtype=x.dtype)),
    "ReduceL2": reduction(_l2),
    "ReduceLogSum": reduction(lambda x, axes: np.log(np.sum(x, axes, keepdims=True, dtype=x.dtype))),
    "ReduceLogSumExp": reduction(_log_sum_exp, needs_elements=True),
    "ReduceMax": reduction(lambda x, axes: np.max(x, axes, keepdims=True), needs_elements=True),
    "ReduceMean": reduction(_mean),
    "ReduceMin": reduction(lambda x, axes: np.min(x, axes, keepdims=True), needs_elements=True),
    "ReduceProd": reduction(lambda x, axes: np.prod(x, axes, keepdims=True, dtype=x.dtype)),
    "ReduceSum": reduction(lambda x, axes: np.sum(x, axes, keepdims=True, dtype=x.dtype), since=13),
    "ReduceSumSquare": reduction(lambda x, axes: np.sum(x * x, axes, keepdims=True, dtype=x.dtype)),
    "Softmax": _along_axis(_softmax),
    "TopK": _topk,
}
