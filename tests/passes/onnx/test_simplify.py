"""Removal of what changes nothing, and joining of movements: each case compared bit for bit."""

from collections.abc import Mapping

import numpy as np
import pytest

from arenite.ir.graph import Array
from arenite.passes.onnx.presets import onnx_passes
from passes.onnx.optimizing import model_of, optimized, reals

X = {"x": reals(2, 3, 4)}
STATIC = "g (float[2, 3, 4] x) => (float[A, B, C] y)"
DYNAMIC = "g (float[N, 3, 4] x) => (float[A, B, C] y)"

# name: (body, operators left for a static shape, and for a dynamic first dimension)
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "identity": ("a = Identity (x)  y = Relu (a)", ["Relu"], ["Relu"]),
    "dropout": ("a = Dropout (x)  y = Relu (a)", ["Relu"], ["Relu"]),
    "transposes cancel": (
        "a = Transpose <perm: ints = [2, 0, 1]> (x)  b = Transpose <perm: ints = [1, 2, 0]> (a)  y = Relu (b)",
        ["Relu"],
        ["Relu"],
    ),
    "transposes compose": (
        "a = Transpose <perm: ints = [2, 0, 1]> (x)  y = Transpose <perm: ints = [2, 0, 1]> (a)",
        ["Transpose"],
        ["Transpose"],
    ),
    "equal sizes are no reason": (
        "a = Reshape (x, s)  b = Transpose <perm: ints = [1, 0, 2]> (a)  y = Relu (b)",
        ["Reshape", "Transpose", "Relu"],
        ["Reshape", "Transpose", "Relu"],
    ),
    "views join": (
        "a = Flatten (x)  b = Unsqueeze (a, i0)  c = Reshape (b, s)  y = Relu (c)",
        ["Reshape", "Relu"],
        ["Reshape", "Relu"],
    ),
    "views undo": ("a = Unsqueeze (x, i0)  b = Squeeze (a, i0)  y = Relu (b)", ["Relu"], ["Relu"]),
    "slices of unlike axes": (
        "a = Slice (x, i1, i3, i1)  y = Slice (a, i0, i3, i2)",
        ["Slice"],
        ["Slice"],
    ),
    "slices of one axis": (
        "a = Slice (x, i1, big, i2)  y = Slice (a, i1, big, i2)",
        ["Slice"],
        ["Slice"],
    ),
    "slice of all": ("a = Slice (x, i0, big, i1)  y = Relu (a)", ["Relu"], ["Relu"]),
    "slice backwards": ("y = Slice (x, m1, low, i1, m1)", ["Slice"], ["Slice"]),
    "pad of nothing": ("a = Pad (x, none)  y = Relu (a)", ["Relu"], ["Relu"]),
    "casts": ("a = Cast <to: int = 11> (x)  b = Cast <to: int = 1> (a)  y = Relu (b)", ["Relu"], ["Relu"]),
    "a cast that loses": (
        "a = Cast <to: int = 10> (x)  b = Cast <to: int = 1> (a)  y = Relu (b)",
        ["Cast", "Cast", "Relu"],
        ["Cast", "Cast", "Relu"],
    ),
    "times one": ("a = Mul (x, one)  y = Relu (a)", ["Relu"], ["Relu"]),
    "times one that broadcasts": ("y = Mul (x, ones)", ["Mul"], ["Mul"]),
    "plus zero turns the sign of zero": ("a = Add (x, zero)  y = Relu (a)", ["Add", "Relu"], ["Add", "Relu"]),
    "minus zero": ("a = Sub (x, zero)  y = Relu (a)", ["Relu"], ["Relu"]),
    "times zero is not zero": ("a = Mul (x, zero)  y = Add (a, x)", ["Mul", "Add"], ["Mul", "Add"]),
    "minus itself is not zero": ("a = Sub (x, x)  y = Add (a, x)", ["Sub", "Add"], ["Sub", "Add"]),
    "negations": ("a = Neg (x)  b = Neg (a)  y = Relu (b)", ["Relu"], ["Relu"]),
    "expand to what it is": ("sizes = Shape (x)  a = Expand (x, sizes)  y = Relu (a)", ["Relu"], ["Relu"]),
    "concat of one": ("a = Concat <axis: int = 0> (x)  y = Relu (a)", ["Relu"], ["Relu"]),
    "equal nodes": ("a = Exp (x)  b = Exp (x)  y = Add (a, b)", ["Exp", "Add"], ["Exp", "Add"]),
    "output keeps its name": ("y = Identity (x)", ["Identity"], ["Identity"]),
}
CONSTANTS: dict[str, Array] = {
    "s": np.array([3, 2, 4], np.int64),
    "i0": np.array([0], np.int64),
    "i1": np.array([1], np.int64),
    "i2": np.array([2], np.int64),
    "i3": np.array([3], np.int64),
    "m1": np.array([-1], np.int64),
    "big": np.array([2**63 - 1], np.int64),
    "low": np.array([-(2**63)], np.int64),
    "none": np.zeros(6, np.int64),
    "one": np.array([1], np.float32),
    "ones": np.ones((2, 2, 1, 1), np.float32),
    "zero": np.array(0, np.float32),
}


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str) -> None:
    body, static, dynamic = CASES[name]
    used = {key: array for key, array in CONSTANTS.items() if f" {key}" in body or f"({key}" in body}
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40] * 4, np.float32).reshape(2, 3, 4)
    for header, expected in ((STATIC, static), (DYNAMIC, dynamic)):
        text = f"{header} {{ {body} }}"
        if "ones" in used:
            text = text.replace("(float[A, B, C] y)", "(float[A, B, C, D] y)")
        found = optimized(model_of(text, constants=used), X, {"x": special})
        assert found.ops == expected
        assert found.model.graph.outputs[0].name == "y"
        assert found.model.graph.inputs[0].name == "x"


