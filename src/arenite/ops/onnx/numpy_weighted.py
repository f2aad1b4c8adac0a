"""Matrix products, convolutions, pools and normalisations by numpy, in the element type of the operands."""

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.invocation import Invocation, Kernel, Kernels, NotHereError, Numbers, axis_of, optional, required
from arenite.ops.onnx.numpy_elementwise import widened


def _matmul(call: Invocation, operands: Sequence[Array | None]) -> Array:
    a, b = required(operands, 0, "A"), required(operands, 1, "B")
    if a.dtype != b.dtype:
        raise OpError(f"operands have unlike element types {a.dtype} and {b.dtype}")
    try:
        return np.asarray(np.matmul(widened(a), widened(b))).astype(a.dtype, copy=False)
    except ValueError:
        raise OpError(f"A {list(a.shape)} and B {list(b.shape)} cannot be multiplied") from None


def _gemm(call: Invocation, operands: Sequence[Array | None]) -> Array:
    a, b, c = required(operands, 0, "A"), required(operands, 1, "B"), optional(operands, 2)
    if a.ndim != 2 or b.ndim != 2 or a.dtype.kind in "iu":
        if a.dtype.kind in "iu":
            raise NotHereError
        raise OpError(f"A and B must be matrices, found {list(a.shape)} and {list(b.shape)}")
    left = a.T if call.attrs.integer("transA", 0) else a
    right = b.T if call.attrs.integer("transB", 0) else b
    if left.shape[1] != right.shape[0]:
        raise OpError(f"A {list(left.shape)} and B {list(right.shape)} cannot be multiplied")
    wide = widened(a).dtype.type
    y = np.matmul(widened(left), widened(right)) * wide(call.attrs.number("alpha", 1.0))
    if c is not None:
        try:
            y = y + np.broadcast_to(widened(c), y.shape) * wide(call.attrs.number("beta", 1.0))
        except ValueError:
            raise OpError(f"C {list(c.shape)} does not broadcast to {list(y.shape)}") from None
    return np.asarray(y).astype(a.dtype, copy=False)


