"""Rules that join movements: each precondition has a test that fails without it."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from arenite.ir.graph import Array
from arenite.passes.onnx import rules_movement
from arenite.passes.onnx.expr import named
from arenite.passes.onnx.rules_movement import Cut, joined
from passes.onnx.optimizing import model_of
from passes.onnx.ruling import attempt, counted

VIEW, REDUCE, SPLIT, TRANSPOSES, SLICES = rules_movement.RULES
LEAST, MOST = -(2**63), 2**63 - 1
INTS: dict[str, Array] = {
    **{f"i{number}": np.array([number], np.int64) for number in range(4)},
    "m1": np.array([-1], np.int64),
    "m4": np.array([-4], np.int64),
    "big": np.array([MOST], np.int64),
    "i00": np.array([0, 0], np.int64),
    "i12": np.array([1, 2], np.int64),
    "s26": np.array([2, 6], np.int64),
    "s02": np.array([0, 2], np.int64),
    "s64": np.array([6, 4], np.int64),
    "s46": np.array([4, 6], np.int64),
    "s423": np.array([4, 2, 3], np.int64),
    "s432": np.array([4, 3, 2], np.int64),
    "s234": np.array([2, 3, 4], np.int64),
    "s243": np.array([2, 4, 3], np.int64),
}
X: dict[str, Array] = {"x": counted(2, 3, 4)}


def verdict(
    rule: Any, body: str, feeds: Mapping[str, Array] | None = None, *, x: str = "float[2, 3, 4]", opset: int = 18
) -> str:
    """What a rule says of `b`, which is neither input nor output."""
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: array for name, array in INTS.items() if name in words}
    more = ", int64[L] k" if "k" in words else ""
    model = model_of(
        f"g ({x} x{more}) => (float y) {{ h = Neg (x)  {body}  y = Exp (b) }}", opset=opset, constants=used
    )
    return attempt(rule, model, "b", *([feeds] if feeds else []))


def transposes(first: str, second: str, between: str = "", source: str = "h") -> str:
    inner, outer = (f"Transpose {f'<perm: ints = {perm}>' if perm else ''}" for perm in (first, second))
    return f"a = {inner} ({source})  {between}  b = {outer} (a)"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("[2, 0, 1]", "[1, 2, 0]", "no-op"),
        ("[2, 0, 1]", "[2, 0, 1]", "one-transpose"),
        ("", "", "no-op"),
        ("[1, 2, 0]", "", "one-transpose"),
        ("", "[1, 2, 0]", "one-transpose"),
        ("", "[2, 1, 0]", "no-op"),
        ("[2, 1, 0]", "", "no-op"),
    ],
)
def test_transposes(first: str, second: str, expected: str) -> None:
    assert verdict(TRANSPOSES, transposes(first, second), X) == expected


def test_transposes_whose_rank_only_they_say() -> None:
    unknown = "v = Reshape (h, k)  "
    feeds = {**X, "k": np.array([4, 3, 2], np.int64)}
    assert verdict(TRANSPOSES, unknown + transposes("[2, 0, 1]", "[1, 2, 0]", source="v"), feeds) == "no-op"
    assert verdict(TRANSPOSES, unknown + transposes("[2, 0, 1]", "", source="v"), feeds) == "one-transpose"
    assert verdict(TRANSPOSES, unknown + transposes("", "[2, 0, 1]", source="v"), feeds) == "one-transpose"
    assert verdict(TRANSPOSES, unknown + transposes("", "", source="v"), feeds) == "not-of-transpose"


@pytest.mark.parametrize(
    ("first", "second"), [("[0, 1, 2]", "[0, 1, 1]"), ("[1, 1, 0]", "[1, 1, 0]"), ("[0, 1]", "[0, 1, 2]")]
)
def test_transposes_that_are_none(first: str, second: str) -> None:
    assert verdict(TRANSPOSES, transposes(first, second)) == "not-of-transpose"


def test_a_transpose_that_is_read_elsewhere() -> None:
    body = transposes("[2, 0, 1]", "[2, 0, 1]", "c = Exp (a)  d = ReduceMax (c)")
    assert verdict(TRANSPOSES, body) == "read-elsewhere"


def test_a_transpose_of_what_none_gives() -> None:
    assert verdict(TRANSPOSES, "b = Transpose (h)") == "not-of-transpose"


# Slices: one cut for two


def taken(dim: int, *cuts: Cut) -> range:
    found = range(dim)
    for cut in cuts:
        found = found[cut.slice(len(found))]
    return found


CUTS = [Cut(*each) for each in product((-3, 0, 1, 2, 9), (LEAST, -4, -1, 0, 2, MOST), (1, 2, -1, -2))]


def test_cuts_of_a_known_size() -> None:
    for dim in (0, 1, 2, 3, 5):
        for first, second in product(CUTS, CUTS):
            both = joined(dim, first, second)
            if both is not None:
                assert list(taken(dim, both)) == list(taken(dim, first, second)), (dim, first, second)
                assert all(LEAST <= number <= MOST for number in (both.start, both.end, both.step))


def test_cuts_of_a_size_that_is_not_known() -> None:
    size = named("N")
    some = [*CUTS, *(Cut(start, end, 1) for start, end in product((0, 1, 3), (1, 3, 2**31 - 2, 2**31 - 1)))]
    for first, second in product(some, some):
        both = joined(size, first, second)
        for dim in range(8) if both is not None else ():
            assert list(taken(dim, both)) == list(taken(dim, first, second)), (dim, first, second)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (Cut(1, MOST, 1), Cut(2, MOST, 1), Cut(3, MOST, 1)),
        (Cut(1, 2**31 - 1, 1), Cut(2, 5, 1), Cut(3, 6, 1)),
        (Cut(0, MOST, 1), Cut(1, -1, 1), Cut(1, -1, 1)),
        (Cut(1, MOST, 1), Cut(1, -1, 1), None),
        (Cut(0, 2**31 - 2, 1), Cut(1, 5, 1), None),
    ],
)
def test_cuts_that_are_joined_whatever_the_size(first: Cut, second: Cut, both: Cut | None) -> None:
    assert joined(named("N"), first, second) == both


def test_cuts_that_take_nothing_or_a_single_element() -> None:
    assert joined(5, Cut(3, 1, 1), Cut(0, 1, 1)) == Cut(0, 0, 1)
    assert joined(5, Cut(0, 5, 4), Cut(1, 2, MOST)) == Cut(4, 5, 1)


# Slices: what their operands say


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("i1, big, i1", "i0, i1, i1", "one-slice"),
        ("i1, big", "i0, i1", "one-slice"),
        ("i1, big, i2, i1", "i0, i1, m1", "one-slice"),
        ("i1, big, k", "i0, i1, i2", "bounds-unknown"),
        ("k, big, i1", "i0, i1, i2", "bounds-unknown"),
        ("i1, k, i1", "i0, i1, i2", "bounds-unknown"),
        ("i1, big, i1", "k, big, i2", "bounds-unknown"),
        ("i00, big, i1, i1", "i0, i1, i2", "bounds-unknown"),
        ("i0, big, i12, i12", "i0, i1, i2", "bounds-unknown"),
        ("i0, big, i1, i12", "i0, i1, i2", "bounds-unknown"),
        ("i0, big, i1, i0", "i0, i1, i2", "bounds-unknown"),
        ("i0, big, i3", "i0, i1, i2", "bounds-unknown"),
        ("i0, big, m4", "i0, i1, i2", "bounds-unknown"),
        ("i1, big, i1", "i0, i1, k", "bounds-unknown"),
        ("i1, big, i1", "i0, i1, i2, k", "bounds-unknown"),
        ("i1, big, i1", "i0, i1, i2, i0", "bounds-unknown"),
        ("i1, big, i1", "i0, i1, i3", "bounds-unknown"),
        ("i1, big, i1", "i0, i1, m4", "bounds-unknown"),
    ],
)
def test_slices(first: str, second: str, expected: str) -> None:
    body = f"a = Slice (h, {first})  b = Slice (a, {second})"
    # What is refused may be ill-formed, and not run.
    assert verdict(SLICES, body, X if expected == "one-slice" else None) == expected


def test_slices_of_an_unknown_rank() -> None:
    body = "v = Reshape (h, k)  a = Slice (v, i1, big, i1)  b = Slice (a, i0, i1, i1)"
    assert verdict(SLICES, body) == "bounds-unknown"


def test_slices_of_an_unknown_size() -> None:
    body = "a = Slice (h, i1, big, i0)  b = Slice (a, i0, m1, i0)"
    assert verdict(SLICES, body, X, x="float[N, 3, 4]") == "bounds-unknown"
    assert verdict(SLICES, body.replace("i1, big", "i0, big"), X, x="float[N, 3, 4]") == "one-slice"


def test_a_slice_of_another_operator_or_of_what_others_read() -> None:
    assert verdict(SLICES, "a = Neg (h)  b = Slice (a, i0, i1, i1)") == "not-of-slice"
    body = "a = Slice (h, i1, big, i1)  c = ReduceMax (a)  b = Slice (a, i0, i1, i1)"
    assert verdict(SLICES, body) == "read-elsewhere"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("axes: ints = [1], starts: ints = [1], ends: ints = [3]", "one-slice"),
        ("starts: ints = [1], ends: ints = [2]", "one-slice"),
        ("axes: ints = [1], starts: ints = [1]", "bounds-unknown"),
        ("axes: ints = [1], ends: ints = [1]", "bounds-unknown"),
    ],
)
def test_slices_whose_bounds_are_attributes(first: str, expected: str) -> None:
    body = f"a = Slice <{first}> (h)  b = Slice <axes: ints = [1], starts: ints = [0], ends: ints = [1]> (a)"
    assert verdict(SLICES, body, X if expected == "one-slice" else None, opset=9) == expected


def test_the_source_of_both_slices_is_remembered() -> None:
    model = model_of(
        "g (float[2, 3, 4] x) => (float y) { a = Slice (x, i1, big, i1)  b = Slice (a, i0, i1)  y = Exp (b) }",
        constants={name: INTS[name] for name in ("i0", "i1", "big")},
    )
    assert attempt(SLICES, model, "b", X) == "one-slice"
    node = model.graph.outputs[0].producer
    assert node is not None
    node = node.operand(0).producer
    assert node is not None
    assert set(node.origin) == {"a", "b"}


# Views around a transposition


UNSQUEEZE = "a = Unsqueeze (h, i3)"
PERM = "t = Transpose <perm: ints = [2, 0, 1, 3]> (a)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{UNSQUEEZE}  {PERM}  b = Squeeze (t, i3)", "one-transpose-of-views"),
        ("a = Unsqueeze (h, i0)  t = Transpose (a)  b = Squeeze (t, i3)", "one-transpose-of-views"),
        ("t = Transpose (h)  b = Unsqueeze (t, i0)", "not-ones"),
        ("a = Exp (h)  t = Transpose (a)  b = Unsqueeze (t, i0)", "not-ones"),
        ("t = Transpose (x)  b = Unsqueeze (t, i0)", "not-ones"),
        ("a = Exp (h)  t = Transpose <perm: ints = [2, 0, 1]> (a)  b = Reshape (t, s423)", "not-ones"),
        ("a = Reshape (h, s432)  t = Transpose (a)  b = Reshape (t, s234)", "not-ones"),
        (f"{UNSQUEEZE}  {PERM}  c = ReduceMax (a)  b = Squeeze (t, i3)", "not-ones"),
        (f"{UNSQUEEZE}  {PERM}  c = ReduceMax (t)  b = Squeeze (t, i3)", "not-of-transpose"),
        (f"{UNSQUEEZE}  {PERM}  b = Unsqueeze (t, i3)", "not-ones"),
        (f"{UNSQUEEZE}  {PERM}  b = Reshape (t, s243)", "not-ones"),
        ("a = Reshape (h, s64)  t = Transpose (a)  b = Reshape (t, s423)", "not-ones"),
        ("a = Reshape (h, k)  t = Transpose (a)  b = Reshape (t, s423)", "not-ones"),
        ("v = Reshape (h, k)  a = Reshape (v, s64)  t = Transpose (a)  b = Reshape (t, s423)", "not-ones"),
    ],
)
def test_views_around_a_transposition(body: str, expected: str) -> None:
    feeds = {**X, **({"k": np.array([6, 4])} if " k)" in body else {})}
    assert verdict(VIEW, body, feeds) == expected


def test_dimensions_of_1_that_were_there_before() -> None:
    body = "a = Squeeze (h, i1)  t = Transpose (a)  b = Unsqueeze (t, i0)"
    assert verdict(VIEW, body, {"x": counted(2, 1, 4)}, x="float[2, 1, 4]") == "one-transpose-of-views"


# Reductions, and slices of 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("t = Transpose <perm: ints = [1, 0, 2]> (h)  b = ReduceMax <keepdims: int = 0> (t, i0)", "reduced-directly"),
        ("t = Transpose (h)  b = ReduceMax <keepdims: int = 0> (t, i1)", "order-matters"),
        ("t = Neg (h)  b = ReduceMax <keepdims: int = 0> (t, i0)", "not-of-transpose"),
        ("b = ReduceMax <keepdims: int = 0> (h, i0)", "not-of-transpose"),
        (
            "t = Transpose <perm: ints = [1, 0, 2]> (h)  c = Exp (t)  b = ReduceMax <keepdims: int = 0> (t, i0)",
            "not-of-transpose",
        ),
        ("v = Reshape (h, k)  t = Transpose (v)  b = ReduceMax <keepdims: int = 0> (t, i0)", "order-matters"),
    ],
)
def test_reductions(body: str, expected: str) -> None:
    feeds = {**X, **({"k": np.array([6, 4], np.int64)} if " k)" in body else {})}
    assert verdict(REDUCE, body, feeds) == expected


def split(
    body: str, feeds: Mapping[str, Array] | None, x: str = "float[2, 3, 4] x", outputs: str = "float p, float q"
) -> str:
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: array for name, array in {**INTS, "i22": np.array([2, 2])}.items() if name in words}
    model = model_of(f"g ({x}) => ({outputs}) {{ h = Neg (x)  {body} }}", opset=18, constants=used)
    return attempt(SPLIT, model, "a", *([] if feeds is None else [feeds]))


HALVES = "a, c = Split <axis: int = 0, num_outputs: int = 2> (h)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{HALVES}  p = Squeeze (a, i0)  q = Squeeze (c, i0)", "taken-one-by-one"),
        (f"{HALVES}  p = ReduceL1 <keepdims: int = 0> (a, i0)  q = Squeeze (c, i0)", "not-single"),
        (f"{HALVES}  p = Reshape (a, s26)  q = Squeeze (c, i0)", "not-single"),
        (f"{HALVES}  p = Squeeze (a, i0)  q = Exp (c)", "not-single"),
    ],
)
def test_slices_of_1(body: str, expected: str) -> None:
    assert split(body, X) == expected


def test_slices_of_an_unknown_rank_stay() -> None:
    body = f"v = Reshape (h, k)  {HALVES.replace('(h)', '(v)')}  p = Squeeze (a, i0)  q = Squeeze (c, i0)"
    feeds = {**X, "k": np.array([2, 12], np.int64)}
    assert split(body, feeds, "float[2, 3, 4] x, int64[L] k") == "not-single"


def test_slices_along_no_dimension_stay() -> None:
    body = f"{HALVES.replace('axis: int = 0', 'axis: int = 3')}  p = Squeeze (a, i0)  q = Squeeze (c, i0)"
    assert split(body, None) == "not-single"


def test_a_split_into_one_stays() -> None:
    body = "a = Split <axis: int = 0, num_outputs: int = 1> (h)  p = Squeeze (a, i0)"
    assert split(body, {"x": counted(1, 3)}, "float[1, 3] x", "float p") == "not-single"


def test_slices_of_nothing_are_not_of_1() -> None:
    body = "a, c = Split <axis: int = 1> (h, i22)  p = Reshape (a, s02)  q = Reshape (c, s02)"
    assert split(body, {"x": counted(0, 4, 2)}, "float[0, 4, 2] x") == "not-single"


def test_slices_that_are_squeezed_in_another_graph() -> None:
    body = f"""{HALVES}  p = Squeeze (a, i0)
        q = If (f) <
            then_branch = t () => (float[A, B] u) {{ u = Squeeze (c, i0) }},
            else_branch = e () => (float[A, B] v) {{ v = Squeeze (x, i0) }}
        >"""
    feeds = {**X, "f": np.array(True)}
    assert split(body, feeds, "float[2, 3, 4] x, bool f") == "not-single"
