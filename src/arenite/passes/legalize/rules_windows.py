"""Convolutions and pools: channels last, windows padded explicitly."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.content import in_sequence
from arenite.ir.graph import Array, Node, Value
from arenite.ops.cast import CastAttrs
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.ops.windows import Window, spelled
from arenite.passes.legalize.formulas import cast
from arenite.passes.legalize.framing import bounded, framed, on_plane, placed, window_pair
from arenite.passes.legalize.orders import Order, plane
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes, only_results
from arenite.passes.onnx.fuse_windows import Windows, read_windows

_EXACT_AS_FLOATS = frozenset({DType.INT8, DType.UINT8})
"""Of which a .tflite has pools only if they are quantized."""
TURNED = (0, 3, 2, 1)
"""The order of a plane whose width comes before its height."""
_SPATIAL = (1, 2)
"""How many spatial dimensions the core dialect has windows for."""


def _conv(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    rank = spatial_rank(site, data)
    weights = filters(site, node, rank)
    windows = _windows(site, node, weights.shape[2:])
    group = attributes(node).integer("group", 1)
    channels = site.dims(data)[1]
    if group < 1 or channels != group * weights.shape[1] or weights.shape[0] % group:
        raise RefusedError(
            f"the weights {list(weights.shape)} in {group} groups do not fit the {channels} channels of the input"
        )
    order = _plane_of(site, data)
    windows = _turned(on_plane(windows), order)
    weights = weights.transpose(0, 1, 3, 2) if order == TURNED else weights
    core = convolved(site, site.get(data, order), weights, bias_of(site, node), windows, result.name)
    site.put(result, core, order)


def convolved(site: Site, core: Value, weights: Array, bias: Value | None, windows: Windows, name: str) -> Value:
    """A convolution.

    Args:
        site: of the graph.
        core: [batch, height, width, channels].
        weights: filters as ONNX has them: OIHW, or OIL. The input's channels are a multiple of I: then they form
            groups.
        bias: of the core graph.
        windows: of two spatial dimensions.
        name: of the result.
    """
    channels, per_group = core.type.dims[3], weights.shape[1]
    core, padding = placed(site, core, windows)
    (high, wide), (down, across) = windows.strides, windows.dilations
    stored = weights[:, :, None, :] if weights.ndim == 3 else weights
    attrs: Attrs
    if per_group == 1 and channels > 1:
        op, order = "depthwise_conv2d", (1, 2, 3, 0)
        attrs = DepthwiseConv2dAttrs((high, wide), (down, across), padding, weights.shape[0] // channels)
    else:
        op, order = "conv2d", (0, 2, 3, 1)
        attrs = Conv2dAttrs((high, wide), (down, across), padding)
    # LiteRT wants a bias.
    bias = site.const("bias", np.broadcast_to(np.float32(0), weights.shape[0])) if bias is None else bias
    operands = [core, site.const("weights", in_sequence(stored.transpose(order))), bias]
    (core,) = site.emit(op, operands, attrs, name=name)
    return core


def filters(site: Site, node: Node, rank: int) -> Array:
    """The weights of a convolution, or of one turned round.

    Raises:
        RefusedError: they are computed, or are not of floats, or their shape does not fit.
    """
    weights = site.required_constant(node, 1, "the weight tensor")
    if weights.dtype != np.float32:
        raise RefusedError(f"the weights must be float32, but are {weights.dtype}")
    if weights.ndim != rank:
        raise RefusedError(f"the weights must have the input's {rank} dimensions, but are {list(weights.shape)}")
    kernel = attributes(node).integers("kernel_shape")
    if kernel is not None and kernel != weights.shape[2:]:
        raise RefusedError(f"kernel_shape {list(kernel)} must be that of the weights, {list(weights.shape[2:])}")
    return weights


def bias_of(site: Site, node: Node) -> Value | None:
    """Operand 2.

    Raises:
        RefusedError: it is computed.
    """
    given = node.optional_operand(2)
    if given is None:
        return None
    site.required_constant(node, 2, "the bias")
    return site.get(given)


def _max_pool(site: Site, node: Node) -> None:
    only_results(node, 1, {1: "Indices"})
    data, result = node.operand(0), node.results[0]
    order, dtype = _plane_of(site, data), site.dtype(data)
    core = site.get(data, order)
    attrs = _pool_attrs(core, _turned(_pool_windows(site, node)[1], order))
    if dtype is DType.FLOAT32:
        site.give(result, "max_pool2d", [core], attrs, order=order)
    elif dtype in _EXACT_AS_FLOATS:
        (core,) = site.emit("max_pool2d", [cast(site, core, DType.FLOAT32)], attrs)
        site.give(result, "cast", [core], CastAttrs(DType.FLOAT32, dtype), order=order, dtype=dtype)
    else:
        raise RefusedError(f"the input must be float32, int8 or uint8, but is {dtype}")


def _average_pool(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    order = _plane_of(site, data)
    core = site.get(data, order)
    asked, windows = (_turned(each, order) for each in _pool_windows(site, node))
    pair, attrs = window_pair(core, windows), _pool_attrs(core, windows)
    # Padding counts if that is asked for; what windows see beyond it never does.
    counts = bool(attributes(node).integer("count_include_pad", 0)) and asked.is_padded
    margins = tuple(zip(asked.begins, asked.ends, strict=True)) if counts else ((0, 0), (0, 0))
    factors = [_shares(along, *margin) for along, margin in zip(pair, margins, strict=True)]
    if not counts and isinstance(attrs.padding, Padding):
        site.give(result, "average_pool2d", [core], attrs, order=order)
        return
    # A file has no other windows that leave out what is padded: they count it, and what they miss is made up for.
    core = framed(site, core, [(0, 0), *((each.pad_before, each.pad_after) for each in pair), (0, 0)])
    attrs = replace(attrs, padding=Padding.VALID)
    if all((each == 1).all() for each in factors):
        site.give(result, "average_pool2d", [core], attrs, order=order)
        return
    bounded(pair[0].output * pair[1].output, "the shares of windows that are not padding")
    (core,) = site.emit("average_pool2d", [core], attrs)
    share = np.multiply.outer(*factors)[:, :, None].astype(np.float32)
    site.give(result, "mul", [core, site.const("shares", share)], order=order)


def _shares(along: Window, before: int, after: int) -> npt.NDArray[np.float64]:
    """For each window, all its elements over those that count: the input's, with some before and after."""
    bounded(along.output, "the shares of windows that are not padding")
    starts = np.arange(along.output, dtype=np.int64) * along.stride - along.pad_before
    counted = np.minimum(starts + along.filter, along.size + after) - np.maximum(starts, -before)
    shares: npt.NDArray[np.float64] = along.filter / counted
    return shares


