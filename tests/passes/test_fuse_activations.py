"""Fusing activations: each precondition has a test that fails when it is taken away."""

import dataclasses
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
from arenite.ir.graph import Graph, Node
from arenite.ir.model import Model
from arenite.ir.opdef import NotApplicable, OpDef, Trait
from arenite.ir.pattern import STRUCTURE_REASONS
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.passes.base import Context
from arenite.passes.clamps import CLAMPS, both
from arenite.passes.fuse_activations import FUSABLE, PATTERN, FuseActivations
from passes.support import ops, verdicts

REGISTRY = core_registry()
SHAPE = (1, 4, 4, 2)


def q8(scale: float = 0.1, zero_point: int = -5, shape: tuple[int, ...] = SHAPE) -> TensorType:
    return TensorType(DType.INT8, shape, Quantization.per_tensor(float(np.float32(scale)), zero_point))


def f32(shape: tuple[int, ...] = SHAPE) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def producer(b: GraphBuilder, op: str, type_: TensorType, activation: Activation = Activation.NONE) -> Node:
    """A node with an activation whose result is of a type of SHAPE."""
    x = b.input("x", type_)
    rng = np.random.default_rng(0)
    quantized = type_.quantization is not None
    depthwise = op == "depthwise_conv2d"

    def weights(shape: tuple[int, ...], axis: int) -> Any:
        if not quantized:
            return b.constant("w", rng.standard_normal(shape).astype(np.float32))
        scales = (float(np.float32(0.02)),) * shape[axis]
        return b.constant(
            "w", rng.integers(-127, 128, shape).astype(np.int8), Quantization(scales, (0,) * len(scales), axis)
        )

    def bias() -> Any:
        """TFLM's depthwise_conv2d crashes without one."""
        if type_.quantization is None:
            return b.constant("bias", np.array([-0.5, 0.5], np.float32))
        scale = float(np.float32(type_.quantization.scale) * np.float32(0.02))
        return b.constant("bias", np.array([-50, 50], np.int32), Quantization((scale, scale), (0, 0), 0))

    attrs: Attrs
    if op == "fully_connected":
        w = b.constant("w", rng.standard_normal((2, 2)).astype(np.float32))
        if quantized:
            w = b.constant("w", rng.integers(-127, 128, (2, 2)).astype(np.int8), Quantization.per_tensor(0.015625))
        attrs, operands = FullyConnectedAttrs(activation, keep_dims=True), [x, w, None]
    elif op == "conv2d":
        attrs = Conv2dAttrs(padding=Padding.SAME, activation=activation)
        operands = [x, weights((2, 3, 3, 2), 0), bias()]
    elif depthwise:
        attrs = DepthwiseConv2dAttrs(padding=Padding.SAME, activation=activation)
        operands = [x, weights((1, 3, 3, 2), 3), bias()]
    elif op.endswith("pool2d"):
        attrs, operands = Pool2dAttrs((2, 2), (1, 1), Padding.SAME, activation), [x]
    elif op == "concatenation":
        half = (*SHAPE[:3], 1)
        parts = [b.input(f"part{i}", dataclasses.replace(type_, shape=half)) for i in range(2)]
        attrs, operands = ConcatenationAttrs(3, activation), list(parts)
    else:
        attrs, operands = ArithmeticAttrs(activation), [x, x]
    return b.node(op, operands, [type_], attrs, name="producer")


def graph(
    op: str = "add",
    relu: str = "relu",
    before: TensorType | None = None,
    after: TensorType | None = None,
    activation: Activation = Activation.NONE,
) -> Graph:
    before = before or q8()
    b = GraphBuilder()
    node = producer(b, op, before, activation)
    return b.output(b.node(relu, [node.result], [after or before], name="act").result)


def verdict(graph: Graph) -> str:
    (found,) = verdicts(FuseActivations(), graph, REGISTRY)["act"]
    return found


@pytest.mark.parametrize("relu", ["relu", "relu6"])
@pytest.mark.parametrize("type_", [q8(), f32()], ids=["int8", "float32"])
@pytest.mark.parametrize("op", sorted(FUSABLE))
def test_fuses(op: str, type_: TensorType, relu: str) -> None:
    """The differential instrument compares every output bit on random and saturating inputs."""
    g = graph(op, relu, type_)
    assert verdict(g) == "passed fused"
    (node,) = g.nodes
    attrs: Any = node.attrs
    assert attrs.activation is CLAMPS[relu]
    assert node.origin == ("producer", "act")
    assert g.outputs[0].name == "act"


