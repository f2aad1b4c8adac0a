"""Convolutions whose filters have zeros at their border."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, Margins, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.select import Objective, select
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs, conv_windows

REGISTRY = core_registry()
OPS = ("conv2d", "depthwise_conv2d")
KINDS = ("int8", "float32", "uint8", "int16")

Cut = tuple[int, int]


@dataclass(frozen=True)
class Layer:
    """x, maybe padded, read by one convolution; `zeros`: rows and columns of zeros before and after other taps."""

    op: str = "conv2d"
    taps: tuple[int, int] = (3, 3)
    zeros: tuple[Cut, Cut] = ((0, 0), (0, 0))
    size: tuple[int, int] = (8, 8)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding | Margins = Padding.SAME
    kind: str = "int8"
    channels: int = 2
    outputs: int = 4

    @property
    def dtype(self) -> DType:
        return DType(self.kind)

    def graph(self, pad: Margins | None = None) -> Graph:
        b = GraphBuilder()
        q = {"float32": None, "int16": Quantization.per_tensor(0.5)}.get(self.kind, Quantization.per_tensor(0.5, 5))
        x = b.input("x", TensorType(self.dtype, (1, *self.size, self.channels), q))
        value = x if pad is None else padded(b, x, pad)
        return b.output(self.read(b, value, self.filter(b)))

    def read(self, b: GraphBuilder, x: Value, weights: Value, name: str = "conv") -> Value:
        operands = [x, weights, *self.bias(b)]
        declared = (TensorType(x.type.dtype, None, x.type.quantization),)
        call = OpCall(name, self.op, self.attrs, tuple(value.type for value in operands), declared)
        return b.node(self.op, operands, REGISTRY[self.op].infer(call), self.attrs, name=name).result

    @property
    def attrs(self) -> Attrs:
        if self.op == "conv2d":
            return Conv2dAttrs(self.stride, self.dilation, self.padding)
        return DepthwiseConv2dAttrs(self.stride, self.dilation, self.padding, self.outputs // self.channels)

    def filter(self, b: GraphBuilder) -> Value:
        """Its zero point is its zero, per channel for int8."""
        zero = 3 if self.kind == "uint8" else 0
        quantization = Quantization.per_tensor(0.0078125, zero) if zero else self.per_channel(0.0078125)
        dtype = {"int16": DType.INT8}.get(self.kind, self.dtype)
        array = self.array(zero)
        return b.constant("w", array.astype(dtype.numpy), None if self.kind == "float32" else quantization)

    def array(self, zero: int) -> npt.NDArray[Any]:
        """No tap but those that are to be is zero in every channel; many are in some."""
        first, last = (self.outputs, self.channels) if self.op == "conv2d" else (1, self.outputs)
        array = np.random.default_rng(0).integers(4, 127, (first, *self.taps, last)) * (1 if zero else -1)
        array.reshape(-1, last)[::2, 0] = zero
        for axis, (before, after) in enumerate(self.zeros, start=1):
            moved = np.moveaxis(array, axis, 0)
            moved[:before] = zero
            moved[len(moved) - after :] = zero
        return array

    def per_channel(self, scale: float) -> Quantization:
        return Quantization((scale,) * self.outputs, (0,) * self.outputs, 0 if self.op == "conv2d" else 3)

    def bias(self, b: GraphBuilder) -> list[Value]:
        array = np.arange(-2, self.outputs - 2) * 50
        if self.kind == "float32":
            return [b.constant("bias", array.astype(np.float32))]
        q = Quantization.per_tensor(0.5 * 0.0078125) if self.kind == "uint8" else self.per_channel(0.5 * 0.0078125)
        q = Quantization(q.scales, q.zero_points, None if q.axis is None else 0)
        return [b.constant("bias", array.astype(np.int64 if self.kind == "int16" else np.int32), q)]


def padded(b: GraphBuilder, x: Value, margins: Margins, name: str = "pad") -> Value:
    amounts = np.array([(0, 0), *margins, (0, 0)], np.int32)
    dims = tuple(int(dim) for dim in np.array(x.type.dims) + amounts.sum(axis=1))
    type_ = TensorType(x.type.dtype, dims, x.type.quantization)
    return b.node("pad", [x, b.constant("amounts", amounts)], [type_], Attrs(), name=name).result


def convolution(graph: Graph) -> Node:
    (node,) = (node for node in graph.nodes if node.op in OPS)
    return node


def taps(graph: Graph) -> tuple[int, int]:
    """Height and width of the one filter."""
    height, width = conv_windows(OpCall.of(convolution(graph)))
    return height.filter, width.filter


def macs(graph: Graph) -> int:
    total = 0
    for node in graph.nodes:
        cost = REGISTRY[node.op].cost
        total += cost(OpCall.of(node)).macs if callable(cost) else 0
    return total


def estimate(graph: Graph) -> float:
    """Instructions of the one convolution, by the kernel that is chosen for it."""
    node = convolution(graph)
    return select([node], kernels(), Objective.SPEED)[node].cost.instructions
