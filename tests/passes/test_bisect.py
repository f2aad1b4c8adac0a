"""Bisecting: it names the pass and the change that broke something, and no other."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import SelfCheckError
from arenite._base.remarks import Reason, RemarkKind
from arenite.formats.tflite import import_model
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.printer import graph_text
from arenite.ir.types import TensorType
from arenite.ir.verifier import verify
from arenite.ops import core_registry
from arenite.passes.base import BitExact, Close, Context, Pass, Work
from arenite.passes.bisect import bisect, computes_like
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes
from arenite.passes.reproduce import Reproduce, first_fault

REGISTRY = core_registry()
F = TensorType(DType.FLOAT32, (4,))
DONE = Reason("done", "{subject} became {op}")
KEPT = Reason("kept", "{subject} stays")


@dataclass(frozen=True)
class Rename(Pass):
    """Turns abs into `op`; in `wrong` into something else, although it promises not to change results."""

    wrong: tuple[str, ...] = ()

    name: ClassVar[str] = "rename"
    summary: ClassVar[str] = "Turns abs into square and neg, and neg into abs."
    reasons: ClassVar[tuple[Reason, ...]] = (DONE, KEPT)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            candidate = work.consider(node)
            if node.op != "abs":
                candidate.missed(KEPT)
                continue
            op = "neg" if node.origin[0] in self.wrong else "abs"
            source = node.operand(0)
            made = work.rewriter.insert(node, op, [source], [F], Attrs(), name=node.name, origin=node.origin)
            work.rewriter.replace(node, [made.result], take_names=True)
            candidate.passed(DONE, op=op)


def row(count: int) -> Graph:
    b = GraphBuilder()
    value = b.input("x", F)
    for index in range(count):
        value = b.node("abs" if index % 3 else "logistic", [value], [F], Attrs(), name=f"n{index}").result
    return b.output(value)


@given(data=st.data())
def test_it_finds_the_pass_and_the_change(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 12))
    names = [f"n{index}" for index in range(count) if index % 3]
    wrong, place = data.draw(st.sampled_from(names)), data.draw(st.integers(0, 3))
    passes = [Rename((wrong,) if number == place else ()) for number in range(4)]
    graph = row(count)
    text = graph_text(graph)
    # Judged by structure: an absolute value further on would hide the sign from whoever judges by results.
    found = bisect(graph, passes, REGISTRY, lambda each: not any(node.op == "neg" for node in each.nodes))
    assert found is not None
    assert (found.number, found.spec, found.change) == (place, passes[place], names.index(wrong) + 1)
    assert found.remark.arguments["op"] == "neg"
    assert [sum(node.op == "neg" for node in each.nodes) for each in (found.before, found.after)] == [0, 1]
    assert graph_text(graph) == text
    assert f"change {found.change}" in str(found)


def test_nothing_to_find() -> None:
    assert bisect(row(5), [Rename()], REGISTRY, lambda graph: True) is None
    with pytest.raises(ValueError, match="before the first pass"):
        bisect(row(5), [Rename()], REGISTRY, lambda graph: False)


def test_judged_by_what_is_computed() -> None:
    graph = row(3)
    wrong = Rename(("n2",))
    found = bisect(graph, [Rename(), wrong], REGISTRY, computes_like(graph, REGISTRY, BitExact()))
    assert found is not None
    assert (found.number, found.change, found.remark.origin) == (1, 2, ("n2",))
    assert bisect(graph, [Rename()], REGISTRY, computes_like(graph, REGISTRY, BitExact())) is None


@pytest.mark.parametrize("tolerance", [1e-9, 10.0])
def test_judged_by_the_equivalence_and_by_samples(tolerance: float) -> None:
    graph = row(3)
    is_good = computes_like(graph, REGISTRY, Close(tolerance), [[np.ones(4, np.float32)]])
    found = bisect(graph, [Rename(("n2",))], REGISTRY, is_good)
    assert (found is None) == (tolerance > 1)


def test_a_graph_that_cannot_be_run_is_bad() -> None:
    graph = row(2)
    broken = clone_graph(graph)
    next(iter(broken.nodes)).op = "no-such-op"
    assert not computes_like(graph, REGISTRY, BitExact())(broken)


@pytest.mark.parametrize("spec", default_passes(), ids=lambda spec: spec.name)
def test_changes_can_be_made_one_by_one(spec: Pass, shared: Path) -> None:
    """After each change that a pass speaks of, the graph is sound and computes what it did."""
    for name in ("mww_okay_nabu_v2", "tflm_keyword_scrambled_f32", "mltk_fingerprint_signature"):
        path = shared / "models" / "tflite" / f"{name}.tflite"
        if not path.exists():
            pytest.skip("the shared models are not there")
        graph = import_model(path.read_bytes(), name).graph
        known = set(verify(graph, REGISTRY, allow_unknown=True))
        whole = spec.run(clone_graph(graph), Context(REGISTRY))
        changes = whole.count(RemarkKind.PASSED)
        for count in range(min(changes, 6) + 1):
            partial = clone_graph(graph)
            result = spec.run(partial, Context(REGISTRY, max_changes=count))
            assert result.count(RemarkKind.PASSED) == count
            assert set(verify(partial, REGISTRY, allow_unknown=True)) <= known
            assert (graph_text(partial) == graph_text(graph)) == (count == 0)


def test_a_reproducer_names_the_change(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    wrong = Rename(("n2",))
    with pytest.raises(SelfCheckError):
        run_pipeline(row(3), [wrong], REGISTRY, instruments=(*all_checks(), Reproduce(folder)))
    found = first_fault(folder, REGISTRY, [Rename()])
    assert found is not None
    assert (found.change, found.remark.subject) == (2, "n2")
