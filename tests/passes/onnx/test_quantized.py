"""Quantization of what is quantized already: each case compared bit for bit, on every byte."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.ir.graph import Array
from arenite.passes.onnx.presets import onnx_passes, run_rounds
from passes.onnx.optimizing import Outcome, model_of, optimized, reals

EVERY = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)
CONSTANTS: dict[str, Array] = {
    "s": np.array(0.0467, np.float32),
    "t": np.array(0.0468, np.float32),
    "z": np.array(-128, np.int8),
    "other": np.array(-127, np.int8),
    "tiny": np.array(1e-40, np.float32),
    "unsigned": np.array(128, np.uint8),
    "ss": np.full(4, 0.0467, np.float32),
    "zs": np.full(4, -128, np.int8),
    "whole": np.array([1, -1], np.int64),
    "zero": np.array([0], np.int64),
    "two": np.array([2], np.int64),
    "axis": np.array([1], np.int64),
}


def outcome(body: str, outputs: str = "float[A, B, C, D] y", given: Mapping[str, Array] | None = None) -> Outcome:
    """What becomes of a graph on bytes; `given` are inputs besides."""
    used = {name: array for name, array in CONSTANTS.items() if f"{name})" in body or f"{name}," in body}
    more = "".join(f", float {name}" for name in given or {})
    model = model_of(f"g (int8[1, 4, 8, 8] q{more}) => ({outputs}) {{ {body} }}", constants=used)
    return optimized(model, {"q": EVERY, **(given or {})}, {"q": EVERY[:, ::-1].copy(), **(given or {})})


def around(move: str) -> str:
    """A move of dequantized elements, quantized and dequantized again by the same steps."""
    return f"d = DequantizeLinear (q, s, z)  m = {move}  e = QuantizeLinear (m, s, z)  f = DequantizeLinear (e, s, z)"


def said(found: Outcome) -> list[str]:
    return [remark.reason.slug for remark in found.remarks if remark.pass_name == "onnx-simplify"]


POOL = "MaxPool <kernel_shape: ints = [2, 2]> (d)"
MOVES = {
    "Transpose <perm: ints = [0, 2, 3, 1]> (d)": "Transpose",
    POOL: "MaxPool",
    "MaxPool <kernel_shape: ints = [3, 3], pads: ints = [1, 1, 1, 1]> (d)": "MaxPool",
    "Slice (d, zero, two, axis)": "Slice",
    "Concat <axis: int = 1> (d, d)": "Concat",
    "Gather <axis: int = 1> (d, zero)": "Gather",
    "Relu (d)": "Relu",
    "DepthToSpace <blocksize: int = 2> (d)": "DepthToSpace",
}


@pytest.mark.parametrize("move", MOVES)
def test_what_is_moved_is_rounded_already(move: str) -> None:
    found = outcome(f"{around(move)}  y = Exp (f)")
    assert found.ops == ["DequantizeLinear", MOVES[move], "Exp"]
    assert "rounded-already" in said(found)


def test_a_view_moves_too() -> None:
    assert outcome(f"{around('Reshape (d, whole)')}  y = Exp (f)", "float[A, B] y").ops == [
        "DequantizeLinear",
        "Reshape",
        "Exp",
    ]


def test_moves_in_a_row() -> None:
    body = f"""{around(POOL)}  n = Transpose (f)  h = QuantizeLinear (n, s, z)  i = DequantizeLinear (h, s, z)
    y = Exp (i)"""
    assert outcome(body).ops == ["DequantizeLinear", "MaxPool", "Transpose", "Exp"]


def test_bytes_that_somebody_reads_are_still_made() -> None:
    found = outcome(f"{around(POOL)}  y = Exp (f)  b = Abs (e)", "float[A, B, C, D] y, int8[E, F, G, H] b")
    assert sorted(found.ops) == ["Abs", "DequantizeLinear", "Exp", "MaxPool", "QuantizeLinear"]


def test_what_is_quantized_again_is_not() -> None:
    body = "d = DequantizeLinear (q, s, z)  a = QuantizeLinear (d, s, z)  y = Abs (a)"
    found = outcome(body, "int8[A, B, C, D] y")
    assert found.ops == ["Abs"]
    assert "quantized-again" in said(found)


def test_an_input_is_no_output() -> None:
    found = outcome("d = DequantizeLinear (q, s, z)  y = QuantizeLinear (d, s, z)", "int8[A, B, C, D] y")
    assert found.ops == ["DequantizeLinear", "QuantizeLinear"]
    assert "output-name" in said(found)


D, E, F = "d = DequantizeLinear (q, s, z)", "e = QuantizeLinear (m, s, z)", "f = DequantizeLinear (e, s, z)"
REFUSED = {
    "another scale before": (f"d = DequantizeLinear (q, t, z)  m = {POOL}  {E}  {F}", "other-steps"),
    "another scale behind": (f"{D}  m = {POOL}  {E}  f = DequantizeLinear (e, t, z)", "other-steps"),
    "another zero point": (f"d = DequantizeLinear (q, s, other)  m = {POOL}  {E}  {F}", "other-steps"),
    "no zero point": (f"d = DequantizeLinear (q, s)  m = {POOL}  {E}  {F}", "other-steps"),
    "scales of channels": (
        f"d = DequantizeLinear (q, ss, zs)  m = {POOL}  e = QuantizeLinear (m, ss, zs)  "
        "f = DequantizeLinear (e, ss, zs)",
        "other-steps",
    ),
    "an average": (f"{D}  m = GlobalAveragePool (d)  {E}  {F}", "not-of-dequantized"),
    "one of two": (f"{D}  r = Sigmoid (d)  m = Concat <axis: int = 1> (d, r)  {E}  {F}", "not-of-dequantized"),
    "dilated": (
        f"{D}  m = MaxPool <kernel_shape: ints = [2, 2], dilations: ints = [2, 2]> (d)  {E}  {F}",
        "not-of-dequantized",
    ),
    "rounded up": (
        f"{D}  m = MaxPool <kernel_shape: ints = [3, 3], strides: ints = [2, 2], ceil_mode: int = 1> (d)  {E}  {F}",
        "not-of-dequantized",
    ),
    "a scale that is no normal number": (
        f"d = DequantizeLinear (q, tiny, z)  m = {POOL}  e = QuantizeLinear (m, tiny, z)  "
        "f = DequantizeLinear (e, tiny, z)",
        "other-steps",
    ),
    "unsigned behind": (
        f"{D}  m = {POOL}  e = QuantizeLinear (m, s, unsigned)  f = DequantizeLinear (e, s, unsigned)",
        "other-steps",
    ),
    "a scale that is computed": (
        f"v = Abs (c)  d = DequantizeLinear (q, v, z)  m = {POOL}  e = QuantizeLinear (m, v, z)  "
        "f = DequantizeLinear (e, v, z)",
        "other-steps",
    ),
    "indices": (f"{D}  m, i = MaxPool <kernel_shape: ints = [2, 2]> (d)  {E}  {F}", "not-of-dequantized"),
    "no pair": (f"{D}  f = Neg (d)", "not-quantized-here"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_mere_move_stays(name: str) -> None:
    body, reason = REFUSED[name]
    outputs = "float[A, B, C, D] y" + (", int64[E, F, G, H] i" if name == "indices" else "")
    given = {"c": np.array(0.5, np.float32)} if name == "a scale that is computed" else {}
    found = outcome(f"{body}  y = Exp (f)", outputs, given)
    assert found.ops.count("QuantizeLinear") == (0 if name == "no pair" else 1)
    assert reason in said(found)


def test_biases_of_32_bits_are_made_reals_and_weights_of_8_are_not() -> None:
    constants: dict[str, Array] = {
        "w": np.arange(-8, 8, dtype=np.int8).reshape(4, 4, 1, 1),
        "ws": np.array(0.01, np.float32),
        "b": np.array([1, -(2**30), 2**24 + 1, 0], np.int32),
        "bs": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
    }
    text = """g (float[1, 4, 8, 8] x) => (float[A, B, C, D] y) {
        v = DequantizeLinear (w, ws)  c = DequantizeLinear <axis: int = 0> (b, bs)  y = Conv (x, v, c)
    }"""
    found = optimized(model_of(text, constants=constants), {"x": reals(1, 4, 8, 8)})
    assert found.ops == ["DequantizeLinear", "Conv"]
    assert "keeps-quantized" in [remark.reason.slug for remark in found.remarks]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["micro_kws_m_qdq", "mlperf_ic_resnet8_kai", "mlperf_ad_autoencoder_kai"])
@pytest.mark.parametrize("signed", ["0", "1"])
def test_onnxruntime_makes_the_same_integer_operators(shared: Path, tmp_path: Path, name: str, signed: str) -> None:
    model = import_model(shared / "models" / "onnx" / f"{name}.onnx", name)
    run_rounds(model.graph, onnx_passes(), model_registry(model))
    found = []
    for path in (shared / "models" / "onnx" / f"{name}.onnx", tmp_path / "small.onnx"):
        if not path.exists():
            path.write_bytes(export_model(model))
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
        options.log_severity_level = 4
        options.add_session_config_entry("session.qdqisint8allowed", signed)
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        found.append(Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node))
    assert found[0] == found[1]
    assert any(op.startswith("Q") and op != "QuantizeLinear" for op in found[0])


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
