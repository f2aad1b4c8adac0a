"""A graph that takes too long to run is compiled all the same, and it is said that nothing was compared."""

from dataclasses import replace

import pytest

from arenite._base.errors import SelfCheckError
from arenite._base.remarks import RemarkKind
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.opdef import Cost
from arenite.passes.base import Work
from arenite.passes.differential import Differential, work_of
from arenite.passes.pipeline import PipelineResult, run_pipeline
from ir.support import REGISTRY, f32
from passes.test_instruments import Planted, model, swap


def run(graph: Graph, most_work: int) -> PipelineResult:
    return run_pipeline(graph, [Planted(swap)], REGISTRY, instruments=(Differential(most_work=most_work),))


def test_what_is_affordable_is_compared() -> None:
    with pytest.raises(SelfCheckError, match="pass 'planted'"):
        run(model(), work_of(model(), REGISTRY))


def test_what_is_not_is_passed_over_with_a_remark() -> None:
    result = run(model(), work_of(model(), REGISTRY) - 1)
    (remark,) = (r for r in result.remarks if r.kind is RemarkKind.ANALYSIS)
    assert remark.text == (
        "what passes did to graph 'main' could not be checked by running it: it is too large to be run here"
    )
    assert result.rows[0].max_error is None


def test_nothing_is_allocated_to_find_out() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(1 << 40))
    graph = b.output(b.node("t.neg", [x], [f32(1 << 40)]).result)

    def change(work: Work) -> None:
        """Nothing: feeds are made before the first pass."""

    run_pipeline(graph, [Planted(change)], REGISTRY, instruments=(Differential(most_work=1 << 30),))


def test_work_counts_values_and_what_is_computed() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(5))
    b.output(b.node("t.neg", [x], [f32(5)]).result)
    assert work_of(b.graph, REGISTRY) == 2 * 5 * 4
    costly = replace(REGISTRY["t.neg"], name="t.costly", cost=lambda call: Cost(macs=7))
    next(b.graph.nodes).op = "t.costly"
    assert work_of(b.graph, REGISTRY.extended_with([costly])) == 2 * 5 * 4 + 7
