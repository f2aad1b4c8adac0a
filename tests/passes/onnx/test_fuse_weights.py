"""Networks whose weights are dequantized or computed compute what they did once scales and shifts are fused."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from arenite._base.dtypes import DType
from arenite.passes.differential import max_error
from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from passes.onnx.fusing import Net, Outcome, made_up, rand, reseed

KINDS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
IR_VERSIONS = {9: 4, 10: 5, 12: 7, 13: 7, 17: 8, 19: 9, 21: 10, 23: 11, 24: 11}


class Drawn:
    """A network of one or two layers with the same weights, each with what comes behind it."""

    def __init__(self, draw: st.DrawFn, opsets: Sequence[int], kinds: Sequence[str]) -> None:
        self.draw = draw
        reseed(draw(st.integers(0, 999)))
        self.opset = draw(st.sampled_from(opsets))
        self.n = Net(self.opset, IR_VERSIONS[self.opset])
        self.kind = draw(st.sampled_from(kinds))
        self.is_conv = self.kind.startswith("Conv")
        self.group = draw(st.sampled_from([1, 1, 2, 3])) if self.is_conv else 1
        self.n_in, self.n_out = (self.group * draw(st.integers(1, 3)) for _ in range(2))
        self.trans_b = draw(st.integers(0, 1)) if self.kind == "Gemm" else 0
        self.stack = (2,) if self.kind == "MatMul" and draw(st.integers(0, 3)) == 0 else ()
        self.size = draw(st.integers(2, 6))

    def shape(self) -> tuple[int, ...]:
        """Of the weights."""
        if self.is_conv:
            first, second = (self.n_out, self.n_in) if self.kind == "Conv" else (self.n_in, self.n_out)
            return (first, second // self.group, 2, 1)
        return (*self.stack, *((self.n_out, self.n_in) if self.trans_b else (self.n_in, self.n_out)))

    def weights(self) -> str:
        shape = self.shape()
        if self.opset >= 10 and self.draw(st.integers(0, 2)):
            return self.dequantized(shape)
        w = self.n.input("w", shape)
        if self.draw(st.booleans()):
            forms = [(), (1,) * len(shape), shape, (*shape[:1], *(1,) * (len(shape) - 1)), shape[-1:]]
            operands: list[Any] = [w, rand(*self.draw(st.sampled_from(forms)), low=0.5, high=2)]
            return self.n.node("Mul", operands[:: self.draw(st.sampled_from([1, -1]))])
        return self.n.node("Relu", [w])

    def dequantized(self, shape: tuple[int, ...]) -> str:
        is_moved = self.draw(st.integers(0, 3)) == 0
        stored = shape[::-1] if is_moved else shape
        dtypes = [np.int8, np.uint8] + ([ml_dtypes.int4, ml_dtypes.uint4, np.int16] if self.opset >= 21 else [])
        dtype = np.dtype(self.draw(st.sampled_from(dtypes)))
        low, high = DType.of(dtype).limits
        low += self.draw(st.integers(0, 1))
        attrs: dict[str, Any] = {}
        steps: tuple[int, ...] = ()
        form = self.draw(st.sampled_from(["whole", "axis", "blocks"]))
        if form != "whole" and self.opset >= 13:
            axis = self.draw(st.integers(0, len(shape) - 1))
            attrs["axis"] = axis - self.draw(st.sampled_from([0, len(shape)]))
            steps = (stored[axis],)
            if form == "blocks" and self.opset >= 21:
                attrs["block_size"] = block = self.draw(st.integers(1, 3))
                steps = (*stored[:axis], -(-stored[axis] // block), *stored[axis + 1 :])
        operands: list[Any] = [rand(*stored, low=low, high=high + 1).astype(int).clip(low, high).astype(dtype)]
        operands.append(rand(*steps, low=0.01, high=0.1))
        zero = self.draw(st.sampled_from([None, 0, 1, 3]))
        if zero is not None:
            operands.append(np.full(steps, zero if low < 0 else (low + high) // 2 + zero).astype(dtype))
        if self.draw(st.integers(0, 4)) == 0 and dtype == np.int8:
            operands[0] = self.n.input("q", stored, np.int8)
        w = self.n.node("DequantizeLinear", operands, **attrs)
        return self.n.node("Transpose", [w]) if is_moved else w

    def layer(self, w: str) -> str:
        """A layer, and operators behind it."""
        attrs: dict[str, Any] = {}
        data: list[int | str] = [1, self.n_in, self.size, 2] if self.is_conv else [self.size, self.n_in]
        if self.draw(st.integers(0, 3)) == 0:
            data[0] = "n"
        if self.is_conv:
            attrs["group"] = self.group
        elif self.kind == "Gemm":
            attrs = {"transB": self.trans_b, "alpha": 2.0, "beta": 0.5}
        bias = [rand(self.n_out)] if self.kind != "MatMul" and (self.opset < 11 or self.draw(st.booleans())) else []
        x = self.n.input(f"x{len(self.n.nodes)}", data)
        y = self.n.node(self.kind, [x, w, *bias], **attrs)
        channels = (self.n_out, 1, 1) if self.is_conv else (self.n_out,)
        for _ in range(self.draw(st.integers(1, 2))):
            factor = self.draw(st.sampled_from([-2.0, -1.0, 0.0, 0.25, 0.5, 1.0]))
            numbers = rand(self.n_out, low=0.5, high=2)
            numbers[self.draw(st.integers(0, self.n_out - 1))] *= np.float32(factor)
            # A BatchNormalization counts dimension 1 as channels, which is another one in a stack of matrices.
            ops = ["Mul", "Add", "one", *([] if self.stack else ["BatchNormalization"] * 2)]
            op = self.draw(st.sampled_from(ops))
            if op == "BatchNormalization":
                y = self.n.norm(y, self.n_out, scale=numbers)
            elif op == "one":
                y = self.n.node("Mul", [y, np.float32(factor)])
            else:
                y = self.n.node(op, [y, numbers.reshape(channels)])
        return y


@st.composite
def networks(
    draw: st.DrawFn, opsets: Sequence[int] = tuple(IR_VERSIONS), kinds: Sequence[str] = KINDS
) -> onnx.ModelProto:
    drawn = Drawn(draw, opsets, kinds)
    w = drawn.weights()
    outputs = [drawn.layer(w) for _ in range(draw(st.integers(1, 2)))]
    if draw(st.integers(0, 4)) == 0:
        outputs.append(drawn.n.node("Neg", [w]))
    return drawn.n.model(*(drawn.n.node("Identity", [y]) for y in outputs))


@given(networks(), st.booleans())
def test_networks_compute_what_they_did(model: onnx.ModelProto, is_norm: bool) -> None:
    o = Outcome(model, FuseBatchNorm() if is_norm else FuseAffine(), tolerance=1e-4)
    assert len(o.model.graph.node) <= len(model.graph.node)
    # No scale is other than positive.
    numbers = {c.name: onnx.numpy_helper.to_array(c) for c in o.model.graph.initializer}
    for node in o.model.graph.node:
        if node.op_type == "DequantizeLinear":
            assert np.all(numbers[node.input[1]] > 0)


# It has no DequantizeLinear of older opsets, and computes some transposed convolutions otherwise.
@given(networks((19, 21, 23), ("Conv", "Gemm", "MatMul")))
def test_the_reference_agrees(model: onnx.ModelProto) -> None:
    o = Outcome(model, FuseAffine(), tolerance=1e-4)
    feeds = made_up(model)
    results = (ReferenceEvaluator(each).run(None, feeds) for each in (model, o.model))
    for old, new in zip(*results, strict=True):
        assert max_error(old, new) <= 1e-4
