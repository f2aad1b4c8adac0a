"""Convolutions and pools: channels last, windows padded explicitly."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from arenite.ir.attrs import Attrs, Margins, Padding
from arenite.ir.graph import Array, Node, Value
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.legalize.orders import plane
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes, only_results
from arenite.passes.onnx.fuse_windows import Windows, read_windows

_SPATIAL = (1, 2)
"""How many spatial dimensions the core dialect has windows for."""


def _conv(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    rank = _rank(site, data)
    weights = site.required_constant(node, 1, "the weights")
    windows = _windows(site, node, weights.shape[2:])
    group = attributes(node).integer("group", 1)
    channels = site.dims(data)[1]
    if group < 1 or channels != group * weights.shape[1] or weights.shape[0] % group:
        raise RefusedError(
            f"the weights {list(weights.shape)} in {group} groups do not fit the {channels} channels of the input"
        )
    bias = None
    if (given := node.optional_operand(2)) is not None:
        site.required_constant(node, 2, "the bias")
        bias = site.get(given)
    depthwise = group == channels and group > 1
    attrs: Attrs
    if depthwise:
        attrs = DepthwiseConv2dAttrs(
            _pair(windows.strides, 1),
            _pair(windows.dilations, 1),
            _margins(windows),
            weights.shape[0] // group,
        )
        stored = _on_plane(weights).transpose(1, 2, 3, 0)
    else:
        attrs = Conv2dAttrs(_pair(windows.strides, 1), _pair(windows.dilations, 1), _margins(windows))
        stored = _on_plane(weights).transpose(0, 2, 3, 1)
    op = "depthwise_conv2d" if depthwise else "conv2d"
    operands = [site.get(data, plane(rank)), site.const("weights", np.ascontiguousarray(stored)), bias]
    site.give(result, op, operands, attrs, order=plane(rank))


def _pool(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        only_results(node, 1, {1: "Indices"})
        data, attrs = node.operand(0), attributes(node)
        rank = _rank(site, data)
        kernel = attrs.integers("kernel_shape")
        if kernel is None or len(kernel) != rank - 2:
            raise RefusedError(f"kernel_shape must have {rank - 2} sizes, but is {list(kernel or ())}")
        windows = _windows(site, node, kernel)
        if max(windows.dilations) > 1:
            raise RefusedError(f"dilations {list(windows.dilations)} have no counterpart in pools")
        windows = _within_result(windows, site.dims(data)[2:], site.dims(node.results[0])[2:])
        padded = windows.is_padded
        if op == "average_pool2d" and padded and attrs.integer("count_include_pad", 0):
            raise RefusedError("count_include_pad with padding has no counterpart")
        pool = Pool2dAttrs(_pair(kernel, 1), _pair(windows.strides, 1), _margins(windows))
        site.give(node.results[0], op, [site.get(data, plane(rank))], pool, order=plane(rank))

    return apply


def _global(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        data = node.operand(0)
        core, order = site.lie(data)
        axes = [place for place, axis in enumerate(order) if axis >= 2]
        site.give(node.results[0], op, [core, site.ints("axes", axes)], ReduceAttrs(keep_dims=True), order=order)

    return apply


def _rank(site: Site, value: Value) -> int:
    rank = site.rank(value)
    if rank - 2 not in _SPATIAL:
        raise RefusedError(f"the input must have 1 or 2 spatial dimensions, but is {list(site.dims(value))}")
    return rank


def _windows(site: Site, node: Node, kernel: tuple[int, ...]) -> Windows:
    found = read_windows(attributes(node), kernel, site.dims(node.operand(0))[2:])
    if found is None:
        raise RefusedError("its padding depends on sizes that are not known")
    if min((*found.begins, *found.ends)) < 0:
        raise RefusedError(f"pads {[*found.begins, *found.ends]} are negative")
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


def _pair(items: tuple[int, ...], height: int) -> tuple[int, int]:
    return (height, items[0]) if len(items) == 1 else (items[0], items[1])


def _margins(windows: Windows) -> Padding | Margins:
    pairs = tuple(zip(windows.begins, windows.ends, strict=True))
    if not windows.is_padded:
        return Padding.VALID
    return ((0, 0), pairs[0]) if len(pairs) == 1 else (pairs[0], pairs[1])


def _on_plane(weights: Array) -> Array:
    """Filters with two spatial dimensions."""
    return weights[:, :, None, :] if weights.ndim == 3 else weights


RULES = (
    Rule("Conv", _conv, Flow.PLANE),
    Rule("MaxPool", _pool("max_pool2d"), Flow.PLANE),
    Rule("AveragePool", _pool("average_pool2d"), Flow.PLANE),
    Rule("GlobalAveragePool", _global("mean"), Flow.PLANE),
    Rule("GlobalMaxPool", _global("reduce_max"), Flow.PLANE),
)
