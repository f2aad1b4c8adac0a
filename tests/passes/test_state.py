"""Nothing that passes do loses, repeats or moves a change of state: planted graphs that tempt each of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import SelfCheckError
from arenite._base.remarks import Reason
from arenite.driver.load import load_model
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.printer import graph_text
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.state import CallOnceAttrs
from arenite.ops.svdf import SvdfAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.fold import Fold
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes, file_passes
from named_state import ROW, delay, handle
from passes.support import verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5)
TYPE = TensorType(DType.INT8, (1, 2), Q)
STATE = TensorType(DType.INT8, (1, 6), Q)


def _svdf(builder: GraphBuilder, data: Value, state: Value, name: str) -> Value:
    features = builder.constant("features", np.array([[1, 2], [3, -4]], np.int8), Q)
    time = builder.constant("time", np.arange(6, dtype=np.int8).reshape(2, 3), Q)
    return builder.node("svdf", [data, features, time, None, state], [TYPE], SvdfAttrs(), name=name).result


def _names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_a_write_that_nobody_reads_stays() -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", TYPE), builder.variable("state", STATE)
    _svdf(builder, x, state, "unread")
    graph = builder.output(_svdf(builder, x, state, "y"))
    assert verdicts(DeadCodeElimination(), graph, REGISTRY) == {"unread": ["missed side-effect"]}
    assert _names(graph) == ["unread", "y"]


def test_two_equal_writes_stay_two() -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", TYPE), builder.variable("state", STATE)
    features = builder.constant("features", np.array([[1, 2], [3, -4]], np.int8), Q)
    time = builder.constant("time", np.arange(6, dtype=np.int8).reshape(2, 3), Q)
    operands = [x, features, time, None, state]
    results = [builder.node("svdf", operands, [TYPE], SvdfAttrs(), name=name).result for name in ("one", "two")]
    graph = builder.output(*results)
    assert verdicts(CommonSubexpressions(), graph, REGISTRY)["two"] == ["missed not-repeatable"]
    assert _names(graph) == ["one", "two"]


def test_a_write_of_a_constant_is_not_computed_once() -> None:
    builder = GraphBuilder()
    state = builder.variable("state", STATE)
    constant = builder.constant("x", np.array([[5, 6]], np.int8), Q)
    graph = builder.output(_svdf(builder, constant, state, "y"))
    assert verdicts(Fold(), graph, REGISTRY) == {"y": ["missed state"]}
    assert _names(graph) == ["y"]


def test_all_passes_together_keep_every_write_in_order() -> None:
    builder = GraphBuilder()
    x, state, other = builder.input("x", TYPE), builder.variable("state", STATE), builder.variable("other", STATE)
    constant = builder.constant("c", np.array([[5, 6]], np.int8), Q)
    _svdf(builder, constant, state, "unread")
    first = _svdf(builder, x, state, "first")
    _svdf(builder, first, other, "last")
    graph = builder.output(_svdf(builder, x, other, "y"))
    run_pipeline(graph, default_passes(), REGISTRY, instruments=all_checks())
    assert _names(graph) == ["unread", "first", "last", "y"]


def _started_by(contents: Callable[[GraphBuilder], Value]) -> Graph:
    """Adds to its input what it also computes once, for its state to start with."""
    inner = GraphBuilder("init")
    inner.node("assign_variable", [handle(inner), contents(inner)], [], name="start")
    builder = GraphBuilder()
    x = builder.input("x", ROW)
    y = builder.node("add", [contents(builder), x], [ROW], ArithmeticAttrs(), name="y").result
    builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[inner.graph])
    before = builder.node("read_variable", [handle(builder)], [ROW], name="before").result
    builder.node("assign_variable", [handle(builder), x], [], name="after")
    return builder.output(y, before)


def _constant(builder: GraphBuilder) -> Value:
    return builder.constant("c", np.array([[1, 2, 3, 4]], np.int8), ROW.quantization)


def _computed(builder: GraphBuilder) -> Value:
    return builder.node("relu", [_constant(builder)], [ROW], name="computed").result


def _computed_beside_another(builder: GraphBuilder) -> Value:
    builder.node("relu6", [_constant(builder)], [ROW], name="unread")
    return _computed(builder)


@pytest.mark.parametrize("contents", [_constant, _computed, _computed_beside_another])
@pytest.mark.parametrize("folded", [True, False])
def test_what_runs_once_shares_nothing_with_the_graph_around_it(
    contents: Callable[[GraphBuilder], Value], folded: bool
) -> None:
    """A file holds it as a graph of its own: what passes say of it would not be so there."""
    graph = _started_by(contents)
    once = next(node for node in graph.nodes if node.op == "call_once")
    (before,) = once.regions
    text = graph_text(before)
    passes = [each for each in file_passes() if folded or each.name != Fold.name]
    run_pipeline(graph, passes, REGISTRY, instruments=all_checks())
    assert graph_text(before) == text
    assert not {value for node in before.nodes for value in node.present_operands} & set(graph.values())


PLANTED = Reason("planted", "{subject} was dropped or moved")


@dataclass(frozen=True)
class Planted(Pass):
    """Does to writes of state what no pass may."""

    action: Callable[[Work], Node]

    name: ClassVar[str] = "planted"
    summary: ClassVar[str] = "Drops or moves a write of state."
    reasons: ClassVar[tuple[Reason, ...]] = (PLANTED,)

    def apply(self, work: Work) -> None:
        candidate = work.consider(self.action(work))
        candidate.passed(PLANTED)


def _drop(name: str) -> Planted:
    def action(work: Work) -> Node:
        node = next(node for node in work.graph.nodes if node.name == name)
        work.rewriter.erase(node)
        return node

    return Planted(action)


def _move(name: str, before: str) -> Planted:
    def action(work: Work) -> Node:
        by_name = {node.name: node for node in work.graph.nodes}
        work.rewriter.move_before(by_name[name], by_name[before])
        return by_name[name]

    return Planted(action)


def _two_writes() -> Graph:
    builder = GraphBuilder()
    x, state = builder.input("x", TYPE), builder.variable("state", STATE)
    constant = builder.constant("c", np.array([[50, 60]], np.int8), Q)
    _svdf(builder, constant, state, "unread")
    return builder.output(_svdf(builder, x, state, "y"))


@pytest.mark.parametrize(
    ("graph", "spec"),
    [
        pytest.param(delay(), _drop("after"), id="assign-dropped"),
        pytest.param(delay(), _move("after", "before"), id="assign-moved-before-read"),
        pytest.param(_two_writes(), _drop("unread"), id="svdf-dropped"),
        pytest.param(_two_writes(), _move("y", "unread"), id="svdf-swapped"),
    ],
)
def test_planted_passes_that_lose_or_move_a_write_are_caught_by_name(graph: Graph, spec: Planted) -> None:
    with pytest.raises(SelfCheckError) as error:
        run_pipeline(graph, [*default_passes(), spec], REGISTRY, instruments=all_checks())
    assert "pass 'planted' (bit-exact) changed what the model computes" in str(error.value)


@pytest.mark.shared
def test_every_write_of_a_wake_word_is_needed(shared: Path) -> None:
    """Dropping any of them is seen, and named: one of them changes no output, only what is remembered."""
    model = load_model(shared / "models" / "tflite" / "mww_okay_nabu_v2.tflite")
    writes = [node.name for node in model.graph.nodes if node.op == "assign_variable"]
    assert len(writes) == 6
    for name in writes:
        with pytest.raises(SelfCheckError, match=r"pass 'planted' .* changed what the model (computes|remembers)"):
            run_pipeline(clone_graph(model.graph), [_drop(name)], REGISTRY, instruments=all_checks())
