"""Canonicalization of views of views, and of constants that are one element many times."""

from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.layout import SqueezeAttrs
from arenite.ops.movement import ReshapeAttrs
from arenite.passes.base import Context
from arenite.passes.canonicalize import Canonicalize
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -5)


def q8(*dims: int) -> TensorType:
    return TensorType(DType.INT8, dims, Q)


def relu(b: GraphBuilder, x: Any) -> Any:
    return b.node("relu", [x], [x.type], Attrs(), name="relu").result


@pytest.mark.parametrize("op", ["squeeze", "expand_dims"])
def test_a_view_of_a_view_is_a_reshape(op: str) -> None:
    b = GraphBuilder()
    middle = b.node("reshape", [b.input("x", q8(6))], [q8(1, 6)], ReshapeAttrs((1, 6)), name="first").result
    operands = [middle] if op == "squeeze" else [middle, b.constant("axis", np.array([0], np.int32))]
    dims = (6,) if op == "squeeze" else (1, 1, 6)
    attrs = SqueezeAttrs((0,)) if op == "squeeze" else Attrs()
    graph = b.output(relu(b, b.node(op, operands, [q8(*dims)], attrs, name="view").result))
    assert verdicts(Canonicalize(), graph, REGISTRY)["view"] == ["passed reads-through"]
    second = next(node for node in graph.nodes if node.origin == ("first", "view") or "view" in node.origin)
    assert ops(graph)[-1] == "relu"
    assert op not in ops(graph)
    assert second.operand(0) is graph.inputs[0]


def test_a_view_of_a_view_that_changes_the_type_stays() -> None:
    b = GraphBuilder()
    middle = b.node("reshape", [b.input("x", q8(6))], [q8(1, 6)], ReshapeAttrs((1, 6)), name="first").result
    other = TensorType(DType.INT8, (6,), Quantization.per_tensor(0.25))
    graph = b.output(relu(b, b.node("squeeze", [middle], [other], SqueezeAttrs((0,)), name="view").result))
    remarks = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert "changes-type" in [remark.reason.slug for remark in remarks if remark.subject == "view"]
    assert "squeeze" in ops(graph)


@pytest.mark.parametrize("other", [TensorType(DType.UINT8, (6,), Q), TensorType(DType.INT8, ("n",), Q)])
def test_a_view_of_a_view_with_another_element_type_or_no_known_shape_stays(other: TensorType) -> None:
    b = GraphBuilder()
    middle = b.node("reshape", [b.input("x", q8(6))], [q8(1, 6)], ReshapeAttrs((1, 6)), name="first").result
    graph = b.output(relu(b, b.node("squeeze", [middle], [other], SqueezeAttrs((0,)), name="view").result))
    remarks = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert "changes-type" in [remark.reason.slug for remark in remarks if remark.subject == "view"]
    assert "squeeze" in ops(graph)


def test_a_view_of_an_input_stays() -> None:
    b = GraphBuilder()
    view = b.node("squeeze", [b.input("x", q8(1, 6))], [q8(6)], SqueezeAttrs((0,)), name="view")
    graph = b.output(relu(b, view.result))
    assert "missed not-of-view" in verdicts(Canonicalize(), graph, REGISTRY)["view"]


def test_a_view_of_something_else_stays() -> None:
    b = GraphBuilder()
    x = relu(b, b.input("x", q8(1, 6)))
    graph = b.output(relu(b, b.node("squeeze", [x], [q8(6)], SqueezeAttrs((0,)), name="view").result))
    assert "missed not-of-view" in verdicts(Canonicalize(), graph, REGISTRY)["view"]
    assert "squeeze" in ops(graph)


def pair(op: str, constant: Any, dims: tuple[int, ...] = (2, 3), *, first: bool = False, result: Any = None) -> Graph:
    b = GraphBuilder()
    floats = constant.dtype == np.float32
    x = b.input("x", TensorType(DType.FLOAT32, dims) if floats else q8(*dims))
    c = b.constant("c", constant, None if floats else Q)
    shape = np.broadcast_shapes(dims, constant.shape)
    type_ = TensorType(x.type.dtype, shape, x.type.quantization)
    attrs = ArithmeticAttrs() if op in ("add", "mul", "sub") else Attrs()
    operands = [c, x] if first else [x, c]
    return b.output(b.node(op, operands, [type_], attrs, name="it").result)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "maximum"])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_splat_is_one_element(op: str, first: bool, dtype: Any) -> None:
    for array in (np.full((2, 3), 7, dtype), np.broadcast_to(np.array(7, dtype), (2, 3)), np.full(3, 7, dtype)):
        graph = pair(op, array, first=first)
        assert "passed one-element" in verdicts(Canonicalize(), graph, REGISTRY)["it"]
        (node,) = graph.nodes
        constant = node.operand(0 if first else 1)
        assert constant.type.dims == (1,) * array.ndim
        assert constant.constant is not None
        assert constant.constant.tolist() == np.full((1,) * array.ndim, 7).tolist()
        assert "it" not in verdicts(Canonicalize(), graph, REGISTRY)


