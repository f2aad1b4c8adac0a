"""Small networks of one element type, with transposes in them."""

import math
from collections.abc import Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.reduce import ReduceAttrs

DIMS = (1, 2, 3, 4)
TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)
KINDS = {
    "int8": (DType.INT8, Quantization.per_tensor(0.5, -5)),
    "uint8": (DType.UINT8, Quantization.per_tensor(0.5, 7)),
    "float32": (DType.FLOAT32, None),
}


class Network:
    """Builds graphs of one element type."""

    def __init__(self, kind: str = "int8") -> None:
        self.b = GraphBuilder()
        self.kind = kind
        self.dtype, self.quantization = KINDS[kind]

    def type(self, dims: Sequence[int]) -> TensorType:
        return TensorType(self.dtype, tuple(dims), self.quantization)

    def input(self, dims: Sequence[int] = DIMS) -> Value:
        return self.b.input("x", self.type(dims))

    def transposed(self, x: Value, order: Sequence[int] = TO_NCHW, name: str = "transpose") -> Value:
        perm = self.b.constant("perm", np.array(order, np.int32))
        type_ = self.type([x.type.dims[axis] for axis in order])
        return self.b.node("transpose", [x, perm], [type_], Attrs(), name=name).result

    def reshaped(self, x: Value, dims: Sequence[int] = (1, -1), name: str = "reshape") -> Value:
        dims = np.empty(x.type.dims).reshape(dims).shape
        shape = self.b.constant("shape", np.array(dims, np.int32))
        return self.b.node("reshape", [x, shape], [self.type(dims)], ReshapeAttrs(tuple(dims)), name=name).result

    def relu(self, x: Value, name: str = "relu") -> Value:
        return self.b.node("relu", [x], [x.type], Attrs(), name=name).result

    def weights(self, inputs: int, outputs: int = 3) -> Value:
        rng = np.random.default_rng(0)
        if self.kind == "float32":
            return self.b.constant("w", rng.standard_normal((outputs, inputs)).astype(np.float32))
        if self.kind == "uint8":
            array = rng.integers(0, 256, (outputs, inputs)).astype(np.uint8)
            return self.b.constant("w", array, Quantization.per_tensor(0.0078125, 99))
        scales = tuple(0.00390625 * (1 + i) for i in range(outputs))
        array = rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)
        return self.b.constant("w", array, Quantization(scales, (0,) * outputs, 0))

    def dense(self, x: Value, weights: Value | None = None, name: str = "dense", *, keep_dims: bool = False) -> Value:
        weights = weights or self.weights(math.prod(x.type.dims[1:]))
        outputs, inputs = weights.type.dims
        dims = (*x.type.dims[:-1], outputs) if keep_dims else (x.type.nelem // inputs, outputs)
        attrs = FullyConnectedAttrs(keep_dims=keep_dims)
        return self.b.node("fully_connected", [x, weights], [self.type(dims)], attrs, name=name).result

    def reduced(
        self, x: Value, axes: Sequence[int] = (2, 3), op: str = "mean", name: str = "mean", *, keep_dims: bool = False
    ) -> Value:
        dims = [1 if i in axes else dim for i, dim in enumerate(x.type.dims) if keep_dims or i not in axes]
        operands = [x, self.b.constant("axes", np.array(axes, np.int32))]
        return self.b.node(op, operands, [self.type(dims)], ReduceAttrs(keep_dims), name=name).result

    def constant(self, dims: Sequence[int], name: str = "c") -> Value:
        rng = np.random.default_rng(7)
        if self.kind == "float32":
            return self.b.constant(name, rng.standard_normal(dims).astype(np.float32))
        array = rng.integers(-90, 90, dims) + (128 if self.kind == "uint8" else 0)
        return self.b.constant(name, array.astype(self.dtype.numpy), self.quantization)

    def beside(self, x: Value, c: Value, op: str = "maximum", name: str = "beside", *, swapped: bool = False) -> Value:
        attrs = ArithmeticAttrs() if op in ("add", "sub", "mul") else Attrs()
        return self.b.node(op, [c, x] if swapped else [x, c], [x.type], attrs, name=name).result

    def joined(self, *values: Value, axis: int = -1, name: str = "joined") -> Value:
        dims = list(values[0].type.dims)
        dims[axis] = sum(value.type.dims[axis] for value in values)
        return self.b.node("concatenation", values, [self.type(dims)], ConcatenationAttrs(axis), name=name).result

    def to(self, *outputs: Value) -> Graph:
        return self.b.output(*outputs)
