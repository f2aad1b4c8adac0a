"""Each way in which a graph can be broken is named; a sound one has no problems."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.opdef import Constraint, OpCall
from arenite.ir.parser import parse_graph
from arenite.ir.types import Quantization, TensorType
from arenite.ir.verifier import check, unsupported, verify
from arenite.ops import core_registry
from ir.support import REGISTRY, ScaleAttrs, f32, op


def sound() -> GraphBuilder:
    b = GraphBuilder()
    x = b.input("x", f32(2, 4))
    n = b.node("t.neg", [x], [f32(2, 4)], name="n")
    s = b.node("t.sum", [n.result, b.constant("c", np.ones((4,), np.float32)), None], [f32(2, 4)], name="s")
    b.output(b.node("t.scale", [s.result], [f32(2, 4)], ScaleAttrs(3.0), name="k").result)
    return b


def problems(graph: Graph) -> str:
    return "\n".join(verify(graph, REGISTRY))


def test_a_sound_graph_has_no_problems() -> None:
    assert verify(sound().graph, REGISTRY) == []
    check(sound().graph, REGISTRY)


def test_order() -> None:
    graph = sound().graph
    n, s, _ = graph.nodes
    graph._remove(n)
    graph._insert(n, None)
    s.results[0].producer = s
    assert "node 's' (t.sum) reads %n, which is computed only after it" in problems(graph)


def test_cycle() -> None:
    graph = sound().graph
    n, _, k = graph.nodes
    graph._set_operand(n, 0, k.result)
    assert "node 'n' (t.neg) reads %k, which is computed only after it: the nodes are out of order or form a cycle" in (
        problems(graph)
    )


def test_value_from_nowhere() -> None:
    graph = sound().graph
    graph._set_operand(next(graph.nodes), 0, Value("ghost", f32(2, 4)))
    graph.outputs.append(Value("phantom", f32(1)))
    assert "node 'n' (t.neg) reads %ghost, which is no graph input, constant or variable" in problems(graph)
    assert "graph 'main' gives %phantom, which is no graph input" in problems(graph)


def test_variables_need_no_producer() -> None:
    b = sound()
    state = b.variable("state", f32(2, 4))
    b.output(b.node("t.accumulate", [state, b.graph.inputs[0]], [f32(2, 4)]).result)
    assert verify(b.graph, REGISTRY) == []


def test_names() -> None:
    graph = sound().graph
    n, s, _ = graph.nodes
    n.result.name = "x"
    s.name = "n"
    assert "2 values are called %x" in problems(graph)
    assert "2 nodes are called 'n'" in problems(graph)


def test_uses_and_producers() -> None:
    graph = sound().graph
    n, s, k = graph.nodes
    n.result._uses.clear()
    s.result.producer = k
    found = problems(graph)
    assert "%n records nobody, but is read by 's' operand 0" in found
    assert "%s records producer <Node k: t.scale>, but is computed by <Node s: t.sum>" in found


def test_inputs_are_no_constants_nor_twice_there() -> None:
    graph = sound().graph
    graph.inputs.append(graph.inputs[0])
    graph.inputs.append(Value("c2", f32(1), constant=np.ones(1, np.float32)))
    assert "graph input %x is listed twice" in problems(graph)
    assert "graph input %c2 is a constant" in problems(graph)


def test_result_that_has_its_value_already() -> None:
    graph = sound().graph
    n, _, _ = graph.nodes
    n.results = (graph.inputs[0],)
    assert "node 'n' (t.neg) computes %x, which has its value already" in problems(graph)


def test_node_count() -> None:
    graph = sound().graph
    graph._count = 7
    assert "graph 'main' counts 7 nodes and holds 3" in problems(graph)


@pytest.mark.parametrize(
    ("op", "n_operands", "text"),
    [
        ("t.sub", 1, "node 'bad' (t.sub): operands are missing: b"),
        ("t.sub", 3, "node 'bad' (t.sub): takes at most 2 operands (a, b), found 3"),
        ("t.all", 0, "node 'bad' (t.all): needs at least one value for 'values'"),
    ],
)
def test_operand_counts(op: str, n_operands: int, text: str) -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    b.output(b.node(op, [x] * n_operands, [f32(2)], name="bad").result)
    assert problems(b.graph) == text


def test_absent_operands() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    b.node("t.sub", [None, x], [f32(2)], name="one")
    b.node("t.all", [x, None], [f32(2)], name="two")
    assert verify(b.graph, REGISTRY) == [
        "node 'one' (t.sub): operand 'a' is absent, but is needed",
        "node 'two' (t.all): a value of 'values' is absent",
    ]


def test_result_count_and_attrs_class() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    b.node("t.neg", [x], [f32(2), f32(2)], name="two")
    b.node("t.scale", [x], [f32(2)], Attrs(), name="attrs")
    assert verify(b.graph, REGISTRY) == [
        "node 'two' (t.neg): gives 1 result (r0), found 2",
        "node 'attrs' (t.scale): attributes must be ScaleAttrs, found Attrs",
    ]


def test_constraints_and_inference() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    b.node("t.scale", [x], [f32(2)], ScaleAttrs(0.0), name="zero")
    b.node("t.neg", [x], [f32(3)], name="shape")
    b.node("t.sum", [x, b.constant("c", np.ones(3, np.float32))], [f32(2)], name="misfit")
    assert verify(b.graph, REGISTRY) == [
        "node 'zero' (t.scale): by is not 0",
        "node 'shape' (t.neg): its result %shape is declared float32[3], but must be float32[2]",
        "node 'misfit' (t.sum): shapes [(2,), (3,)] do not broadcast",
    ]


def test_a_constraint_may_rely_on_those_before_it() -> None:
    square = Constraint("x has two dimensions", lambda call: call.operand(0).rank == 2)
    equal = Constraint("both are equal", lambda call: call.operand(0).dims[0] == call.operand(0).dims[1])
    registry = REGISTRY.extended_with([op("t.trace", ["x"], _unused, constraints=(square, equal))])
    b = GraphBuilder()
    b.node("t.trace", [b.input("x", f32(2))], [f32(2)], name="n")
    assert verify(b.graph, registry) == ["node 'n' (t.trace): x has two dimensions"]


def _unused(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    raise AssertionError("the verifier computes nothing")


def q(*scales: float, zeros: tuple[int, ...] | None = None, axis: int | None = None) -> Quantization:
    return Quantization(scales, zeros if zeros is not None else (0,) * len(scales), axis)


@pytest.mark.parametrize(
    ("quantization", "text"),
    [
        (q(0.0), "a scale must be finite and greater than 0, found 0.0 (1 such scale)"),
        (q(-1.0, math.inf, axis=1), "a scale must be finite and greater than 0, found -1.0 (2 such scales)"),
        (q(1.0, zeros=(128,)), "a zero point of int8 must be in [-128, 127], found 128"),
        (q(1.0, 1.0), "per-tensor quantization has one scale, found 2"),
        (q(1.0, 1.0, zeros=(0,), axis=1), "quantization has 2 scales and 1 zero points"),
        (q(1.0, axis=2), "quantized dimension 2 of a tensor with 2 dimensions"),
        (q(1.0, 1.0, axis=0), "dimension 0 has 3 channels, its quantization has 2 scales"),
    ],
)
def test_quantization(quantization: Quantization, text: str) -> None:
    b = GraphBuilder()
    b.output(b.input("x", TensorType(DType.INT8, (3, 2), quantization)))
    assert f"%x: {text}" in verify(b.graph, REGISTRY)


def test_contents_and_sizes() -> None:
    b = GraphBuilder()
    c = b.constant("c", np.ones(3, np.float32))
    c.type = f32(4)
    b.output(c, b.input("x", f32(-1)), b.input("y", f32(2**16, 2**16)))
    assert verify(b.graph, REGISTRY) == [
        "%x: a dimension is negative in float32[-1]",
        "%y: float32[65536, 65536] takes 17179869184 bytes; at most 2147483647 are possible",
        "%c: its contents are float32[3], its type is float32[4]",
    ]


def test_all_unsupported_ops_in_one_message() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    for i in range(7):
        b.node("tflite.T.NEG", [x], [f32(2)], name=f"layer{i}")
    b.node("custom", [x], [f32(2)], name="odd")
    text = unsupported(b.graph, REGISTRY)
    assert text is not None
    assert text.startswith("2 operators in this model are not supported:\n")
    assert "  tflite.T.NEG, at 7 nodes: 'layer0', 'layer1', 'layer2', 'layer3', 'layer4' and 2 more" in text
    assert "  custom, at 1 node: 'odd'" in text
    # First what the model has; of what there is, only where to see it.
    assert text.splitlines()[-1] == f"  {len(list(REGISTRY))} operators can be had: see 'arenite ops'"
    assert len(text.splitlines()) == 4
    assert verify(b.graph, REGISTRY) == [text]
    assert verify(b.graph, REGISTRY, allow_unknown=True) == []
    assert unsupported(sound().graph, REGISTRY) is None


def test_nearest_op_is_suggested() -> None:
    b = GraphBuilder()
    b.node("tflite.NEG", [b.input("x", f32(2))], [f32(2)])
    assert "(the nearest that is: t.neg" in str(unsupported(b.graph, REGISTRY))


def test_check_raises_all() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    b.node("t.neg", [x], [f32(3)])
    b.node("t.neg", [x], [f32(4)])
    with pytest.raises(ModelError) as caught:
        check(b.graph, REGISTRY)
    assert len(caught.value.problems) == 2


def test_nested_graphs() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    inner = GraphBuilder("inner")
    bad = inner.node("t.neg", [x], [f32(3)], name="bad")
    inner.output(bad.result, Value("lost", f32(1)))
    definition = dataclasses.replace(REGISTRY["t.neg"], name="t.if")
    b.output(b.node("t.if", [x], [f32(2)], name="if", regions=[inner.graph]).result)
    found = verify(b.graph, REGISTRY.extended_with([definition]))
    assert found == [
        "graph 'inner' gives %lost, which is no graph input, constant or variable, and which no node computes",
        "node 'bad' (t.neg): its result %bad is declared float32[3], but must be float32[2]",
    ]


def test_what_runs_once_reads_nothing_of_the_graph_around_it() -> None:
    graph = parse_graph(
        "graph @g(%x: int8[2] q(0.5, 0)) -> (%x) {\n"
        "  call_once() {subgraph=1} @once regions {\n"
        "    graph @init() -> () {\n"
        '      %h: resource[] = var_handle() {shared_name="s"}\n'
        "      assign_variable(%h, %x) @start\n"
        "    }\n"
        "  }\n"
        "}\n",
        core_registry(),
    )
    (problem,) = verify(graph, core_registry())
    assert problem.startswith("node 'once' (call_once): runs a region on its own, in which node 'start'")


@pytest.mark.parametrize("scale", ["0.0", "1e-200", "1e300", "-1.0"])
def test_ops_are_not_asked_about_scales_that_cannot_be(scale: str) -> None:
    """A quotient of scales would be a division by zero."""
    graph = parse_graph(
        f"graph @g(%a: int8[2] q(0.5, 0), %b: int8[2] q({scale}, 0)) -> (%c) {{\n"
        f"  %c: int8[2] q({scale}, 0) = div(%a, %b)\n}}\n",
        core_registry(),
    )
    found = verify(graph, core_registry())
    assert len(found) == 2
    for problem, name in zip(found, "bc", strict=True):
        assert problem.startswith(f"%{name}: a scale must be finite and greater than 0, found")
