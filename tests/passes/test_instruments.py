"""Planted wrong passes: each is caught, and by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError, SelfCheckError
from arenite._base.remarks import Reason, RemarkKind
from arenite.interp.inputs import Inputs
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.opdef import OpCall, Registry
from arenite.ir.types import Quantization, TensorType
from arenite.passes.base import BitExact, Close, Equivalence, Lossy, Pass, Work
from arenite.passes.differential import agree, max_error
from arenite.passes.feeds import made_up_feeds
from arenite.passes.instruments import Dump, all_checks
from arenite.passes.invariants import QUANTIZED, SHAPES_KNOWN, Invariant
from arenite.passes.pipeline import PipelineResult, run_pipeline
from ir.support import REGISTRY, ScaleAttrs, f32, op

CHANGED = Reason("changed", "{subject} was changed")
KEPT = Reason("kept", "{subject} was kept")


@dataclass(frozen=True)
class Planted(Pass):
    """Does what a test wants."""

    action: Callable[[Work], None]
    claims: Equivalence = BitExact()  # noqa: RUF009 - frozen

    name: ClassVar[str] = "planted"
    summary: ClassVar[str] = "What a test wants."
    reasons: ClassVar[tuple[Reason, ...]] = (CHANGED, KEPT)

    @property
    def equivalence(self) -> Equivalence:
        return self.claims

    def apply(self, work: Work) -> None:
        self.action(work)


def model() -> Graph:
    """y = neg(x - 2 * other), named as a user's layers are."""
    b = GraphBuilder()
    type_ = f32(4)
    x, other = b.input("x", type_), b.input("other", type_)
    twice = b.node("t.scale", [other], [type_], ScaleAttrs(2.0), name="twice", origin=["model/twice"])
    difference = b.node("t.sub", [x, twice.result], [type_], name="difference", origin=["model/sub"])
    return b.output(b.node("t.neg", [difference.result], [type_], name="y").result)


Action = Callable[[Work], None]


def run(action: Action, graph: Graph | None = None, claims: Equivalence | None = None) -> PipelineResult:
    spec = Planted(action, claims or BitExact())
    return run_pipeline(graph or model(), [spec], REGISTRY, instruments=all_checks())


def caught(action: Action, graph: Graph | None = None, claims: Equivalence | None = None) -> str:
    with pytest.raises(SelfCheckError) as error:
        run(action, graph, claims)
    assert "pass 'planted'" in str(error.value)
    return str(error.value)


def swap(work: Work) -> None:
    node = next(node for node in work.graph.nodes if node.op == "t.sub")
    one, other = node.operand(0), node.operand(1)
    work.rewriter.set_operand(node, 0, other)
    work.rewriter.set_operand(node, 1, one)
    work.consider(node).passed(CHANGED)


def test_swapped_operands_are_caught() -> None:
    text = caught(swap)
    assert "on random 0 inputs output %y differs in 4 of 4 elements" in text
    assert "the first value to differ is %difference of 'difference' (t.sub, from model/sub)" in text


def test_one_off_in_a_constant_is_caught() -> None:
    """A zero point that is off by one moves every element by one."""
    b = GraphBuilder()
    type_ = TensorType(DType.INT8, (4,), Quantization.per_tensor(0.5, -3))
    x = b.input("x", type_)
    c = b.constant("c", np.array([-3] * 4, np.int8), type_.quantization)
    graph = b.output(b.node("t.sub", [x, c], [type_], name="y").result)

    def off_by_one(work: Work) -> None:
        node = next(work.graph.nodes)
        constant = node.operand(1).constant
        assert constant is not None
        wrong: Any = constant
        work.rewriter.set_operand(node, 1, work.rewriter.constant("c", wrong + np.int8(1), type_))
        work.consider(node).passed(CHANGED)

    assert "output %y differs in 4 of 4 elements" in caught(off_by_one, graph)


