"""Which numbers each channel can hold, whatever the inputs are: intervals, through quantized layers."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpCall, Registry
from arenite.ops.conv import conv_windows
from arenite.ops.pool import pool_clamp
from arenite.ops.weighted import quantization_of, quantized_multipliers, requantized

Int64 = npt.NDArray[np.int64]
LAYERS = frozenset({"conv2d", "depthwise_conv2d"})
POOLS = frozenset({"average_pool2d", "max_pool2d"})


@dataclass(frozen=True)
class Range:
    """The least and the largest stored element of each channel (the last dimension), ends included."""

    low: Int64
    high: Int64

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.low == self.high
        return found


class Ranges:
    """The range of each value of a graph whose elements are int8 and quantized per tensor.

    Exact arithmetic on intervals: the sum of a layer is between the sums of the least and of the largest products; what
    lies outside the image adds 0. Requantization and clamps never decrease, as long as nothing wraps around.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        self._found: dict[Value, Range] = {}
        for node in graph.nodes:
            if is_exact(node, registry):
                source = self.of(node.operand(0))
                self._found[node.result] = _pooled(node, source) if node.op in POOLS else _layer(node, source)

    def of(self, value: Value) -> Range:
        """The range of a value of int8."""
        return self._found.get(value) or _anything(value)


def _anything(value: Value) -> Range:
    low, high = value.type.dtype.limits
    channels = value.type.dims[-1]
    return Range(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


def is_exact(node: Node, registry: Registry) -> bool:
    """Whether a node is a layer or a pool of int8 that does what its op means, with constant weights in one group."""
    if node.op not in LAYERS | POOLS:
        return False
    call = OpCall.of(node)
    tensors = [call.operand(0), call.results[0]]
    if not all(t.dtype is DType.INT8 and t.is_static and t.rank == 4 and t.quantization is not None for t in tensors):
        return False
    if not all(constraint.holds(call) is True for constraint in registry[node.op].constraints):
        return False
    weights = node.present_operands[1:]
    if not all(value.is_constant for value in weights):
        return False
    if node.op in LAYERS and weights[0].type.dtype is not DType.INT8:
        return False
    return node.op != "conv2d" or tensors[0].dims[3] == weights[0].type.dims[3]


def pads(node: Node) -> bool:
    """Whether some window of a layer reaches beyond the image."""
    return any(each.pad_before or each.pad_after for each in conv_windows(OpCall.of(node)))


def weights_of(node: Node) -> Int64:
    """The weights of a layer."""
    return np.asarray(node.operand(1).constant).astype(np.int64)


def bias_of(node: Node) -> Int64:
    """The biases of a layer; zeros where it has none."""
    bias = node.optional_operand(2)
    if bias is None:
        return np.zeros(node.result.type.dims[3], np.int64)
    return np.asarray(bias.constant).astype(np.int64).reshape(-1)


def _pooled(node: Node, source: Range) -> Range:
    # Stored numbers are compared and averaged as they are, even where the result declares another scale.
    low, high = pool_clamp(OpCall.of(node))
    return Range(np.clip(source.low, low, high), np.clip(source.high, low, high))


def _layer(node: Node, source: Range) -> Range:
    zero = quantization_of(node.operand(0).type).zero_point
    low, high = source.low - zero, source.high - zero
    if pads(node):
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    weights = weights_of(node)
    above, below = np.maximum(weights, 0), np.minimum(weights, 0)
    if node.op == "conv2d":
        above, below = above.sum(axis=(1, 2)), below.sum(axis=(1, 2))
        least, most = above @ low + below @ high, above @ high + below @ low
    else:
        above, below = above[0].sum(axis=(0, 1)), below[0].sum(axis=(0, 1))
        multiplier = len(above) // len(low)
        low, high = np.repeat(low, multiplier), np.repeat(high, multiplier)
        least, most = above * low + below * high, above * high + below * low
    bias = bias_of(node)
    return _requantized(node, least + bias, most + bias)


def _requantized(node: Node, least: Int64, most: Int64) -> Range:
    call = OpCall.of(node)
    _, shifts = quantized_multipliers(call, len(least))
    reach = np.maximum(np.abs(least), np.abs(most)) << np.maximum(shifts.astype(np.int64), 0)
    flat = replace(call, results=(replace(call.results[0], shape=(2, len(least))),))
    wide = reach >= 1 << 31
    sums = np.where(wide, 0, np.stack([least, most]))
    ends = requantized(flat, sums, None).astype(np.int64)
    anything = _anything(node.result)
    return Range(np.where(wide, anything.low, ends[0]), np.where(wide, anything.high, ends[1]))
