"""Fusing dilations: each precondition has a test that fails when it is taken away."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.layout import SqueezeAttrs
from arenite.ops.movement import ReshapeAttrs
from arenite.passes.base import Context
from arenite.passes.fuse_dilations import FuseDilations
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes, file_passes
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -5)
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Blocks:
    """x, cut into blocks, convolved and joined: as exporters write a dilated convolution of SAME or VALID windows.

    `unit`: x has one spatial dimension, and views give the convolution another one there.
    """

    op: str = "conv2d"
    size: tuple[int, ...] = (8, 6)
    taps: tuple[int, int] = (3, 3)
    block: tuple[int, ...] = (2, 2)
    joined: tuple[int, ...] = ()
    paddings: Pairs = ((2, 2), (2, 2))
    crops: Pairs = ((0, 0), (0, 0))
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    own: Padding = Padding.VALID
    quantization: Quantization | None = Q
    unit: int | None = None
    channels: int = 2
    batch: int = 1

    def graph(self) -> Graph:
        b = GraphBuilder()
        dtype = DType.FLOAT32 if self.quantization is None else DType.INT8
        x = b.input("x", TensorType(dtype, (self.batch, *self.size, self.channels), self.quantization))
        cut = self.move(b, "space_to_batch_nd", x, self.block, self.paddings)
        if self.unit is not None:
            dims = cut.type.dims
            wider = (*dims[: self.unit], 1, *dims[self.unit :])
            cut = self.node(b, "reshape", [cut], ReshapeAttrs(wider), "entry")
        attrs: Any = Conv2dAttrs(self.stride, self.dilation, self.own)
        if self.op == "depthwise_conv2d":
            attrs = DepthwiseConv2dAttrs(self.stride, self.dilation, self.own, 2)
        result = self.node(b, self.op, [cut, *self.weights(b)], attrs, "conv")
        if self.unit is not None:
            result = self.node(b, "squeeze", [result], SqueezeAttrs((self.unit,)), "exit")
        return b.output(self.move(b, "batch_to_space_nd", result, self.joined or self.block, self.crops))

    def move(self, b: GraphBuilder, op: str, x: Value, block: tuple[int, ...], pairs: Pairs) -> Value:
        name = "first" if op == "space_to_batch_nd" else "last"
        constants = [b.constant(f"{name}/{i}", np.array(c, np.int32)) for i, c in enumerate((block, pairs))]
        return self.node(b, op, [x, *constants], Attrs(), name)

    def node(self, b: GraphBuilder, op: str, operands: list[Value], attrs: Attrs, name: str) -> Value:
        types = tuple(value.type for value in operands)
        declared = (TensorType(operands[0].type.dtype, None, self.quantization),)
        call = OpCall(name, op, attrs, types, declared, tuple(value.constant for value in operands))
        return b.node(op, operands, REGISTRY[op].infer(call), attrs, name=name).result

    def weights(self, b: GraphBuilder) -> list[Value]:
        rng = np.random.default_rng(0)
        outputs, axis = (3, 0) if self.op == "conv2d" else (2 * self.channels, 3)
        shape = (3, *self.taps, self.channels) if self.op == "conv2d" else (1, *self.taps, outputs)
        if self.quantization is None:
            return [b.constant("w", rng.standard_normal(shape).astype(np.float32))]
        scales, zeros = (0.0078125,) * outputs, (0,) * outputs
        return [
            b.constant("w", rng.integers(-127, 128, shape).astype(np.int8), Quantization(scales, zeros, axis)),
            b.constant(
                "bias",
                rng.integers(-99, 99, outputs).astype(np.int32),
                Quantization(tuple(s * 0.5 for s in scales), zeros, 0),
            ),
        ]


LINE = Blocks(size=(9,), taps=(1, 3), block=(2,), paddings=((2, 3),), crops=((0, 1),), unit=1)


def said(graph: Graph, *, explicit: bool = True) -> str:
    (verdict,) = verdicts(FuseDilations(explicit), graph, REGISTRY)["last"]
    return verdict


def reason(graph: Graph) -> str:
    """Of a graph that is not sound enough for instruments."""
    (remark,) = FuseDilations().run(graph, Context(REGISTRY)).remarks
    return remark.reason.slug


def node_of(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize("quantization", [Q, None], ids=["int8", "float32"])
def test_blocks_become_the_dilation(op: str, quantization: Quantization | None) -> None:
    graph = Blocks(op, quantization=quantization).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    attrs: Any = node.attrs
    assert (node.op, attrs.dilation, attrs.padding) == (op, (2, 2), Padding.SAME)
    assert node.origin == ("conv", "last", "first")
    assert graph.outputs[0].name == "last"


def test_an_odd_size_is_padded_and_cropped() -> None:
    graph = Blocks(size=(7, 5), paddings=((2, 3), (2, 3)), crops=((0, 1), (0, 1))).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    assert node.attrs == Conv2dAttrs(dilation=(2, 2), padding=Padding.SAME)


def test_the_convolution_s_own_dilation_multiplies() -> None:
    graph = Blocks(size=(9, 12), block=(1, 3), paddings=((0, 0), (0, 0)), dilation=(3, 2), taps=(2, 2)).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    assert node.attrs == Conv2dAttrs(dilation=(3, 6))


def test_the_convolution_s_own_padding_counts_in_blocks() -> None:
    graph = Blocks(paddings=((0, 0), (0, 0)), own=Padding.SAME).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    assert node.attrs == Conv2dAttrs(dilation=(2, 2), padding=Padding.SAME)


def test_cropped_in_front_are_windows_that_begin_later() -> None:
    graph = Blocks(crops=((1, 0), (2, 2))).graph()
    assert said(graph) == "passed fused"
    (node,) = graph.nodes
    assert node.attrs == Conv2dAttrs(dilation=(2, 2), padding=((1, 2), (0, 0)))


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("quantization", [Q, None], ids=["int8", "float32"])
def test_a_line_that_views_make_an_image(unit: int, quantization: Quantization | None) -> None:
    taps = (1, 3) if unit == 1 else (3, 1)
    graph = replace(LINE, unit=unit, taps=taps, quantization=quantization).graph()
    assert said(graph) == "passed fused"
    assert ops(graph) == ["reshape", "conv2d", "reshape"]
    conv = node_of(graph, "conv")
    assert conv.attrs == Conv2dAttrs(dilation=(1, 2) if unit == 1 else (2, 1), padding=Padding.SAME)
    assert graph.outputs[0].type.dims == (1, 9, 3)


def test_files_know_same_only() -> None:
    graph = Blocks(crops=((1, 0), (2, 2))).graph()
    assert said(graph, explicit=False) == "missed not-same"
    assert ops(graph) == ["space_to_batch_nd", "conv2d", "batch_to_space_nd"]
    assert said(Blocks().graph(), explicit=False) == "passed fused"


def test_what_else_reads_the_blocks_keeps_them() -> None:
    for also_output in (True, False):
        graph = Blocks().graph()
        cut = node_of(graph, "first").result
        if also_output:
            graph.outputs.append(cut)
        else:
            work = Node("other", "relu", [cut], [Value("other", cut.type)], Attrs())
            graph._insert(work, None)
            graph.outputs.append(work.result)
        assert said(graph) == "passed fused"
        assert ops(graph)[:2] == ["space_to_batch_nd", "conv2d"]


def test_what_the_convolution_gives_is_read_once() -> None:
    graph = Blocks().graph()
    result = node_of(graph, "conv").result
    graph.outputs.append(result)
    assert said(graph) == "missed intermediate-is-output"
    graph = Blocks().graph()
    result = node_of(graph, "conv").result
    other = Node("other", "relu", [result], [Value("other", result.type)], Attrs())
    graph._insert(other, None)
    graph.outputs.append(other.result)
    assert said(graph) == "missed several-readers"


def test_no_convolution_between() -> None:
    b, blocks = GraphBuilder(), Blocks()
    x = b.input("x", TensorType(DType.INT8, (4, 4, 4, 2), Q))
    assert said(b.output(blocks.move(b, "batch_to_space_nd", x, (2, 2), ((0, 0), (0, 0))))) == "missed not-computed"
    for op in ("relu", "relu6"):
        b = GraphBuilder()
        x = b.input("x", TensorType(DType.INT8, (4, 4, 4, 2), Q))
        found = blocks.node(b, op, [x], Attrs(), op)
        assert said(b.output(blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0))))) == "missed other-op"


def test_no_blocks_before() -> None:
    b, blocks = GraphBuilder(), Blocks()
    x = b.input("x", TensorType(DType.INT8, (4, 4, 4, 2), Q))
    found = blocks.node(b, "conv2d", [x, *blocks.weights(b)], Conv2dAttrs(), "conv")
    assert said(b.output(blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0))))) == "missed not-computed"


def test_two_views_are_one_too_many() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (4, 4, 4, 2), Q))
    blocks = Blocks()
    found = blocks.node(b, "conv2d", [x, *blocks.weights(b)], Conv2dAttrs(), "conv")
    for index in range(2):
        found = blocks.node(b, "reshape", [found], ReshapeAttrs((4, 2, 2, 3)), f"view{index}")
    assert said(b.output(blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0))))) == "missed other-op"


@pytest.mark.parametrize("name", ["first", "last"])
@pytest.mark.parametrize("index", [1, 2])
def test_blocks_that_are_computed(name: str, index: int) -> None:
    graph = Blocks().graph()
    node = node_of(graph, name)
    given_ = Value("given", node.operand(index).type)
    graph.inputs.append(given_)
    graph._set_operand(node, index, given_)
    assert reason(graph) == "blocks-unknown"


def test_other_blocks_are_joined() -> None:
    graph = Blocks(block=(2, 2), joined=(4, 1)).graph()
    assert said(graph) == "missed blocks-differ"


@pytest.mark.parametrize("stride", [(2, 1), (1, 2)])
def test_strides_between_blocks(stride: tuple[int, int]) -> None:
    assert said(Blocks(stride=stride).graph()) == "missed strided"


@pytest.mark.parametrize("which", ["first", "last"])
def test_types_that_change_between(which: str) -> None:
    graph = Blocks().graph()
    value = node_of(graph, which).result
    value.type = replace(value.type, quantization=Quantization.per_tensor(0.5, 4))
    assert reason(graph) == "types-differ"
    graph = Blocks().graph()
    value = node_of(graph, which).result
    value.type = replace(value.type, dtype=DType.UINT8)
    assert reason(graph) == "types-differ"


def test_one_view_alone() -> None:
    """The blocks lie in four dimensions, but the convolution reads them in another order."""
    for after in (True, False):
        b, blocks = GraphBuilder(), Blocks()
        x = b.input("x", TensorType(DType.INT8, (1, 8, 8, 2), Q))
        found = blocks.move(b, "space_to_batch_nd", x, (2, 2), ((2, 2), (2, 2)))
        if not after:
            found = blocks.node(b, "reshape", [found], ReshapeAttrs((4, 4, 9, 2)), "view")
        found = blocks.node(b, "conv2d", [found, *blocks.weights(b)], Conv2dAttrs(), "conv")
        if after:
            found = blocks.node(b, "reshape", [found], ReshapeAttrs((4, 2, 8, 3)), "view")
        graph = b.output(blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0))))
        assert said(graph) == "missed layouts-differ"


@pytest.mark.parametrize("wrong", ["entry", "exit"])
def test_views_that_mix_dimensions(wrong: str) -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (1, 8, 2), Q))
    blocks = Blocks(taps=(1, 1))
    found = blocks.move(b, "space_to_batch_nd", x, (2,), ((0, 0),))
    shape = (2, 2, 2, 2) if wrong == "entry" else (2, 1, 4, 2)
    found = blocks.node(b, "reshape", [found], ReshapeAttrs(shape), "entry")
    found = blocks.node(b, "conv2d", [found, *blocks.weights(b)], Conv2dAttrs(), "conv")
    found = blocks.node(b, "reshape", [found], ReshapeAttrs((2, 4, 3) if wrong == "entry" else (2, 2, 6)), "exit")
    graph = b.output(blocks.move(b, "batch_to_space_nd", found, (2,), ((0, 0),)))
    assert said(graph) == "missed layouts-differ"


def test_images_that_are_views_of_images() -> None:
    """Both have four dimensions; views in between make others of the same number of elements."""
    b, blocks = GraphBuilder(), Blocks(taps=(1, 1))
    x = b.input("x", TensorType(DType.INT8, (1, 4, 4, 2), Q))
    found = blocks.move(b, "space_to_batch_nd", x, (2, 2), ((0, 0), (0, 0)))
    found = blocks.node(b, "reshape", [found], ReshapeAttrs((4, 1, 4, 2)), "entry")
    found = blocks.node(b, "conv2d", [found, *blocks.weights(b)], Conv2dAttrs(), "conv")
    found = blocks.node(b, "reshape", [found], ReshapeAttrs((4, 2, 2, 3)), "exit")
    graph = b.output(blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0))))
    assert said(graph) == "missed layouts-differ"


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_infinite_weights_see_zeros(bad: float) -> None:
    graph = Blocks(quantization=None).graph()
    conv = node_of(graph, "conv")
    weights = np.array(conv.operand(1).constant)
    weights[0, 0, 0, 0] = bad
    graph._set_operand(conv, 1, Value("bad", conv.operand(1).type, constant=weights))
    assert reason(graph) == "unfit-filter"


def test_weights_of_floats_that_are_computed_or_integers() -> None:
    graph = Blocks(quantization=None).graph()
    conv = node_of(graph, "conv")
    given_ = Value("given", conv.operand(1).type)
    graph.inputs.append(given_)
    graph._set_operand(conv, 1, given_)
    assert reason(graph) == "unfit-filter"
    graph = Blocks(quantization=None).graph()
    conv = node_of(graph, "conv")
    type_ = TensorType(DType.INT8, conv.operand(1).type.dims, Quantization.per_tensor(0.5))
    graph._set_operand(conv, 1, Value("w8", type_, constant=np.ones(type_.dims, np.int8)))
    assert reason(graph) == "unfit-filter"


@pytest.mark.parametrize("crops", [((3, 0), (0, 0)), ((0, 0), (0, 4))])
def test_more_cropped_than_padded(crops: Pairs) -> None:
    assert said(Blocks(size=(12, 12), crops=crops).graph()) == "missed crops-more"


def test_whole_windows_of_padding() -> None:
    assert said(Blocks(taps=(1, 1), paddings=((2, 0), (0, 0))).graph()) == "missed too-wide"


@st.composite
def blocks_of_any_kind(draw: st.DrawFn, *, plain: bool = False) -> Blocks:
    """As exporters write SAME and VALID, with blocks that do not divide the size; unless `plain`, other crops too."""
    line = draw(st.booleans())
    count = 1 if line else 2
    size = tuple(draw(st.integers(7 if plain else 1, 9)) for _ in range(count))
    block = tuple(draw(st.integers(1, 3)) for _ in range(count))
    taps = tuple(draw(st.integers(1, 3)) for _ in range(count))
    paddings, crops, same = [], [], draw(st.booleans())
    for n, b, k in zip(size, block, taps, strict=True):
        total = (k - 1) * b if (same if plain else draw(st.booleans())) else 0
        before = total // 2
        rest = -(n + total) % b
        paddings.append((before, total - before + rest))
        crops.append((0, rest) if plain else (draw(st.integers(0, 1)), rest + draw(st.integers(0, 1))))
    unit = draw(st.sampled_from((1, 2))) if line else None
    full: Any = taps if unit is None else (1, *taps) if unit == 1 else (*taps, 1)
    return Blocks(
        draw(st.sampled_from(("conv2d", "depthwise_conv2d"))),
        size,
        full,
        block,
        paddings=tuple(paddings),
        crops=tuple(crops),
        dilation=(1, 1) if plain else draw(st.sampled_from(((1, 1), (1, 1), (2, 1)))),
        own=Padding.VALID if plain else draw(st.sampled_from(Padding)),
        quantization=draw(st.sampled_from((Q, Q, None))),
        unit=unit,
        channels=draw(st.integers(1, 3)),
        batch=draw(st.integers(1, 2)),
    )


def _possible(blocks: Blocks) -> Graph:
    try:
        graph = blocks.graph()
    except OpError:
        assume(False)
    assume(all(value.type.nelem for value in graph.outputs))
    return graph


@given(blocks=blocks_of_any_kind())
def test_nothing_changes(blocks: Blocks) -> None:
    """Under the instruments, which compare what the graph computes: integers bit for bit, floats but for the last."""
    said(_possible(blocks))


@pytest.mark.wheel
@given(blocks=blocks_of_any_kind(plain=True))
def test_the_wheel_agrees(blocks: Blocks) -> None:
    """TFLite-Micro pads blocks of integers with 0, not the zero point: there the zero point is 0."""
    if blocks.quantization is not None:
        blocks = replace(blocks, quantization=Quantization.per_tensor(0.5))
    graph = _possible(blocks)
    fused = clone_graph(graph)
    assert said(fused, explicit=False) == "passed fused"
    rng = np.random.default_rng(0)
    type_ = graph.inputs[0].type
    x = rng.normal(0, 1, type_.dims) if blocks.quantization is None else rng.integers(-128, 128, type_.dims)
    feeds = [[x.astype(type_.dtype.numpy)]]
    results = [oracle.run_wheel(export_model(Model("m", each)), feeds)[0][0] for each in (graph, fused)]
    (ours,) = Interpreter(fused, REGISTRY).run(feeds[0])
    if blocks.quantization is None:
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(results[1], results[0])
        np.testing.assert_array_equal(ours, results[0])


@pytest.mark.parametrize("passes", [default_passes(), file_passes()], ids=["compile", "optimize"])
def test_what_blocks_kept_apart_fuses_next(passes: Any) -> None:
    """An activation behind the blocks, and the padding before them."""
    b, blocks = GraphBuilder(), Blocks(size=(6, 6), paddings=((0, 0), (0, 0)))
    x = b.input("x", TensorType(DType.INT8, (1, 6, 6, 2), Q))
    amounts = b.constant("amounts", np.array([[0, 0], [2, 2], [2, 2], [0, 0]], np.int32))
    padded = b.node("pad", [x, amounts], [TensorType(DType.INT8, (1, 10, 10, 2), Q)], Attrs(), name="pad").result
    found = blocks.move(b, "space_to_batch_nd", padded, (2, 2), ((0, 0), (0, 0)))
    found = blocks.node(b, "conv2d", [found, *blocks.weights(b)], Conv2dAttrs(), "conv")
    found = blocks.move(b, "batch_to_space_nd", found, (2, 2), ((0, 0), (0, 0)))
    graph = b.output(blocks.node(b, "relu", [found], Attrs(), "relu"))
    run_pipeline(graph, passes, REGISTRY)
    assert ops(graph) == ["conv2d"]
    assert graph.outputs[0].name == "relu"
