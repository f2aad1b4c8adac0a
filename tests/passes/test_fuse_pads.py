"""Fusing pads: each precondition has a test that fails when it is taken away."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.movement import ReshapeAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.passes.base import Context
from arenite.passes.bounds import least_element
from arenite.passes.fuse_pads import FusePads
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -5)
BORDER = ((0, 0), (1, 1), (1, 1), (0, 0))
READERS = ("conv2d", "depthwise_conv2d", "max_pool2d", "average_pool2d")


@dataclass(frozen=True)
class Padded:
    """x, padded, read by one op with 3x3 windows."""

    reader: str = "conv2d"
    amounts: tuple[tuple[int, int], ...] = BORDER
    size: int = 5
    stride: int = 1
    own: Any = Padding.VALID
    quantization: Quantization | None = Q
    padded: Quantization | None = Q
    value: float | None = None  # padv2

    def graph(self, *, output: bool = False, again: str = "") -> Graph:
        b = GraphBuilder()
        dtype = DType.FLOAT32 if self.quantization is None else DType.INT8
        x = b.input("x", TensorType(dtype, (1, self.size, self.size, 2), self.quantization))
        result = self.pad(b, x)
        outputs = [self.read(b, result, self.reader)]
        outputs += [self.read(b, result, again)] if again else []
        outputs += [result] if output else []
        return b.output(*outputs)

    def pad(self, b: GraphBuilder, x: Value) -> Value:
        operands = [x, b.constant("amounts", np.array(self.amounts, np.int32))]
        dims = tuple(before + dim + after for dim, (before, after) in zip(x.type.dims, self.amounts, strict=True))
        if self.value is not None:
            operands.append(b.constant("value", np.array([self.value]).astype(x.type.dtype.numpy), self.padded))
        op = "pad" if self.value is None else "padv2"
        return b.node(op, operands, [TensorType(x.type.dtype, dims, self.padded)], Attrs(), name="pad").result

    def read(self, b: GraphBuilder, x: Value, op: str) -> Value:
        operands, attrs = [x, *self.weights(b, op)], self.attrs(op)
        call_types = tuple(value.type for value in operands)
        declared = (TensorType(x.type.dtype, None, self.padded),)
        if op == "relu":
            return b.node(op, operands, [x.type], attrs, name=op).result
        types = REGISTRY[op].infer(OpCall(op, op, attrs, call_types, declared, tuple(v.constant for v in operands)))
        return b.node(op, operands, types, attrs, name=op).result

    def attrs(self, op: str) -> Attrs:
        steps = (self.stride, self.stride)
        if op == "conv2d":
            return Conv2dAttrs(steps, padding=self.own)
        if op == "depthwise_conv2d":
            return DepthwiseConv2dAttrs(steps, padding=self.own)
        return Pool2dAttrs((3, 3), steps, self.own) if op.endswith("pool2d") else Attrs()

    def weights(self, b: GraphBuilder, op: str) -> list[Value]:
        if not op.endswith("conv2d"):
            return []
        rng = np.random.default_rng(0)
        shape, axis = ((3, 3, 3, 2), 0) if op == "conv2d" else ((1, 3, 3, 2), 3)
        if self.quantization is None:
            return [b.constant("w", rng.standard_normal(shape).astype(np.float32))]
        scales = (0.0078125,) * shape[axis]
        bias = Quantization(tuple(s * 0.5 for s in scales), (0,) * len(scales), 0)
        return [
            b.constant(
                "w", rng.integers(-127, 128, shape).astype(np.int8), Quantization(scales, (0,) * len(scales), axis)
            ),
            b.constant("bias", rng.integers(-99, 99, shape[axis]).astype(np.int32), bias),
        ]


def said(graph: Graph, *, explicit: bool = True) -> str:
    (verdict,) = verdicts(FusePads(explicit), graph, REGISTRY)["pad"]
    return verdict


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize("quantization", [Q, None], ids=["int8", "float32"])
def test_a_border_of_zeros_becomes_the_padding(op: str, quantization: Quantization | None) -> None:
    graph = Padded(op, quantization=quantization, padded=quantization).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    assert node.op == op
    assert node.attrs == replace(Padded(op).attrs(op), padding=Padding.SAME)  # type: ignore[call-arg]
    assert node.origin == (op, "pad")


def test_padding_that_is_not_same_is_explicit() -> None:
    graph = Padded(amounts=((0, 0), (2, 1), (0, 2), (0, 0))).graph()
    assert said(graph) == "passed fused"
    assert next(iter(graph.nodes)).attrs == Conv2dAttrs(padding=((2, 1), (0, 2)))


def test_rows_that_no_window_reaches_are_no_padding() -> None:
    graph = Padded(size=6, stride=2).graph()
    assert said(graph) == "passed fused"
    assert next(iter(graph.nodes)).attrs == Conv2dAttrs((2, 2), padding=((1, 0), (1, 0)))


def test_the_padding_of_the_reader_is_added() -> None:
    graph = Padded(amounts=((0, 0), (1, 0), (0, 0), (0, 0)), own=Padding.SAME).graph()
    assert said(graph) == "passed fused"
    assert next(iter(graph.nodes)).attrs == Conv2dAttrs(padding=((2, 1), (1, 1)))


@pytest.mark.wheel
@given(data=st.data())
def test_the_oracle_sees_no_difference(data: st.DataObject) -> None:
    """What is written after the pass has a PAD again where SAME says something else."""
    side = st.tuples(st.integers(0, 2), st.integers(0, 2))
    rows, columns = data.draw(side), data.draw(side)
    stride, size = data.draw(st.integers(1, 3)), data.draw(st.integers(3, 8))
    op = data.draw(st.sampled_from(["conv2d", "depthwise_conv2d"]))
    padded = Padded(op, ((0, 0), rows, columns, (0, 0)), size, stride, data.draw(st.sampled_from(Padding)))
    graph = padded.graph()
    before = export_model(Model("m", clone_graph(graph)))
    if data.draw(st.booleans()):
        FusePads(data.draw(st.booleans())).run(graph, Context(REGISTRY))
    else:
        said(graph)
    x = np.random.default_rng(0).integers(-128, 128, (1, size, size, 2)).astype(np.int8)
    ((expected,),) = oracle.run_wheel(before, [[x]])
    ((found,),) = oracle.run_wheel(export_model(Model("m", graph)), [[x]])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("value", [-5, -128])
def test_padv2_pads_with_the_zero_point(value: int) -> None:
    graph = Padded(value=value).graph()
    assert said(graph) == ("passed fused" if value == -5 else "missed not-zero")
    assert ops(graph)[0] == ("conv2d" if value == -5 else "padv2")


def test_padv2_of_floats_pads_with_zero() -> None:
    floats = Padded(quantization=None, padded=None)
    assert said(replace(floats, value=0.0).graph()) == "passed fused"
    assert said(replace(floats, value=1.0).graph()) == "missed not-zero"


def test_another_element_type() -> None:
    graph = Padded(quantization=None, padded=None).graph()
    pad = next(iter(graph.nodes))
    pad.result.type = replace(pad.result.type, dtype=DType.FLOAT16)
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "zero-points-differ"


@pytest.mark.parametrize("amounts", [((0, 0), (1, 1), (1, 1)), ((0, 0), (1, 1), (1, 1), (0, 0), (0, 0))])
def test_only_images_have_height_and_width(amounts: Any) -> None:
    b = GraphBuilder()
    padded = Padded(amounts=amounts)
    x = b.input("x", TensorType(DType.INT8, (2,) * len(amounts), Q))
    assert said(b.output(padded.read(b, padded.pad(b, x), "relu"))) == "missed not-spatial"


def test_rows_that_are_cut_off_are_no_padding() -> None:
    """Negative amounts, which ONNX has, would make windows begin later."""
    graph = Padded(size=9).graph()
    pad = next(iter(graph.nodes))
    cut = np.array(BORDER, np.int32) * [[1], [-1], [1], [1]]
    graph._set_operand(pad, 1, Value("cut", pad.operand(1).type, constant=cut))
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "not-spatial"


def test_an_output_stays() -> None:
    assert said(Padded().graph(output=True)) == "missed intermediate-is-output"


def test_nobody_reads_it() -> None:
    graph = Padded().graph()
    graph.outputs[:] = [graph.inputs[0]]
    graph._remove(next(node for node in graph.nodes if node.op == "conv2d"))
    assert said(graph) == "missed unread"


def test_channels_are_no_border() -> None:
    amounts = ((0, 0), (1, 1), (1, 1), (0, 0))
    graph = Padded(amounts=amounts).graph()
    assert said(graph) == "passed fused"
    for axis in (0, 3):
        moved = tuple((1, 0) if i == axis else pair for i, pair in enumerate(amounts))
        assert said(Padded("max_pool2d", moved, value=-128).graph()) == "missed not-spatial"


def test_amounts_that_are_computed() -> None:
    graph = Padded().graph()
    pad = next(iter(graph.nodes))
    amounts = pad.operand(1)
    given = Value("given", amounts.type)
    graph.inputs.append(given)
    graph._set_operand(pad, 1, given)
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "amounts-unknown"


def test_another_quantization() -> None:
    graph = Padded(padded=Quantization.per_tensor(0.5, -4)).graph()
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "zero-points-differ"


@pytest.mark.parametrize("again", ["relu", "average_pool2d"])
def test_all_readers_or_none(again: str) -> None:
    graph = Padded().graph(again=again)
    assert said(graph) == ("missed other-reader" if again == "relu" else "missed padding-counts")
    assert ops(graph) == ["pad", "conv2d", again]


def test_every_reader_gets_the_padding() -> None:
    graph = Padded().graph(again="depthwise_conv2d")
    assert said(graph) == "passed fused"
    assert [getattr(node.attrs, "padding", None) for node in graph.nodes] == [Padding.SAME] * 2


def test_a_filter_is_no_image() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (1, 3, 3, 1)))
    padded = Padded(quantization=None, padded=None).pad(b, x)
    image = b.input("image", TensorType(DType.FLOAT32, (1, 9, 9, 1)))
    result = b.node("conv2d", [image, padded], [TensorType(DType.FLOAT32, (1, 5, 5, 1))], Conv2dAttrs(), name="conv")
    assert said(b.output(result.result)) == "missed other-reader"


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_infinite_weights_see_zeros(bad: float) -> None:
    graph = Padded(quantization=None, padded=None).graph()
    conv = list(graph.nodes)[1]
    weights = np.array(conv.operand(1).constant)
    weights[0, 0, 0, 0] = bad
    graph._set_operand(conv, 1, Value("bad", conv.operand(1).type, constant=weights))
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "unfit-filter"


def test_weights_beside_floats_that_are_integers() -> None:
    """The scale of a hybrid layer's data comes from all of its elements: what is padded must stay one of them."""
    graph = Padded(quantization=None, padded=None).graph()
    conv = list(graph.nodes)[1]
    type_ = TensorType(DType.INT8, (3, 3, 3, 2), Quantization.per_tensor(0.5))
    graph._set_operand(conv, 1, Value("w8", type_, constant=np.ones((3, 3, 3, 2), np.int8)))
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "unfit-filter"


