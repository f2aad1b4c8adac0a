"""Canonicalization: each rule, and each of its preconditions."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Node
from arenite.ir.opdef import Registry, Trait
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.passes.base import Context
from arenite.passes.canonicalize import Canonicalize
from ir.support import REGISTRY as TINY
from ir.support import ScaleAttrs
from passes.support import ops, verdicts

REGISTRY = core_registry()
F = TensorType(DType.FLOAT32, (2, 3))


def q8(scale: float = 0.5, zero_point: int = 0, shape: tuple[int, ...] = (2, 3)) -> TensorType:
    return TensorType(DType.INT8, shape, Quantization.per_tensor(scale, zero_point))


def run(graph: Graph, registry: Registry = REGISTRY) -> dict[str, list[str]]:
    return verdicts(Canonicalize(), graph, registry)


def reshape(b: GraphBuilder, x: Any, shape: tuple[int, ...], name: str) -> Node:
    return b.node("reshape", [x], [dataclasses.replace(x.type, shape=shape)], ReshapeAttrs(shape), name=name)


def between(b: GraphBuilder, op: str, operands: list[Any], type_: TensorType, **keywords: Any) -> Graph:
    """add, the node, add: so that its result is no output and its operand no input."""
    node = b.node(op, operands, [type_], name="it", **keywords)
    return b.output(b.node("add", [node.result, node.result], [type_], _add(), name="end").result)


def _add() -> Any:
    from arenite.ops.arithmetic import ArithmeticAttrs

    return ArithmeticAttrs()


def test_reshape_of_reshape_reads_through() -> None:
    b = GraphBuilder()
    first = reshape(b, b.input("x", q8()), (6,), "first")
    second = reshape(b, first.result, (3, 2), "second")
    graph = b.output(second.result)
    found = run(graph)
    assert "passed reads-through" in found["second"]
    assert second.operand(0) is graph.inputs[0]
    assert second.origin == ("second", "first")


def test_reshape_back_and_forth_goes() -> None:
    b = GraphBuilder()
    x = b.input("x", q8())
    back = reshape(b, reshape(b, x, (6,), "first").result, (2, 3), "back")
    graph = b.output(b.node("add", [back.result, x], [q8()], _add(), name="end").result)
    assert run(graph)["back"] == ["passed reads-through", "passed no-op"]
    assert ops(graph) == ["reshape", "add"]
    assert list(graph.nodes)[1].operands == (x, x)


def test_reshape_to_the_same_shape_goes() -> None:
    b = GraphBuilder()
    source = b.node("add", [b.input("x", F), b.graph.inputs[0]], [F], _add(), name="source")
    graph = b.output(reshape(b, source.result, (2, 3), "it").result)
    assert run(graph)["it"] == ["passed no-op"]
    assert ops(graph) == ["add"]
    assert graph.outputs[0].name == "it"
    assert source.origin == ("source", "it")


def test_precondition_view_keeps_its_type() -> None:
    b = GraphBuilder()
    graph = b.output(reshape(b, b.input("x", F), (3, 2), "it").result)
    assert "missed changes-type" in run(graph)["it"]
    assert len(graph) == 1


def test_precondition_view_keeps_its_quantization() -> None:
    """A view that declares another scale for the same bytes changes what they mean."""
    b = GraphBuilder()
    x = b.input("x", q8())
    view = b.node("t.view", [x], [q8(0.25)], name="it")
    graph = b.output(b.node("t.neg", [view.result], [q8(0.25)], name="end").result)
    assert run(graph, TINY)["it"] == ["missed changes-type"]
    inner = b.node("t.view", [x], [q8(0.25)], name="inner")
    outer = reshape(b, inner.result, (6,), "outer")
    graph = b.output(outer.result)
    both = TINY.extended_with([REGISTRY["reshape"]])
    Canonicalize().run(graph, Context(both))
    assert outer.operand(0) is inner.result


def test_precondition_view_keeps_its_element_type() -> None:
    b = GraphBuilder()
    inner = b.node("t.view", [b.input("x", F)], [dataclasses.replace(F, dtype=DType.INT32)], name="inner")
    outer = reshape(b, inner.result, (6,), "outer")
    Canonicalize().run(b.output(outer.result), Context(TINY.extended_with([REGISTRY["reshape"]])))
    assert outer.operand(0) is inner.result


def test_precondition_output_keeps_its_name() -> None:
    b = GraphBuilder()
    graph = b.output(reshape(b, b.input("x", F), (2, 3), "it").result)
    assert "missed output-name" in run(graph)["it"]
    assert [value.name for value in graph.outputs] == ["it"]


def test_precondition_reshape_reads_a_view() -> None:
    b = GraphBuilder()
    x = b.input("x", F)
    other = b.node("relu", [x], [F])
    graph = b.output(reshape(b, other.result, (6,), "it").result)
    assert "missed not-of-view" in run(graph)["it"]


def activations(first: str, second: str, types: tuple[TensorType, ...] = (q8(), q8(), q8())) -> Graph:
    b = GraphBuilder()
    x = b.input("x", types[0])
    inner = b.node(first, [x], [types[1]], name="inner")
    outer = b.node(second, [inner.result], [types[2]], name="outer")
    return b.output(outer.result)


@pytest.mark.parametrize("type_", [q8(0.05), F], ids=["int8", "float32"])
@pytest.mark.parametrize(
    ("first", "second", "verdict", "left"),
    [
        ("relu", "relu", "passed reads-through", "relu"),
        ("relu", "relu6", "passed reads-through", "relu6"),
        ("relu6", "relu6", "passed reads-through", "relu6"),
        ("relu6", "relu", "passed no-op", "relu6"),
    ],
)
def test_activations_merge(type_: TensorType, first: str, second: str, verdict: str, left: str) -> None:
    graph = activations(first, second, (type_,) * 3)
    assert verdict in run(graph)["outer"]
    producer = graph.outputs[0].producer
    assert producer is not None
    assert producer.op == left
    assert producer.operand(0) is graph.inputs[0]
    assert graph.outputs[0].name == "outer"


def test_precondition_activations_clamp_alike() -> None:
    others = (d for d in REGISTRY.values() if d.name != "relu_n1_to_1")
    extended = Registry([*others, dataclasses.replace(REGISTRY["relu"], name="relu_n1_to_1")])
    graph = activations("relu_n1_to_1", "relu")
    remarks = Canonicalize().run(graph, Context(extended)).remarks
    assert "clamps-differ" in [r.reason.slug for r in remarks if r.subject == "outer"]
    assert len(graph) == 2


@pytest.mark.parametrize("types", [(q8(0.25), q8(), q8()), (q8(), q8(), q8(0.25)), (q8(), q8(0.25), q8())])
def test_precondition_activations_do_not_rescale(types: tuple[TensorType, ...]) -> None:
    relaxed = Registry([dataclasses.replace(d, constraints=()) for d in REGISTRY.values()])
    graph = activations("relu", "relu", types)
    remarks = Canonicalize().run(graph, Context(relaxed)).remarks
    assert "rescales" in [r.reason.slug for r in remarks if r.subject == "outer"]
    outer = list(graph.nodes)[1]
    assert outer.operand(0).name == "inner"


def test_precondition_activations_are_by_their_definitions() -> None:
    """A name alone is not enough, and neither is a trait of an op whose bounds are not known."""
    relu = REGISTRY["relu"]
    nameless = dataclasses.replace(relu, traits=relu.traits - {Trait.ACTIVATION})
    registry = Registry([nameless if d.name == "relu" else d for d in REGISTRY.values()])
    assert Canonicalize().run(activations("relu", "relu"), Context(registry)).candidates == 0
    registry = REGISTRY.extended_with([dataclasses.replace(relu, name="own_clamp")])
    assert Canonicalize().run(activations("own_clamp", "own_clamp"), Context(registry)).candidates == 0


def test_ops_that_are_not_known_are_left_alone() -> None:
    graph = activations("tflite.RELU", "tflite.RELU")
    assert Canonicalize().run(graph, Context(REGISTRY)).candidates == 0


def test_precondition_activation_reads_an_activation() -> None:
    b = GraphBuilder()
    graph = b.output(b.node("relu", [b.input("x", F)], [F], name="it").result)
    assert run(graph)["it"] == ["missed not-of-activation"]


def pad(values: Any, before: TensorType = F, after: TensorType = F) -> Graph:
    b = GraphBuilder()
    x = b.input("x", before)
    paddings = b.constant("p", np.array(values, np.int32)) if values is not None else b.input("p", _paddings())
    return between(b, "pad", [x, paddings], after)


def _paddings() -> TensorType:
    return TensorType(DType.INT32, (2, 2))


def test_pad_of_nothing_goes() -> None:
    graph = pad([[0, 0], [0, 0]])
    assert run(graph)["it"] == ["passed no-op"]
    assert ops(graph) == ["add"]


def test_precondition_pad_adds_nothing() -> None:
    graph = pad([[0, 0], [1, 0]], after=TensorType(DType.FLOAT32, (2, 4)))
    assert run(graph)["it"] == ["missed pads"]


def test_precondition_paddings_are_constant() -> None:
    graph = pad(None)
    (remark,) = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "paddings-unknown"
    graph.inputs[1].constant = np.zeros((2, 2), np.int32)
    graph.inputs[1].is_variable = True
    (remark,) = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "paddings-unknown"


def concatenation(n: int, activation: Activation = Activation.NONE, after: TensorType | None = None) -> Graph:
    b = GraphBuilder()
    values = [b.input(f"x{i}", F) for i in range(n)]
    type_ = after or TensorType(DType.FLOAT32, (2, 3 * n))
    return between(b, "concatenation", values, type_, attrs=ConcatenationAttrs(1, activation))


def test_concatenation_of_one_goes() -> None:
    graph = concatenation(1)
    assert run(graph)["it"] == ["passed no-op"]
    assert ops(graph) == ["add"]


def test_precondition_concatenation_of_one() -> None:
    assert "missed several-values" in run(concatenation(2))["it"]


def test_precondition_concatenation_has_no_activation() -> None:
    graph = concatenation(1, Activation.RELU)
    remarks = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert "has-activation" in [remark.reason.slug for remark in remarks]
    assert ops(graph) == ["concatenation", "add"]


def quantize(before: TensorType, after: TensorType) -> Graph:
    b = GraphBuilder()
    return between(b, "quantize", [b.input("x", before)], after)


def test_quantize_to_the_same_goes() -> None:
    graph = quantize(q8(), q8())
    assert run(graph)["it"] == ["passed no-op"]
    assert ops(graph) == ["add"]


@pytest.mark.parametrize("before", [q8(0.25), q8(zero_point=1), F])
def test_precondition_quantize_changes_nothing(before: TensorType) -> None:
    assert run(quantize(before, q8()))["it"] == ["missed changes-type"]


def test_attributes_are_simplified_by_the_facet() -> None:
    def halve(node: Node) -> ScaleAttrs | None:
        assert isinstance(node.attrs, ScaleAttrs)
        return ScaleAttrs(abs(node.attrs.by)) if node.attrs.by < 0 else None

    scale = dataclasses.replace(TINY["t.scale"], name="t.abs", canonicalize=halve)
    b = GraphBuilder()
    graph = b.output(b.node("t.abs", [b.input("x", F)], [F], ScaleAttrs(-2.0), name="it").result)
    remarks = Canonicalize().run(graph, Context(TINY.extended_with([scale]))).remarks
    assert [r.reason.slug for r in remarks] == ["simpler-attributes", "simple-attributes"]
    assert remarks[0].text == "the attributes of it became simpler: by -2.0 → 2.0"
    assert next(graph.nodes).attrs == ScaleAttrs(2.0)


def test_a_facet_that_repeats_itself_ends() -> None:
    scale = dataclasses.replace(TINY["t.scale"], name="t.same", canonicalize=lambda node: node.attrs)
    b = GraphBuilder()
    graph = b.output(b.node("t.same", [b.input("x", F)], [F], ScaleAttrs(2.0), name="it").result)
    assert not Canonicalize().run(graph, Context(TINY.extended_with([scale]))).changed
