"""Literals give back the very numbers, as a C compiler reads them."""

import ctypes
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite.codegen.comments import block_comment, comment_text
from arenite.codegen.literals import array_lines, float_literal, int_literal
from codegen.host import STRICT, compile_with

FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-45, 1.1754944e-38, 3.4028235e38, 16777217.0, 1e10, 0.003921569, np.inf, -np.inf]


def tricky(ctype: str) -> npt.NDArray[np.generic]:
    dtype = NUMPY_OF_CTYPE[ctype]
    if dtype.kind == "f":
        rng = np.random.default_rng(3)
        bits = rng.integers(0, 2 ** (8 * dtype.itemsize - 1), 200).astype(f"u{dtype.itemsize}").view(dtype)
        return np.concatenate([np.array(FLOATS).astype(dtype), bits[np.isfinite(bits)]])
    low, high = np.iinfo(dtype.str).min, np.iinfo(dtype.str).max
    return np.array([low, low + 1, 0, 1, high - 1, high, *range(20)], dtype)


@pytest.mark.gcc
def test_arrays_and_scalars_read_back_by_a_compiler(tmp_path: Path) -> None:
    lines = ["#include <stdint.h>"]
    for ctype in NUMPY_OF_CTYPE:
        data = tricky(ctype)
        lines += [f"extern const {ctype} array_{ctype}[];", f"const {ctype} array_{ctype}[] = {{"]
        lines += [*array_lines(data, ctype), "};"]
        one = float_literal if data.dtype.kind == "f" else int_literal
        lines += [f"extern const {ctype} scalars_{ctype}[];", f"const {ctype} scalars_{ctype}[] = {{"]
        lines += [",".join(one(value, ctype) for value in data.tolist()), "};"]
    (tmp_path / "a.c").write_text("\n".join(lines) + "\n")
    compile_with(["gcc", *STRICT, "-fPIC", "-shared"], [str(tmp_path / "a.c")], tmp_path, tmp_path / "a.so")
    library = ctypes.CDLL(str(tmp_path / "a.so"))
    for ctype in NUMPY_OF_CTYPE:
        wanted = tricky(ctype).tobytes()
        for name in (f"array_{ctype}", f"scalars_{ctype}"):
            assert bytes((ctypes.c_char * len(wanted)).in_dll(library, name)) == wanted, name


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_round_trip(value: float) -> None:
    text = float_literal(value)
    assert text.endswith("f")
    assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


def test_zeros_are_short() -> None:
    assert list(array_lines(np.zeros(100_000, np.int8), "int8_t")) == ["0"]
    assert list(array_lines(np.zeros(0, np.int8), "int8_t")) == ["0"]
    assert list(array_lines(np.array([0.0, -0.0], np.float32), "float")) == ["0.0f,-0.0f,"]


def test_a_megabyte_prints_fast_and_compactly() -> None:
    data = np.random.default_rng(0).integers(-128, 128, 1 << 20).astype(np.int8)
    began = time.process_time()
    text = "\n".join(array_lines(data, "int8_t"))
    assert time.process_time() - began < 1.0
    assert max(map(len, text.split("\n"))) <= 120
    assert len(text) < 4.8 * data.size


@given(st.text())
def test_comments_cannot_be_broken_out_of(text: str) -> None:
    for line in (comment_text(text), "\n".join(block_comment([text, text]))[2:-2]):
        assert line.isascii()
        assert not any(bad in line for bad in ("*/", "/*", "?", "\\"))
    assert "\n" not in comment_text(text)


def test_comments_are_wrapped_and_cut() -> None:
    assert comment_text("x" * 400) == "x" * 297 + "..."
    assert block_comment(["one"]) == ["/* one */"]
    assert block_comment(["one", "two"]) == ["/* one", " * two */"]
    assert all(len(line) <= 113 for line in block_comment(["word " * 100, "y" * 500]))