def test_weights_that_are_computed() -> None:
    graph = Padded(quantization=None, padded=None).graph()
    conv = list(graph.nodes)[1]
    given = Value("given", conv.operand(1).type)
    graph.inputs.append(given)
    graph._set_operand(conv, 1, given)
    (remark,) = FusePads().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "unfit-filter"


def test_whole_windows_of_padding() -> None:
    graph = Padded(amounts=((0, 0), (3, 0), (0, 0), (0, 0))).graph()
    assert said(graph) == "missed too-wide"


def test_files_know_same_only() -> None:
    graph = Padded(size=6, stride=2).graph()
    assert said(graph, explicit=False) == "missed not-same"
    assert ops(graph) == ["pad", "conv2d"]
    assert said(Padded().graph(), explicit=False) == "passed fused"


@pytest.mark.parametrize(("value", "fuses"), [(-128, True), (-127, False), (-5, False)])
def test_a_max_pool_ignores_the_least_element_only(value: int, fuses: bool) -> None:
    graph = Padded("max_pool2d", value=value).graph()
    assert said(graph) == ("passed fused" if fuses else "missed not-least")


@pytest.mark.parametrize("activation", [Activation.RELU, Activation.RELU6, Activation.NONE, Activation.RELU_N1_TO_1])
@pytest.mark.parametrize("quantization", [Q, None], ids=["int8", "float32"])
def test_zeros_are_the_least_after_a_relu(activation: Activation, quantization: Quantization | None) -> None:
    b = GraphBuilder()
    padded = Padded("max_pool2d", quantization=quantization, padded=quantization)
    type_ = TensorType(DType.FLOAT32 if quantization is None else DType.INT8, (1, 5, 5, 2), quantization)
    x = b.input("x", type_)
    pooled = b.node("max_pool2d", [x], [type_], Pool2dAttrs((1, 1), (1, 1), Padding.VALID, activation), name="first")
    graph = b.output(padded.read(b, padded.pad(b, pooled.result), "max_pool2d"))
    clamps = activation in (Activation.RELU, Activation.RELU6)
    assert said(graph) == ("passed fused" if clamps else "missed not-least")


