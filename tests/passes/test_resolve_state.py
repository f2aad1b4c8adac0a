"""Named state becomes variables, and what runs once is run."""

import numpy as np
import pytest

from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.state import HANDLE, CallOnceAttrs, VarHandleAttrs
from arenite.passes import resolve_state
from arenite.passes.base import Context
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline
from arenite.passes.resolve_state import ResolveState
from named_state import ROW, START, assigning, delay, feeds, handle
from passes.support import ops, verdicts

REGISTRY = core_registry()


def same_for_twenty_invocations(one: Graph, other: Graph) -> None:
    before, after = Interpreter(one, REGISTRY), Interpreter(other, REGISTRY)
    for feed in feeds():
        np.testing.assert_array_equal(before.run(feed)[0], after.run(feed)[0])


@pytest.mark.parametrize("initial", [None, START], ids=["fresh", "assigned once"])
def test_handles_become_variables(initial: Array | None) -> None:
    graph = delay(initial, handles=2)
    before = clone_graph(graph)
    found = verdicts(ResolveState(), graph, REGISTRY)
    assert found.pop("once", ["passed started"]) == ["passed started"]
    assert found == {"handle_ring": ["passed handle"], "handle_ring_1": ["passed handle"]}
    assert ops(graph) == ["read_variable", "concatenation", "assign_variable"]
    (variable,) = {value for value in graph.values() if value.is_variable}
    assert variable.name == "ring"
    assert variable.constant is not None
    assert variable.constant.tolist() == ([[-7] * 4] if initial is None else START.tolist())
    same_for_twenty_invocations(before, graph)


def test_precondition_nothing_is_read_before_it_is_started() -> None:
    graph = delay()
    builder = GraphBuilder()
    x = builder.input("x", ROW)
    state = handle(builder)
    before = builder.node("read_variable", [state], [ROW], name="before").result
    builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[assigning(START)])
    builder.node("assign_variable", [state, x], [], name="after")
    graph = builder.output(before)
    assert verdicts(ResolveState(), graph, REGISTRY) == {
        "once": ["missed too-late"],
        "handle_ring": ["missed too-late"],
    }


def test_a_handle_that_nobody_uses_goes() -> None:
    builder = GraphBuilder()
    handle(builder)
    graph = builder.output(builder.input("x", ROW))
    assert verdicts(ResolveState(), graph, REGISTRY) == {"handle_ring": ["passed handle"]}
    assert ops(graph) == []


def test_an_op_that_knows_nothing_of_state_gets_a_copy() -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", ROW), builder.variable("state", ROW)
    y = builder.node("reshape", [state], [ROW], ReshapeAttrs((1, 4)), name="y").result
    builder.node("assign_variable", [state, x], [], Attrs(), name="after")
    graph = builder.output(y)
    before = clone_graph(graph)
    assert verdicts(ResolveState(), graph, REGISTRY) == {"y": ["passed copied"]}
    assert ops(graph) == ["read_variable", "reshape", "assign_variable"]
    same_for_twenty_invocations(before, graph)


def test_a_graph_without_state_has_no_candidates() -> None:
    builder = GraphBuilder()
    x = builder.input("x", ROW)
    graph = builder.output(builder.node("reshape", [x], [ROW], ReshapeAttrs((1, 4))).result)
    assert verdicts(ResolveState(), graph, REGISTRY) == {}


def test_a_graph_without_state_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*arguments: object) -> None:
        raise AssertionError("run")

    monkeypatch.setattr(resolve_state, "Interpreter", started)
    builder = GraphBuilder()
    graph = builder.output(builder.node("relu", [builder.input("x", ROW)], [ROW]).result)
    assert verdicts(ResolveState(), graph, REGISTRY) == {}


def test_what_runs_once_for_nobody_goes() -> None:
    builder = GraphBuilder()
    builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[assigning(START)])
    graph = builder.output(builder.node("relu", [builder.input("x", ROW)], [ROW]).result)
    assert verdicts(ResolveState(), graph, REGISTRY) == {"once": ["passed started"]}
    assert ops(graph) == ["relu"]


@pytest.mark.parametrize(("op", "reasons"), [("relu", ["handle", "started"]), ("tflite.CUSTOM", ["not-run"] * 2)])
def test_what_knows_nothing_of_state_may_come_before_it_is_started(op: str, reasons: list[str]) -> None:
    builder = GraphBuilder()
    y = builder.node(op, [builder.input("x", ROW)], [ROW]).result
    builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[assigning(START)])
    before = builder.node("read_variable", [handle(builder)], [ROW], name="before").result
    remarks = ResolveState().run(builder.output(y, before), Context(REGISTRY)).remarks
    assert [remark.reason.slug for remark in remarks] == reasons


def test_no_copies_for_ops_that_are_not_known_nor_of_absent_operands() -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", ROW), builder.variable("state", ROW)
    y = builder.node("tflite.CUSTOM", [state], [ROW]).result
    z = builder.node("concatenation", [x, None], [ROW], ConcatenationAttrs(-1)).result
    assert ResolveState().run(builder.output(y, z), Context(REGISTRY)).candidates == 0


def test_states_of_one_name_in_two_containers_are_two() -> None:
    """What each holds is compared by the instrument that compares what a model remembers."""
    builder = GraphBuilder()
    x = builder.input("ring", ROW)
    handles = [
        builder.node("var_handle", [], [HANDLE], VarHandleAttrs(box, "ring"), name=box or "handle").result
        for box in ("", "box")
    ]
    first, second = (builder.node("read_variable", [each], [ROW], name="before").result for each in handles)
    builder.node("assign_variable", [handles[1], first], [], name="shift")
    builder.node("assign_variable", [handles[0], x], [], name="after")
    graph = builder.output(first, second)
    before = clone_graph(graph)
    run_pipeline(graph, [ResolveState()], REGISTRY, instruments=all_checks())
    assert {value.name for value in graph.values() if value.is_variable} == {"ring_1", "box/ring"}
    same_for_twenty_invocations(before, graph)
    one, other = (Interpreter(each, REGISTRY) for each in (before, graph))
    one.run(feeds()[0])
    other.run(feeds()[0])
    np.testing.assert_equal(one.state(), other.state())
