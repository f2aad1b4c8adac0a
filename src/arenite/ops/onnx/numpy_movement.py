"""Operators that only move elements, by numpy, and those that make them from shapes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import SparseTensorProto

from arenite.ir.attrs import ProtoAttr
from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.invocation import (
    Invocation,
    Kernels,
    NotHereError,
    Numbers,
    attr_or_operand,
    axes_of,
    axis_of,
    integers,
    optional,
    required,
)
from arenite.ops.onnx.tensors import TensorError, read_sparse

MAX_NBYTES = 2**31
"""The largest result that is made from a shape alone."""


def _affordable(nbytes: int) -> None:
    if nbytes > MAX_NBYTES:
        raise OpError(f"the result would take {nbytes} bytes; at most {MAX_NBYTES} are possible")


def _shape(call: Invocation, operands: Sequence[Array | None]) -> Array:
    shape = np.shape(required(operands, 0, "data"))
    rank = len(shape)
    start = min(max(_from_end(call.attrs.integer("start", 0), rank), 0), rank)
    end = min(max(_from_end(call.attrs.integer("end", rank), rank), 0), rank)
    return np.array(shape[start:end], np.int64)


def _from_end(index: int, rank: int) -> int:
    return index + rank if index < 0 else index


def _size(call: Invocation, operands: Sequence[Array | None]) -> Array:
    return np.array(np.size(required(operands, 0, "data")), np.int64)


def _constant_of_shape(call: Invocation, operands: Sequence[Array | None]) -> Array:
    shape = integers(required(operands, 0, "input"), "input")
    value = call.attrs.tensor("value")
    if value is not None and value.size != 1:
        raise OpError(f"attribute 'value' must have one element, found {value.size}")
    if any(dim < 0 for dim in shape):
        raise OpError(f"a dimension is negative in {list(shape)}")
    element = np.zeros((), np.float32) if value is None else value.reshape(())
    return np.broadcast_to(element, _possible(shape))


def _possible(shape: Sequence[int]) -> tuple[int, ...]:
    if math.prod(dim for dim in shape if dim) > 2**40 or len(shape) > 64:
        raise OpError(f"no tensor can have the shape {list(shape)}")
    return tuple(shape)


def _range(call: Invocation, operands: Sequence[Array | None]) -> Array:
    start, limit, delta = (required(operands, i, name) for i, name in enumerate(("start", "limit", "delta")))
    if not start.dtype == limit.dtype == delta.dtype or start.size != 1 or limit.size != 1 or delta.size != 1:
        raise OpError("start, limit and delta must be single numbers of one element type")
    first, last, step = (value.reshape(()).item() for value in (start, limit, delta))
    if step == 0:
        raise OpError("delta is 0")
    exact = isinstance(first, int) and isinstance(last, int) and isinstance(step, int)
    ratio = (last - first) / step
    if not exact and not math.isfinite(ratio):
        raise OpError("start, limit and delta must be finite")
    nelem = max(-((first - last) // step) if exact else math.ceil(ratio), 0)
    _affordable(nelem * start.itemsize)
    steps = np.arange(nelem).astype(start.dtype)
    return np.asarray(start.reshape(()) + steps * delta.reshape(()), start.dtype)


def _reshape(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    wanted = list(integers(required(operands, 1, "shape"), "shape"))
    keep_zero = call.attrs.integer("allowzero", 0)
    for index, dim in enumerate(wanted):
        if dim == 0 and not keep_zero:
            if index >= data.ndim:
                raise OpError(f"shape {wanted} copies dimension {index} of {list(data.shape)}")
            wanted[index] = data.shape[index]
    unknown = [index for index, dim in enumerate(wanted) if dim == -1]
    known = math.prod(dim for dim in wanted if dim != -1)
    if len(unknown) == 1 and known > 0 and data.size % known == 0:
        wanted[unknown[0]] = data.size // known
    if any(dim < 0 for dim in wanted) or math.prod(wanted) != data.size:
        raise OpError(f"{list(data.shape)} ({data.size} elements) cannot become {wanted}")
    return data.reshape(wanted)


def _squeeze(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    axes = attr_or_operand(call, operands, "axes", 1, 13)
    if axes is None:
        return data.reshape([dim for dim in data.shape if dim != 1])
    gone = axes_of(axes, data.ndim)
    for axis in gone:
        if data.shape[axis] != 1:
            raise OpError(f"dimension {axis} of {list(data.shape)} is not 1")
    return data.reshape([dim for axis, dim in enumerate(data.shape) if axis not in gone])


def _unsqueeze(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    axes = attr_or_operand(call, operands, "axes", 1, 13)
    if axes is None:
        raise OpError("axes are missing")
    rank = data.ndim + len(axes)
    new = axes_of(axes, rank)
    dims = iter(data.shape)
    return data.reshape([1 if axis in new else next(dims) for axis in range(rank)])


def _flatten(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "input")
    axis = call.attrs.integer("axis", 1)
    if not -data.ndim <= axis <= data.ndim:
        raise OpError(f"axis is {axis}, but there are {data.ndim} dimensions")
    axis = axis + data.ndim if axis < 0 else axis
    return data.reshape(math.prod(data.shape[:axis]), math.prod(data.shape[axis:]))


def _transpose(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    perm = call.attrs.integers("perm")
    order = tuple(reversed(range(data.ndim))) if perm is None else axes_of(perm, data.ndim, "perm")
    if len(order) != data.ndim:
        raise OpError(f"perm {list(order)} does not name the {data.ndim} dimensions")
    return data.transpose(order)


def _expand(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, shape = required(operands, 0, "input"), integers(required(operands, 1, "shape"), "shape")
    if any(dim < 0 for dim in shape):
        raise OpError(f"a dimension is negative in {list(shape)}")
    try:
        return np.broadcast_to(data, _possible(np.broadcast_shapes(data.shape, shape)))
    except ValueError:
        raise OpError(f"{list(data.shape)} and {list(shape)} do not broadcast") from None


def _tile(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, repeats = required(operands, 0, "input"), integers(required(operands, 1, "repeats"), "repeats")
    if len(repeats) != data.ndim or any(count < 0 for count in repeats):
        raise OpError(f"repeats {list(repeats)} do not fit the shape {list(data.shape)}")
    _affordable(data.nbytes * math.prod(repeats))
    return np.tile(data, repeats)


def _concat(call: Invocation, operands: Sequence[Array | None]) -> Array:
    arrays = [required(operands, index, "inputs") for index in range(len(operands))]
    if not arrays:
        raise OpError("needs at least one operand")
    axis = axis_of(call.attrs.integer("axis"), arrays[0].ndim)
    rests = {a.shape[:axis] + a.shape[axis + 1 :] for a in arrays}
    if len(rests) != 1 or any(a.dtype != arrays[0].dtype or a.ndim != arrays[0].ndim for a in arrays):
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
        raise OpError(f"{shapes} cannot be joined along dimension {axis}")
    return np.concatenate(arrays, axis)


def _split(call: Invocation, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data = required(operands, 0, "input")
    axis = axis_of(call.attrs.integer("axis", 0), data.ndim)
    sizes = attr_or_operand(call, operands, "split", 1, 13)
    total = data.shape[axis]
    if sizes is None:
        count = call.attrs.integer("num_outputs", call.n_results) if call.opset >= 18 else call.n_results
        if count < 1 or count > max(total, 1) + call.n_results:
            raise OpError(f"dimension {axis} of {list(data.shape)} cannot be split in {count}")
        step = -(-total // count)
        sizes = tuple(min(step, max(total - step * index, 0)) for index in range(count))
    if sum(sizes) != total or any(size < 0 for size in sizes):
        raise OpError(f"sizes {list(sizes)} do not add up to dimension {axis} of {list(data.shape)}")
    return tuple(np.split(data, np.cumsum(sizes)[:-1], axis))


def _checked_indices(indices: Numbers, dim: int) -> Numbers:
    if indices.dtype.kind not in "iu":
        raise OpError(f"indices must be integers, found {indices.dtype}")
    if indices.size and not (-dim <= indices.min() and indices.max() < dim):
        bad = indices[(indices < -dim) | (indices >= dim)].reshape(-1)[0]
        raise OpError(f"index {bad} is outside a dimension of {dim}")
    return indices


def _gather(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, indices = required(operands, 0, "data"), required(operands, 1, "indices")
    axis = axis_of(call.attrs.integer("axis", 0), data.ndim)
    return np.take(data, _checked_indices(np.asarray(indices), data.shape[axis]).astype(np.int64), axis)


def _gather_elements(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, indices = required(operands, 0, "data"), required(operands, 1, "indices")
    axis = axis_of(call.attrs.integer("axis", 0), data.ndim)
    grid = _element_grid(data, indices, axis)
    return np.asarray(data[grid])


def _element_grid(data: Numbers, indices: Numbers, axis: int) -> tuple[Array, ...]:
    if indices.ndim != data.ndim or any(
        i > d for a, (i, d) in enumerate(zip(indices.shape, data.shape, strict=True)) if a != axis
    ):
        raise OpError(f"indices {list(indices.shape)} do not fit data {list(data.shape)}")
    grid: list[Array] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = _checked_indices(indices, data.shape[axis])
    return tuple(grid)


def _scatter_elements(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, indices, updates = (required(operands, i, name) for i, name in enumerate(("data", "indices", "updates")))
    if call.attrs.text("reduction", "none") != "none":
        raise NotHereError
    if indices.shape != updates.shape:
        raise OpError(f"indices {list(indices.shape)} and updates {list(updates.shape)} differ")
    result = np.array(data)
    result[_element_grid(data, indices, axis_of(call.attrs.integer("axis", 0), data.ndim))] = updates
    return result


def _nd_indices(data: Numbers, indices: Numbers) -> tuple[Array, ...]:
    depth = indices.shape[-1] if indices.ndim else 0
    if not 1 <= depth <= data.ndim:
        raise OpError(f"indices {list(indices.shape)} do not fit data {list(data.shape)}")
    return tuple(_checked_indices(indices[..., axis], data.shape[axis]) for axis in range(depth))


def _gather_nd(call: Invocation, operands: Sequence[Array | None]) -> Array:
    if call.attrs.integer("batch_dims", 0):
        raise NotHereError
    data, indices = required(operands, 0, "data"), required(operands, 1, "indices")
    return np.asarray(data[_nd_indices(data, indices)])


def _scatter_nd(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, indices, updates = (required(operands, i, name) for i, name in enumerate(("data", "indices", "updates")))
    if call.attrs.text("reduction", "none") != "none":
        raise NotHereError
    where = _nd_indices(data, indices)
    expected = indices.shape[:-1] + data.shape[len(where) :]
    if updates.shape != expected:
        raise OpError(f"updates must have shape {list(expected)}, found {list(updates.shape)}")
    result = np.array(data)
    result[where] = updates
    return result


_LARGEST = (2**31 - 1, 2**63 - 1)


def slice_bounds(start: int, end: int, step: int, dim: int) -> slice:
    """The slice of a dimension that ONNX's start, end and step mean: negative ones count from its end, all are clamped.

    Raises:
        OpError: the step is 0; or it is negative and the end is the largest integer, which is nothing for the standard
            (counted from the front, it lies behind the start), and all up to the first element for onnxruntime.
    """
    if step == 0:
        raise OpError("a step is 0")
    if step < 0 and end in _LARGEST:
        raise OpError(f"backwards to {end} is nothing for some runtimes, and everything for others; give {-(2**63)}")
    start, end = _from_end(start, dim), _from_end(end, dim)
    if step > 0:
        return slice(min(max(start, 0), dim), min(max(end, 0), dim), step)
    first, last = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
    return slice(first, None if last == -1 else last, step) if dim else slice(0, 0, 1)


def _slice(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    if call.opset < 10:
        starts, ends = call.attrs.integers("starts"), call.attrs.integers("ends")
        axes, steps = call.attrs.integers("axes"), None
    else:
        starts = integers(required(operands, 1, "starts"), "starts")
        ends = integers(required(operands, 2, "ends"), "ends")
        axes = attr_or_operand(call, operands, "axes", 3, 10)
        steps = attr_or_operand(call, operands, "steps", 4, 10)
    if starts is None or ends is None:
        raise OpError("starts or ends are missing")
    places = tuple(range(len(starts))) if axes is None else axes_of(axes, data.ndim)
    steps = steps or (1,) * len(starts)
    if not len(starts) == len(ends) == len(places) == len(steps) or len(starts) > data.ndim:
        raise OpError("starts, ends, axes and steps are not as many")
    window = [slice(None)] * data.ndim
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        window[axis] = slice_bounds(start, end, step, data.shape[axis])
    return data[tuple(window)]


_PAD_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def _pad(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "data")
    pads = attr_or_operand(call, operands, "pads", 1, 11)
    axes = attr_or_operand(call, operands, "axes", 3, 11) if call.opset >= 18 else None
    mode = call.attrs.text("mode", "constant")
    if pads is None or mode not in _PAD_MODES:
        raise OpError(f"pads are missing or mode '{mode}' is none that ONNX has")
    value = optional(operands, 2) if call.opset >= 11 else np.asarray(call.attrs.number("value", 0.0), data.dtype)
    places = tuple(range(data.ndim)) if axes is None else axes_of(axes, data.ndim)
    if len(pads) != 2 * len(places):
        raise OpError(f"{len(pads)} pads do not fit {len(places)} dimensions")
    befores, afters = [0] * data.ndim, [0] * data.ndim
    for axis, before, after in zip(places, pads, pads[len(places) :], strict=False):
        befores[axis], afters[axis] = before, after
    if any(d + min(b, 0) + min(a, 0) < 0 for b, a, d in zip(befores, afters, data.shape, strict=True)):
        raise OpError(f"pads {list(pads)} cut more than there is of {list(data.shape)}")
    # Negative pads cut.
    cut = [slice(max(-b, 0), dim - max(-a, 0)) for b, a, dim in zip(befores, afters, data.shape, strict=True)]
    inner = data[tuple(cut)]
    widths = [(max(b, 0), max(a, 0)) for b, a in zip(befores, afters, strict=True)]
    _affordable(math.prod(d + b + a for d, (b, a) in zip(inner.shape, widths, strict=True)) * data.itemsize)
    if mode == "constant":
        fill = data.dtype.type(0) if value is None else value.reshape(())
        return np.pad(inner, widths, constant_values=fill)
    if any((b or a) and not dim for (b, a), dim in zip(widths, inner.shape, strict=True)):
        raise OpError(f"a dimension of {list(inner.shape)} has nothing to pad from")
    return np.pad(inner, widths, mode)  # type: ignore[call-overload, no-any-return]


def _depth_to_space(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, block = required(operands, 0, "input"), call.attrs.integer("blocksize")
    if data.ndim != 4 or block < 1 or data.shape[1] % (block * block):
        raise OpError(f"blocksize {block} does not fit {list(data.shape)}")
    n, c, h, w = data.shape
    depth = c // (block * block)
    if call.attrs.text("mode", "DCR") == "DCR":
        split = data.reshape(n, block, block, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        split = data.reshape(n, depth, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    return split.reshape(n, depth, h * block, w * block)


def _space_to_depth(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, block = required(operands, 0, "input"), call.attrs.integer("blocksize")
    if data.ndim != 4 or block < 1 or data.shape[2] % block or data.shape[3] % block:
        raise OpError(f"blocksize {block} does not fit {list(data.shape)}")
    n, c, h, w = data.shape
    order = (0, 3, 5, 1, 2, 4) if call.attrs.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    split = data.reshape(n, c, h // block, block, w // block, block).transpose(order)
    return split.reshape(n, c * block * block, h // block, w // block)


def _nonzero(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data = required(operands, 0, "X")
    if data.ndim == 0:
        raise NotHereError
    return np.array(np.nonzero(data), np.int64).reshape(data.ndim, -1)


def _trilu(call: Invocation, operands: Sequence[Array | None]) -> Array:
    data, offset = required(operands, 0, "input"), optional(operands, 1)
    k = 0 if offset is None else int(offset.reshape(()))
    if data.ndim < 2:
        raise OpError(f"needs two dimensions, found {list(data.shape)}")
    k = max(min(k, max(data.shape[-2:]) + 1), -max(data.shape[-2:]) - 1)
    return np.triu(data, k) if call.attrs.integer("upper", 1) else np.tril(data, k)


def _constant(call: Invocation, operands: Sequence[Array | None]) -> Array:
    """Only sparse constants are nodes; see the importer."""
    value = call.attrs.get("sparse_value")
    if not isinstance(value, ProtoAttr):
        raise NotHereError
    try:
        return read_sparse(SparseTensorProto.FromString(value.data))
    except TensorError as error:
        raise OpError(str(error)) from None


def _optional(call: Invocation, operands: Sequence[Any]) -> Any:
    # In a tuple, since a content of None is a result too.
    return ((operands[0] if operands else None),)


def _optional_get(call: Invocation, operands: Sequence[Any]) -> Any:
    if not operands or operands[0] is None:
        raise OpError("the optional has no content")
    return (operands[0],)


def _optional_has(call: Invocation, operands: Sequence[Any]) -> Array:
    return np.array(bool(operands) and operands[0] is not None)


KERNELS: Kernels = {
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _nonzero,
    "Optional": _optional,
    "OptionalGetElement": _optional_get,
    "OptionalHasElement": _optional_has,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
