"""The mutator keeps order, uses, origin and the user's names right."""

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import TensorType
from arenite.ir.verifier import verify
from ir.support import REGISTRY, f32


def chain() -> tuple[Graph, Rewriter]:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    a = b.node("t.neg", [x], [f32(2)], name="a")
    c = b.node("t.neg", [a.result], [f32(2)], name="c")
    graph = b.output(c.result)
    return graph, Rewriter(graph)


def test_replacing_an_output_keeps_its_name() -> None:
    graph, rewriter = chain()
    a, c = graph.nodes
    rewriter.replace(c, [a.result], carry_to=[a])
    assert [value.name for value in graph.outputs] == ["c"]
    assert list(graph.nodes) == [a]
    assert a.origin == ("a", "c")
    assert rewriter.changed == 2
    assert verify(graph, REGISTRY) == []


def test_an_output_cannot_become_an_input() -> None:
    graph, rewriter = chain()
    _, c = graph.nodes
    assert not rewriter.may_replace(c.result, graph.inputs[0])
    with pytest.raises(ValueError, match="would lose its name"):
        rewriter.replace_value(c.result, graph.inputs[0])


def test_two_outputs_cannot_become_one() -> None:
    graph, rewriter = chain()
    a, c = graph.nodes
    graph.outputs.append(a.result)
    assert not rewriter.may_replace(c.result, a.result)


def test_a_value_that_is_no_output_may_become_an_input() -> None:
    graph, rewriter = chain()
    a, c = graph.nodes
    rewriter.replace(a, [graph.inputs[0]])
    assert c.operand(0) is graph.inputs[0]
    assert graph.inputs[0].name == "x"
    assert verify(graph, REGISTRY) == []


def test_output_may_become_a_constant_with_its_name() -> None:
    graph, rewriter = chain()
    _, c = graph.nodes
    rewriter.replace(c, [rewriter.constant("c", np.ones(2, np.float32))])
    assert graph.outputs[0].name == "c"
    assert graph.outputs[0].is_constant
    assert verify(graph, REGISTRY) == []


def test_inputs_keep_their_names() -> None:
    graph, rewriter = chain()
    a, _ = graph.nodes
    with pytest.raises(ValueError, match="keeps its name"):
        rewriter.swap_names(a.result, graph.inputs[0])


def test_erase_refuses_what_is_read() -> None:
    graph, rewriter = chain()
    for node in list(graph.nodes):
        with pytest.raises(ValueError, match="still read"):
            rewriter.erase(node)


def test_insert_and_move() -> None:
    graph, rewriter = chain()
    a, c = graph.nodes
    new = rewriter.insert(c, "t.neg", [a.result], [f32(2)], Attrs(), name="a", origin=["c", "c", "a"])
    assert (new.name, new.result.name, new.origin) == ("a_1", "a_1", ("c", "a"))
    rewriter.set_operand(c, 0, new.result)
    rewriter.move_before(new, None)
    assert any("computed only after it" in problem for problem in verify(graph, REGISTRY))
    rewriter.move_before(new, c)
    assert verify(graph, REGISTRY) == []
    assert [node.name for node in graph.nodes] == ["a", "a_1", "c"]


def test_an_output_keeps_the_type_that_it_is_declared_with() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (2, 3)))
    unknown = b.node("first", [x], [TensorType(DType.OPAQUE, None)])
    node = b.node("second", [unknown.result], [TensorType(DType.FLOAT32, ("N", 3))])
    graph = b.output(node.result)
    Rewriter(graph).replace(node, [unknown.result])
    assert graph.outputs[0] is unknown.result
    assert unknown.result.type == TensorType(DType.FLOAT32, ("N", 3))


def test_an_operand_may_be_appended() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (2,)))
    node = b.node("op", [x], [x.type])
    graph = b.output(node.result)
    bias = b.constant("bias", np.zeros(2, np.float32))
    Rewriter(graph).set_operand(node, 1, bias)
    assert node.operands == (x, bias)
    assert [use.index for use in bias.uses] == [1]
    with pytest.raises(IndexError):
        Rewriter(graph).set_operand(node, 3, bias)
