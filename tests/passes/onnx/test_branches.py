"""If and Loop that are decided beforehand."""

from collections import Counter

import numpy as np
import pytest

from arenite._base.remarks import RemarkKind
from passes.onnx.optimizing import model_of, optimized, reals

TRUE, FALSE = {"c": np.array(True)}, {"c": np.array(False)}

TAKEN = """g (float[N, 3] x) => (float[A, B] y) {
    s = Shape (x)
    d = Gather (s, one)
    is = Equal (d, three)
    y = If (is) <
        then_branch = t () => (float[A, B] p) { m = Exp (x)  p = Neg (m) },
        else_branch = e () => (float[A, B] q) { m = MatMul (x, x)  q = Concat <axis: int = 7> (m, m) }
    >
}"""
NUMBERS = {"one": np.array(1, np.int64), "three": np.array(3, np.int64)}


def test_the_taken_branch_takes_the_place() -> None:
    """The other one is ill-typed, and nobody looks into it."""
    found = optimized(model_of(TAKEN, constants=NUMBERS), {"x": reals(2, 3)})
    assert found.ops == ["Exp", "Neg"]
    assert found.reasons("y")[0] == "branch-taken"
    assert found.model.graph.outputs[0].name == "y"


def test_an_unknown_condition_keeps_both() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <
            then_branch = t () => (float[2] p) { a = Identity (x)  p = Exp (a) },
            else_branch = e () => (float[2] q) { b = Transpose (x)  q = Neg (b) }
        >
    }"""
    found = optimized(model_of(text), *({**flag, "x": reals(2)} for flag in (TRUE, FALSE)))
    assert sorted(found.ops) == ["Exp", "If", "Neg"]
    assert found.reasons("y")[0] == "condition-unknown"


def test_names_of_both_branches_do_not_meet() -> None:
    branch = """then_branch = t () => (float[2] p) {{ m = Exp ({0})  p = Neg (m) }},
        else_branch = e () => (float[2] q) {{ q = Neg ({0}) }}"""
    text = f"""g (float[2] x) => (float[2] y) <bool yes = {{1}}> {{
        a = If (yes) < {branch.format("x")} >
        y = If (yes) < {branch.format("a")} >
    }}"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert found.ops == ["Exp", "Neg", "Exp", "Neg"]
    names = [value.name for node in found.model.graph.nodes for value in node.results]
    assert len(set(names)) == len(names)


def test_a_branch_that_gives_an_outer_value() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] z) <bool yes = {1}> {
        z = Relu (x)
        y = If (yes) <
            then_branch = t () => (float[2] p) { p = Identity (z) },
            else_branch = e () => (float[2] q) { q = Neg (x) }
        >
    }"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert found.ops == ["Relu", "Identity"]
    assert [value.name for value in found.model.graph.outputs] == ["y", "z"]


def test_results_that_nobody_reads_are_not_computed() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {
        y, unread = If (c) <
            then_branch = t () => (float[2] p, float[2] r) { p = Exp (x)  r = Sin (x) },
            else_branch = e () => (float[2] q, float[2] s) { q = Neg (x)  s = Cos (x) }
        >
    }"""
    found = optimized(model_of(text), *({**flag, "x": reals(2)} for flag in (TRUE, FALSE)))
    assert sorted(found.ops) == ["Exp", "If", "Neg"]


LOOP = """g (float[2] x) => (float[2] y, float[A, B] z) <int64 count = {COUNT}, bool yes = {1}> {
    y, z = Loop (count, yes, x) <
        body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w, float[2] u) {
            on = Identity (go)
            w = Exp (v)
            u = Neg (v)
        }
    >
}"""


@pytest.mark.parametrize(
    ("count", "ops"),
    [
        (1, {"Exp": 1, "Neg": 1, "Unsqueeze": 1}),
        (2, {"Exp": 2, "Neg": 2, "Unsqueeze": 2, "Concat": 1}),
        # Eleven nodes more than there are now.
        (3, {"Loop": 1, "Exp": 1, "Neg": 1, "Identity": 1}),
    ],
)
def test_a_loop_of_few_trips_is_written_out(count: int, ops: dict[str, int]) -> None:
    found = optimized(model_of(LOOP.replace("COUNT", str(count))), {"x": reals(2)})
    assert Counter(found.ops) == ops
    assert ("grows" in found.reasons("y", RemarkKind.MISSED)) == (count > 2)


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_loop_that_reads_constants_only_folds(count: int) -> None:
    text = f"""g (float[2] x) => (float[2] y, float[A, B] z) <int64 count = {{{count}}}, float[2] c = {{1, 2}}> {{
        w, s = Loop (count, , c) <
            body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w, float[2] u) {{
                on = Identity (go)
                f = Cast <to: int = 1> (i)
                w = Add (v, f)
                u = Mul (w, f)
            }}
        >
        y = Add (x, w)
        z = Identity (s)
    }}"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert found.ops == ["Add"]


@pytest.mark.parametrize(("stop", "trips"), [("no", 1), ("yes", 2)])
def test_a_condition_that_is_constant_decides(stop: str, trips: int) -> None:
    text = """g (float[2] x) => (float[2] y) <int64 count = {2}, bool no = {0}, bool yes = {1}> {
        y = Loop (count, , x) <
            body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Identity (STOP)  w = Exp (v) }
        >
    }"""
    found = optimized(model_of(text.replace("STOP", stop)), {"x": reals(2)})
    assert found.ops == ["Exp"] * trips


def test_a_loop_that_may_stop_stays() -> None:
    text = """g (float[2] x) => (float[2] y) <int64 count = {3}, int64 one = {1}> {
        y = Loop (count, , x) <
            body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Less (i, one)  w = Exp (v) }
        >
    }"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert "may-stop" in found.reasons("y", RemarkKind.MISSED)


def test_trips_carry_on_in_nested_graphs_and_past_each_other() -> None:
    # Each trip exchanges the two carried values; one is read by a branch, which gives a value of the graph around.
    text = """g (bool c, float[2] x, float[2] z) => (float[2] p, float[2] q) <int64 count = {3}> {
        p, q = Loop (count, , x, z) <
            body = b (int64 i, bool go, float[2] v, float[2] w) => (bool on, float[2] w, float[2] t) {
                on = Identity (go)
                t = If (c) <
                    then_branch = t () => (float[2] a) { a = Neg (v) },
                    else_branch = e () => (float[2] d) { d = Add (v, x) }
                >
            }
        >
    }"""
    feeds = [{"c": np.array(flag), "x": reals(2), "z": reals(2, seed=1)} for flag in (True, False)]
    found = optimized(model_of(text), *feeds)
    assert found.ops.count("If") == 3
    assert "Loop" not in found.ops


def test_a_loop_that_never_runs_gives_what_it_got() -> None:
    text = """g (float[2] x) => (float[2] y) <int64 count = {0}> {
        r = Relu (x)
        y = Loop (count, , r) <
            body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Identity (go)  w = Exp (v) }
        >
    }"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert found.ops == ["Relu"]


def test_nested_branches() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) <bool no = {0}> {
        y = If (c) <
            then_branch = t () => (float[2] p) {
                p = If (no) <
                    then_branch = tt () => (float[2] pp) { pp = Sin (x) },
                    else_branch = te () => (float[2] pq) { k = Cos (x)  pq = Relu (k) }
                >
            },
            else_branch = e () => (float[2] q) { q = Neg (x) }
        >
    }"""
    found = optimized(model_of(text), *({**flag, "x": reals(2)} for flag in (TRUE, FALSE)))
    assert sorted(found.ops) == ["Cos", "If", "Neg", "Relu"]