@pytest.mark.parametrize("rows", [(1, 1), (1, 0), (0, 1)])
def test_an_average_counts_the_zeros(rows: tuple[int, int]) -> None:
    graph = Padded("average_pool2d", ((0, 0), rows, (0, 0), (0, 0))).graph()
    assert said(graph) == "missed padding-counts"


@pytest.mark.parametrize("op", ["average_pool2d", "max_pool2d"])
def test_pools_that_do_not_reach_the_padding(op: str) -> None:
    graph = Padded(op, ((0, 0), (0, 1), (0, 1), (0, 0)), size=5, stride=2).graph()
    assert said(graph) == "passed fused"
    assert ops(graph) == [op]


@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_what_moves_elements_keeps_their_bounds(scale: float) -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (4,), Q))
    clamped = b.node("relu", [x], [x.type], Attrs(), name="relu").result
    type_ = TensorType(DType.INT8, (2, 2), Quantization.per_tensor(scale, -5))
    moved = b.node("reshape", [clamped], [type_], ReshapeAttrs((2, 2)), name="moved").result
    assert least_element(clamped) == -5
    # With another scale it is not known whether stored numbers or real ones stay the same.
    assert least_element(moved) == (-5 if scale == 0.5 else -128)
    assert least_element(x) == -128
    assert least_element(b.constant("c", np.array([3, -7], np.int8), Q)) == -7
    assert least_element(b.input("f", TensorType(DType.FLOAT32, (4,)))) == -np.inf


def test_what_a_variable_holds_at_first_bounds_nothing() -> None:
    b = GraphBuilder()
    state = b.variable("state", TensorType(DType.INT8, (2,), Q))
    state.constant = np.array([3, 4], np.int8)
    assert least_element(state) == -128
    assert least_element(b.constant("none", np.zeros(0, np.int8), Q)) == -128
