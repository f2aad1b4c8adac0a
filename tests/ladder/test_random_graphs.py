"""The ladder on random graphs of views, joins, cuts and state, invocation after invocation, also through a file."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracle
from arenite.driver.build import build
from arenite.driver.native import NativeEngine
from arenite.driver.optimize import optimize_loaded
from arenite.driver.optimize_result import OptimizeOptions
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model, import_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph
from arenite.ir.model import Model
from arenite.lower import arena, kernels
from arenite.lower.lower import lower
from arenite.lower.program import Program
from arenite.lower.select import Objective
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import legalizing_passes
from arenite.toolchain import host_compiler
from random_graphs import REGISTRY, feeds_of, models

INVOCATIONS = 8
pytestmark = pytest.mark.wheel
Outputs = list[list[Array]]


def _interpreted(graph: Graph, feeds: list[list[Array]]) -> Outputs:
    interpreter = Interpreter(graph, REGISTRY)
    return [interpreter.run(feed) for feed in feeds]


def _in_the_arena(program: Program, feeds: list[list[Array]]) -> Outputs:
    states = arena.States(program)
    return [arena.run(program, kernels(), feed, states=states) for feed in feeds]


def _without_passes(model: Model, objective: Objective) -> Program:
    graph = clone_graph(model.graph)
    run_pipeline(graph, legalizing_passes(), REGISTRY)
    return lower(graph, REGISTRY, kernels(), name="m", objective=objective)


@pytest.mark.parametrize("stateful", [True, False], ids=["state", "views"])
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_rung_gives_the_oracles_bytes(stateful: bool, data: st.DataObject) -> None:
    drawn = export_model(data.draw(models(stateful=stateful)))
    model = import_model(drawn, "m")
    feeds = feeds_of(model.graph, INVOCATIONS)
    expected = oracle.run_wheel(drawn, feeds, arena_nbytes=1 << 18)
    np.testing.assert_equal(_interpreted(model.graph, feeds), expected, "interpreter")
    objective = data.draw(st.sampled_from(Objective))
    np.testing.assert_equal(_in_the_arena(_without_passes(model, objective), feeds), expected, "without passes")
    built = build(model, CompileOptions(target="host", objective=objective.value), lambda _: None)
    np.testing.assert_equal(_in_the_arena(built.program, feeds), expected, "arena")
    # Nothing is checked on the way, so that passes are.
    optimized = export_model(optimize_loaded(import_model(drawn, "m"), OptimizeOptions(check=0)).model)
    np.testing.assert_equal(oracle.run_wheel(optimized, feeds, arena_nbytes=1 << 18), expected, "optimized file")


@pytest.mark.gcc
@pytest.mark.slow
@pytest.mark.parametrize("stateful", [True, False], ids=["state", "views"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_c_gives_the_oracles_bytes_before_and_after_a_reset(stateful: bool, data: st.DataObject) -> None:
    drawn = export_model(data.draw(models(stateful=stateful)))
    model = import_model(drawn, "m")
    feeds = feeds_of(model.graph, INVOCATIONS)
    expected = oracle.run_wheel(drawn, feeds, arena_nbytes=1 << 18)
    built = build(model, CompileOptions(target="host"), lambda _: None)
    with NativeEngine(built, host_compiler("gcc")) as engine:
        for _ in range(2):
            np.testing.assert_equal([engine.invoke(feed) for feed in feeds], expected)
            engine.reset()
