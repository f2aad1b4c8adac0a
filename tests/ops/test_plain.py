"""Quantized meaning of every op without weights, against TFLite-Micro."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.opdef import OpError
from arenite.ops.activation import PROBABILITY_INT16
from oracle import run_wheel
from plain_cases import (
    INT8_CASES,
    Plain,
    dequantize_cases,
    quantize_cases,
    requantize_cases,
    softmax_cases,
)

WIDE = (
    (DType.INT8, DType.INT16),
    (DType.INT8, DType.INT32),
    (DType.INT16, DType.INT8),
    (DType.INT16, DType.INT16),
    (DType.INT16, DType.INT32),
    (DType.INT32, DType.INT8),
    (DType.INT32, DType.INT16),
)


def agrees_with_the_wheel(case: Plain) -> None:
    try:
        found = case.evaluate()
    except OpError as error:
        # A scale so small that TFLM does not load the activation's bound either.
        assert "too small to store" in str(error)  # noqa: PT017
        assume(False)
    assert case.problems() == []
    ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.wheel
@pytest.mark.parametrize("kind", INT8_CASES)
@given(data=st.data())
def test_int8(kind: str, data: st.DataObject) -> None:
    agrees_with_the_wheel(data.draw(INT8_CASES[kind]))


@pytest.mark.wheel
@pytest.mark.parametrize(("source", "result"), WIDE, ids=str)
@given(data=st.data())
def test_requantize_of_wide_types(source: DType, result: DType, data: st.DataObject) -> None:
    agrees_with_the_wheel(data.draw(requantize_cases(source, result)))


@pytest.mark.wheel
@given(case=st.one_of(quantize_cases(DType.INT16), dequantize_cases(DType.INT16)))
def test_int16_and_float(case: Plain) -> None:
    agrees_with_the_wheel(case)


@pytest.mark.wheel
@given(case=softmax_cases(PROBABILITY_INT16, DType.INT16))
def test_softmax_to_int16(case: Plain) -> None:
    agrees_with_the_wheel(case)