_FIRST = "n = Gather (s, zero)  u = Unsqueeze (n, axes)"
RESHAPES = {
    "rest": f"{_FIRST}  t = Concat <axis: int = 0> (u, rest)  y = Reshape (x, t)",
    "product": f"{_FIRST}  t = Concat <axis: int = 0> (u, twelve)  y = Reshape (x, t)",
    "moved": f"{_FIRST}  t = Concat <axis: int = 0> (twelve, u)  y = Reshape (x, t)",
}


@pytest.mark.parametrize("name", RESHAPES)
def test_computed_shapes_become_constants(name: str) -> None:
    text = f"g (float[N, 3, 4] x) => (float[A, B] y) {{ s = Shape (x)  {RESHAPES[name]} }}"
    constants: Mapping[str, Array] = {
        "zero": np.array(0, np.int64),
        "axes": np.array([0], np.int64),
        "rest": np.array([-1], np.int64),
        "twelve": np.array([12], np.int64),
    }
    used = {key: array for key, array in constants.items() if key in text.replace("axis", "")}
    found = optimized(model_of(text, constants=used), {"x": reals(2, 3, 4)}, {"x": reals(5, 3, 4)})
    assert found.ops == ["Reshape"]


def test_the_same_sizes_are_computed_once() -> None:
    text = """g (float[N, 3] x, float[N, M] z) => (float[A] y, float[B] w) {
        s = Shape (x)
        t = Shape (z)
        n = Gather (s, zero)
        k = Gather (t, zero)
        u = Unsqueeze (n, axes)
        v = Unsqueeze (k, axes)
        a = ConstantOfShape (u)
        b = ConstantOfShape (v)
        y = Exp (a)
        w = Cos (b)
    }"""
    constants = {"zero": np.array(0, np.int64), "axes": np.array([0], np.int64)}
    found = optimized(model_of(text, constants=constants), {"x": reals(2, 3), "z": reals(2, 5)})
    assert found.ops.count("Gather") == 1
    assert found.ops.count("ConstantOfShape") == 1


def test_views_meet_across_a_pad() -> None:
    text = """g (float[1, 4, 1, 9] x) => (float[A, B, C, D] y) {
        a = Squeeze (x, axes)
        b = Pad <mode: string = "reflect"> (a, pads)
        y = Unsqueeze (b, axes)
    }"""
    constants = {"axes": np.array([2], np.int64), "pads": np.array([0, 0, 2, 0, 0, 3], np.int64)}
    found = optimized(model_of(text, constants=constants), {"x": reals(1, 4, 1, 9)})
    assert found.ops == ["Pad"]


def test_a_state_of_zeros_is_left_out() -> None:
    text = """g (float[5, N, 3] x) => (float[A, B, C, D] y) {
        s = Shape (x)
        n = Slice (s, one, two)
        t = Concat <axis: int = 0> (one, n, four)
        h = ConstantOfShape (t)
        y = GRU <hidden_size: int = 4> (x, w, r, , , h)
    }"""
    constants = {
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
        "four": np.array([4], np.int64),
        "w": reals(1, 12, 3),
        "r": reals(1, 12, 4, seed=1),
    }
    found = optimized(model_of(text, constants=constants), {"x": reals(5, 2, 3)})
    assert found.ops == ["GRU"]


def test_old_opsets_hold_lists_as_attributes() -> None:
    text = """g (float[2, 3, 4] x) => (float[A, B, C] y) {
        a = Slice <axes: ints = [1], starts: ints = [1], ends: ints = [3]> (x)
        b = Slice <axes: ints = [2], starts: ints = [-3], ends: ints = [9]> (a)
        c = Unsqueeze <axes: ints = [0]> (b)
        y = Squeeze <axes: ints = [0]> (c)
    }"""
    found = optimized(model_of(text, opset=9), X)
    assert found.ops == ["Slice"]


