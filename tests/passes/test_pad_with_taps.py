"""Padding by zeros in filters: each precondition has a test that fails when it is taken away."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite.formats.tflite import export_model, import_model
from arenite.interp import interpreter_for
from arenite.ir.attrs import Attrs, Margins, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import TensorType
from arenite.ops.conv import conv_attrs
from arenite.ops.pool import Pool2dAttrs
from arenite.passes.base import BitExact, Close, Context
from arenite.passes.differential import agree
from arenite.passes.feeds import made_up_feeds
from arenite.passes.pad_with_taps import PadWithTaps
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import all_passes, default_passes, file_passes
from passes.filters import KINDS, OPS, REGISTRY, Layer, convolution, estimate, macs, padded, taps
from passes.support import ops, verdicts

AROUND: Margins = ((1, 1), (1, 1))
TORCH = Layer(stride=(2, 2), padding=AROUND)
"""What PyTorch writes: one pixel of padding on each side, where SAME would have it behind the last one alone."""


def said(graph: Graph, subject: str = "conv") -> str:
    (verdict,) = verdicts(PadWithTaps(), graph, REGISTRY)[subject]
    return verdict


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_last_row_and_column_of_zeros(op: str, kind: str) -> None:
    graph = replace(TORCH, op=op, kind=kind).graph()
    before = np.array(convolution(graph).operand(1).constant)
    more = 4 * 4 * 7 * 4 * (2 if op == "conv2d" else 1)
    (remark,) = PadWithTaps().run(clone_graph(graph), Context(REGISTRY)).remarks
    assert remark.text == (
        "SAME pads for 'conv' what conv asks for, since filters got zeros at their border, 3x3 taps became 4x4: "
        f"{more} multiply-accumulates more"
    )
    assert said(graph) == "passed enlarged"
    node = convolution(graph)
    assert (taps(graph), conv_attrs(OpCall.of(node)).padding) == ((4, 4), Padding.SAME)
    after = np.asarray(node.operand(1).constant)
    np.testing.assert_array_equal(after[:, :3, :3], before)
    zero = 3 if kind == "uint8" else 0
    assert (after[:, 3] == zero).all()
    assert (after[:, :, 3] == zero).all()
    assert node.operand(1).name == "w_1"
    assert after.dtype == before.dtype


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_a_pad_goes(op: str, kind: str) -> None:
    graph = replace(TORCH, op=op, kind=kind, padding=Padding.VALID).graph(AROUND)
    assert said(graph, "pad") == "passed enlarged"
    assert ops(graph) == [op]
    assert taps(graph) == (4, 4)
    assert convolution(graph).origin == ("conv", "pad")


def test_a_pad_and_margins_are_one() -> None:
    graph = replace(TORCH, padding=((0, 0), (1, 1))).graph(((1, 1), (0, 0)))
    assert verdicts(PadWithTaps(), graph, REGISTRY) == {"pad": ["passed enlarged"]}
    assert taps(graph) == (4, 4)


def test_what_same_or_valid_says_costs_nothing() -> None:
    graph = Layer(padding=Padding.VALID).graph(AROUND)
    assert said(graph, "pad") == "passed enlarged"
    assert (taps(graph), conv_attrs(OpCall.of(convolution(graph))).padding) == ((3, 3), Padding.SAME)
    graph = replace(TORCH, size=(8, 7), padding=((1, 0), (1, 1))).graph()
    assert said(graph) == "passed enlarged"
    assert taps(graph) == (4, 3)


def test_zeros_may_come_first() -> None:
    """Padding behind the last pixel: what SAME has before it sees a tap that is 0."""
    graph = Layer(taps=(2, 3), padding=((1, 0), (1, 1))).graph()
    assert said(graph) == "passed enlarged"
    assert taps(graph) == (3, 3)
    graph = Layer(taps=(3, 3), padding=((0, 2), (1, 1))).graph()
    assert said(graph) == "passed enlarged"
    assert taps(graph)[0] == 4
    assert not np.asarray(convolution(graph).operand(1).constant)[:, 0].any()


def test_dilated_taps_reach_further() -> None:
    graph = Layer(dilation=(2, 2), padding=((2, 2), (0, 4))).graph()
    assert said(graph) == "passed enlarged"
    assert taps(graph) == (3, 5)


def test_zeros_before_are_whole_taps() -> None:
    """For one tap more, dilated by 2, SAME has one pixel more on each side: two before where there was one."""
    graph = Layer(dilation=(2, 2), padding=((2, 2), (1, 3))).graph()
    assert said(graph) == "passed enlarged"
    assert taps(graph) == (3, 4)
    assert not np.asarray(convolution(graph).operand(1).constant)[:, :, 0].any()


@pytest.mark.parametrize(("rows", "left"), [(2, 2), (3, 5), (4, 5)])
def test_no_more_than_twice_the_taps(rows: int, left: int) -> None:
    """SAME pads one row before from 5 taps on."""
    graph = Layer(taps=(rows, 1), size=(9, 8), padding=((1, 0), (0, 0)), stride=(3, 1)).graph()
    assert said(graph) == ("missed too-many-taps" if left == rows else "passed enlarged")
    assert taps(graph) == (left, 1)


def test_another_number_of_windows() -> None:
    assert said(Layer(padding=((1, 0), (1, 1))).graph()) == "missed outputs-differ"


def test_convolutions_that_a_file_has_words_for_are_no_candidates() -> None:
    for padding in Padding:
        assert verdicts(PadWithTaps(), Layer(padding=padding).graph(), REGISTRY) == {}


def test_pools_with_explicit_padding_are_no_candidates() -> None:
    b = GraphBuilder()
    x = b.input("x", Layer().graph().inputs[0].type)
    pool = b.node("max_pool2d", [x], [pooled(x.type, (4, 4))], Pool2dAttrs((3, 3), (2, 2), AROUND), name="pool")
    assert verdicts(PadWithTaps(), b.output(pool.result), REGISTRY) == {}


def test_all_readers_or_none() -> None:
    layer = replace(TORCH, padding=Padding.VALID)
    b = GraphBuilder()
    value = padded(b, b.input("x", layer.graph().inputs[0].type), AROUND)
    other = b.node("max_pool2d", [value], [pooled(value.type, (4, 4))], Pool2dAttrs((3, 3), (2, 2)), name="pool")
    graph = b.output(layer.read(b, value, layer.filter(b)), other.result)
    assert said(graph, "pad") == "missed not-least"
    assert ops(graph) == ["pad", "max_pool2d", "conv2d"]


def pooled(type_: TensorType, dims: tuple[int, int]) -> TensorType:
    return replace(type_, shape=(1, *dims, type_.dims[3]))


@pytest.mark.parametrize(("stride", "expected"), [(2, "missed no-filter"), (1, "passed enlarged")])
def test_pools_have_no_taps(stride: int, expected: str) -> None:
    b = GraphBuilder()
    type_ = Layer(kind="float32").graph().inputs[0].type
    x = b.node("relu", [b.input("x", type_)], [type_], Attrs(), name="relu").result
    value, steps = padded(b, x, AROUND), (stride, stride)
    dims = (8 // stride, 8 // stride)
    pool = b.node("max_pool2d", [value], [pooled(type_, dims)], Pool2dAttrs((3, 3), steps), name="pool")
    graph = b.output(pool.result)
    assert said(graph, "pad") == expected
    assert ops(graph) == (["relu", "max_pool2d"] if expected.startswith("passed") else ["relu", "pad", "max_pool2d"])


def test_every_reader_gets_its_own_zeros() -> None:
    layer = replace(TORCH, padding=Padding.VALID)
    other = replace(layer, op="depthwise_conv2d", taps=(3, 3))
    b = GraphBuilder()
    value = padded(b, b.input("x", layer.graph().inputs[0].type), AROUND)
    graph = b.output(*(each.read(b, value, each.filter(b), each.op) for each in (layer, other)))
    assert said(graph, "pad") == "passed enlarged"
    assert [node.operand(1).type.dims[1:3] for node in graph.nodes] == [(4, 4), (4, 4)]


def slug(graph: Graph) -> str:
    """What is said of graphs that are not sound."""
    (remark,) = PadWithTaps().run(graph, Context(REGISTRY)).remarks
    return remark.reason.slug


def test_filters_that_others_read_stay() -> None:
    b = GraphBuilder()
    x, weights = b.input("x", TORCH.graph().inputs[0].type), TORCH.filter(b)
    plain = replace(TORCH, padding=Padding.SAME)
    graph = b.output(TORCH.read(b, x, weights), plain.read(b, x, weights, "other"))
    assert said(graph) == "missed shared-weights"


def test_filters_that_are_computed_stay() -> None:
    graph = TORCH.graph()
    node = convolution(graph)
    given_ = Value("given", node.operand(1).type)
    graph.inputs.append(given_)
    graph._set_operand(node, 1, given_)
    assert slug(graph) == "filter-computed"


def test_nobody_reads_it() -> None:
    b = GraphBuilder()
    x = b.input("x", TORCH.graph().inputs[0].type)
    padded(b, x, AROUND)
    assert slug(b.output(x)) == "unread"


def test_an_output_stays() -> None:
    b = GraphBuilder()
    graph = b.output(padded(b, b.input("x", TORCH.graph().inputs[0].type), AROUND))
    assert said(graph, "pad") == "missed intermediate-is-output"


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_infinite_weights_see_zeros(bad: float) -> None:
    graph = replace(TORCH, kind="float32", padding=Padding.VALID).graph(AROUND)
    node = convolution(graph)
    weights = np.array(node.operand(1).constant)
    weights[0, 0, 0, 0] = bad
    graph._set_operand(node, 1, Value("bad", node.operand(1).type, constant=weights))
    assert slug(graph) == "unfit-filter"


@st.composite
def layers(draw: st.DrawFn, least: int = 0) -> tuple[Layer, Margins | None]:
    """Any convolution with explicit padding, in part by a pad; `least`: how much larger images are than windows."""
    size = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    reach = [(count - 1) * step + 1 for count, step in zip(size, dilation, strict=True)]
    margins = [draw(st.tuples(st.integers(0, far - 1), st.integers(0, far - 1))) for far in reach]
    pad = [draw(st.tuples(st.integers(0, 1), st.integers(0, 1))) for _ in range(2)]
    layer = Layer(
        draw(st.sampled_from(OPS)),
        size,
        size=(draw(st.integers(reach[0] + least, 12)), draw(st.integers(reach[1] + least, 12))),
        stride=(draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        dilation=dilation,
        padding=(margins[0], margins[1]),
        kind=draw(st.sampled_from(KINDS)),
    )
    return layer, draw(st.sampled_from([None, (pad[0], pad[1])]))


@given(drawn=layers())
def test_nothing_changes_but_the_taps(drawn: tuple[Layer, Margins | None]) -> None:
    layer, pad = drawn
    graph = layer.graph(pad)
    before = clone_graph(graph)
    said_of = verdicts(PadWithTaps(), graph, REGISTRY)
    for feed in made_up_feeds(before):
        (expected,), (found,) = (interpreter_for(each, REGISTRY).run(feed.arrays) for each in (before, graph))
        assert agree(expected, found, Close(1e-5) if layer.kind == "float32" else BitExact())
    if "passed enlarged" in said_of[next(iter(said_of))]:
        assert ops(graph) == [layer.op]
        assert isinstance(conv_attrs(OpCall.of(convolution(graph))).padding, Padding)
        assert all(new <= 2 * old for new, old in zip(taps(graph), layer.taps, strict=True))


# Together with others

DEFAULT = default_passes()


@given(drawn=layers(least=4))
def test_trimming_takes_back_what_files_need(drawn: tuple[Layer, Margins | None]) -> None:
    """A file with zeros in filters compiles to no more than one with PAD, where no window lies in padding alone."""
    layer, pad = drawn
    graph = layer.graph(pad)
    plain, enlarged = clone_graph(graph), clone_graph(graph)
    run_pipeline(enlarged, file_passes(pad_with_taps=True), REGISTRY)
    back = [import_model(export_model(Model("m", each)), "m").graph for each in (plain, enlarged)]
    for each in back:
        run_pipeline(each, DEFAULT, REGISTRY)
    if ops(back[0]) == [layer.op]:
        assert ops(back[1]) == [layer.op]
        assert macs(back[1]) <= macs(back[0]) or estimate(back[1]) <= estimate(back[0])


@pytest.mark.parametrize("kind", ["int8", "float32"])
@pytest.mark.parametrize("op", OPS)
def test_the_same_layer_comes_back(op: str, kind: str) -> None:
    graph = replace(TORCH, op=op, kind=kind, padding=Padding.VALID).graph(AROUND)
    plain = clone_graph(graph)
    run_pipeline(graph, file_passes(pad_with_taps=True), REGISTRY)
    assert ops(graph) == [op]
    assert macs(graph) > macs(plain)
    for each in (graph, plain):
        run_pipeline(each, DEFAULT, REGISTRY)
    node, other = convolution(graph), convolution(plain)
    assert (node.attrs, taps(graph), macs(graph)) == (other.attrs, taps(plain), macs(plain))
    np.testing.assert_array_equal(np.asarray(node.operand(1).constant), np.asarray(other.operand(1).constant))


def test_only_files_want_it_and_only_when_asked() -> None:
    names = [[spec.name for spec in specs] for specs in (default_passes(), file_passes(), all_passes())]
    assert [PadWithTaps.name in each for each in names] == [False, False, True]
    assert ["trim-taps" in each for each in names] == [True, False, True]
    graph = replace(TORCH, padding=Padding.VALID).graph(AROUND)
    run_pipeline(graph, file_passes(), REGISTRY)
    assert ops(graph) == ["pad", "conv2d"]


@pytest.mark.wheel
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("size", [(8, 8), (7, 8), (6, 9)])
def test_the_oracle_sees_no_difference(op: str, size: tuple[int, int]) -> None:
    graph = replace(TORCH, op=op, size=size, padding=Padding.VALID).graph(AROUND)
    before = export_model(Model("m", clone_graph(graph)))
    assert said(graph, "pad") == "passed enlarged"
    feeds = oracle.random_feeds(before, invocations=2)
    found, expected = oracle.run_wheel(export_model(Model("m", graph)), feeds), oracle.run_wheel(before, feeds)
    np.testing.assert_array_equal(found, expected)