@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize("op", sorted(FUSABLE))
@given(
    scale=st.floats(1e-3, 1.0),
    zero_point=st.integers(-128, 127),
    relu=st.sampled_from(["relu", "relu6"]),
    has=st.sampled_from([Activation.NONE, Activation.RELU, Activation.RELU6]),
)
def test_tflm_computes_the_same_fused(op: str, scale: float, zero_point: int, relu: str, has: Activation) -> None:
    """The oracle, on any scale and zero point, over all codes that the random input reaches."""
    g = graph(op, relu, q8(scale, zero_point), activation=has)
    separate = export_model(Model("m", g))
    assert FuseActivations().run(g, Context(REGISTRY)).changed
    assert len(g) == 1
    feeds = oracle.random_feeds(separate, invocations=2)
    found, expected = oracle.run_wheel(export_model(Model("m", g)), feeds), oracle.run_wheel(separate, feeds)
    assert [[a.tobytes() for a in outputs] for outputs in found] == [
        [a.tobytes() for a in outputs] for outputs in expected
    ]


def test_precondition_producer_is_a_node() -> None:
    b = GraphBuilder()
    g = b.output(b.node("relu", [b.input("x", q8())], [q8()], name="act").result)
    assert verdict(g) == "missed not-computed"


def test_precondition_producer_can_fuse() -> None:
    assert verdict(graph("concatenation")) == "missed other-op"


def test_precondition_one_reader() -> None:
    g = graph()
    node, act = g.nodes
    b = GraphBuilder()
    other = b.node("relu6", [node.result], [q8()], name="other")
    b.graph._remove(other)
    g._insert(other, None)
    g.outputs.append(other.result)
    assert verdict(g) == "missed several-readers"
    assert act.graph is g


def test_precondition_intermediate_is_no_output() -> None:
    g = graph()
    g.outputs.append(next(g.nodes).result)
    assert verdict(g) == "missed intermediate-is-output"


def test_precondition_same_scale() -> None:
    assert verdict(graph(after=q8(0.05))) == "missed scales-differ"


def test_precondition_same_scale_even_nearly() -> None:
    scale = float(np.float32(0.1))
    near = float(np.nextafter(np.float32(0.1), np.float32(1)))
    assert near != scale
    assert verdict(graph(after=q8(near))) == "missed scales-differ"


def test_precondition_same_zero_point() -> None:
    assert verdict(graph(after=q8(zero_point=-6))) == "missed zero-points-differ"


def test_precondition_same_type() -> None:
    """No op of the dialect changes dtype or shape and clamps; the pass must not rely on that."""
    relu = dataclasses.replace(REGISTRY["relu"], constraints=(), infer=lambda call: call.results)
    registry = type(REGISTRY)([relu if d.name == "relu" else d for d in REGISTRY.values()])
    for after in (dataclasses.replace(q8(), dtype=DType.INT16), q8(shape=(1, 4, 8, 1))):
        g = graph(after=after)
        (remark,) = FuseActivations().run(g, Context(registry)).remarks
        assert remark.reason.slug == "types-differ"
        assert len(g) == 2


@pytest.mark.parametrize("place", [0, 1])
def test_precondition_both_quantized_or_none(place: int) -> None:
    g = graph(before=q8())
    list(g.nodes)[place].result.type = TensorType(DType.INT8, SHAPE)
    (remark,) = FuseActivations().run(g, Context(REGISTRY)).remarks
    assert remark.reason.slug == "scales-differ"
    assert "floats" in remark.text


def test_precondition_scales_of_the_same_axis() -> None:
    g = graph(before=q8(shape=(1, 4, 2, 2)))
    for axis, node in enumerate(g.nodes, 2):
        node.result.type = TensorType(DType.INT8, (1, 4, 2, 2), Quantization((0.5, 0.25), (0, 0), axis))
    (remark,) = FuseActivations().run(g, Context(REGISTRY)).remarks
    assert remark.reason.slug == "scales-differ"


