"""C kernels of functions, reductions, norms and matrix products: C == numpy reference == the op's meaning."""

import re
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import function_cases
import norm_cases
from arenite._base.dtypes import DType
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization
from arenite.ops.arithmetic import ArithmeticAttrs
from kernels.host import call as call_c
from kernels.test_plain import KERNELS, agree, arguments_of, takers
from plain_cases import ALL_CODES, Plain

CASES = {**function_cases.WHEEL_CASES, **function_cases.LITERT_CASES, **norm_cases.WHEEL_CASES}


@pytest.mark.gcc
@pytest.mark.parametrize("kind", CASES)
@given(data=st.data())
def test_reference_and_c_by_gcc(kind: str, data: st.DataObject) -> None:
    case = data.draw(CASES[kind])
    agree(case, "reference")
    agree(case, "gcc")


@pytest.mark.clang
@pytest.mark.parametrize("kind", CASES)
@given(data=st.data())
def test_c_by_clang(kind: str, data: st.DataObject) -> None:
    agree(data.draw(CASES[kind]), "clang")


# One for each C kernel that says so.
IN_PLACE = (
    *("abs", "abs_int16", "add_int16", "add_int32", "div", "l2_normalization", "less_int8", "log_softmax"),
    *("logical_and", "logistic_int16", "maximum_int8", "minimum_int16", "minimum_int32", "minimum_int64", "mul_int16"),
    *("prelu", "prelu_int16", "rsqrt_int16", "softmax_int16", "squared_difference", "squared_difference_int16"),
)


def test_in_place_is_tried_for_each_kernel_of_these_families() -> None:
    def symbols(kinds: Iterable[str]) -> set[str]:
        ops = {re.sub("_(int[0-9]+|bool)$", "", kind) for kind in kinds}
        return {kernel.info.symbol for kernel in KERNELS if kernel.op in ops and kernel.in_place}

    assert symbols(IN_PLACE) == symbols(CASES)


@pytest.mark.gcc
@pytest.mark.parametrize("kind", IN_PLACE)
@given(data=st.data())
def test_in_place(kind: str, data: st.DataObject) -> None:
    """A kernel that says so may write over the operand that it reads."""
    case = data.draw(CASES[kind])
    try:
        expected = case.evaluate()
    except OpError:
        assume(False)
    call = case.call()
    for kernel in takers(call):
        for index in kernel.in_place:
            operands = [np.ascontiguousarray(x).copy() for x in case.data]
            if operands[index].nbytes != expected.nbytes:
                continue
            (prepared,) = kernel.prepare(call)
            result = operands[index].reshape(-1).view(expected.dtype)
            call_c(kernel.info, prepared.params, arguments_of(kernel, prepared, tuple(operands), result))
            np.testing.assert_array_equal(result, expected.reshape(-1), kernel.variant)


CODES = ALL_CODES.reshape(-1)
EVERY_PAIR = (np.repeat(CODES, 256), np.tile(CODES, 256))


@pytest.mark.gcc
@pytest.mark.parametrize("scale", [1.0, 1 / 64, 1 / 8192])
def test_every_quotient_of_codes_divisors_of_0_included(scale: float) -> None:
    pairs = ((1.0, 3), (1.0, -7), (scale, 9))
    quantizations = tuple(Quantization.per_tensor(*pair) for pair in pairs)
    agree(Plain("div", EVERY_PAIR, quantizations, DType.INT8, ArithmeticAttrs()), "gcc")


@pytest.mark.gcc
def test_int32_division_is_defined_everywhere() -> None:
    values = np.array([7, -7, 0, 1, -1, 2**31 - 1, -(2**31)], np.int32)
    pairs = (np.repeat(values, 7), np.tile(values, 7))
    agree(Plain("div", pairs, (None,) * 3, DType.INT32, ArithmeticAttrs()), "gcc")


@pytest.mark.gcc
def test_int32_powers_are_defined_everywhere() -> None:
    values = np.array([7, -7, 0, 1, -1, 2, -2, 31, 2**31 - 1, -(2**31)], np.int32)
    pairs = (np.repeat(values, len(values)), np.tile(values, len(values)))
    agree(Plain("pow", pairs, (None,) * 3, DType.INT32), "gcc")
