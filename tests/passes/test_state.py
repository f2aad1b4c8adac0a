"""Nothing that passes do loses, repeats or moves a change of state: planted graphs that tempt each of them."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.svdf import SvdfAttrs
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.fold import Fold
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes
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