def clipping(low: float, high: float) -> tuple[Registry, Callable[[Work], None]]:
    """A registry with a clip, and a pass that clips where a t.view was."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        x: Any = operands[0]
        return (np.clip(x, low, high).astype(x.dtype),)

    def action(work: Work) -> None:
        node = next(work.graph.nodes)
        new = work.rewriter.insert(
            node, "t.clip", node.operands, [node.result.type], Attrs(), name="y", origin=node.origin
        )
        work.consider(node).passed(CHANGED)
        work.rewriter.replace(node, [new.result])

    return REGISTRY.extended_with([op("t.clip", ["x"], evaluate)]), action


def view(type_: TensorType) -> Graph:
    b = GraphBuilder()
    return b.output(b.node("t.view", [b.input("x", type_)], [type_], name="y").result)


def test_a_fault_that_only_saturation_shows_is_caught() -> None:
    """-128 becomes -127: four random elements hardly ever hold -128, the all-minimum feed does."""
    registry, action = clipping(-127, 127)
    graph = view(TensorType(DType.INT8, (4,), Quantization.per_tensor(0.5, 0)))
    with pytest.raises(SelfCheckError, match="on all-minimum inputs output %y differs in 4 of 4 elements"):
        run_pipeline(graph, [Planted(action)], registry, instruments=all_checks())


@pytest.mark.parametrize("by_name", [False, True])
def test_a_fault_that_only_samples_show_is_caught(by_name: bool) -> None:
    registry, action = clipping(-1000, 1000)
    run_pipeline(view(f32(4)), [Planted(action)], registry, instruments=all_checks())
    large = np.full(4, 1e6, np.float32)
    samples: list[Inputs] = [{"x": large} if by_name else [large]]
    with pytest.raises(SelfCheckError, match="on sample 0 inputs output %y differs in 4 of 4 elements"):
        run_pipeline(view(f32(4)), [Planted(action)], registry, instruments=all_checks(samples))


def test_a_change_of_state_is_caught() -> None:
    """The first invocation is right; state is wrong from then on."""
    b = GraphBuilder()
    state, x = b.variable("state", f32(2)), b.input("x", f32(2))
    graph = b.output(b.node("t.accumulate", [state, x], [f32(2)], name="first").result)

    def again(work: Work) -> None:
        node = next(work.graph.nodes)
        work.rewriter.insert(None, node.op, node.operands, [f32(2)], Attrs(), name="again", origin=[])
        work.consider(node).passed(CHANGED)

    text = caught(again, graph)
    assert "on random 1 inputs" in text
    assert "the first value to differ is %first" in text


@pytest.mark.parametrize(("tolerance", "fine"), [(1e-3, False), (1e-1, True)])
def test_close_passes_are_held_to_their_tolerance(tolerance: float, fine: bool) -> None:
    def shift(work: Work) -> None:
        node = next(work.graph.nodes)
        work.rewriter.set_attrs(node, ScaleAttrs(2.02))
        work.consider(node).passed(CHANGED)

    if fine:
        (row,) = run(shift, claims=Close(tolerance)).rows
        assert row.max_error is not None
        assert 1e-3 < row.max_error < 1e-1
    else:
        assert "(close(0.001)) changed what the model computes" in caught(shift, claims=Close(tolerance))


def test_lossy_passes_are_measured() -> None:
    (row,) = run(swap, claims=Lossy()).rows
    assert row.max_error is not None
    assert row.max_error > 0.1
    assert str(row.equivalence) == "lossy"


def test_each_pass_is_compared_with_what_it_was_given() -> None:
    """After a lossy pass its outputs are the reference."""

    def add_dead(work: Work) -> None:
        node = next(work.graph.nodes)
        work.rewriter.insert(None, "t.neg", [node.result], [f32(4)], Attrs(), name="dead", origin=[])
        work.consider(node).passed(CHANGED)

    passes = [Planted(swap, Lossy()), Planted(add_dead)]
    first, second = run_pipeline(model(), passes, REGISTRY, instruments=all_checks()).rows
    assert first.max_error is not None
    assert first.max_error > 0
    assert second.max_error == 0


def test_a_graph_that_cannot_run_any_more_is_caught() -> None:
    def foreign(work: Work) -> None:
        node = next(work.graph.nodes)
        new = work.rewriter.insert(node, "t.unknown", node.operands, [f32(4)], Attrs(), name="n", origin=[])
        work.consider(node).passed(CHANGED)
        work.rewriter.replace(node, [new.result])

    assert "made a graph that cannot be run" in caught(foreign)


def test_broken_structure_is_caught() -> None:
    def disorder(work: Work) -> None:
        node = next(work.graph.nodes)
        work.rewriter.move_before(node, None)
        work.consider(node).passed(CHANGED)

    assert "broke the graph: node 'difference' (t.sub) reads %twice, which is computed only after it" in caught(
        disorder
    )


def test_a_broken_graph_is_the_models_fault() -> None:
    graph = model()
    graph.outputs.append(Value("ghost", f32(1)))
    with pytest.raises(ModelError, match="%ghost"):
        run(lambda work: None, graph)


def misfit() -> Graph:
    graph = model()
    node = next(graph.nodes)
    node.attrs = ScaleAttrs(0.0)
    return graph


def test_nodes_that_never_fitted_are_left_in_peace() -> None:
    assert run(swap, misfit()).rows[0].max_error is None
    assert run(lambda work: None, misfit()).rows[0].max_error == 0.0


def test_new_nodes_that_do_not_fit_are_caught() -> None:
    def shrink(work: Work) -> None:
        node = list(work.graph.nodes)[1]
        work.rewriter.set_operand(node, 1, work.rewriter.constant("c", np.ones(3, np.float32)))
        work.consider(node).passed(CHANGED)

    text = caught(shrink, misfit())
    assert "node 'difference' (t.sub): shapes [(4,), (3,)] do not broadcast" in text
    assert "by is not 0" not in text


def test_a_secret_change_is_caught() -> None:
    def secretly(work: Work) -> None:
        next(work.graph.nodes).attrs = ScaleAttrs(3.0)

    assert "says that it changed nothing, but the graph is another one" in caught(secretly)


def test_a_change_without_a_remark_is_caught() -> None:
    def silent(work: Work) -> None:
        work.rewriter.set_attrs(next(work.graph.nodes), ScaleAttrs(2.0))

    assert "says changed=True, but has 0 remarks of changes" in caught(silent)


def test_a_remark_without_a_change_is_caught() -> None:
    assert "says changed=False, but has 1 remarks" in caught(lambda w: w.consider(next(w.graph.nodes)).passed(CHANGED))


def test_a_candidate_without_a_verdict_is_caught() -> None:
    def forget(work: Work) -> None:
        work.consider(next(work.graph.nodes))

    assert "looked at 1 candidates, but has 0 passed and 0 missed" in caught(forget)


def test_two_verdicts_on_one_candidate_are_caught() -> None:
    def twice(work: Work) -> None:
        candidate = work.consider(next(work.graph.nodes))
        candidate.missed(KEPT)
        candidate.missed(KEPT)

    assert "looked at 1 candidates, but has 0 passed and 2 missed" in caught(twice)


def test_an_unlisted_reason_is_caught() -> None:
    def stranger(work: Work) -> None:
        work.consider(next(work.graph.nodes)).missed(Reason("stranger", "unheard of"))

    assert "gives reasons that it does not list: stranger" in caught(stranger)


def test_renamed_interface_is_caught() -> None:
    def rename(work: Work) -> None:
        work.graph.outputs[0].name = "z"
        work.rewriter.changed += 1
        work.consider(next(work.graph.nodes)).passed(CHANGED)

    assert "changed the name or the type of an input or output" in caught(rename)


def test_requirements_and_promises_are_checked() -> None:
    @dataclass(frozen=True)
    class Promising(Planted):
        establishes: ClassVar[tuple[Invariant, ...]] = (QUANTIZED,)

    @dataclass(frozen=True)
    class Needing(Planted):
        requires: ClassVar[tuple[Invariant, ...]] = (SHAPES_KNOWN,)

    with pytest.raises(SelfCheckError, match=r"claims to leave 'quantized', but node 'twice' .* works on float32"):
        run_pipeline(model(), [Promising(lambda work: None)], REGISTRY)
    b = GraphBuilder()
    b.output(b.input("x", TensorType(DType.FLOAT32, ("N",))))
    with pytest.raises(SelfCheckError, match=r"needs 'shapes-known', but %x is float32\[N\]"):
        run_pipeline(b.graph, [Needing(lambda work: None)], REGISTRY)


def test_a_pass_that_does_nothing_is_left_in_peace() -> None:
    (row,) = run(lambda work: None).rows
    assert (row.name, row.changed, row.nodes_before, row.nodes_after, row.max_error) == ("planted", False, 3, 3, 0.0)
    assert row.milliseconds >= 0


def test_a_graph_with_unknown_ops_is_passed_over_with_a_remark() -> None:
    graph = model()
    next(graph.nodes).op = "custom"
    passes = [Planted(swap)] * 2
    result = run_pipeline(graph, passes, REGISTRY, instruments=all_checks())
    (remark,) = (r for r in result.remarks if r.kind is RemarkKind.ANALYSIS)
    assert remark.kind is RemarkKind.ANALYSIS
    assert remark.text == (
        "what passes did to graph 'main' could not be checked by running it: 1 operator in this model is not supported"
    )
    assert result.rows[0].max_error is None


def test_dump_writes_what_changed(tmp_path: Path) -> None:
    passes = [Planted(lambda work: None), Planted(swap)]
    run_pipeline(model(), passes, REGISTRY, instruments=[Dump(tmp_path / "dump")])
    assert [path.name for path in sorted((tmp_path / "dump").iterdir())] == ["00-start.ir", "02-planted.ir"]
    start, end = (path.read_text() for path in sorted((tmp_path / "dump").iterdir()))
    assert "t.sub(%x, %twice)" in start
    assert "t.sub(%twice, %x)" in end


FLOATS = st.lists(st.floats(width=32), min_size=1, max_size=6)


@given(FLOATS)
def test_every_array_agrees_with_itself(values: list[float]) -> None:
    array = np.array(values, np.float32)
    for equivalence in (BitExact(), Close(0.0), Lossy()):
        assert agree(array, array.copy(), equivalence)
    assert max_error(array, array.copy()) == 0


@pytest.mark.parametrize(
    ("reference", "found", "expected"),
    [
        ([2.0, -4.0], [2.0, -3.0], 0.25),
        ([0.0, 0.0], [0.0, 0.5], 0.5),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.nan, 1.0], [1.0, 1.0], np.inf),
        ([1.0, 1.0], [np.nan, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([np.inf], [np.inf], 0.0),
        ([1.0], [1.0, 1.0], np.inf),
    ],
)
def test_max_error(reference: list[float], found: list[float], expected: float) -> None:
    assert max_error(np.array(reference), np.array(found)) == expected


def test_bit_exact_tells_dtypes_and_shapes_apart() -> None:
    zeros = np.zeros(2, np.int8)
    assert not agree(zeros, zeros.astype(np.int16), BitExact())
    assert not agree(zeros, zeros.reshape(1, 2), BitExact())
    assert not agree(zeros, zeros.reshape(1, 2), Lossy())
    assert agree(np.array([0.0]), np.array([-0.0]), BitExact())


def test_feeds_reach_the_ends() -> None:
    b = GraphBuilder()
    b.input("q", TensorType(DType.INT8, (2, 3), Quantization.per_tensor(0.5, -7)))
    b.input("f", TensorType(DType.FLOAT32, ("N", 2)))
    b.input("i", TensorType(DType.INT64, (2,)))
    b.input("flag", TensorType(DType.BOOL, (2,)))
    feeds = {feed.name: feed.arrays for feed in made_up_feeds(b.graph)}
    assert list(feeds) == ["random 0", "random 1", "all-minimum", "all-maximum", "zero-point"]
    assert set(feeds["all-minimum"]["q"].flat) == {-128}
    assert set(feeds["all-maximum"]["q"].flat) == {127}
    assert set(feeds["zero-point"]["q"].flat) == {-7}
    for arrays in feeds.values():
        assert [(a.dtype, a.shape) for a in arrays.values()] == [
            (np.dtype(np.int8), (2, 3)),
            (np.dtype(np.float32), (2, 2)),
            (np.dtype(np.int64), (2,)),
            (np.dtype(np.bool_), (2,)),
        ]
        assert set(arrays["i"].flat) <= {0, 1}
    assert not np.array_equal(feeds["random 0"]["q"], feeds["random 1"]["q"])
    assert made_up_feeds(b.graph)[0].arrays["q"].tolist() == feeds["random 0"]["q"].tolist()


@pytest.mark.parametrize("kind", [object, "U1", "S1"])
def test_what_are_no_numbers_are_equal_or_not(kind: Any) -> None:
    one, other = (np.array(words, kind) for words in (["a", "b"], ["a", "c"]))
    assert max_error(one, one.copy()) == 0
    assert max_error(one, other) == float("inf")
    assert max_error(one, np.zeros(2)) == max_error(np.zeros(2), one) == float("inf")
