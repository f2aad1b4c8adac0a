"""Common subexpressions: what counts as the same, and what must not be merged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.content import content_hash
from arenite.ir.graph import Array, Graph
from arenite.ir.types import Quantization, TensorType
from arenite.passes import cse
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.purity import why_impure
from ir.support import REGISTRY, ScaleAttrs, f32
from passes.onnx.optimizing import model_of, optimized, reals
from passes.support import ops, verdicts


def pair(
    op: str, *, attrs: Sequence[Attrs] = (Attrs(), Attrs()), types: Sequence[TensorType] = (f32(2), f32(2))
) -> Graph:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    one, other = (b.node(op, [x], [t], a, name=n) for n, a, t in zip(("one", "other"), attrs, types, strict=True))
    return b.output(b.node("t.sub", [one.result, other.result], [f32(2)], name="y").result)


def run(graph: Graph) -> dict[str, list[str]]:
    return verdicts(CommonSubexpressions(), graph, REGISTRY)


def test_equal_nodes_become_one() -> None:
    graph = pair("t.neg")
    assert run(graph) == {"other": ["passed same-node"]}
    one, y = graph.nodes
    assert y.operands == (one.result, one.result)
    assert one.origin == ("one", "other")


def test_chains_of_equal_nodes_become_one() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    ends = []
    for _ in range(2):
        value = x
        for _ in range(5):
            value = b.node("t.neg", [value], [f32(2)]).result
        ends.append(value)
    graph = b.output(b.node("t.sub", ends, [f32(2)], name="y").result)
    run(graph)
    assert len(graph) == 6


def test_commutative_operands_may_be_exchanged() -> None:
    for op, merged in (("t.sum", True), ("t.sub", False)):
        b = GraphBuilder()
        x, y = b.input("x", f32(2)), b.input("y", f32(2))
        one = b.node(op, [x, y], [f32(2)], name="one").result
        other = b.node(op, [y, x], [f32(2)], name="other").result
        graph = b.output(b.node("t.div", [one, other], [f32(2)], name="z").result)
        assert bool(run(graph)) is merged


def test_precondition_same_op() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    one, other = b.node("t.neg", [x], [f32(2)]), b.node("t.view", [x], [f32(2)])
    assert run(b.output(one.result, other.result)) == {}


@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (0.5, 0.25), (1.0, True)])
def test_precondition_same_attributes(a: float, b: float) -> None:
    assert run(pair("t.scale", attrs=(ScaleAttrs(a), ScaleAttrs(b)))) == {}
    assert run(pair("t.scale", attrs=(ScaleAttrs(a), ScaleAttrs(a)))) == {"other": ["passed same-node"]}


def test_precondition_same_result_types() -> None:
    q = [TensorType(DType.INT8, (2,), Quantization.per_tensor(s)) for s in (0.5, 0.25)]
    b = GraphBuilder()
    x = b.input("x", q[0])
    one, other = (b.node("t.neg", [x], [t], name=n) for n, t in zip(("one", "other"), q, strict=True))
    y = b.node("t.sub", [one.result, other.result], [q[0]], name="y")
    assert run(b.output(y.result)) == {}


@pytest.mark.parametrize("op", ["t.random", "t.impure", "t.effect", "custom"])
def test_precondition_repeatable(op: str) -> None:
    graph = pair(op)
    remarks = CommonSubexpressions().run(graph, _context()).remarks
    assert [(r.subject, r.reason.slug) for r in remarks] == [("other", "not-repeatable")]
    assert ops(graph) == [op, op, "t.sub"]


def test_precondition_no_state() -> None:
    b = GraphBuilder()
    state, x = b.variable("state", f32(2)), b.input("x", f32(2))
    one = b.node("t.neg", [state], [f32(2)], name="one").result
    b.node("t.accumulate", [state, x], [f32(2)], name="change")
    other = b.node("t.neg", [state], [f32(2)], name="other").result
    graph = b.output(one, other)
    assert run(graph) == {"other": ["missed not-repeatable"]}


def test_precondition_no_nested_graphs() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    inner = [GraphBuilder(name) for name in "ab"]
    for g in inner:
        g.output(x)
    one, other = (b.node("t.neg", [x], [f32(2)], regions=[g.graph]).result for g in inner)
    graph = b.output(b.node("t.sub", [one, other], [f32(2)], name="y").result)
    assert list(run(graph).values()) == [["missed not-repeatable"]]


def test_precondition_pure_ops_with_nested_graphs_may_not_be() -> None:
    b = GraphBuilder()
    inner = GraphBuilder("inner")
    inner.output(inner.node("t.effect", [b.input("x", f32(2))], [f32(2)]).result)
    node = b.node("t.neg", [b.graph.inputs[0]], [f32(2)], regions=[inner.graph])
    assert why_impure(node, REGISTRY) is not None


def test_precondition_outputs_keep_their_names() -> None:
    graph = pair("t.neg")
    one, other, _ = graph.nodes
    graph.outputs = [one.result, other.result]
    assert run(graph) == {"other": ["missed both-outputs"]}


def test_one_output_gives_its_name_to_the_other() -> None:
    graph = pair("t.neg")
    _, other, _ = graph.nodes
    graph.outputs.append(other.result)
    assert run(graph) == {"other": ["passed same-node"]}
    assert [value.name for value in graph.outputs] == ["y", "other"]


def constants(*arrays: Array, quantizations: Sequence[Quantization | None] = (None, None)) -> Graph:
    b = GraphBuilder()
    values = [b.constant(f"c{i}", a, q) for i, (a, q) in enumerate(zip(arrays, quantizations, strict=True))]
    results = [b.node("t.random", [v], [v.type]).result for v in values]
    return b.output(*results)


def merge_constants(graph: Graph) -> int:
    CommonSubexpressions().run(graph, _context())
    return len(graph.constants())


def test_equal_constants_become_one() -> None:
    nan = np.array([np.nan, 1], np.float32)
    assert merge_constants(constants(nan, nan.copy())) == 1
    assert merge_constants(constants(np.broadcast_to(np.int8(3), (4,)), np.full(4, 3, np.int8))) == 1
    b = GraphBuilder()
    x = b.input("x", f32(2))
    c = [b.constant(n, np.array([1, 2], np.float32)) for n in "ab"]
    total = [b.node("t.sum", [x, v], [f32(2)], name=f"n{i}").result for i, v in enumerate(c)]
    graph = b.output(b.node("t.sub", total, [f32(2)], name="y").result)
    assert run(graph) == {"b": ["passed same-constant"], "n1": ["passed same-node"]}


@pytest.mark.parametrize(
    "other",
    [
        np.array([1, 3], np.int8),
        np.array([1, 2], np.uint8),
        np.array([[1, 2]], np.int8),
        np.array([0x0201], np.int16),
    ],
)
def test_precondition_same_type_and_bits(other: Array) -> None:
    assert merge_constants(constants(np.array([1, 2], np.int8), other)) == 2


def test_precondition_same_sign_of_zero() -> None:
    assert merge_constants(constants(np.array([0.0], np.float32), np.array([-0.0], np.float32))) == 2


def test_precondition_same_quantization() -> None:
    array = np.array([1, 2], np.int8)
    q = [Quantization.per_tensor(0.5), Quantization.per_tensor(0.5, 1)]
    assert merge_constants(constants(array, array.copy(), quantizations=q)) == 2
    assert merge_constants(constants(array, array.copy(), quantizations=[q[0], q[0]])) == 1


def test_constant_outputs_keep_their_names() -> None:
    b = GraphBuilder()
    graph = b.output(*(b.constant(n, np.ones(2, np.float32)) for n in "ab"))
    assert run(graph) == {"b": ["missed both-outputs"]}


def _context() -> Any:
    from arenite.passes.base import Context

    return Context(REGISTRY)


def test_precondition_constants_are_no_state() -> None:
    b = GraphBuilder()
    states = [b.variable(name, f32(2)) for name in "ab"]
    for state in states:
        state.constant = np.zeros(2, np.float32)
    x = b.input("x", f32(2))
    results = [b.node("t.accumulate", [state, x], [f32(2)], name=f"n_{state.name}").result for state in states]
    graph = b.output(*results)
    assert run(graph) == {}
    assert [node.operand(0) for node in graph.nodes] == states


def test_precondition_constant_is_not_what_a_nested_graph_gives() -> None:
    b = GraphBuilder()
    x, c = b.input("x", f32(2)), b.constant("c", np.ones(2, np.float32))
    inner = GraphBuilder("inner")
    inner.output(inner.constant("given", np.ones(2, np.float32)))
    outer = b.node("t.sum", [x, c], [f32(2)], name="y", regions=[inner.graph])
    assert CommonSubexpressions().run(b.output(outer.result), _context()).remarks == ()
    assert [value.name for value in inner.graph.outputs] == ["given"]


def test_constants_that_nothing_looks_like_are_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Array] = []

    def watched(array: Array) -> str:
        hashed.append(array)
        return content_hash(array)

    monkeypatch.setattr(cse, "content_hash", watched)
    one, same, other = (np.array(v, np.int8) for v in ([1, 2], [1, 2], [3, 4]))
    assert merge_constants(constants(one, other)) == 2
    assert hashed == []
    assert merge_constants(constants(one, same, other, quantizations=[None] * 3)) == 2
    assert [array.tolist() for array in hashed] == [[1, 2], [1, 2]]


def test_onnx_declarations_of_results_do_not_matter() -> None:
    text = """g (float[N] x) => (float[M] y) <float[M] one> {
        one = Neg (x)
        other = Neg (x)
        y = Add (one, other)
    }"""
    found = optimized(model_of(text), {"x": reals(3)}, passes=[CommonSubexpressions()])
    assert found.ops == ["Neg", "Add"]
    assert found.reasons("other") == ["same-node"]


def test_precondition_as_many_results() -> None:
    """A Split of ONNX without sizes splits into as many as it has results."""
    text = """g (float[6] x) => (float[2] y, float[3] z) {
        a, b, y = Split (x)
        z, d = Split (x)
    }"""
    found = optimized(model_of(text), {"x": reals(6)}, passes=[CommonSubexpressions()])
    assert found.ops == ["Split", "Split"]


def test_precondition_no_nested_graphs_even_pure_ones() -> None:
    """The key of a node says nothing of its nested graphs."""
    text = """g (bool c, float[2] x) => (float[2] y) {
        one = If (c) <
            then_branch = t () => (float[2] p) { p = Exp (x) },
            else_branch = e () => (float[2] q) { q = Neg (x) }
        >
        other = If (c) <
            then_branch = u () => (float[2] r) { r = Abs (x) },
            else_branch = f () => (float[2] s) { s = Sin (x) }
        >
        y = Sub (one, other)
    }"""
    feeds = ({"c": np.array(flag), "x": reals(2)} for flag in (True, False))
    found = optimized(model_of(text), *feeds, passes=[CommonSubexpressions()])
    assert found.reasons("other") == ["not-repeatable"]


@pytest.mark.parametrize("kept", ["other", "one"])
def test_precondition_node_need_not_be_computed_again(kept: str) -> None:
    """Where that takes less memory, the later one is said to stay."""
    found = verdicts(CommonSubexpressions(frozenset({kept})), pair("t.neg"), REGISTRY)
    assert found == {"other": ["missed raises-peak" if kept == "other" else "passed same-node"]}