def test_precondition_is_an_activation_by_its_definition() -> None:
    """A name alone is not enough: what an added op of that name does is not known."""
    relu = dataclasses.replace(REGISTRY["relu"], traits=REGISTRY["relu"].traits - {Trait.ACTIVATION})
    registry = type(REGISTRY)([relu if d.name == "relu" else d for d in REGISTRY.values()])
    g = graph()
    assert FuseActivations().run(g, Context(registry)).candidates == 0
    assert len(g) == 2


def test_precondition_is_an_activation_that_can_be_fused() -> None:
    added = dataclasses.replace(REGISTRY["relu"], name="own_clamp")
    g = graph(relu="own_clamp")
    assert FuseActivations().run(g, Context(REGISTRY.extended_with([added]))).candidates == 0
    assert len(g) == 2


@pytest.mark.parametrize(
    ("has", "relu", "merged"),
    [
        (Activation.RELU, "relu", Activation.RELU),
        (Activation.RELU, "relu6", Activation.RELU6),
        (Activation.RELU6, "relu", Activation.RELU6),
        (Activation.RELU6, "relu6", Activation.RELU6),
        (Activation.RELU_N1_TO_1, "relu", None),
        (Activation.RELU_N1_TO_1, "relu6", None),
    ],
)
def test_precondition_activations_merge(has: Activation, relu: str, merged: Activation | None) -> None:
    for type_ in (q8(), f32()):
        g = graph("add", relu, type_, activation=has)
        assert verdict(g) == ("passed fused" if merged else "missed not-mergeable")
        attrs: Any = next(g.nodes).attrs
        assert attrs.activation is (merged or has)


def test_merged_clamps_against_numpy() -> None:
    bounds = [
        (Activation.NONE, -9, 9),
        (Activation.RELU, 0, 9),
        (Activation.RELU6, 0, 6),
        (Activation.RELU_N1_TO_1, -1, 1),
    ]
    x = np.linspace(-9, 9, 73)
    for first, low1, high1 in bounds:
        for second, low2, high2 in bounds:
            expected = np.clip(np.clip(x, low1, high1), low2, high2)
            fitting = [a for a, low, high in bounds if np.array_equal(np.clip(x, low, high), expected)]
            merged = both(first, second)
            assert fitting == ([] if merged is None else [merged])


def test_other_activations_never_merge() -> None:
    assert both(Activation.TANH, Activation.RELU) is None
    assert both(Activation.RELU, Activation.TANH) is None
    assert both(Activation.TANH, Activation.NONE) is Activation.TANH


def test_chain_of_activations_fuses_one_by_one() -> None:
    g = graph()
    _, act = g.nodes
    b = GraphBuilder()
    second = b.node("relu6", [act.result], [q8()], name="act2")
    b.graph._remove(second)
    g._insert(second, None)
    g.outputs = [second.result]
    assert verdicts(FuseActivations(), g, REGISTRY) == {"act": ["passed fused"], "act2": ["passed fused"]}
    assert ops(g) == ["add"]
    attrs: Any = next(g.nodes).attrs
    assert attrs.activation is Activation.RELU6


def test_the_fused_value_is_called_as_the_activations_result_was() -> None:
    """Values of the same name mean the same before and after, whether outputs or not."""
    g = graph()
    _, act = g.nodes
    b = GraphBuilder()
    end = b.node("softmax", [act.result], [TensorType(DType.INT8, SHAPE, Quantization.per_tensor(1 / 256, -128))])
    end.attrs = SoftmaxAttrs()
    b.graph._remove(end)
    g._insert(end, None)
    g.outputs = [end.result]
    assert verdict(g) == "passed fused"
    assert [value.name for value in end.operands if value is not None] == ["act"]


def test_every_clamp_is_an_op_that_clamps() -> None:
    assert all(Trait.ACTIVATION in REGISTRY[op].traits for op in CLAMPS)


def test_every_fusable_op_has_an_activation() -> None:
    for op in FUSABLE:
        definition: OpDef = REGISTRY[op]
        assert Activation in [f.type for f in dataclasses.fields(definition.attrs)]
        assert not isinstance(definition.evaluate_float, NotApplicable)


def test_reasons_name_every_precondition() -> None:
    slugs = {reason.slug for reason in FuseActivations.reasons}
    assert {reason.slug for reason in STRUCTURE_REASONS} < slugs
    assert {condition.reason.slug for condition in PATTERN.conditions} < slugs
