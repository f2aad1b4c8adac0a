"""Trimming filters: each precondition has a test that fails when it is taken away."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.interp import interpreter_for
from arenite.ir.attrs import Margins, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import conv_attrs
from arenite.passes.base import BitExact, Close, Context
from arenite.passes.differential import agree
from arenite.passes.feeds import made_up_feeds
from arenite.passes.trim_taps import TrimTaps
from passes.filters import KINDS, OPS, REGISTRY, Layer, convolution, estimate, macs, padded, taps
from passes.support import verdicts


def said(graph: Graph) -> str:
    (verdict,) = verdicts(TrimTaps(), graph, REGISTRY)["conv"]
    return verdict


def padding(graph: Graph) -> Padding | Margins:
    return conv_attrs(OpCall.of(convolution(graph))).padding


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_last_row_and_column_go(op: str, kind: str) -> None:
    """What SAME pads for 4 taps with stride 2 is what 3 taps want on both sides."""
    graph = Layer(op, (4, 4), ((0, 1), (0, 1)), stride=(2, 2), kind=kind).graph()
    before, per_pixel = macs(graph), 4 * (2 if op == "conv2d" else 1)
    (remark,) = TrimTaps().run(clone_graph(graph), Context(REGISTRY)).remarks
    assert remark.text == (
        "the filter of conv lost the zeros at its border, 3x3 taps of 4x4 are left: "
        f"{4 * 4 * 7 * per_pixel} multiply-accumulates less"
    )
    assert said(graph) == "passed trimmed"
    assert taps(graph) == (3, 3)
    assert padding(graph) == ((1, 0), (1, 0))
    assert before - macs(graph) == 4 * 4 * 7 * per_pixel


def test_a_first_row_takes_padding_along() -> None:
    graph = Layer(taps=(4, 3), zeros=((1, 0), (0, 0))).graph()
    assert said(graph) == "passed trimmed"
    assert taps(graph) == (3, 3)
    assert padding(graph) == ((0, 2), (1, 1))


def test_what_same_says_is_said_so() -> None:
    graph = Layer(taps=(5, 3), zeros=((1, 1), (0, 0))).graph()
    assert said(graph) == "passed trimmed"
    assert padding(graph) is Padding.SAME


def test_each_tap_is_as_wide_as_the_dilation() -> None:
    layer = Layer(taps=(4, 4), zeros=((1, 0), (1, 1)), dilation=(2, 3), size=(16, 16), padding=((2, 4), (3, 5)))
    graph = layer.graph()
    assert said(graph) == "passed trimmed"
    assert taps(graph) == (3, 2)
    assert padding(graph) == ((0, 4), (0, 2))


def test_dilated_taps_need_as_much_padding() -> None:
    graph = Layer(taps=(3, 3), zeros=((1, 0), (0, 0)), dilation=(2, 2), padding=((1, 3), (2, 2))).graph()
    assert said(graph) == "missed no-margin"


def test_one_tap_alone_is_not_dilated() -> None:
    graph = Layer(taps=(3, 3), zeros=((1, 1), (1, 1)), dilation=(2, 2)).graph()
    assert said(graph) == "passed trimmed"
    attrs = conv_attrs(OpCall.of(convolution(graph)))
    assert (taps(graph), attrs.dilation, attrs.padding) == ((1, 1), (1, 1), Padding.VALID)


def test_a_filter_of_zeros_keeps_a_tap() -> None:
    graph = Layer(taps=(3, 3), zeros=((3, 0), (0, 0))).graph()
    assert said(graph) == "passed trimmed"
    assert taps(graph) == (1, 1)


@pytest.mark.parametrize("zeros", [(1, 0), (0, 1)])
def test_windows_begin_and_end_within_the_input(zeros: tuple[int, int]) -> None:
    """Without the first row the first window would begin later; without the last one there would be one more."""
    layer = Layer(zeros=(zeros, (0, 0)), padding=Padding.VALID)
    assert said(layer.graph()) == "missed no-margin"


def test_rows_that_windows_do_not_reach_may_be_left() -> None:
    graph = Layer(taps=(3, 3), zeros=((0, 1), (0, 0)), padding=Padding.VALID, stride=(2, 2), size=(7, 7)).graph()
    assert said(graph) == "passed trimmed"
    assert (taps(graph), padding(graph)) == ((2, 3), Padding.VALID)


@pytest.mark.parametrize(("margins", "zeros", "left"), [((2, 0), (0, 2), 3), ((1, 2), (2, 0), 3), ((0, 2), (0, 2), 1)])
def test_no_window_lies_in_padding_alone(margins: tuple[int, int], zeros: tuple[int, int], left: int) -> None:
    """Where the first one sees two rows of padding, three taps must stay."""
    graph = Layer(taps=(3, 3), zeros=(zeros, (0, 0)), padding=(margins, (1, 1))).graph()
    verdict = said(graph)
    assert taps(graph)[0] == left
    assert verdict == ("passed trimmed" if left < 3 else "missed no-margin")


def test_as_much_goes_as_can() -> None:
    graph = Layer(taps=(5, 3), zeros=((3, 0), (0, 0)), padding=((1, 3), (1, 1))).graph()
    assert said(graph) == "passed trimmed"
    assert (taps(graph), padding(graph)) == ((4, 3), ((0, 3), (1, 1)))


def test_all_zero_or_not_at_all() -> None:
    graph = Layer().graph()
    assert said(graph) == "missed no-zero-taps"


def test_zeros_inside_stay() -> None:
    graph = Layer().graph()
    node = convolution(graph)
    array = np.array(node.operand(1).constant)
    array[:, 1, 1] = 0
    graph._set_operand(node, 1, Value("w", node.operand(1).type, constant=array))
    assert said(graph) == "missed no-zero-taps"


def test_stored_zeros_are_not_zero_for_uint8() -> None:
    graph = Layer(zeros=((0, 1), (0, 0)), kind="uint8").graph()
    node = convolution(graph)
    array = np.array(node.operand(1).constant)
    array[:, -1] = 0
    graph._set_operand(node, 1, Value("w", node.operand(1).type, constant=array))
    assert said(graph) == "missed no-zero-taps"


def test_zero_points_per_channel() -> None:
    """No file that is sound has them, but nothing hinders it."""
    graph = Layer(zeros=((0, 1), (0, 0))).graph()
    node = convolution(graph)
    quantization = Quantization((0.5,) * 4, (1, 2, 3, 4), 0)
    array = np.array(node.operand(1).constant)
    array[:, -1] = np.arange(1, 5)[:, None, None]
    type_ = replace(node.operand(1).type, quantization=quantization)
    graph._set_operand(node, 1, Value("w", type_, constant=array))
    (remark,) = TrimTaps().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "trimmed"


def test_negative_zero_is_zero() -> None:
    graph = Layer(zeros=((0, 1), (0, 0)), kind="float32").graph()
    node = convolution(graph)
    array = np.array(node.operand(1).constant)
    array[:, -1] = -0.0
    graph._set_operand(node, 1, Value("w", node.operand(1).type, constant=array))
    assert said(graph) == "passed trimmed"


def test_filters_that_others_read_stay() -> None:
    layer = Layer(taps=(4, 4), zeros=((0, 1), (0, 1)), stride=(2, 2))
    b = GraphBuilder()
    x, weights = b.input("x", layer.graph().inputs[0].type), layer.filter(b)
    graph = b.output(layer.read(b, x, weights), layer.read(b, x, weights, "other"))
    assert said(graph) == "missed shared-weights"


@pytest.mark.parametrize("what", ["weights", "shape", "data"])
def test_what_is_not_known_now(what: str) -> None:
    graph = Layer(zeros=((0, 1), (0, 1))).graph()
    node = convolution(graph)
    if what == "shape":
        node.operand(1).type = replace(node.operand(1).type, shape=None)
    elif what == "weights":
        given_ = Value("given", node.operand(1).type)
        graph.inputs.append(given_)
        graph._set_operand(node, 1, given_)
    else:
        graph.inputs[0].type = TensorType(node.operand(0).type.dtype, (1, "h", 8, 2), node.operand(0).type.quantization)
    (remark,) = TrimTaps().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "filter-computed"


def test_other_ops_are_no_candidates() -> None:
    b = GraphBuilder()
    layer = Layer()
    x = b.input("x", layer.graph().inputs[0].type)
    assert TrimTaps().run(b.output(padded(b, x, ((1, 1), (1, 1)))), Context(REGISTRY)).candidates == 0


# What kernels take

FAST = ((3, 3), (4, 4))


@pytest.mark.parametrize(
    ("change", "zeros", "left"),
    [
        ({}, ((0, 1), (0, 0)), (3, 3)),
        ({}, ((0, 0), (1, 0)), (3, 3)),
        ({}, ((1, 1), (0, 0)), (3, 3)),
        ({}, ((1, 1), (1, 1)), (3, 3)),
        ({"kind": "uint8"}, ((0, 1), (0, 1)), (3, 3)),
        ({"kind": "int16"}, ((0, 1), (0, 1)), (3, 3)),
        ({"kind": "float32"}, ((0, 1), (0, 0)), (2, 3)),
        ({"stride": (2, 2), "size": (9, 9)}, ((0, 1), (0, 0)), (3, 3)),
        ({"stride": (3, 3)}, ((0, 1), (0, 0)), (2, 3)),
        ({"stride": (3, 1)}, ((0, 0), (0, 1)), (3, 3)),
        ({"stride": (1, 3)}, ((0, 1), (0, 0)), (2, 3)),
        ({"dilation": (2, 2)}, ((0, 1), (0, 0)), (2, 3)),
        ({"dilation": (2, 1)}, ((0, 1), (0, 0)), (3, 3)),
        ({"op": "conv2d"}, ((0, 1), (0, 0)), (2, 3)),
        ({"taps": (4, 4)}, ((1, 1), (0, 1)), (3, 3)),
        ({"taps": (5, 5)}, ((2, 1), (1, 2)), (3, 3)),
        ({"taps": (5, 5), "kind": "uint8"}, ((2, 1), (1, 2)), (3, 3)),
        ({"taps": (5, 5)}, ((2, 2), (1, 2)), (3, 3)),
        ({"taps": (5, 4)}, ((2, 1), (0, 1)), (3, 3)),
        ({"taps": (4, 2)}, ((1, 1), (0, 0)), (2, 2)),
    ],
)
def test_three_by_three_taps_are_fast(change: dict[str, Any], zeros: Any, left: tuple[int, int]) -> None:
    graph = replace(Layer("depthwise_conv2d", zeros=zeros), **change).graph()
    start = taps(graph)
    verdict = said(graph)
    assert taps(graph) == left
    assert verdict == ("missed faster-whole" if left == start else "passed trimmed")


@st.composite
def layers(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Layer:
    """Any convolution, with zeros at the border of its filter in most cases."""
    size = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    zeros = [draw(st.tuples(st.integers(0, count), st.integers(0, count))) for count in size]
    dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    reach = [(count - 1) * step + 1 for count, step in zip(size, dilation, strict=True)]
    margins = [draw(st.tuples(st.integers(0, far - 1), st.integers(0, far - 1))) for far in reach]
    explicit = draw(st.booleans())
    return Layer(
        draw(st.sampled_from(OPS)),
        size,
        (zeros[0], zeros[1]),
        (draw(st.integers(reach[0], 9)), draw(st.integers(reach[1], 9))),
        (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        dilation,
        (margins[0], margins[1]) if explicit else draw(st.sampled_from(Padding)),
        draw(st.sampled_from(kinds)),
    )


@pytest.mark.parametrize(
    ("channels", "outputs", "left"), [(4, 2, 4), (4, 8, 3), (5, 2, 4), (3, 2, 3), (8, 1, 3), (4, 1, 4), (6, 1, 3)]
)
def test_short_rows_are_gathered_first(channels: int, outputs: int, left: int) -> None:
    """Fewer than 16 elements in a row of a window: for one pair of outputs more than what taps take."""
    layer = Layer(taps=(1, 4), zeros=((0, 0), (0, 1)), channels=channels, outputs=outputs)
    graph = layer.graph()
    assert said(graph) == ("missed faster-whole" if left == 4 else "passed trimmed")
    assert taps(graph) == (1, left)


@pytest.mark.parametrize(
    ("size", "stride", "left"), [((4, 4), (2, 2), (4, 4)), ((4, 5), (2, 3), (3, 3)), ((5, 4), (3, 2), (3, 3))]
)
def test_filters_of_the_whole_input_are_matrices(
    size: tuple[int, int], stride: tuple[int, int], left: tuple[int, int]
) -> None:
    zeros = ((0, 1), (0, 1))
    graph = Layer(taps=(4, 4), zeros=zeros, size=size, stride=stride, padding=Padding.VALID, channels=8).graph()
    assert said(graph) == ("missed faster-whole" if left == (4, 4) else "passed trimmed")
    assert taps(graph) == left


def test_filters_of_the_whole_input_with_padding_are_none() -> None:
    """They have several windows, which see less of it each."""
    graph = Layer(taps=(4, 4), zeros=((0, 1), (0, 1)), size=(4, 4)).graph()
    assert said(graph) == "passed trimmed"
    assert taps(graph) == (3, 3)


@given(layer=layers())
def test_nothing_changes_but_the_taps(layer: Layer) -> None:
    graph = layer.graph()
    before = clone_graph(graph)
    verdict = said(graph)
    feeds = made_up_feeds(before)
    one, other = interpreter_for(before, REGISTRY), interpreter_for(graph, REGISTRY)
    for feed in feeds:
        (expected,), (found,) = one.run(feed.arrays), other.run(feed.arrays)
        assert agree(expected, found, Close(1e-5) if layer.kind == "float32" else BitExact())
    assert (macs(graph) < macs(before)) == (verdict == "passed trimmed")
    assert said(graph).startswith("missed")


BORDERS = (((0, 1), (0, 1)), ((1, 1), (1, 1)), ((0, 0), (0, 1)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPS)
def test_no_kernel_takes_longer(op: str, kind: str) -> None:
    trimmed = 0
    for size, zeros, stride in product(((3, 3), (4, 4), (5, 5), (1, 4)), BORDERS, (1, 2)):
        if any(sum(cut) >= count for cut, count in zip(zeros, size, strict=True)):
            continue
        for channels, times in product((1, 4, 8), (1, 2)):
            outputs = times if op == "conv2d" else times * channels
            layer = Layer(op, size, zeros, (9, 9), (stride, stride), kind=kind, channels=channels, outputs=outputs)
            graph = layer.graph()
            before = estimate(graph)
            trimmed += TrimTaps().run(graph, Context(REGISTRY)).changed
            assert estimate(graph) <= before, layer
    assert trimmed > 50
