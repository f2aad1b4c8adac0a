"""The peak of activations: how it is counted, and passes that may not raise it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from arenite._base.remarks import Reason
from arenite.formats.onnx import model_registry
from arenite.ir.model import Model
from arenite.passes.base import Pass, Work
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.instruments import CheckClaims
from arenite.passes.onnx.measures import measured, peaks_of
from arenite.passes.onnx.peaks import MOST_KEPT, Within, run_within_peak
from arenite.passes.onnx.presets import onnx_passes
from passes.onnx.optimizing import model_of, reals, run


def within(model: Model, *passes: Pass) -> Within:
    return run_within_peak(
        model.graph, passes or onnx_passes(), model_registry(model), instruments=lambda: (CheckClaims(),)
    )


def ops(found: Within) -> list[str]:
    return [node.op.removeprefix("onnx.") for node in found.graph.nodes]


def test_what_is_alive_at_once_is_counted() -> None:
    # 4-byte elements: x 8, a and b 32 each, c 8: at Add there are a, b and its result.
    text = """g (float[8] x, float[4, 1] w) => (float[4, 8] y) {
        a = Add (x, w)
        b = Exp (a)
        y = Add (a, b)
    }"""
    model = model_of(text)
    assert measured(model.graph, model_registry(model)).activations_nbytes == 3 * 4 * 32


def test_what_nested_graphs_hold_is_counted_where_they_run() -> None:
    text = """g (bool c, float[8] x) => (float[8] y) {
        y = If (c) <
            then_branch = t () => (float[8] p) { k = Expand (x, s)  p = ReduceSum <keepdims: int = 0> (k, zero) },
            else_branch = e () => (float[8] q) { q = Neg (x) }
        >
    }"""
    model = model_of(text, constants={"s": np.array([100, 8], np.int64), "zero": np.array([0], np.int64)})
    # c, x, y; k and p inside.
    assert peaks_of(model.graph, model_registry(model))[0] == 1 + 32 + 32 + 3200 + 32


# What comes first is computed again at the end: merged, it would be alive while the large ones are.
AGAIN = """g (float[N, 8] x) => (float[A, B] y) {
    a = Expand (x, many)
    b = ReduceMax <keepdims: int = 0> (a, zero)
    c = Expand (b, many)
    d = Exp (c)
    e = ReduceMax <keepdims: int = 0> (d, zero)
    f = Expand (x, many)
    g = ReduceMax <keepdims: int = 0> (f, zero)
    h = Sub (f, e)
    i = ReduceMax <keepdims: int = 0> (h, zero)
    y = Sub (i, g)
}"""
CONSTANTS = {"many": np.array([100, 1, 1], np.int64), "zero": np.array([0], np.int64)}


@pytest.mark.parametrize("batch", ["N", "3"])
def test_a_merge_that_raises_the_peak_is_given_up(batch: str) -> None:
    model = model_of(AGAIN.replace("N", batch), constants=CONSTANTS, opset=18)
    before = peaks_of(model.graph, model_registry(model))
    found = within(model, CommonSubexpressions())
    assert peaks_of(found.graph, model_registry(model)) == before
    assert ops(found).count("Expand") == 3
    said = [remark for remark in found.result.remarks if remark.reason.slug == "raises-peak"]
    assert [(remark.kind.value, remark.subject) for remark in said] == [("analysis", "f"), ("missed", "f")]
    assert "cse" in said[0].text


def test_a_merge_that_raises_nothing_is_made() -> None:
    text = """g (float[8] x) => (float[8] y) {
        a = Exp (x)
        b = Exp (x)
        y = Add (a, b)
    }"""
    model = model_of(text)
    found = within(model)
    assert ops(found) == ["Exp", "Add"]
    assert found.graph is model.graph


def test_what_is_given_up_leaves_the_results_as_they_were() -> None:
    model = model_of(AGAIN, constants=CONSTANTS, opset=18)
    feed = {"x": reals(3, 8)}
    expected = run(
        model_of(AGAIN, constants=CONSTANTS, opset=18), model_of(AGAIN, constants=CONSTANTS, opset=18).graph, feed
    )
    found = within(model)
    assert all((a == b).all() for a, b in zip(expected, run(model, found.graph, feed), strict=True))


_MOVED = Reason("moved", "{subject} went first")


@dataclass(frozen=True)
class Early(Pass):
    """Computes everything large as early as it can be: it knows of nothing to leave alone."""

    name: ClassVar[str] = "early"
    summary: ClassVar[str] = "Moves Expand to the front."
    reasons: ClassVar[tuple[Reason, ...]] = (_MOVED,)

    def apply(self, work: Work) -> None:
        first = next(work.graph.nodes)
        for node in list(work.graph.nodes):
            if node.op == "onnx.Expand" and node.operand(0).producer is None and node is not first:
                work.rewriter.move_before(node, next(work.graph.nodes))
                work.consider(node).passed(_MOVED)
                return


def test_a_pass_that_cannot_do_without_is_left_out() -> None:
    text = """g (float[8] x, float[8] z) => (float[8] y) {
        a = Expand (x, many)
        b = ReduceMax <keepdims: int = 0> (a, zero)
        c = Expand (z, many)
        d = ReduceMax <keepdims: int = 0> (c, zero)
        y = Sub (b, d)
    }"""
    constants = {"many": np.array([100, 8], np.int64), "zero": np.array([0], np.int64)}
    model = model_of(text, constants=constants, opset=18)
    found = within(model, Early(), CommonSubexpressions())
    assert [each.name for each in found.passes] == ["cse"]
    assert [node.name for node in found.graph.nodes] == ["a", "b", "c", "d", "y"]
    (said,) = [remark for remark in found.result.remarks if remark.reason.slug == "raises-peak"]
    assert "early" in said.text


def test_many_merges_are_given_up_all_at_once() -> None:
    # Each block raises a peak of its own when it is merged with the one before.
    count = MOST_KEPT + 4
    body = "".join(
        f"a{i} = Expand (x{i}, many) b{i} = ReduceMax <keepdims: int = 0> (a{i}, zero)\n" for i in range(count)
    )
    body += "".join(
        f"c{i} = Expand (x{i}, again) d{i} = ReduceMax <keepdims: int = 0> (c{i}, zero)\n" for i in range(count)
    )
    inputs = ", ".join(f"float[{8 + i}] x{i}" for i in range(count))
    names = ", ".join(f"float[A{i}] b{i}, float[A{i}] d{i}" for i in range(count))
    model = model_of(
        f"g ({inputs}) => ({names}) {{ {body} }}",
        constants={name: np.array([100, 1], np.int64) for name in ("many", "again")} | {"zero": np.array([0])},
        opset=18,
    )
    before = peaks_of(model.graph, model_registry(model))
    found = within(model, CommonSubexpressions())
    assert peaks_of(found.graph, model_registry(model)) == before
    assert ops(found).count("Expand") == 2 * count
    (cse,) = found.passes
    assert isinstance(cse, CommonSubexpressions)
    assert {f"c{i}" for i in range(count)} <= cse.kept
    # Constants are no activations: they are still merged.
    assert len({value for node in found.graph.nodes for value in node.present_operands if value.is_constant}) == 2