class Window:
    """How a kernel slides over the spatial dimensions.

    Attributes:
        befores, afters: padding of each dimension.
        outputs: how many positions it takes in each.
    """

    def __init__(self, call: Invocation, spatial: Sequence[int], kernel: Sequence[int]) -> None:
        rank = len(spatial)
        self.kernel = tuple(kernel)
        self.strides = _list(call, "strides", rank, 1)
        self.dilations = _list(call, "dilations", rank, 1)
        pads = call.attrs.integers("pads") or (0,) * (2 * rank)
        if len(pads) != 2 * rank or len(kernel) != rank:
            raise OpError(f"{len(pads)} pads and a window of {list(kernel)} do not fit {rank} spatial dimensions")
        if min(*self.strides, *self.dilations, *kernel, 1) < 1:
            raise OpError("strides, dilations and windows must be at least 1")
        self.extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, self.dilations, strict=True))
        auto = call.attrs.text("auto_pad", "NOTSET")
        if auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""):
            raise OpError(f"auto_pad '{auto}' is none that ONNX has")
        if auto.startswith("SAME"):
            totals = [
                max((-(-dim // stride) - 1) * stride + extent - dim, 0)
                for dim, stride, extent in zip(spatial, self.strides, self.extents, strict=True)
            ]
            small = [total // 2 for total in totals]
            large = [total - part for total, part in zip(totals, small, strict=True)]
            self.befores, self.afters = (small, large) if auto == "SAME_UPPER" else (large, small)
        elif auto == "VALID":
            self.befores, self.afters = [0] * rank, [0] * rank
        else:
            self.befores, self.afters = list(pads[:rank]), list(pads[rank:])
        self.outputs = tuple(
            (dim + before + after - extent) // stride + 1
            for dim, before, after, extent, stride in zip(
                spatial, self.befores, self.afters, self.extents, self.strides, strict=True
            )
        )
        if min(*self.outputs, 1) < 1:
            raise OpError(f"a window of {list(self.extents)} does not fit into {list(spatial)} with its padding")

    def padded(self, x: Numbers, fill: float) -> Numbers:
        widths = [(0, 0), (0, 0), *zip(self.befores, self.afters, strict=True)]
        if min(*self.befores, *self.afters, 0) < 0:
            raise NotHereError
        return np.pad(x, widths, constant_values=fill) if any(map(any, widths)) else x

    def taps(self, padded: Numbers) -> "list[tuple[tuple[int, ...], Numbers]]":
        """For each element of the window, the values that it sees: [batch, channels, *outputs]."""
        found = []
        for tap in product(*(range(k) for k in self.kernel)):
            window = [
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, s, n in zip(tap, self.dilations, self.strides, self.outputs, strict=True)
            ]
            found.append((tap, padded[(slice(None), slice(None), *window)]))
        return found


def _list(call: Invocation, name: str, rank: int, default: int) -> tuple[int, ...]:
    values = call.attrs.integers(name) or (default,) * rank
    if len(values) != rank:
        raise OpError(f"{name} {list(values)} do not fit {rank} spatial dimensions")
    return values


def _conv(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, w, bias = required(operands, 0, "X"), required(operands, 1, "W"), optional(operands, 2)
    group = call.attrs.integer("group", 1)
    if x.ndim < 3 or w.ndim != x.ndim:
        raise OpError(f"X {list(x.shape)} and W {list(w.shape)} must have as many dimensions, three or more")
    if group < 1 or w.shape[0] % group or x.shape[1] != w.shape[1] * group:
        raise OpError(
            f"X has {x.shape[1]} channels, W {list(w.shape)} wants {w.shape[1] * group} (group {group}, "
            f"{w.shape[0]} filters)"
        )
    kernel = call.attrs.integers("kernel_shape") or w.shape[2:]
    if tuple(kernel) != w.shape[2:]:
        raise OpError(f"kernel_shape {list(kernel)} is not that of W {list(w.shape)}")
    window = Window(call, x.shape[2:], kernel)
    wide = window.padded(widened(x), 0)
    n, per_group, filters = x.shape[0], w.shape[1], w.shape[0] // group
    positions = math.prod(window.outputs)
    columns = np.stack([seen for _, seen in window.taps(wide)], 2)
    columns = columns.reshape(n, group, per_group * math.prod(kernel), positions)
    weights = widened(w).reshape(1, group, filters, per_group * math.prod(kernel))
    y = np.matmul(weights, columns).reshape(n, w.shape[0], *window.outputs)
    if bias is not None:
        if bias.shape != (w.shape[0],):
            raise OpError(f"B must have shape [{w.shape[0]}], found {list(bias.shape)}")
        y = y + widened(bias).reshape(-1, *[1] * (x.ndim - 2))
    return np.asarray(y).astype(x.dtype, copy=False)


def _conv_transpose(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, w, bias = required(operands, 0, "X"), required(operands, 1, "W"), optional(operands, 2)
    group, rank = call.attrs.integer("group", 1), x.ndim - 2
    if call.attrs.integers("output_shape") is not None or call.attrs.text("auto_pad", "NOTSET") != "NOTSET":
        raise NotHereError
    if rank < 1 or w.ndim != x.ndim or group < 1 or x.shape[1] != w.shape[0] or w.shape[0] % group:
        raise OpError(f"X {list(x.shape)} and W {list(w.shape)} do not fit in {group} groups")
    kernel = w.shape[2:]
    strides, dilations = _list(call, "strides", rank, 1), _list(call, "dilations", rank, 1)
    extra = _list(call, "output_padding", rank, 0)
    pads = call.attrs.integers("pads") or (0,) * (2 * rank)
    if len(pads) != 2 * rank or min(*strides, *dilations, *kernel, 1) < 1 or min(*pads, *extra, 0) < 0:
        raise OpError("strides, dilations, pads, output_padding or the kernel do not fit")
    whole = [
        stride * (dim - 1) + (length - 1) * dilation + 1 + more
        for dim, length, stride, dilation, more in zip(x.shape[2:], kernel, strides, dilations, extra, strict=True)
    ]
    n, channels = x.shape[0], w.shape[1] * group
    data = widened(x).reshape(n, group, w.shape[0] // group, -1)
    weights = widened(w).reshape(group, w.shape[0] // group, w.shape[1], -1)
    y = np.zeros((n, channels, *whole), data.dtype)
    for index, tap in enumerate(product(*(range(length) for length in kernel))):
        places = [
            slice(t * dilation, t * dilation + stride * (dim - 1) + 1, stride)
            for t, dilation, stride, dim in zip(tap, dilations, strides, x.shape[2:], strict=True)
        ]
        seen = np.matmul(weights[..., index].transpose(0, 2, 1), data)
        y[(slice(None), slice(None), *places)] += seen.reshape(n, channels, *x.shape[2:])
    cut = [slice(begin, size - end) for begin, end, size in zip(pads[:rank], pads[rank:], whole, strict=True)]
    y = y[(slice(None), slice(None), *cut)]
    if bias is not None:
        if bias.shape != (channels,):
            raise OpError(f"B must have shape [{channels}], found {list(bias.shape)}")
        y = y + widened(bias).reshape(-1, *[1] * rank)
    return np.asarray(y).astype(x.dtype, copy=False)


def _pool_window(call: Invocation, x: Numbers) -> Window:
    kernel = call.attrs.integers("kernel_shape")
    if kernel is None or x.ndim < 3:
        raise OpError(f"kernel_shape is missing, or {list(x.shape)} has no spatial dimensions")
    if call.attrs.integer("ceil_mode", 0):
        raise NotHereError
    return Window(call, x.shape[2:], kernel)


def _max_pool(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = required(operands, 0, "X")
    if call.n_results != 1:
        raise NotHereError
    window = _pool_window(call, x)
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    y: Numbers | None = None
    for _, seen in window.taps(window.padded(x, lowest)):
        y = seen if y is None else np.maximum(y, seen)
    assert y is not None
    return y.astype(x.dtype, copy=False)


def _average_pool(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = required(operands, 0, "X")
    window = _pool_window(call, x)
    total: Numbers = np.zeros((*x.shape[:2], *window.outputs), widened(x).dtype)
    for _, seen in window.taps(window.padded(widened(x), 0)):
        total = total + seen
    if call.attrs.integer("count_include_pad", 0):
        count: Numbers = np.asarray(math.prod(window.kernel))
    else:
        ones = window.padded(np.ones((1, 1, *x.shape[2:]), np.int64), 0)
        count = np.sum([seen for _, seen in window.taps(ones)], axis=0)
    return np.asarray(total / count.astype(total.dtype)).astype(x.dtype, copy=False)


def _global(function: Callable[..., Numbers]) -> Kernel:
    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        x = required(operands, 0, "X")
        if x.ndim < 3:
            raise OpError(f"{list(x.shape)} has no spatial dimensions")
        y = function(widened(x), axis=tuple(range(2, x.ndim)), keepdims=True)
        return np.asarray(y).astype(x.dtype, copy=False)

    return kernel


def _batch_normalization(call: Invocation, operands: Sequence[Array | None]) -> Array:
    names = ("X", "scale", "B", "input_mean", "input_var")
    x, scale, bias, mean, variance = (required(operands, index, name) for index, name in enumerate(names))
    if call.attrs.integer("training_mode", 0) or call.n_results != 1 or call.attrs.integer("spatial", 1) != 1:
        raise NotHereError
    channels = x.shape[1] if x.ndim > 1 else 1
    shape = [1, channels, *[1] * (x.ndim - 2)] if x.ndim > 1 else [1]
    for name, value in zip(names[1:], (scale, bias, mean, variance), strict=True):
        if value.shape != (channels,):
            raise OpError(f"{name} must have shape [{channels}], found {list(value.shape)}")
    wide = widened(x)
    eps = wide.dtype.type(call.attrs.number("epsilon", 1e-5))
    s, b, m, v = (p.astype(wide.dtype).reshape(shape) for p in (scale, bias, mean, variance))
    return np.asarray(s * (wide - m) / np.sqrt(v + eps) + b).astype(x.dtype, copy=False)


def _instance_normalization(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, scale, bias = (required(operands, index, name) for index, name in enumerate(("input", "scale", "B")))
    if x.ndim < 3 or scale.shape != (x.shape[1],) or bias.shape != (x.shape[1],):
        raise OpError(f"scale {list(scale.shape)} and B {list(bias.shape)} do not fit {list(x.shape)}")
    wide, axes = widened(x), tuple(range(2, x.ndim))
    shape = [1, x.shape[1], *[1] * len(axes)]
    centred = wide - wide.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    y = centred / np.sqrt(variance + wide.dtype.type(call.attrs.number("epsilon", 1e-5)))
    return np.asarray(y * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype, copy=False)


def _layer_normalization(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, scale, bias = required(operands, 0, "X"), required(operands, 1, "Scale"), optional(operands, 2)
    if call.n_results != 1 or call.attrs.integer("stash_type", 1) != 1:
        raise NotHereError
    axis = axis_of(call.attrs.integer("axis", -1), x.ndim)
    axes, wide = tuple(range(axis, x.ndim)), widened(x)
    centred = wide - wide.mean(axes, keepdims=True)
    variance = (centred * centred).mean(axes, keepdims=True)
    y = centred / np.sqrt(variance + wide.dtype.type(call.attrs.number("epsilon", 1e-5))) * scale
    return np.asarray(y if bias is None else y + bias).astype(x.dtype, copy=False)


def _local_response_normalization(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, size = required(operands, 0, "X"), call.attrs.integer("size", 0)
    if x.ndim < 3 or size < 1:
        raise OpError(f"X {list(x.shape)} has no channels and spatial dimensions, or the size {size} is not positive")
    wide = widened(x)
    squares, channels = wide * wide, x.shape[1]
    sums = np.empty_like(wide)
    for channel in range(channels):
        first, last = max(0, channel - (size - 1) // 2), min(channels - 1, channel + size // 2)
        sums[:, channel] = squares[:, first : last + 1].sum(axis=1)
    alpha, beta, bias = (
        call.attrs.number(name, usual) for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    y = wide / (bias + alpha / size * sums) ** beta
    return np.asarray(y).astype(x.dtype, copy=False)


KERNELS: Kernels = {
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "GlobalAveragePool": _global(np.mean),
    "GlobalMaxPool": _global(np.max),
    "InstanceNormalization": _instance_normalization,
    "LRN": _local_response_normalization,
    "LayerNormalization": _layer_normalization,
    "MatMul": _matmul,
    "MaxPool": _max_pool,
}
