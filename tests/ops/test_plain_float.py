"""Float meaning of the ops without weights, against LiteRT's reference kernels and numpy in double."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Attrs
from arenite.ops.activation import SoftmaxAttrs
from oracle import run_litert
from plain_cases import (
    Plain,
    arithmetic_cases,
    concatenation_cases,
    mean_cases,
    pad_cases,
    pool_cases,
)

AnyArray = npt.NDArray[Any]
# Float32 sums in another order: a few units in the last place of the largest term.
TOLERANCE = 2e-6

CASES = {
    "average_pool2d": pool_cases("average_pool2d"),
    "max_pool2d": pool_cases("max_pool2d"),
    "mean": mean_cases((2, 4)),
    "add": arithmetic_cases("add"),
    "sub": arithmetic_cases("sub"),
    "mul": arithmetic_cases("mul"),
    "pad": pad_cases(),
    "concatenation": concatenation_cases(),
}


def as_float(case: Plain) -> Plain:
    """The same node on float32, with data in [-8, 8)."""
    data = tuple((x / 16).astype(np.float32) if x.dtype == np.int8 else x for x in case.data)
    return Plain(case.op, data, (None,) * len(case.quantizations), DType.FLOAT32, case.attrs, case.constants)


@pytest.mark.litert
@pytest.mark.parametrize("kind", CASES)
@given(data=st.data())
def test_float(kind: str, data: st.DataObject) -> None:
    case = as_float(data.draw(CASES[kind]))
    assert case.problems() == []
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    found = case.evaluate()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=TOLERANCE, atol=TOLERANCE)


def _of(op: str, x: AnyArray, attrs: Attrs | None = None) -> Plain:
    return Plain(op, (x,), (None, None), DType.FLOAT32, attrs or Attrs())


X = np.linspace(-20, 20, 401, dtype=np.float32).reshape(1, 401)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("relu", np.maximum(X.astype(np.float64), 0)),
        ("relu6", np.clip(X.astype(np.float64), 0, 6)),
        ("tanh", np.tanh(X.astype(np.float64))),
        ("logistic", 1 / (1 + np.exp(-X.astype(np.float64)))),
    ],
)
def test_functions_of_one_operand(op: str, expected: AnyArray) -> None:
    np.testing.assert_allclose(_of(op, X).evaluate(), expected, rtol=1e-6)


def test_logistic_does_not_overflow() -> None:
    x = np.array([[-1e30, -200, 200, 1e30]], np.float32)
    np.testing.assert_array_equal(_of("logistic", x).evaluate(), [[0, np.exp(-200.0).astype(np.float32), 1, 1]])


@pytest.mark.parametrize("beta", [1.0, 0.25])
def test_softmax(beta: float) -> None:
    x = np.random.default_rng(3).normal(0, 30, (4, 7)).astype(np.float32)
    e = np.exp(beta * x.astype(np.float64))
    found = _of("softmax", x, SoftmaxAttrs(beta)).evaluate()
    np.testing.assert_allclose(found, e / e.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-38)


def test_integer_sums_wrap() -> None:
    x = np.array([2**31 - 1, -(2**31), 5], np.int32)
    for op, expected in (("add", [-2, 0, 10]), ("sub", [0, 0, 0]), ("mul", [1, 0, 25])):
        case = Plain(op, (x, x), (None, None, None), DType.INT32, arithmetic_attrs())
        np.testing.assert_array_equal(case.evaluate(), expected)


def arithmetic_attrs() -> Attrs:
    from arenite.ops.arithmetic import ArithmeticAttrs

    return ArithmeticAttrs()


def test_dequantize_float16_and_per_channel() -> None:
    halves = np.array([[0.5, -1.25, 65504]], np.float16)
    case = Plain("dequantize", (halves,), (None, None), DType.FLOAT32)
    assert case.problems() == []
    np.testing.assert_array_equal(case.evaluate(), halves.astype(np.float32))
