"""Rules for views: each precondition has a test that fails without it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from arenite.ir.graph import Array
from arenite.passes.onnx import rules_views
from arenite.passes.onnx.expr import named
from arenite.passes.onnx.rules_views import reshape_to
from passes.onnx.optimizing import model_of
from passes.onnx.ruling import attempt, counted, ops

VIEW, COMPUTED, EXPAND, TRANSPOSE = rules_views.RULES
N, M = named("N"), named("M")
INTS: dict[str, Array] = {
    **{f"i{number}": np.array([number], np.int64) for number in range(5)},
    "m1": np.array([-1], np.int64),
    "s34": np.array([3, 4], np.int64),
    "s26": np.array([2, 6], np.int64),
    "s06": np.array([0, 6], np.int64),
    "zero": np.array(0, np.int64),
    "s12": np.array([12], np.int64),
}


def verdict(rule: Any, inputs: str, body: str, feeds: Mapping[str, Array] | None = None, subject: str = "y") -> str:
    """What a rule says of `subject`."""
    return both(rule, inputs, body, feeds, subject)[0]


def both(
    rule: Any, inputs: str, body: str, feeds: Mapping[str, Array] | None = None, subject: str = "y"
) -> tuple[str, list[str]]:
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: array for name, array in INTS.items() if name in words}
    domains = ', "acme": 1' if "acme" in body else ""
    model = model_of(f"g ({inputs}) => (float y) {{ {body} }}", opset=18, constants=used, domains=domains)
    return attempt(rule, model, subject, *([] if feeds is None else [feeds])), ops(model)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((2, 6), (3, 4), (3, 4)),
        ((N, 4), (N, 4), (0, 4)),
        ((4, N), (N, 4), (-1, 4)),
        ((N, M), (M, N), None),
        ((N,), (4, M), (4, -1)),
        (None, (N, 4), (-1, 4)),
        (None, (N, M), None),
        ((2, 6), None, None),
        ((0, 4), (0, 4), None),
    ],
)
def test_what_a_reshape_must_be_told(before: Any, after: Any, expected: Any) -> None:
    assert reshape_to(before, after) == expected


# A view of a view


def test_views_that_undo_each_other() -> None:
    body = "a = Unsqueeze (x, i0)  b = Squeeze (a, i0)  y = Exp (b)"
    assert both(VIEW, "float[2, 3] x", body, {"x": counted(2, 3)}, "b") == ("no-op", ["Unsqueeze", "Exp"])


def test_shapes_that_are_not_known_are_not_the_same() -> None:
    body = "v = Reshape (x, k)  a = Reshape (v, k)  y = Reshape (a, k)"
    feeds = {"x": counted(2, 3), "k": np.array([3, 2])}
    assert verdict(VIEW, "float[2, 3] x, int64[L] k", body, feeds) == "shape-unknown"


def test_shapes_that_differ_do_not_undo_each_other() -> None:
    body = "a = Flatten (x)  y = Reshape (a, s34)"
    assert verdict(VIEW, "float[2, 6] x", body, {"x": counted(2, 6)}) == "one-view"


def test_other_views_take_a_shape_that_can_be_said() -> None:
    body = "a = Flatten (x)  y = Unsqueeze (a, i0)"
    assert both(VIEW, "float[2, 3, 4] x", body, {"x": counted(2, 3, 4)}) == ("one-view", ["Flatten", "Reshape"])


@pytest.mark.parametrize("domain", ["", "acme."])
def test_views_of_another_domain_are_none(domain: str) -> None:
    body = f"a = {domain}Flatten (x)  y = Reshape (a, s34)"
    assert verdict(VIEW, "float[2, 6] x", body) == ("not-of-view" if domain else "one-view")


def test_a_view_that_is_read_elsewhere() -> None:
    body = "a = Unsqueeze (x, i0)  b = Reshape (a, s34)  c = Exp (b)  d = ReduceSum (a)  y = Add (c, d)"
    assert verdict(VIEW, "float[2, 6] x", body, subject="b") == "read-elsewhere"


SIZES = "s = Shape (z)"


def test_a_shape_of_sizes_that_no_constant_can_say() -> None:
    """What the inner view gives does not matter: the outer one says all dimensions."""
    body = f"{SIZES}  a = Flatten (x)  y = Reshape (a, s)"
    feeds = {"x": counted(2, 3, 4), "z": counted(4, 6)}
    assert both(VIEW, "float[A, B, C] x, float[N, M] z", body, feeds) == ("one-view", ["Shape", "Flatten", "Reshape"])


def test_a_shape_that_copies_a_dimension_of_the_inner_view() -> None:
    body = f"{SIZES}  t = Concat <axis: int = 0> (i0, s)  a = Flatten (x)  y = Reshape (a, t)"
    feeds = {"x": counted(2, 3, 4), "z": counted(4, 3)}
    assert verdict(VIEW, "float[A, B, C] x, float[N, M] z", body, feeds) == "shape-unknown"


def test_a_shape_of_which_one_element_may_be_0() -> None:
    body = f"{SIZES}  t = Concat <axis: int = 0> (k, s)  a = Flatten (x)  y = Reshape (a, t)"
    feeds = {"x": counted(2, 3, 4), "z": counted(4, 3), "k": np.array([0])}
    assert verdict(VIEW, "float[A, B, C] x, float[N, M] z, int64[1] k", body, feeds) == "shape-unknown"


def test_a_shape_of_which_nothing_is_known() -> None:
    body = "a = Flatten (x)  y = Reshape (a, k)"
    feeds = {"x": counted(2, 3, 4), "k": np.array([0, 3, 4])}
    assert verdict(VIEW, "float[A, B, C] x, int64[3] k", body, feeds) == "shape-unknown"


def test_other_views_need_a_shape_that_can_be_said() -> None:
    body = "a = Flatten <axis: int = 2> (x)  y = Unsqueeze (a, i1)"
    assert verdict(VIEW, "float[A, B, C, D] x", body, {"x": counted(2, 3, 2, 2)}) == "shape-unknown"


# Shapes that are computed


def test_a_shape_that_a_constant_says() -> None:
    body = "s = Shape (x)  n = Gather (s, i0)  t = Concat <axis: int = 0> (n, s12)  y = Reshape (x, t)"
    assert verdict(COMPUTED, "float[N, 3, 4] x", body, {"x": counted(2, 3, 4)}) == "constant-shape"
    assert verdict(COMPUTED, "float[N, 3, 4] x", "y = Reshape (x, s34)") == "shape-is-constant"


def test_a_0_that_copies_nothing_cannot_say_a_dimension() -> None:
    body = "s = Shape (x)  n = Gather (s, i0)  t = Concat <axis: int = 0> (n, s12)"
    body += "  y = Reshape <allowzero: int = 1> (x, t)"
    assert verdict(COMPUTED, "float[N, 3, 4] x", body, {"x": counted(2, 3, 4)}) == "shape-unknown"
    body = body.replace("(n, s12)", "(s12, n)")
    assert verdict(COMPUTED, "float[N, 3, 4] x", body, {"x": counted(2, 3, 4)}) == "constant-shape"


def test_a_shape_that_no_constant_says() -> None:
    body = "s = Shape (z)  y = Reshape (x, s)"
    assert verdict(COMPUTED, "float[N, 3, 4] x, float[A, B] z", body) == "shape-unknown"


# Expand


@pytest.mark.parametrize(
    ("x", "body", "expected"),
    [
        (
            "float[N, 1] x, float[K, 4] z",
            "n = Shape <end: int = 1> (x)  t = Concat <axis: int = 0> (n, i4)",
            "constant-shape",
        ),
        ("float[1, 3] x, float[K, 3] z", "t = Shape (z)", "shape-unknown"),
        ("float[N, 3] x, float[4, 3] z", "t = Shape (z)", "shape-unknown"),
        ("float[3] x, float[2, 3] z, int64[L] k", "t = Abs (k)", "shape-unknown"),
        ("float[3] x, float[2, 3] z, int64[2] k", "t = Abs (k)", "shape-unknown"),
    ],
)
def test_what_is_expanded(x: str, body: str, expected: str) -> None:
    inputs = x if " k" in x or "k)" not in body else f"{x}, int64[2] k"
    assert verdict(EXPAND, inputs, f"{body}  y = Expand (x, t)") == expected


def test_a_constant_says_already_how_to_expand() -> None:
    assert verdict(EXPAND, "float[3, 1] x", "y = Expand (x, s34)") == "shape-is-constant"


# Transpose of dimensions of 1


@pytest.mark.parametrize(
    ("x", "perm", "expected"),
    [
        ("float[1, 4] x", "", "plain-view"),
        ("float[3, 4] x", "", "moves-elements"),
        ("float[3, 1, 4] x", "[1, 0, 2]", "plain-view"),
        ("float[3, 1, 4] x", "[2, 1, 0]", "moves-elements"),
        ("float[N, 1, M] x", "[1, 0, 2]", "plain-view"),
        ("float[1, N, M] x", "[1, 2, 0]", "moves-elements"),
    ],
)
def test_what_is_transposed(x: str, perm: str, expected: str) -> None:
    dims = [int(size) if size.strip().isdigit() else 2 for size in x[6 : x.index("]")].split(",")]
    body = f"y = Transpose {f'<perm: ints = {perm}>' if perm else ''} (x)"
    assert verdict(TRANSPOSE, x, body, {"x": counted(*dims)}) == expected


def test_a_rank_that_is_not_known() -> None:
    body = "a = Reshape (x, k)  y = Transpose (a)"
    assert verdict(TRANSPOSE, "float[N] x, int64[L] k", body) == "moves-elements"
