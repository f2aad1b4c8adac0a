"""Quantized meaning of every op without weights, against TFLite-Micro."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization
from arenite.ops.activation import PROBABILITY_INT16
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.reduce import ReduceAttrs
from oracle import run_wheel
from plain_cases import (
    ALL_CODES,
    INT8_CASES,
    AnyArray,
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


CODES = ALL_CODES.reshape(-1)
EVERY_PAIR = (np.repeat(CODES, 256), np.tile(CODES, 256))
THIRDS = np.sort(np.random.default_rng(0).integers(-128, 128, (2000, 3)).astype(np.int8))
# In each, multipliers from float32 arithmetic would give some other result.
IN_DOUBLE: dict[str, tuple[tuple[AnyArray, ...], list[tuple[float, int] | None]]] = {
    "add": (EVERY_PAIR, [(0.06381217390298843, -41), (0.11666422337293625, 34), (0.012493918649852276, 10)]),
    "mul": (EVERY_PAIR, [(1.283553957939148, 71), (0.0061736642383039, -55), (0.09000083059072495, 77)]),
    "mean": ((THIRDS, np.array([1], np.int32)), [(0.3310833275318146, 49), None, (0.3298966586589813, 84)]),
    "relu": ((CODES,), [(0.8509573340415955, 20), (3.5857133865356445, -98)]),
    "quantize": ((CODES,), [(1.5488225221633911, -64), (10.867715835571289, -67)]),
}


@pytest.mark.wheel
@pytest.mark.parametrize("op", IN_DOUBLE)
def test_multipliers_are_computed_in_double(op: str) -> None:
    data, pairs = IN_DOUBLE[op]
    quantizations = tuple(None if pair is None else Quantization.per_tensor(*pair) for pair in pairs)
    attrs = {"mean": ReduceAttrs(), "add": ArithmeticAttrs(), "mul": ArithmeticAttrs()}.get(op, Attrs())
    constants = frozenset({1}) if op == "mean" else frozenset[int]()
    agrees_with_the_wheel(Plain(op, data, quantizations, DType.INT8, attrs, constants))