def test_outputs_that_alias_keep_their_names() -> None:
    text = """g (float[2] x) => (float[2] a, float[2] b, float[2] c) <float[2] k = {1, 2}> {
        r = Relu (x)
        a = Identity (r)
        b = Identity (r)
        c = Identity (k)
    }"""
    found = optimized(model_of(text), {"x": reals(2)})
    assert [value.name for value in found.model.graph.outputs] == ["a", "b", "c"]
    assert sorted(found.ops) == ["Identity", "Relu"]


def test_a_cast_to_a_known_type_reads_nothing_else() -> None:
    text = "g (int64[2, 3] x, float16[N, M] like) => (float16[A, B] y) { y = CastLike (x, like) }"
    feed: dict[str, Array] = {"x": np.arange(6).reshape(2, 3), "like": np.zeros((4, 1), np.float16)}
    assert optimized(model_of(text), feed).ops == ["Cast"]


def test_what_is_cast_keeps_its_shape() -> None:
    text = """g (float[2, 3] x) => (float[A, B] y) {
        a = CastLike (one, many)
        y = Concat <axis: int = 1> (x, a)
    }"""
    constants: dict[str, Array] = {"one": np.zeros((2, 1), np.int64), "many": np.broadcast_to(np.float32(0), (2, 8))}
    found = optimized(model_of(text, constants=constants), {"x": reals(2, 3)})
    assert found.ops == ["Concat"]


ZEROS: dict[str, Array] = {
    "plus": np.array(0.0, np.float32),
    "minus": np.array(-0.0, np.float32),
    "both": np.array([0.0, -0.0, 0.0, -0.0], np.float32),
}


@pytest.mark.parametrize(
    ("body", "exactly"),
    [
        ("a = Add (x, plus)", False),
        ("a = Add (plus, x)", False),
        ("a = Add (x, minus)", True),
        ("a = Add (x, both)", False),
        ("a = Sub (x, plus)", True),
        ("a = Sub (x, minus)", False),
        ("a = Sub (x, both)", False),
    ],
)
def test_zeros_have_signs_unless_they_are_ignored(body: str, exactly: bool) -> None:
    text = f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ {body}  y = Relu (a) }}"
    used = {name: array for name, array in ZEROS.items() if name in body}
    signed = {"x": np.resize(np.array([-0.0, 0.0, -1.0], np.float32), (2, 3, 4))}
    left = optimized(model_of(text, constants=used), X, signed).ops
    assert left == (["Relu"] if exactly else [body.split()[2], "Relu"])
    assert optimized(model_of(text, constants=used), X, passes=onnx_passes(ignore_signed_zeros=True)).ops == ["Relu"]


@pytest.mark.parametrize("body", ["a = Sub (plus, x)", "a = Mul (x, plus)", "a = Max (x, plus)", "a = Add (x, half)"])
def test_other_zeros_are_none_to_ignore(body: str) -> None:
    text = f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ {body}  y = Sin (a) }}"
    constants = {"plus": ZEROS["plus"], "half": np.array([0, 0, 0, 0.5], np.float32)}
    used = {name: array for name, array in constants.items() if name in body}
    found = optimized(model_of(text, constants=used), X, passes=onnx_passes(ignore_signed_zeros=True))
    assert found.ops == [body.split()[2], "Sin"]


def test_operands_that_are_absent_at_the_end_are_left_out() -> None:
    text = """g (float[4] x, float k) => (float[4] y) {
        a = Clip (x, k)
        b = Clip (x, k, )
        c = Clip (x, "", k)
        d = Add (a, b)
        y = Add (c, d)
    }"""
    model = model_of(text.replace("k, )", 'k, "")'))
    assert [len(node.operands) for node in model.graph.nodes][:3] == [2, 3, 3]
    found = optimized(model, {"x": reals(4), "k": np.array(0.1, np.float32)})
    assert found.ops == ["Clip", "Clip", "Add", "Add"]
    assert [len(node.operands) for node in found.model.graph.nodes if node.op == "onnx.Clip"] == [2, 3]
    assert "absent-end" in found.reasons("b")


def test_operands_that_an_operator_counts_stay_though_absent() -> None:
    body = "l (int64 i, bool go) => (bool still, float[4] s) { still = Identity (go)  s = Exp (x) }"
    text = f"""g (float[4] x, bool go) => (float[A, 4] y) {{ y = Loop <body = {body}> ("", go)
        }}"""
    text = text.replace('("", go)', '(m, "")')
    model = model_of(text, constants={"m": np.array(300, np.int64)})
    found = optimized(model, {"x": reals(4), "go": np.array(True)})
    (node,) = [node for node in found.model.graph.nodes if node.op == "onnx.Loop"]
    assert len(node.operands) == 2