def test_elements_that_differ_stay() -> None:
    array = np.full((2, 3), 7, np.int8)
    array[1, 2] = 8
    graph = pair("add", array)
    assert "passed one-element" not in verdicts(Canonicalize(), graph, REGISTRY).get("it", [])
    zeros = np.array([0.0, -0.0], np.float32)
    assert "passed one-element" not in verdicts(Canonicalize(), pair("mul", zeros, (2, 2)), REGISTRY).get("it", [])


def test_a_splat_that_gives_the_result_its_shape_stays() -> None:
    graph = pair("add", np.full((2, 3), 7, np.int8), (1, 3))
    assert "missed gives-shape" in verdicts(Canonicalize(), graph, REGISTRY)["it"]
    assert next(iter(graph.nodes)).operand(1).type.dims == (2, 3)


@pytest.mark.parametrize(("op", "first"), [("add_n", False), ("add_n", True), ("prelu", True)])
def test_a_splat_that_the_op_does_not_broadcast_stays(op: str, first: bool) -> None:
    graph = pair(op, np.full((2, 3), 7, np.int8), first=first)
    assert "missed wants-shape" in verdicts(Canonicalize(), graph, REGISTRY)["it"]
    assert next(iter(graph.nodes)).operand(0 if first else 1).type.dims == (2, 3)


def test_a_splat_per_channel_stays() -> None:
    b = GraphBuilder()
    x = b.input("x", q8(2, 3))
    c = b.constant("c", np.full((2, 3), 7, np.int8), Quantization((0.5, 0.25), (0, 0), 0))
    graph = b.output(b.node("add", [x, c], [q8(2, 3)], ArithmeticAttrs(), name="it").result)
    remarks = Canonicalize().run(graph, Context(REGISTRY)).remarks
    assert "per-channel" in [remark.reason.slug for remark in remarks if remark.subject == "it"]


def test_variables_and_ops_on_whole_tensors_keep_theirs() -> None:
    b = GraphBuilder()
    x = b.input("x", q8(2, 3))
    state = b.variable("state", q8(2, 3))
    state.constant = np.full((2, 3), 7, np.int8)
    graph = b.output(b.node("add", [x, state], [q8(2, 3)], ArithmeticAttrs(), name="it").result)
    assert "it" not in verdicts(Canonicalize(), graph, REGISTRY)
    b = GraphBuilder()
    many = [b.input("x", q8(2, 3)), b.constant("c", np.full((2, 3), 7, np.int8), Q)]
    attrs = REGISTRY["concatenation"].attrs()
    graph = b.output(b.node("concatenation", many, [q8(4, 3)], attrs, name="it").result)
    assert "passed one-element" not in verdicts(Canonicalize(), graph, REGISTRY)["it"]


def test_strings_that_are_the_same_stay() -> None:
    b = GraphBuilder()
    text = b.constant("text", np.array([b"a", b"a"], object))
    graph = b.output(b.node("add", [text, b.input("x", text.type)], [text.type], ArithmeticAttrs(), name="it").result)
    assert not Canonicalize().run(graph, Context(REGISTRY)).changed


def test_a_splat_that_takes_no_memory_is_not_written_out() -> None:
    size = 1 << 46
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (size,), Q))
    c = b.constant("c", np.broadcast_to(np.int8(7), (size,)), Q)
    graph = b.output(b.node("add", [x, c], [x.type], ArithmeticAttrs(), name="it").result)
    assert Canonicalize().run(graph, Context(REGISTRY)).changed
    assert next(iter(graph.nodes)).operand(1).type.dims == (1,)


def test_ops_on_three_operands_keep_theirs() -> None:
    for absent in (False, True):
        b = GraphBuilder()
        x, c = b.input("x", q8(2, 3)), b.constant("c", np.full((2, 3), 7, np.int8), Q)
        operands = [x, None if absent else b.input("y", q8(2, 3)), c]
        graph = b.output(b.node("add", operands, [x.type], ArithmeticAttrs(), name="it").result)
        assert not Canonicalize().run(graph, Context(REGISTRY)).changed
