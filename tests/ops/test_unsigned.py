"""Quantized meaning on uint8, against LiteRT's reference kernels: TFLite-Micro does not run it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.fixedpoint import quantize_multiplier
from arenite.formats.tflite import export_model
from arenite.ir.opdef import OpError
from oracle import run_litert
from unsigned_cases import UNSIGNED_CASES


@pytest.mark.litert
@pytest.mark.parametrize("kind", UNSIGNED_CASES)
@given(data=st.data())
def test_unsigned_meaning_is_litert_s(kind: str, data: st.DataObject) -> None:
    case = data.draw(UNSIGNED_CASES[kind])
    assume(not case.problems())
    try:
        found = case.evaluate()
    except OpError:
        assume(False)
    if kind == "mul":
        assume(_multipliers_agree(*(q.scale for q in case.quantizations if q is not None)))
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_array_equal(found, expected)


def _multipliers_agree(a: float, b: float, result: float) -> bool:
    """Whether MUL's multiplier is the same in float32, as LiteRT computes it, and in double, as on int8."""
    narrow = np.float32(a) * np.float32(b) / np.float32(result)
    return quantize_multiplier(float(narrow)) == quantize_multiplier(a * b / result)
