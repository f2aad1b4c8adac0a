"""Functions of one and two operands, comparisons, logic, reductions, norms, matrix products, bit for bit."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import function_cases
import norm_cases
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.rectifiers import LeakyReluAttrs
from function_cases import COMPARISONS, LITERT_CASES
from oracle import run_litert, run_wheel
from plain_cases import ALL_CODES, Plain

AnyArray = npt.NDArray[Any]
WHEEL_CASES = {**function_cases.WHEEL_CASES, **norm_cases.WHEEL_CASES}


def evaluated(case: Plain) -> AnyArray:
    # First of all, because TFLite-Micro stops the process over some nodes that we refuse.
    assert case.problems() == []
    try:
        return case.evaluate()
    except OpError as error:
        # A scale so small that TFLM does not load the activation's bound either.
        assert "too small to store" in str(error)  # noqa: PT017
        assume(False)
        raise


def agrees(case: Plain, expected: AnyArray) -> None:
    found = evaluated(case)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.wheel
@pytest.mark.parametrize("kind", WHEEL_CASES)
@given(data=st.data())
def test_by_tflite_micro(kind: str, data: st.DataObject) -> None:
    case = data.draw(WHEEL_CASES[kind])
    evaluated(case)
    ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
    agrees(case, expected)


@pytest.mark.litert
@pytest.mark.parametrize("kind", LITERT_CASES)
@given(data=st.data())
def test_by_litert_what_tflite_micro_lacks(kind: str, data: st.DataObject) -> None:
    case = data.draw(LITERT_CASES[kind])
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    agrees(case, expected)


def q(scale: float, zero_point: int = 0) -> Quantization:
    return Quantization.per_tensor(float(np.float32(scale)), zero_point)


CODES = ALL_CODES.reshape(-1)
EVERY_PAIR = (np.repeat(CODES, 256), np.tile(CODES, 256))


@pytest.mark.wheel
@pytest.mark.parametrize(
    ("op", "quantizations", "dtype"),
    [
        ("squared_difference", (q(0.06381217, -41), q(0.1166642, 34), q(1.1, 10)), DType.INT8),
        *((op, (q(0.0638, -41), q(0.1167, 34), None), DType.BOOL) for op in COMPARISONS),
        # Steps of less than 1/256 compare as equal.
        *((op, (q(0.001, 5), q(0.0015, -4), None), DType.BOOL) for op in COMPARISONS),
    ],
    ids=str,
)
def test_every_pair_of_codes(op: str, quantizations: tuple[Quantization | None, ...], dtype: DType) -> None:
    case = Plain(op, EVERY_PAIR, quantizations, dtype)
    ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
    agrees(case, expected)


@pytest.mark.wheel
def test_every_quotient_of_codes() -> None:
    a, b = EVERY_PAIR
    divides = b != 17
    quantizations = (q(0.07, -3), q(0.011, 17), q(0.03, 9))
    case = Plain("div", (a[divides], b[divides]), quantizations, DType.INT8, ArithmeticAttrs())
    ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
    agrees(case, expected)


# In each, multipliers from float32 arithmetic would give some other result.
@pytest.mark.wheel
@pytest.mark.parametrize("alpha", [0.3, 1.7])
def test_leaky_relu_scales_in_double(alpha: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-32768, 32767, 60000, endpoint=True).astype(np.int16)
    for scale in (0.000123, 0.00071):
        attrs = LeakyReluAttrs(float(np.float32(alpha)))
        case = Plain("leaky_relu", (x,), (q(scale), q(scale * 0.37)), DType.INT16, attrs)
        ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
        agrees(case, expected)


def divided(a: AnyArray, b: AnyArray, scale: float) -> AnyArray:
    return Plain("div", (a, b), (q(1), q(1), q(scale)), DType.INT8, ArithmeticAttrs()).evaluate()


def test_what_is_divided_by_0_is_infinite_except_0() -> None:
    a, b = np.array([5, -5, 0], np.int8), np.zeros(3, np.int8)
    np.testing.assert_array_equal(divided(a, b, 0.5), [127, -128, 0])


def test_small_quotients_where_tflite_micro_shifts_by_32_and_more() -> None:
    a, b = EVERY_PAIR
    real = a.astype(np.float64) / np.where(b == 0, 1, b) / 0.5
    found = divided(a, b, 0.5).astype(np.float64)
    small = (b != 0) & (np.abs(real) < 120)
    # Half a code, and what rounding twice adds.
    assert np.abs(found - real)[small].max() <= 0.5 + 1e-6


@pytest.mark.litert
def test_int32_sums_are_clamped_though_tflite_micro_forgets() -> None:
    x = np.array([[-5, 0, 2, 2**30]], np.int32)
    case = Plain("add", (x, x), (None,) * 3, DType.INT32, ArithmeticAttrs(Activation.RELU6))
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_array_equal(expected, [[0, 0, 4, 0]])
    agrees(case, expected)


def test_int32_division_is_defined_everywhere() -> None:
    a = np.array([7, -7, 7, -7, 5, -(2**31)], np.int32)
    b = np.array([2, 2, -2, -2, 0, -1], np.int32)
    case = Plain("div", (a, b), (None,) * 3, DType.INT32, ArithmeticAttrs())
    np.testing.assert_array_equal(case.evaluate(), [3, -3, -3, 3, 0, -(2**31)])


def test_rsqrt_of_what_is_not_positive_is_the_largest_code() -> None:
    case = Plain("rsqrt", (np.array([-128, -1, 0, 1], np.int8),), (q(1), q(1 / 64)), DType.INT8)
    np.testing.assert_array_equal(case.evaluate(), [127, 127, 127, 64])
