"""Dead code: what goes, what stays and why."""

import pytest

from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Node, Value
from arenite.passes import liveness
from arenite.passes.dce import DeadCodeElimination
from ir.support import REGISTRY, f32
from passes.support import ops, verdicts


def with_dead(op: str) -> Graph:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    used = b.node("t.neg", [x], [f32(2)], name="used")
    first = b.node("t.neg", [x], [f32(2)], name="first")
    b.node(op, [first.result], [f32(2)], name="last")
    return b.output(used.result)


def test_dead_chains_go() -> None:
    graph = with_dead("t.neg")
    assert verdicts(DeadCodeElimination(), graph, REGISTRY) == {"first": ["passed dead"], "last": ["passed dead"]}
    assert ops(graph) == ["t.neg"]
    assert len(graph.inputs) == 1


def test_precondition_no_side_effect() -> None:
    for op in ("t.effect", "t.impure", "custom"):
        graph = with_dead(op)
        found = verdicts(DeadCodeElimination(), graph, REGISTRY)
        assert found == {"first": ["missed serves-side-effect"], "last": ["missed side-effect"]}
        assert ops(graph) == ["t.neg", "t.neg", op]


def test_precondition_no_state() -> None:
    b = GraphBuilder()
    x, state = b.input("x", f32(2)), b.variable("state", f32(2))
    b.node("t.neg", [state], [f32(2)], name="reads")
    graph = b.output(b.node("t.neg", [x], [f32(2)], name="y").result)
    assert verdicts(DeadCodeElimination(), graph, REGISTRY) == {"reads": ["missed side-effect"]}


def test_a_node_with_one_result_needed_stays() -> None:
    b = GraphBuilder()
    split = b.node("t.split", [b.input("x", f32(4))], [f32(2), f32(2)])
    assert verdicts(DeadCodeElimination(), b.output(split.results[1]), REGISTRY) == {}
    assert len(b.graph) == 1


def test_unused_inputs_stay() -> None:
    b = GraphBuilder()
    b.input("unused", f32(2))
    graph = b.output(b.input("x", f32(2)))
    verdicts(DeadCodeElimination(), graph, REGISTRY)
    assert [value.name for value in graph.inputs] == ["unused", "x"]


def nested(inner_op: str, *, dead: bool) -> Graph:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    captured = b.node("t.neg", [x], [f32(2)], name="captured")
    inner = GraphBuilder("inner")
    inner.output(inner.node(inner_op, [captured.result], [f32(2)], name="deep").result)
    outer = b.node("t.neg", [x], [f32(2)], name="outer", regions=[inner.graph])
    return b.output(x if dead else outer.result)


def test_values_that_nested_graphs_read_are_live() -> None:
    graph = nested("t.neg", dead=False)
    assert verdicts(DeadCodeElimination(), graph, REGISTRY) == {}
    assert len(graph) == 2


def test_dead_nested_nodes_go_and_so_does_what_only_they_read() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    captured = b.node("t.neg", [x], [f32(2)], name="captured")
    inner = GraphBuilder("inner")
    inner.node("t.neg", [captured.result], [f32(2)], name="dead")
    inner.output(inner.node("t.neg", [x], [f32(2)], name="deep").result)
    graph = b.output(b.node("t.neg", [x], [f32(2)], name="outer", regions=[inner.graph]).result)
    found = verdicts(DeadCodeElimination(), graph, REGISTRY)
    assert found == {"dead": ["passed dead"], "captured": ["passed dead"]}
    assert [node.name for node in graph.nodes] == ["outer"]


def test_a_dead_node_goes_with_its_nested_graphs() -> None:
    graph = nested("t.neg", dead=True)
    assert len(verdicts(DeadCodeElimination(), graph, REGISTRY)) == 2
    assert len(graph) == 0
    assert graph.inputs[0].uses == ()


def test_side_effects_inside_nested_graphs_count() -> None:
    graph = nested("t.effect", dead=True)
    assert set(verdicts(DeadCodeElimination(), graph, REGISTRY)) == {"captured", "outer"}
    assert len(graph) == 2


def test_what_is_read_often_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a chain of nodes that read their operand twice takes twice as long with each."""
    followed: list[str] = []

    def watched(node: Node) -> list[Value]:
        followed.append(node.name)
        return list(node.present_operands)

    monkeypatch.setattr(liveness, "_read_by", watched)
    b = GraphBuilder()
    value = b.input("x", f32(2))
    for i in range(8):
        value = b.node("t.sub", [value, value], [f32(2)], name=f"n{i}").result
    assert len(liveness.live_nodes(b.output(value), REGISTRY)) == 8
    assert sorted(followed) == [f"n{i}" for i in range(8)]