def _pool_windows(site: Site, node: Node) -> tuple[Windows, Windows]:
    """The windows of a pool as they are asked for, and with the padding that ceil_mode adds to it; of two dimensions.

    Raises:
        RefusedError: a pool of the core dialect has no such windows.
    """
    data, attrs = node.operand(0), attributes(node)
    rank = site.rank(data)
    kernel = attrs.integers("kernel_shape")
    if kernel is None or len(kernel) != rank - 2:
        raise RefusedError(f"kernel_shape must have {rank - 2} sizes, but is {list(kernel or ())}")
    windows = _windows(site, node, kernel)
    if any(step > 1 and size > 1 for step, size in zip(windows.dilations, kernel, strict=True)):
        raise RefusedError(
            f"the elements of a window must be side by side, but have dilations {list(windows.dilations)}"
        )
    windows = replace(windows, dilations=(1,) * len(kernel))
    rounded = _within_result(windows, site.dims(data)[2:], site.dims(node.results[0])[2:])
    return on_plane(windows), on_plane(rounded)


def _pool_attrs(core: Value, windows: Windows) -> Pool2dAttrs:
    (high, wide), (down, across) = windows.kernel, windows.strides
    return Pool2dAttrs((high, wide), (down, across), spelled(window_pair(core, windows)))


def _global(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        data = node.operand(0)
        core, order = site.lie(data)
        axes = [place for place, axis in enumerate(order) if axis >= 2]
        if not axes:
            site.put(node.results[0], core, order)
            return
        site.give(node.results[0], op, [core, site.ints("axes", axes)], ReduceAttrs(keep_dims=True), order=order)

    return apply


def _plane_of(site: Site, value: Value) -> Order:
    """The order in which windows go over a value: the plane, or turned if it lies so.

    Raises:
        RefusedError: it has no plane.
    """
    order = plane(spatial_rank(site, value))
    is_turned = len(order) == site.rank(value) and not site.lies(value, order) and site.lies(value, TURNED)
    return TURNED if is_turned else order


def _turned(windows: Windows, order: Order) -> Windows:
    if order != TURNED:
        return windows
    return Windows(
        windows.kernel[::-1], windows.strides[::-1], windows.dilations[::-1], windows.begins[::-1], windows.ends[::-1]
    )


def spatial_rank(site: Site, value: Value) -> int:
    """The rank of a value with one or two spatial dimensions.

    Raises:
        RefusedError: it has more or fewer.
    """
    rank = site.rank(value)
    if rank - 2 not in _SPATIAL:
        raise RefusedError(f"the input must have 1 or 2 spatial dimensions, but is {list(site.dims(value))}")
    return rank


def _windows(site: Site, node: Node, kernel: tuple[int, ...]) -> Windows:
    found = read_windows(attributes(node), kernel, site.dims(node.operand(0))[2:])
    if found is None:
        raise RefusedError("its padding depends on sizes that are not known")
    if min((*found.begins, *found.ends)) < 0:
        raise RefusedError(f"pads must not be negative, but are {[*found.begins, *found.ends]}")
    return found


def _within_result(windows: Windows, sizes: tuple[int, ...], results: tuple[int, ...]) -> Windows:
    """The same windows where rounding up adds one that begins inside: it reaches beyond the end, which is padded."""
    ends = tuple(
        max((result - 1) * stride + reach - size - begin, 0)
        for size, result, stride, reach, begin in zip(
            sizes, results, windows.strides, windows.kernel, windows.begins, strict=True
        )
    )
    return replace(windows, ends=ends)


RULES = (
    Rule("Conv", _conv, Flow.PLANE, "`conv2d`, or `depthwise_conv2d` where each channel is a group"),
    Rule("MaxPool", _max_pool, Flow.PLANE, "`max_pool2d`; of integers between two `cast`"),
    Rule(
        "AveragePool",
        _average_pool,
        Flow.PLANE,
        "`average_pool2d`; padded otherwise than by SAME, `pad` before it and `mul` behind",
    ),
    Rule("GlobalAveragePool", _global("mean"), Flow.PLANE, "`mean`"),
    Rule("GlobalMaxPool", _global("reduce_max"), Flow.PLANE, "`reduce_max`"),
)
