"""Rules for Split, Slice, Gather, and Transpose beside views and reductions: what they do, and what they leave."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite._base.remarks import RemarkKind
from arenite.formats.onnx import export_model, model_registry
from arenite.ir.graph import Array
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.engine import whole_model
from arenite.passes.base import Context, Work
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.rules import Site, attrs_of
from arenite.passes.onnx.rules_movement import NOT_SINGLE, RULES
from passes.onnx.optimizing import Outcome, model_of, optimized, reals

INTS: dict[str, Array] = {f"i{number}": np.array([number], np.int64) for number in range(6)}
CONSTANTS: dict[str, Array] = {
    **INTS,
    "m1": np.array([-1], np.int64),
    "m2": np.array([-2], np.int64),
    "big": np.array([2**63 - 1], np.int64),
    "two_one": np.array([2, 1], np.int64),
    "ones": np.ones(3, np.int64),
    "one": np.array(1, np.int64),
    "order": np.arange(3, dtype=np.int64),
    "back": np.array([2, 1, 0], np.int64),
    "some": np.array([0, 1], np.int64),
    "rows": np.array([[0, 1, 2]], np.int64),
    "s64": np.array([6, 4], np.int64),
    "s2341": np.array([2, 3, 4, 1], np.int64),
    "s243": np.array([2, 4, 3], np.int64),
    "s423": np.array([4, 2, 3], np.int64),
    "s4231": np.array([4, 2, 3, 1], np.int64),
    "i12": np.array([1, 2], np.int64),
    "none": np.array([], np.int64),
    "i00": np.array([0, 0], np.int64),
    "i1_big": np.array([1, 2**63 - 1], np.int64),
}


def outcome(body: str, results: str, *, first: str = "2", opset: int = 18, **feeds: Array) -> Outcome:
    """What becomes of `x`, 2 by 3 by 4, compared bit for bit."""
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: array for name, array in CONSTANTS.items() if name in words}
    inputs = "".join(f", {'int64' if array.dtype == np.int64 else 'float'}[K] {name}" for name, array in feeds.items())
    text = f"g (float[{first}, 3, 4] x{inputs}) => ({results}) {{ {body} }}"
    return optimized(model_of(text, opset=opset, constants=used), {"x": reals(2, 3, 4), **feeds})


def missed(found: Outcome, subject: str) -> list[str]:
    return found.reasons(subject, RemarkKind.MISSED)


THREE = "float[A, B] p, float[A, B] q, float[A, B] r"


class TestSplitThatIsSqueezed:
    BODY = "a, b, c = Split <axis: int = 1> (x, ones)  p = Squeeze (a, i1)  q = Squeeze (b, i1)  r = Squeeze (c, i1)"

    @pytest.mark.parametrize("first", ["2", "N"])
    def test_each_slice_is_taken_by_index(self, first: str) -> None:
        found = outcome(self.BODY, THREE, first=first)
        assert found.ops == ["Gather"] * 3
        assert sorted(int(array) for array in found.constants.values()) == [0, 1, 2]

    def test_from_the_end(self) -> None:
        found = outcome(self.BODY.replace("axis: int = 1", "axis: int = -2"), THREE)
        assert found.ops == ["Gather"] * 3

    def test_another_view_does_as_well(self) -> None:
        body = "a, b = Split <axis: int = 0> (x, some)  p = Squeeze (a, i0)  q = Squeeze (b, i0)"
        body = body.replace("some", "halves")
        body = "halves = Concat <axis: int = 0> (i1, i1)  " + body
        assert outcome(body, "float[A, B] p, float[A, B] q").ops == ["Gather", "Gather"]

    @pytest.mark.parametrize(
        "body",
        {
            "wider than one": "a, b = Split <axis: int = 1> (x, two_one)  p = Exp (a)  q = Squeeze (b, i1)",
            "read elsewhere": BODY.replace(
                "r = Squeeze (c, i1)", "r = Squeeze (c, i1)  p2 = Exp (a)  q2 = Add (p2, x)"
            ),
            "not squeezed": BODY.replace("r = Squeeze (c, i1)", "r = Exp (c)"),
        }.items(),
        ids=lambda item: item[0],
    )
    def test_what_is_not_all_slices_of_one_stays(self, body: tuple[str, str]) -> None:
        names = [name for name in ("p", "q", "r", "q2") if f" {name} = " in f"  {body[1]}"]
        found = outcome(body[1], ", ".join(f"float {name}" for name in names).replace("float ", "float[A, B, C] "))
        assert "Split" in found.ops
        assert "not-single" in missed(found, "a")

    def test_an_output_stays(self) -> None:
        found = outcome(self.BODY, THREE + ", float[A, B, C] a")
        assert "Split" in found.ops

    def test_a_slice_that_says_which_dimensions_go_is_not_squeezed(self) -> None:
        # Both vectors of one element: squeezed they look as if the slices themselves were.
        body = """
            k, l = Split <axis: int = 0> (axes, halves)
            v = Exp (w)
            u = Sin (w)
            p = Squeeze (v, k)
            q = Squeeze (u, l)"""
        text = "g (int64[2] axes, float[1] w) => (float p, float q) <int64[2] halves = {1, 1}> {" + body + "}"
        feed: dict[str, Array] = {"axes": np.array([0, -1]), "w": reals(1)}
        model = model_of(text, opset=18)
        split = next(node for node in model.graph.nodes if node.op == "onnx.Split")
        work = Work("any", model.graph, Context(model_registry(model)))
        facts = Facts(work.graph, work.registry)
        for value in model.graph.outputs:
            # Nothing infers this of axes that are not known, but it is so.
            facts.state(value, replace(facts.of(value), shape=()))
        (rule,) = (rule for rule in RULES if "Split" in rule.operators)
        assert rule.attempt(split, Site(work, facts)) == Mismatch(NOT_SINGLE)
        assert "Split" in optimized(model, feed).ops


class TestSliceOfSlice:
    @pytest.mark.parametrize(
        ("step", "bound", "second"),
        [("far", "i5", "i2"), ("far", "i5", "far"), ("back", "least", "m1"), ("back", "least", "back")],
    )
    def test_steps_whose_product_64_bits_do_not_hold(self, step: str, bound: str, second: str) -> None:
        forwards = step == "far"
        bounds = ("i1", bound) if forwards else ("m1", bound)
        again = ("i0", "big") if second in ("i2", "far") else ("m1", "least")
        body = f"p = Slice (x, {', '.join(bounds)}, i2, {step}_step)  q = Slice (p, {', '.join(again)}, i2, {second})"
        body = body.replace(", far)", ", far_step)").replace(", back)", ", back_step)")
        least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        steps: dict[str, Array] = {
            "far_step": np.array([most]),
            "back_step": np.array([least]),
            "least": np.array([least]),
            **CONSTANTS,
        }
        used = {
            name: array for name, array in steps.items() if name in body.replace(",", " ").replace(")", " ").split()
        }
        model = model_of(f"g (float[2, 3, 4] x) => (float[A, B, C] q) {{ {body} }}", opset=18, constants=used)
        assert optimized(model, {"x": reals(2, 3, 4)}).ops == ["Slice"]


class TestSlicesThatTakeApart:
    BODY = "p = Slice (x, i0, i1, i1)  q = Slice (x, i1, big, i1)"
    RESULTS = "float[A, B, C] p, float[A, B, C] q"

    @pytest.mark.parametrize(
        "body",
        [
            BODY,
            "q = Slice (x, i1, big, i1)  p = Slice (x, i0, i1, i1)",
            "p = Slice (x, i0, m2, m2)  q = Slice (x, m2, big, m2)",
            "p = Slice (x, i0, i2, i1, i1)  q = Slice (x, i2, i5, i1)",
        ],
    )
    def test_they_become_one_split(self, body: str) -> None:
        assert outcome(body, self.RESULTS).ops == ["Split"]

    def test_with_lists_as_attributes(self) -> None:
        body = """p = Slice <axes: ints = [1], starts: ints = [0], ends: ints = [1]> (x)
                  q = Slice <axes: ints = [1], starts: ints = [1], ends: ints = [9]> (x)"""
        found = outcome(body, self.RESULTS, opset=9)
        assert found.ops == ["Split"]
        (split,) = found.model.graph.nodes
        assert attrs_of(split).integers("split") == (1, 2)

    @pytest.mark.parametrize(
        "body",
        {
            "a gap": "p = Slice (x, i0, i1, i1)  q = Slice (x, i2, big, i1)",
            "they overlap": "p = Slice (x, i0, i2, i1)  q = Slice (x, i1, big, i1)",
            "the end is left out": "p = Slice (x, i0, i1, i1)  q = Slice (x, i1, i2, i1)",
            "the start is left out": "p = Slice (x, i1, i2, i1)  q = Slice (x, i2, big, i1)",
            "unlike dimensions": "p = Slice (x, i0, i1, i1)  q = Slice (x, i1, big, i2)",
            "steps": "p = Slice (x, i0, i1, i1)  q = Slice (x, i1, big, i1, i2)",
            "one only": "p = Slice (x, i0, i1, i1)  q = Exp (x)",
        }.items(),
        ids=lambda item: item[0],
    )
    def test_what_is_not_the_whole_stays(self, body: tuple[str, str]) -> None:
        found = outcome(body[1], self.RESULTS)
        assert "Split" not in found.ops
        assert "not-apart" in missed(found, "p")

    @pytest.mark.parametrize(
        "body",
        [
            f"{BODY}  z = Exp (x)",
            # A cut that takes all of its dimension is none.
            "p = Slice (x, i00, i1_big, i12)  q = Slice (x, i1, big, i1)  z = Exp (x)",
        ],
    )
    def test_beside_others_that_read(self, body: str) -> None:
        assert outcome(body, f"{self.RESULTS}, float[A, B, C] z").ops == ["Split", "Exp"]

    def test_the_split_comes_after_what_it_takes_apart(self) -> None:
        assert outcome("v = Exp (x)  " + self.BODY.replace("(x", "(v"), self.RESULTS).ops == ["Exp", "Split"]

    @pytest.mark.parametrize(
        "body",
        [
            # In two dimensions at once.
            "p = Slice (x, i00, i12, i12)  q = Slice (x, i1, big, i1)",
            # One that takes nothing.
            "p = Slice (x, i0, i1, i1)  q = Slice (x, i1, big, i1)  z = Slice (x, i1, i1, i1)",
            # One of which it is not known what it takes.
            "z = Slice (x, k, big, i1)  p = Slice (x, i0, i1, i1)  q = Slice (x, i1, big, i1)",
        ],
    )
    def test_beside_another_slice(self, body: str) -> None:
        feeds: dict[str, Any] = {"k": np.array([1])} if "k" in body else {}
        results = f"{self.RESULTS}, float[A, B, C] z" if "z" in body else self.RESULTS
        assert "Split" not in outcome(body, results, **feeds).ops

    def test_one_that_has_its_bounds_from_there_is_no_piece(self) -> None:
        body = "p = Slice (v, i0, i1)  q = Slice (v, i1, i2)  z = Slice (x, v, far)"
        text = "g (int64[2] v, float[4, 5] x) => (int64[A] p, int64[A] q, float[B, C] z)"
        constants = {name: INTS[name] for name in ("i0", "i1", "i2")} | {"far": np.array([9, 9], np.int64)}
        model = model_of(f"{text} {{ {body} }}", opset=18, constants=constants)
        assert optimized(model, {"v": np.array([1, 2]), "x": reals(4, 5)}).ops == ["Split", "Slice"]

    def test_sizes_that_are_not_known(self) -> None:
        body = "p = Slice (x, i0, i1, i0)  q = Slice (x, i1, big, i0)"
        assert outcome(body, self.RESULTS, first="N").ops == ["Slice", "Slice"]

    def test_bounds_that_are_not_known(self) -> None:
        body = "p = Slice (x, i0, k, i1)  q = Slice (x, k, big, i1)"
        assert outcome(body, self.RESULTS, k=np.array([1])).ops == ["Slice", "Slice"]

    def test_slices_of_other_graphs_stay(self) -> None:
        text = """g (bool c, float[2, 3, 4] x) => (float[A, B, C] p, float[A, B, C] y) {
            p = Slice (x, i0, i1, i1)
            y = If (c) <
                then_branch = t () => (float[A, B, C] u) { u = Slice (x, i1, big, i1) },
                else_branch = e () => (float[A, B, C] v) { v = Neg (x) }
            >
        }"""
        used = {name: CONSTANTS[name] for name in ("i0", "i1", "big")}
        feeds = [{"c": np.array(flag), "x": reals(2, 3, 4)} for flag in (True, False)]
        assert "Split" not in optimized(model_of(text, constants=used), *feeds).ops


class TestGather:
    @pytest.mark.parametrize(
        ("body", "stays"),
        [
            ("a = Gather <axis: int = 1> (x, order)  y = Exp (a)", False),
            ("a = Gather <axis: int = -2> (x, order)  y = Exp (a)", False),
            ("a = Gather <axis: int = 1> (x, back)  y = Exp (a)", True),
            ("a = Gather <axis: int = 1> (x, some)  y = Exp (a)", True),
            # As many numbers in another shape.
            ("a = Gather <axis: int = 1> (x, rows)  y = Exp (a)", True),
            ("a = Gather <axis: int = 1> (x, one)  y = Exp (a)", True),
            # Right for a dimension of three only.
            ("a = Gather <axis: int = 2> (x, order)  y = Exp (a)", True),
        ],
    )
    def test_all_elements_in_order_are_no_gather(self, body: str, *, stays: bool) -> None:
        rank = 4 if "rows" in body else 2 if "one)" in body else 3
        found = outcome(body, f"float[{', '.join('ABCD'[:rank])}] y")
        assert found.ops == (["Gather", "Exp"] if stays else ["Exp"])

    def test_indices_that_are_not_known(self) -> None:
        body = "a = Gather <axis: int = 1> (x, k)  y = Exp (a)"
        found = outcome(body, "float[A, B, C] y", k=np.arange(3))
        assert found.ops == ["Gather", "Exp"]

    def test_a_dimension_of_unknown_size(self) -> None:
        found = outcome("a = Gather (x, some)  y = Exp (a)", "float[A, B, C] y", first="N")
        assert found.ops == ["Gather", "Exp"]


class TestTransposeBeforeReduction:
    @pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
    @pytest.mark.parametrize(
        ("perm", "axes", "left"),
        [
            ("[1, 0, 2]", "i0", True),
            ("[2, 0, 1]", "i0", True),
            ("[0, 2, 1]", "m1", True),
            ("[0, 2, 1]", "i12", True),
            # What stays would come in another order.
            ("[2, 1, 0]", "i1", False),
            ("[1, 0, 2]", "i2", False),
            ("[2, 0, 1]", "m1", False),
        ],
    )
    def test_it_goes_where_order_does_not_matter(self, op: str, perm: str, axes: str, *, left: bool) -> None:
        body = f"a = Transpose <perm: ints = {perm}> (x)  y = {op} <keepdims: int = 0> (a, {axes})"
        found = outcome(body, f"float[{'A' if axes == 'i12' else 'A, B'}] y")
        assert found.ops == ([op] if left else ["Transpose", op])
        if not left:
            assert "order-matters" in missed(found, "y")

    def test_axes_as_an_attribute(self) -> None:
        body = "a = Transpose <perm: ints = [2, 0, 1]> (x)  y = ReduceMax <axes: ints = [0], keepdims: int = 0> (a)"
        found = outcome(body, "float[A, B] y", opset=13)
        assert found.ops == ["ReduceMax"]
        (reduce,) = found.model.graph.nodes
        assert attrs_of(reduce).integers("axes") == (2,)

    @pytest.mark.parametrize(
        "body",
        [
            # Dimensions that stay as 1 stand in their places.
            "a = Transpose <perm: ints = [1, 0, 2]> (x)  y = ReduceMax (a, i0)",
            # Sums depend on the order.
            "a = Transpose <perm: ints = [1, 0, 2]> (x)  y = ReduceSum <keepdims: int = 0> (a, i0)",
            "a = Transpose <perm: ints = [1, 0, 2]> (x)  y = ReduceMax <keepdims: int = 0> (a, k)",
        ],
    )
    def test_what_stays(self, body: str) -> None:
        feeds: dict[str, Array] = {"k": np.array([0])} if "k)" in body else {}
        results = "float[A, B, C] y" if "keepdims" not in body else "float[A, B] y"
        assert outcome(body, results, first="2", opset=18, **feeds).ops[0] == "Transpose"

    def test_one_that_is_read_elsewhere(self) -> None:
        body = "a = Transpose <perm: ints = [1, 0, 2]> (x)  y = ReduceMax <keepdims: int = 0> (a, i0)  z = Exp (a)"
        found = outcome(body, "float[A, B] y, float[A, B, C] z")
        assert found.ops == ["Transpose", "ReduceMax", "Exp"]
        assert "not-of-transpose" in missed(found, "y")


class TestTransposeBetweenViews:
    def test_views_of_ones_go(self) -> None:
        body = "a = Unsqueeze (x, i3)  b = Transpose <perm: ints = [2, 0, 1, 3]> (a)  y = Squeeze (b, i3)"
        found = outcome(body, "float[A, B, C] y")
        assert found.ops == ["Transpose"]
        (transpose,) = found.model.graph.nodes
        assert attrs_of(transpose).integers("perm") == (2, 0, 1)

    @pytest.mark.parametrize(
        "body",
        [
            # The first view joins dimensions; the second takes what there is apart in another way.
            "a = Reshape (x, s64)  b = Transpose <perm: ints = [1, 0]> (a)  y = Reshape (b, s423)",
            "a = Unsqueeze (x, i3)  b = Transpose <perm: ints = [2, 0, 1, 3]> (a)  y = Reshape (b, s243)",
        ],
    )
    def test_views_that_do_more_stay(self, body: str) -> None:
        found = outcome(body, "float[A, B, C] y")
        assert found.ops.count("Transpose") == 1
        assert len(found.ops) > 1
        assert "not-ones" in missed(found, "y")

    def test_one_that_is_read_elsewhere(self) -> None:
        body = "a = Unsqueeze (x, i3)  b = Transpose <perm: ints = [2, 0, 1, 3]> (a)  y = Squeeze (b, i3)  z = Exp (b)"
        assert outcome(body, "float[A, B, C] y, float[A, B, C, D] z").ops.count("Transpose") == 1


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1])
def test_backwards_to_the_largest_integer_is_left_to_the_runtime(end: int) -> None:
    # Nothing, as the standard has it; all three for onnxruntime: so nothing may be built on either.
    text = """g (float[2, 3, 4] x) => (int64[3] s, float[A, B, C] y) {
        a = Slice (x, m1, end, i1, m1)
        s = Shape (a)
        b = Slice (a, i0, i1, i1)
        y = Exp (b)
    }"""
    used = {name: CONSTANTS[name] for name in ("m1", "i0", "i1")} | {"end": np.array([end], np.int64)}
    model = model_of(text, constants=used, opset=18)
    before = whole_model(export_model(model))({"x": reals(2, 3, 4)})
    found = optimized(model)
    assert found.ops == ["Slice", "Shape", "Slice", "Exp"]
    after = whole_model(export_model(found.model))({"x": reals(2, 3, 4)})
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert before[0].tolist() == [2, 3, 4]


def test_backwards_to_the_smallest_integer_is_everything() -> None:
    body = "a = Slice (x, m1, low, i1, m1)  b = Slice (a, m1, low, i1, m1)  y = Exp (b)"
    text = f"g (float[2, 3, 4] x) => (float[A, B, C] y) {{ {body} }}"
    used = {name: CONSTANTS[name] for name in ("m1", "i1")} | {"low": np.array([-(2**63)], np.int64)}
    assert optimized(model_of(text, constants=used, opset=18), {"x": reals(2, 3, 4)}).ops == ["Exp"]
