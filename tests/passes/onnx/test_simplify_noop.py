"""Rules that remove what changes nothing: each precondition has a test that fails without it."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.passes.onnx import rules_noop
from arenite.passes.onnx.rules_noop import is_exact
from passes.onnx.optimizing import model_of
from passes.onnx.ruling import attempt, counted

X: dict[str, Array] = {"x": counted(2, 3, 4)}
CONSTANTS: dict[str, Array] = {
    **{f"i{number}": np.array([number], np.int64) for number in range(5)},
    "m1": np.array([-1], np.int64),
    "big": np.array([2**63 - 1], np.int64),
    "least": np.array([-(2**63)], np.int64),
    "none": np.zeros(6, np.int64),
    "order": np.arange(3, dtype=np.int64),
    "rows": np.arange(3, dtype=np.int64).reshape(1, 3),
    "t": np.array(True),
    "ts": np.ones((2, 1, 1), np.bool_),
    "tf": np.array([[[True]], [[False]]]),
    "f": np.array(False),
    "wide": np.ones((2, 2, 3, 4), np.bool_),
    "half": np.array(0.5, np.float32),
    "nothing": np.zeros((0,), np.float32),
    "zeros": np.zeros(4, np.float32),
    "signed": np.array([0.0, -0.0, 0.0, 0.0], np.float32),
    "minus": np.full(4, -0.0, np.float32),
    "ones": np.ones(4, np.float32),
    "mixed": np.array([1, 1, 1, 2], np.float32),
}


def rule_of(operator: str, place: int = 0) -> Any:
    return [rule for rule in rules_noop.RULES if operator in rule.operators][place]


def verdict(
    operator: str,
    body: str,
    feeds: Mapping[str, Array] | None = None,
    *,
    x: str = "float[2, 3, 4] x",
    opset: int = 18,
    place: int = 0,
    signed_zeros: bool = True,
    outputs: str = "float y",
) -> str:
    """What a rule says of `b`, which is neither input nor output."""
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    used = {name: array for name, array in CONSTANTS.items() if name in words}
    tail = "" if " y = " in body else "  y = Exp (b)"
    model = model_of(f"g ({x}) => ({outputs}) {{ {body}{tail} }}", opset=opset, constants=used)
    given = [] if feeds is None else [feeds]
    return attempt(rule_of(operator, place), model, "b", *given, signed_zeros=signed_zeros)


def test_dropout() -> None:
    assert verdict("Dropout", "b = Dropout (x)", X) == "no-op"
    assert verdict("Dropout", "b, m = Dropout (x)", X) == "no-op"
    assert verdict("Dropout", "b, m = Dropout (x)  c = Not (m)", X) == "mask-read"
    assert verdict("Dropout", "b = Dropout (x, half, t)") == "drops"


def test_cast() -> None:
    assert verdict("Cast", "b = Cast <to: int = 1> (x)", X) == "no-op"
    assert verdict("Cast", "b = Cast <to: int = 11> (x)", X) == "changes-type"


def test_cast_of_what_has_no_known_type_to_another_such() -> None:
    body = "v = SequenceAt (s, i0)  w = SequenceAt (s, i1)  b = CastLike (v, w)"
    assert verdict("CastLike", body, x="seq(float) s") == "changes-type"


def test_pad() -> None:
    assert verdict("Pad", "b = Pad (x, none)", X) == "no-op"
    assert verdict("Pad", "b = Pad (x, k)", x="float[2, 3, 4] x, int64[6] k") == "moves-elements"
    assert verdict("Pad", "b = Pad <pads: ints = [0, 0, 0, 0, 0, 0]> (x)", X, opset=10) == "no-op"
    assert verdict("Pad", "b = Pad <pads: ints = [0, 0, 1, 0, 0, 0]> (x)", X, opset=10) == "moves-elements"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("b = Slice (x, i0, big, i1)", "no-op"),
        ("b = Slice (x, i0, big, i1, i1)", "no-op"),
        ("b = Slice (x, m1, least, i1, m1)", "moves-elements"),
        ("b = Slice (x, i0, i2, i1)", "shape-changes"),
    ],
)
def test_slice(body: str, expected: str) -> None:
    assert verdict("Slice", body, X) == expected


@pytest.mark.parametrize("size", [1, 3])
def test_slice_of_steps_that_are_not_known(size: int) -> None:
    given = f"float[2, {size}, 4] x, int64[1] k"
    feeds = {"x": counted(2, size, 4), "k": np.array([2])}
    assert verdict("Slice", "b = Slice (x, i0, big, i1, k)", feeds, x=given) == "shape-changes"


def test_slice_whose_bounds_are_attributes() -> None:
    body = "b = Slice <axes: ints = [1], starts: ints = [0], ends: ints = [9]> (x)"
    assert verdict("Slice", body, X, opset=9) == "no-op"


@pytest.mark.parametrize(
    ("x", "perm", "expected"),
    [
        ((2, 1, 4), "", "shape-changes"),
        ((2, 2), "", "moves-elements"),
        ((1, 1), "", "no-op"),
        ((2, 1, 1), "[0, 2, 1]", "no-op"),
        ((3, 3, 1), "[1, 0, 2]", "moves-elements"),
        ((3, 1, 1, 3), "[0, 2, 1, 3]", "no-op"),
    ],
)
def test_transpose(x: tuple[int, ...], perm: str, expected: str) -> None:
    body = f"b = Transpose {f'<perm: ints = {perm}>' if perm else ''} (x)"
    assert verdict("Transpose", body, {"x": counted(*x)}, x=f"float{list(x)} x") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("b = Gather <axis: int = 1> (x, order)", "no-op"),
        ("b = Gather <axis: int = 1> (x, k)", "moves-elements"),
        ("b = Gather <axis: int = 1> (x, i0)", "shape-changes"),
    ],
)
def test_gather(body: str, expected: str) -> None:
    given = "float[2, 3, 4] x, int64[3] k"
    assert verdict("Gather", body, {**X, "k": np.array([2, 1, 0])}, x=given) == expected


def test_split() -> None:
    assert verdict("Split", "b = Split <axis: int = 0, num_outputs: int = 1> (x)", X) == "no-op"
    body = "b, c = Split <axis: int = 0, num_outputs: int = 2> (x)"
    assert verdict("Split", body, {"x": counted(0, 3, 4)}, x="float[0, 3, 4] x") == "moves-elements"


POOL = "float[1, 2, 3, 4] x"


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ("kernel_shape: ints = [1, 1]", "no-op"),
        ("kernel_shape: ints = [1, 1], strides: ints = [1, 1], pads: ints = [0, 0, 0, 0]", "no-op"),
        ("kernel_shape: ints = [3, 1], pads: ints = [1, 0, 1, 0]", "moves-elements"),
        ("kernel_shape: ints = [1, 1], pads: ints = [1, 0, 1, 0]", "moves-elements"),
        ("kernel_shape: ints = [1, 1], strides: ints = [2, 1], pads: ints = [1, 0, 2, 0]", "moves-elements"),
    ],
)
def test_pool(attrs: str, expected: str) -> None:
    feeds = {"x": counted(1, 2, 3, 4)} if "pads: ints = [1, 0, 2" not in attrs else None
    assert verdict("MaxPool", f"b = MaxPool <{attrs}> (x)", feeds, x=POOL) == expected


@pytest.mark.parametrize("size", ["kernel_shape: ints = [3, 1]", "kernel_shape: ints = [1, 3], strides: ints = [1, 1]"])
def test_pool_that_pads_by_itself(size: str) -> None:
    body = f'b = MaxPool <auto_pad: string = "SAME_UPPER", {size}> (x)'
    assert verdict("MaxPool", body, {"x": counted(1, 2, 3, 4)}, x=POOL) == "moves-elements"


def test_pool_whose_indices_are_read() -> None:
    feeds = {"x": counted(1, 2, 3, 4)}
    assert verdict("MaxPool", "b, i = MaxPool <kernel_shape: ints = [1, 1]> (x)", feeds, x=POOL) == "no-op"
    body = "b, i = MaxPool <kernel_shape: ints = [1, 1]> (x)  j = Abs (i)"
    assert verdict("MaxPool", body, feeds, x=POOL) == "moves-elements"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("b = Where (t, x, half)", "no-op"),
        ("b = Where (ts, x, half)", "no-op"),
        ("b = Where (f, half, x)", "no-op"),
        ("b = Where (tf, x, half)", "not-neutral"),
        ("b = Where (t, half, x)", "shape-changes"),
        ("b = Where (wide, x, half)", "shape-changes"),
        ("c = Less (x, half)  b = Where (c, x, half)", "not-neutral"),
    ],
)
def test_where(body: str, expected: str) -> None:
    assert verdict("Where", body, X) == expected


ELEMENTWISE = [
    ("float[2, 3, 4] x", "Mul (x, ones)", "no-op"),
    ("float[2, 3, 4] x", "Mul (ones, x)", "no-op"),
    ("float[2, 3, 4] x", "Mul (x, mixed)", "not-neutral"),
    ("float[2, 3, 4] x", "Mul (x, zeros)", "not-neutral"),
    ("float[2, 3, 4] x", "Mul (x, wide_ones)", "shape-changes"),
    ("float[2, 3, 4] x", "Div (ones, x)", "not-neutral"),
    ("float[2, 3, 4] x", "Add (x, minus)", "no-op"),
    ("float[2, 3, 4] x", "Add (x, zeros)", "not-neutral"),
    ("float[2, 3, 4] x", "Add (x, signed)", "not-neutral"),
    ("float[2, 3, 4] x", "Add (x, negative)", "not-neutral"),
    ("float[2, 3, 4] x", "Sub (x, zeros)", "no-op"),
    ("float[2, 3, 4] x", "Sub (x, signed)", "not-neutral"),
    ("float[2, 3, 4] x", "Sub (x, ones)", "not-neutral"),
    ("float[2, 0] x", "Mul (x, nothing)", "not-neutral"),
    ("bfloat16[4] x", "Mul (x, ones16)", "not-neutral"),
    ("int32[2, 3] x", "Add (x, whole0)", "no-op"),
    ("int32[2, 3] x", "Add (x, whole5)", "not-neutral"),
    ("int32[2, 3] x", "Sub (x, whole0)", "no-op"),
    ("int32[2, 3] x", "Sub (x, whole5)", "not-neutral"),
    ("bool[2, 3] x", "Or (x, f)", "no-op"),
    ("bool[2, 3] x", "And (x, f)", "not-neutral"),
]
MORE: dict[str, Array] = {
    "wide_ones": np.ones((2, 2, 1, 1), np.float32),
    "negative": np.full(4, -1, np.float32),
    "ones16": np.ones(4, ml_dtypes.bfloat16),
    "whole0": np.array(0, np.int32),
    "whole5": np.array(5, np.int32),
}


@pytest.mark.parametrize(("x", "operation", "expected"), ELEMENTWISE)
def test_operands_that_change_nothing(x: str, operation: str, expected: str) -> None:
    operator, operands = operation.rstrip(")").split(" (")
    used = {name: array for name, array in {**CONSTANTS, **MORE}.items() if name in operands.split(", ")}
    kind = x[: x.index("[")]
    model = model_of(f"g ({x}) => ({kind} y) {{ b = {operation}  y = Identity (b) }}", opset=18, constants=used)
    dims = [int(size) for size in x[x.index("[") + 1 : x.index("]")].split(",")]
    numbers: dict[str, Any] = {"int32": np.int32, "bool": np.bool_}
    feed: Array = (counted(*dims) - 3).astype(numbers.get(kind, np.float32))
    feeds = [] if kind == "bfloat16" else [{"x": feed}]
    assert attempt(rule_of(operator), model, "b", *feeds) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = Neg (x)  b = Neg (a)", "undone"),
        ("b = Neg (x)", "not-undone"),
        ("a = Abs (x)  b = Neg (a)", "not-undone"),
    ],
)
def test_twice(body: str, expected: str) -> None:
    assert verdict("Neg", body, X) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (11, 1, "undone"),
        (11, 10, "shorter"),
        (10, 1, "changes-type"),
        (6, 1, "changes-type"),
    ],
)
def test_casts_of_casts(first: int, second: int, expected: str) -> None:
    body = f"a = Cast <to: int = {first}> (x)  b = Cast <to: int = {second}> (a)"
    assert verdict("Cast", body, X, place=1) == expected


def test_a_cast_of_what_is_not_cast() -> None:
    assert verdict("Cast", "a = Neg (x)  b = Cast <to: int = 11> (a)", X, place=1) == "not-undone"
    assert verdict("Cast", "b = Cast <to: int = 11> (x)", X, place=1) == "not-undone"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("BOOL", "BOOL", True),
        ("BOOL", "INT8", True),
        ("BOOL", "FLOAT16", True),
        ("BOOL", "STRING", False),
        ("FLOAT16", "FLOAT32", True),
        ("FLOAT32", "FLOAT16", False),
        ("FLOAT32", "FLOAT32", True),
        ("FLOAT32", "INT64", False),
        ("FLOAT32", "BFLOAT16", False),
        ("BFLOAT16", "FLOAT32", False),
        ("INT8", "INT16", True),
        ("INT8", "UINT16", False),
        ("UINT8", "INT8", False),
        ("INT16", "INT8", False),
        ("INT8", "FLOAT16", True),
        ("INT16", "FLOAT16", False),
        ("INT16", "FLOAT32", True),
        ("INT32", "FLOAT32", False),
        ("INT32", "FLOAT64", True),
        ("INT64", "FLOAT64", False),
        ("INT8", "BFLOAT16", False),
        ("STRING", "STRING", False),
        (None, "FLOAT32", False),
        ("BOOL", None, False),
        ("FLOAT32", None, False),
    ],
)
def test_which_types_hold_all_of_another(before: str | None, after: str | None, expected: bool) -> None:
    types = [None if name is None else DType[name] for name in (before, after)]
    assert is_exact(*types) == expected


def test_cast_like() -> None:
    assert verdict("CastLike", "b = CastLike (x, i0)", X, place=1) == "type-known"
    body = "w = SequenceAt (s, i1)  b = CastLike (x, w)"
    assert verdict("CastLike", body, x="float[2] x, seq(float) s", place=1) == "type-unknown"


def test_joins_of_one() -> None:
    assert verdict("Concat", "b = Concat <axis: int = 0> (x)", X) == "no-op"
    assert verdict("Max", "b = Max (x, half)", X) == "several-values"
