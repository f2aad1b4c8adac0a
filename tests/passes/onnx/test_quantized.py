"""What only moves elements moves the quantized ones: each case compared bit for bit, on every byte."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.ir.graph import Array
from passes.onnx.optimizing import Outcome, model_of, optimized

EVERY = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)
CONSTANTS: dict[str, Array] = {
    "s": np.array(0.0467, np.float32),
    "t": np.array(0.0468, np.float32),
    "z": np.array(-128, np.int8),
    "other": np.array(-127, np.int8),
    "ss": np.full(4, 0.0467, np.float32),
    "zs": np.full(4, -128, np.int8),
    "whole": np.array([1, -1], np.int64),
    "zero": np.array([0], np.int64),
    "two": np.array([2], np.int64),
    "axis": np.array([1], np.int64),
}


def outcome(body: str, outputs: str = "int8[A, B, C, D] y", **options: Any) -> Outcome:
    used = {name: array for name, array in CONSTANTS.items() if f"{name})" in body or f"{name}," in body}
    model = model_of(f"g (int8[1, 4, 8, 8] q) => ({outputs}) {{ {body} }}", constants=used, **options)
    return optimized(model, {"q": EVERY}, {"q": EVERY[:, ::-1].copy()})


MOVES = {
    "Transpose <perm: ints = [0, 2, 3, 1]> (d)": "Transpose",
    "MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (d)": "MaxPool",
    "MaxPool <kernel_shape: ints = [3, 3], pads: ints = [1, 1, 1, 1]> (d)": "MaxPool",
    "Slice (d, zero, two, axis)": "Slice",
    "Concat <axis: int = 1> (d, d)": "Concat",
    "Gather <axis: int = 1> (d, zero)": "Gather",
}


@pytest.mark.parametrize("move", MOVES)
def test_bytes_are_moved_instead_of_numbers(move: str) -> None:
    found = outcome(f"d = DequantizeLinear (q, s, z)  m = {move}  y = QuantizeLinear (m, s, z)")
    assert found.ops == [MOVES[move]]


def test_a_view_is_of_bytes_too() -> None:
    body = "d = DequantizeLinear (q, s, z)  m = Reshape (d, whole)  y = QuantizeLinear (m, s, z)"
    assert outcome(body, "int8[A, B] y").ops == ["Reshape"]


def test_moves_in_a_row_are_joined_between_the_layers() -> None:
    body = """a = Relu (d)  b = QuantizeLinear (a, s, z)  c = DequantizeLinear (b, s, z)
    m = MaxPool <kernel_shape: ints = [2, 2]> (c)  e = QuantizeLinear (m, s, z)  f = DequantizeLinear (e, s, z)
    n = Transpose (f)  h = QuantizeLinear (n, s, z)  i = DequantizeLinear (h, s, z)  y = Exp (i)
    d = DequantizeLinear (q, s, z)"""
    body = body.rpartition("\n")[2] + body.rpartition("\n")[0]
    found = outcome(body, "float[A, B, C, D] y")
    assert found.ops == [
        "DequantizeLinear",
        "Relu",
        "QuantizeLinear",
        "MaxPool",
        "Transpose",
        "DequantizeLinear",
        "Exp",
    ]


def test_what_is_quantized_again_is_not() -> None:
    body = "d = DequantizeLinear (q, s, z)  a = QuantizeLinear (d, s, z)  y = Abs (a)"
    assert outcome(body).ops == ["Abs"]


POOL = "MaxPool <kernel_shape: ints = [2, 2]> (d)"
REFUSED = {
    "another scale": (f"d = DequantizeLinear (q, s, z)  m = {POOL}  y = QuantizeLinear (m, t, z)", "other-steps"),
    "another zero point": (
        f"d = DequantizeLinear (q, s, z)  m = {POOL}  y = QuantizeLinear (m, s, other)",
        "other-steps",
    ),
    "no zero point": (f"d = DequantizeLinear (q, s)  m = {POOL}  y = QuantizeLinear (m, s, z)", "other-steps"),
    "scales of channels": (
        f"d = DequantizeLinear (q, ss, zs)  m = {POOL}  y = QuantizeLinear (m, ss, zs)",
        "other-steps",
    ),
    "an average": (
        "d = DequantizeLinear (q, s, z)  m = GlobalAveragePool (d)  y = QuantizeLinear (m, s, z)",
        "not-of-dequantized",
    ),
    "one of two": (
        "d = DequantizeLinear (q, s, z)  e = Relu (d)  m = Concat <axis: int = 1> (d, e)  y = QuantizeLinear (m, s, z)",
        "not-of-dequantized",
    ),
    "indices": (
        "d = DequantizeLinear (q, s, z)  m, i = MaxPool <kernel_shape: ints = [2, 2]> (d)  "
        "y = QuantizeLinear (m, s, z)",
        "not-of-dequantized",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_mere_move_stays(name: str) -> None:
    body, reason = REFUSED[name]
    outputs = "int8[A, B, C, D] y" + (", int64[E, F, G, H] i" if name == "indices" else "")
    found = outcome(body, outputs)
    assert found.ops.count("QuantizeLinear") == 1
    assert reason in [remark.reason.slug for remark in found.remarks if remark.pass_name == "onnx-simplify"]


def test_a_number_that_is_read_elsewhere_stays() -> None:
    body = f"d = DequantizeLinear (q, s, z)  m = {POOL}  y = QuantizeLinear (m, s, z)  e = Exp (m)"
    found = outcome(body, "int8[A, B, C, D] y, float[E, F, G, H] e")
    assert sorted(found.ops) == ["DequantizeLinear", "Exp", "MaxPool", "QuantizeLinear"]
    assert "read-elsewhere" in [remark.reason.slug for remark in found.remarks]


def test_an_input_is_no_output() -> None:
    found = outcome("d = DequantizeLinear (q, s, z)  y = QuantizeLinear (d, s, z)")
    assert found.ops == ["DequantizeLinear", "QuantizeLinear"]
    assert "output-name" in [remark.reason.slug for remark in found.remarks]


def test_pools_take_bytes_from_opset_12_on() -> None:
    found = outcome(f"d = DequantizeLinear (q, s, z)  m = {POOL}  y = QuantizeLinear (m, s, z)", opset=11)
    assert found.ops == ["DequantizeLinear", "MaxPool", "QuantizeLinear"]


@given(st.floats(2.0**-126, 2.0**119, width=32), st.integers(-128, 127))
def test_every_byte_comes_back(scale: float, zero: int) -> None:
    """In float32, as the standard has it: round half to even, then saturate."""
    stored = np.arange(-128, 128, dtype=np.float32)
    number = (stored - np.float32(zero)) * np.float32(scale)
    assert np.isfinite(number).all()
    again = np.clip(np.rint(number / np.float32(scale)) + zero, -128, 127)
    assert np.array_equal(again, stored)
    # By a reciprocal, as some runtimes do: where it is no denormal number.
    if scale < 2.0**126:
        again = np.clip(np.rint(number * (np.float32(1) / np.float32(scale))) + zero, -128, 127)
        assert np.array_equal(again, stored)
