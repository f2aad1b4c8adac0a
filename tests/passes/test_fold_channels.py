"""Folding channels: each precondition has a test that fails when it is taken away."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model, import_model
from arenite.interp import interpreter_for
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.passes.base import Context
from arenite.passes.fold_channels import FoldChannels
from arenite.passes.ranges import Ranges
from passes.support import verdicts

REGISTRY = core_registry()
SHARED = Path(__file__).resolve().parents[3] / "shared"
ZERO = -100


class Net:
    """Layers of int8 one after another; the channels in `dead` have weights of 0."""

    def __init__(self, channels: int = 3, size: int = 5, zero_point: int = ZERO, seed: int = 0) -> None:
        self.b = GraphBuilder()
        self.rng = np.random.default_rng(seed)
        self.zero_point = zero_point
        self.per_tensor = False
        self.value = self.b.input("x", self._type((1, size, size, channels)))

    def _type(self, dims: Any) -> TensorType:
        return TensorType(DType.INT8, dims, Quantization.per_tensor(0.5, self.zero_point))

    def _append(self, op: str, operands: list[Value], attrs: Attrs, name: str) -> "Net":
        declared = (self._type(None),)
        call = OpCall(name, op, attrs, tuple(v.type for v in operands), declared, tuple(v.constant for v in operands))
        self.value = self.b.node(op, operands, REGISTRY[op].infer(call), attrs, name=name).result
        return self

    def layer(
        self, attrs: Conv2dAttrs | DepthwiseConv2dAttrs, shape: tuple[int, ...], dead: Any, bias: Any, name: str
    ) -> "Net":
        axis = 0 if isinstance(attrs, Conv2dAttrs) else 3
        weights = self.rng.integers(-127, 128, shape).astype(np.int8)
        weights[tuple([slice(None)] * axis + [list(dead)])] = 0
        count = shape[axis]
        scales = tuple(float(s) for s in self.rng.choice([2.0**-7, 2.0**-8], count))
        per_channel = Quantization(scales, (0,) * count, axis)
        q = Quantization.per_tensor(2.0**-7) if self.per_tensor else per_channel
        operands = [self.value, self.b.constant(f"{name}/w", weights, q)]
        if bias is not None:
            given = np.broadcast_to(np.asarray(bias, np.int32), (count,)).copy()
            q = Quantization(tuple(0.5 * s for s in scales), (0,) * count, 0)
            q = Quantization.per_tensor(2.0**-8) if self.per_tensor else q
            operands.append(self.b.constant(f"{name}/bias", given, q))
        return self._append("conv2d" if axis == 0 else "depthwise_conv2d", operands, attrs, name)

    def conv(self, outputs: int, name: str, *, dead: Any = (), bias: Any = 0, taps: int = 1, **attrs: Any) -> "Net":
        shape = (outputs, taps, taps, self.value.type.dims[3])
        return self.layer(Conv2dAttrs(**attrs), shape, dead, bias, name)

    def depthwise(self, name: str, *, dead: Any = (), bias: Any = 0, multiplier: int = 1, **attrs: Any) -> "Net":
        shape = (1, 3, 3, self.value.type.dims[3] * multiplier)
        return self.layer(DepthwiseConv2dAttrs(multiplier=multiplier, **attrs), shape, dead, bias, name)

    def pool(self, op: str) -> "Net":
        return self._append(op, [self.value], Pool2dAttrs((2, 2), (1, 1)), "pool")

    def done(self, *more: Value) -> Graph:
        return self.b.output(self.value, *more)


def run(graph: Graph) -> dict[str, str]:
    """What was said of each layer, when the oracle computes what it did before."""
    before = export_model(Model("m", clone_graph(graph)))
    found = verdicts(FoldChannels(), graph, REGISTRY)
    feeds = oracle.random_feeds(before, invocations=2)
    after = oracle.run_wheel(export_model(Model("m", graph)), feeds)
    for ours, theirs in zip(after, oracle.run_wheel(before, feeds), strict=True):
        for found_output, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(found_output, expected)
    return {name: said for name, (said,) in found.items()}


def named(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def channels(graph: Graph, name: str) -> int:
    return named(graph, name).result.type.dims[3]


pytestmark = pytest.mark.wheel


def test_a_constant_channel_goes_into_the_next_bias() -> None:
    graph = Net().conv(4, "one", dead=[1, 3], bias=[5, 9000, 7, -3]).conv(2, "two", taps=3, bias=[1, 2]).done()
    assert run(graph) == {"one": "passed removed", "two": "missed all-used"}
    assert channels(graph, "one") == 2
    assert named(graph, "two").operand(1).type.dims == (2, 3, 3, 2)
    assert named(graph, "two").operand(2).type.dims == (2,)
    weight = named(graph, "one").operand(1).type
    assert weight.quantization is not None
    assert len(weight.quantization.scales) == weight.dims[0] == 2
    assert "one" in named(graph, "two").origin


def test_a_bias_that_was_absent() -> None:
    graph = Net().conv(3, "one", dead=[0], bias=[9000, 1, 2]).conv(2, "two", bias=None).done()
    assert run(graph)["one"] == "passed removed"
    assert named(graph, "two").operand(2).type.dtype is DType.INT32
    graph = Net().conv(3, "one", dead=[0], bias=[0, 1, 2]).conv(2, "two", bias=None).done()
    assert run(graph)["one"] == "passed removed"
    assert named(graph, "two").optional_operand(2) is None


def test_layers_of_one_scale_and_no_bias() -> None:
    net = Net()
    net.per_tensor = True
    graph = net.conv(4, "one", dead=[1], bias=None).conv(3, "two", dead=[0], bias=[9000, 1, 2]).conv(2, "three").done()
    assert run(graph)["two"] == "passed removed"
    net = Net()
    net.per_tensor = True
    graph = net.conv(3, "two", dead=[0], bias=[9000, 1, 2]).conv(2, "three", bias=None).done()
    assert run(graph)["two"] == "passed removed"
    assert named(graph, "three").operand(2).type.quantization == Quantization.per_tensor(2.0**-8)


def test_biases_may_have_no_scale() -> None:
    """Nobody needs it: it is the product of those of data and weights."""
    graph = Net().conv(3, "one", dead=[1], bias=[5, 9000, 7]).conv(2, "two").done()
    for node in graph.nodes:
        node.operand(2).type = TensorType(DType.INT32, node.operand(2).type.shape)
    FoldChannels().run(graph, Context(REGISTRY))
    assert channels(graph, "one") == 2
    for node in graph.nodes:
        assert node.operand(2).type == TensorType(DType.INT32, (2,))


@pytest.mark.parametrize("multiplier", [1, 2])
def test_through_a_depthwise_convolution(multiplier: int) -> None:
    net = Net().conv(4, "one", dead=[2], bias=[1, 2, 0, 4]).depthwise("dw", multiplier=multiplier, padding=Padding.SAME)
    graph = net.conv(2, "two").done()
    assert run(graph) == {"one": "passed removed", "dw": "passed removed", "two": "missed all-used"}
    assert (channels(graph, "one"), channels(graph, "dw")) == (3, 3 * multiplier)


def test_a_channel_that_the_depthwise_convolution_ignores() -> None:
    graph = Net().conv(4, "one").depthwise("dw", dead=[1], bias=7).conv(2, "two").done()
    assert run(graph)["one"] == "passed removed"
    assert channels(graph, "one") == channels(graph, "dw") == 3


@pytest.mark.parametrize("dead", [[2], [2, 3]])
def test_all_results_of_a_channel_or_none(dead: list[int]) -> None:
    graph = Net().conv(3, "one").depthwise("dw", dead=dead, multiplier=2).conv(2, "two").done()
    both = len(dead) == 2
    assert run(graph)["one"] == ("passed removed" if both else "missed all-used")
    assert channels(graph, "dw") == (4 if both else 6)


@pytest.mark.parametrize("op", ["average_pool2d", "max_pool2d"])
def test_through_pools(op: str) -> None:
    graph = Net().conv(4, "one", dead=[0], bias=[900, 1, 2, 3]).pool(op).conv(2, "two").done()
    assert run(graph) == {"one": "passed removed", "two": "missed all-used"}
    assert channels(graph, "pool") == 3


@pytest.mark.parametrize("bias", [0, 9000])
@pytest.mark.parametrize("padding", [Padding.VALID, Padding.SAME])
def test_at_a_border_only_zeros_count_the_same(bias: int, padding: Padding) -> None:
    net = Net().conv(3, "one", dead=[1], bias=[1, bias, 2])
    graph = net.conv(2, "two", taps=3, padding=padding).done()
    stays = bias != 0 and padding is Padding.SAME
    assert run(graph)["one"] == ("missed needed" if stays else "passed removed")


@pytest.mark.parametrize("bias", [0, 9000])
def test_a_border_of_a_depthwise_convolution(bias: int) -> None:
    net = Net().conv(3, "one", dead=[1], bias=[1, bias, 2]).depthwise("dw", padding=Padding.SAME)
    assert run(net.conv(2, "two").done())["one"] == ("passed removed" if bias == 0 else "missed all-used")


def test_channels_that_nobody_reads() -> None:
    net = Net().conv(4, "one").conv(3, "two")
    weights = named(net.done(), "two").operand(1)
    assert weights.constant is not None
    array = np.array(weights.constant)
    array[..., 2] = 0
    weights.constant = array
    assert run(net.b.graph)["one"] == "passed removed"
    assert channels(net.b.graph, "one") == 3


def test_what_becomes_unused_goes_too() -> None:
    """The third layer reads one channel of the second's, which reads two of the first's."""
    net = Net().conv(4, "one").conv(3, "two", dead=[0, 1], bias=0).conv(2, "three")
    weights = named(net.done(), "two").operand(1)
    assert weights.constant is not None
    array = np.array(weights.constant)
    array[2, ..., 1:3] = 0
    weights.constant = array
    run(net.b.graph)
    assert (channels(net.b.graph, "one"), channels(net.b.graph, "two")) == (2, 1)


def test_one_channel_stays() -> None:
    graph = Net().conv(3, "one", dead=[0, 1, 2], bias=5).conv(2, "two").done()
    assert run(graph)["one"] == "passed removed"
    assert channels(graph, "one") == 1
    assert run(clone_graph(graph)).keys() == {"one", "two"}


def test_an_output_keeps_its_channels() -> None:
    net = Net().conv(3, "one", dead=[1])
    one = net.value
    assert run(net.conv(2, "two").done(one)) == {"one": "missed is-output", "two": "missed all-used"}


def test_other_readers_need_all_channels() -> None:
    net = Net().conv(3, "one", dead=[1])
    one = net.value
    net.conv(2, "two")
    other = net.b.node("relu", [one], [one.type], Attrs(), name="relu").result
    assert run(net.done(other))["one"] == "missed other-reader"


def test_the_first_reader_that_objects_is_named() -> None:
    net = Net().conv(3, "one", dead=[1], bias=[1, 9000, 2])
    one = net.value
    other = net.b.node("relu", [one], [one.type], Attrs(), name="relu").result
    net.conv(2, "two", taps=3, padding=Padding.SAME)
    assert run(net.done(other))["one"] == "missed other-reader"


def test_a_filter_is_no_image() -> None:
    net = Net(size=1, zero_point=0).conv(3, "one", dead=[1])
    image = net.b.input("image", net._type((1, 4, 4, 3)))
    result = net.b.node("conv2d", [image, net.value], [net._type((1, 4, 4, 1))], Conv2dAttrs(), name="two").result
    remarks = FoldChannels().run(net.b.output(result), Context(REGISTRY)).remarks
    assert [remark.reason.slug for remark in remarks] == ["other-reader"]


def test_grouped_convolutions_count_their_channels() -> None:
    net = Net().conv(4, "one", dead=[1])
    graph = net.layer(Conv2dAttrs(), (2, 1, 1, 2), (), 0, "two").done()
    verdict = verdicts(FoldChannels(), graph, REGISTRY)
    assert verdict == {"one": ["missed other-reader"]}


def test_a_bias_that_would_not_fit() -> None:
    net = Net().conv(3, "one", dead=[1], bias=[1, 90000, 2])
    graph = net.conv(2, "two", taps=3, bias=[2**31 - 5, -(2**31)]).done()
    (said,) = verdicts(FoldChannels(), graph, REGISTRY)["one"]
    assert said == "missed needed"


def test_layers_of_floats_are_no_candidates() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (1, 2, 2, 1)))
    w = b.constant("w", np.zeros((1, 1, 1, 1), np.float32))
    graph = b.output(b.node("conv2d", [x, w], [x.type], Conv2dAttrs(), name="one").result)
    assert verdicts(FoldChannels(), graph, REGISTRY) == {}


@st.composite
def nets(draw: st.DrawFn) -> Graph:
    net = Net(
        draw(st.integers(1, 3)),
        draw(st.integers(5, 7)),
        draw(st.sampled_from([-128, 0, ZERO])),
        draw(st.integers(0, 99)),
    )
    activations = st.sampled_from([Activation.NONE, Activation.RELU, Activation.RELU6])
    for number in range(draw(st.integers(2, 3))):
        biases = st.sampled_from([0, 40, 3000, -3000])
        count = draw(st.integers(1, 5))
        dead = draw(st.sets(st.integers(0, count - 1)))
        bias = [draw(biases) for _ in range(count)]
        padding = draw(st.sampled_from(Padding))
        net.conv(count, f"conv{number}", dead=dead, bias=bias, activation=draw(activations), padding=padding)
        if draw(st.booleans()):
            multiplier = draw(st.sampled_from([1, 1, 2]))
            dead = draw(st.sets(st.integers(0, count * multiplier - 1), max_size=2))
            net.depthwise(f"dw{number}", dead=dead, bias=draw(biases), multiplier=multiplier, padding=Padding.SAME)
    return net.conv(2, "last", taps=3, padding=draw(st.sampled_from(Padding))).done()


@given(graph=nets())
def test_the_oracle_sees_no_difference(graph: Graph) -> None:
    run(graph)
    assert not FoldChannels().run(graph, Context(REGISTRY)).changed


@given(graph=nets(), seed=st.integers(0, 99))
def test_no_element_is_out_of_its_range(graph: Graph, seed: int) -> None:
    ranges = Ranges(graph, REGISTRY)
    x = np.random.default_rng(seed).choice(np.array([-128, -100, 0, 127], np.int8), graph.inputs[0].type.dims)
    found = interpreter_for(graph, REGISTRY).trace({"x": x}).values
    for node in graph.nodes:
        known, array = ranges.of(node.result), found[node.result.name].astype(int)
        assert (array >= known.low).all()
        assert (array <= known.high).all()


def test_sums_that_may_wrap_around_can_be_anything() -> None:
    graph = Net(channels=2, size=3, zero_point=0).conv(2, "one", bias=[2**31 - 9, 7], taps=3).done()
    (node,) = graph.nodes
    known = Ranges(graph, REGISTRY).of(node.result)
    assert (known.low[0], known.high[0]) == (-128, 127)
    graph = Net(channels=2, size=3, zero_point=0).conv(2, "one", bias=[2**30, 7], taps=3).done()
    (node,) = graph.nodes
    assert Ranges(graph, REGISTRY).of(node.result).low[0] == 127


def test_ranges_are_reached() -> None:
    graph = Net(channels=2, size=3).conv(4, "one", bias=[0, 100, -200, 3]).done()
    (node,) = graph.nodes
    known = Ranges(graph, REGISTRY).of(node.result)
    interpreter = interpreter_for(graph, REGISTRY)
    corners = np.array(np.meshgrid([-128, 127], [-128, 127])).T.reshape(-1, 2).astype(np.int8)
    found = [interpreter.run({"x": np.broadcast_to(corner, (1, 3, 3, 2))})[0] for corner in corners]
    np.testing.assert_array_equal(np.min(found, axis=(0, 1, 2, 3)), known.low)
    np.testing.assert_array_equal(np.max(found, axis=(0, 1, 2, 3)), known.high)


@pytest.mark.shared
def test_visual_wake_words_loses_half_of_its_work() -> None:
    data = (SHARED / "models" / "tflite" / "mlperf_vww_int8.tflite").read_bytes()
    model = import_model(data, "vww")
    FoldChannels().run(model.graph, Context(REGISTRY))
    macs = 0
    for node in model.graph.nodes:
        cost = REGISTRY[node.op].cost
        if node.op.endswith("conv2d") and callable(cost):
            macs += cost(OpCall.of(node)).macs
    assert macs <= 3_863_358
    assert sum(value.type.nbytes for value in model.graph.constants()) < 45_000
    feeds = oracle.random_feeds(data, invocations=2)
    np.testing.assert_array_equal(oracle.run_wheel(export_model(model), feeds), oracle.run_wheel(data, feeds))
