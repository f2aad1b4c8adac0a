"""Quantized meaning on uint8, against LiteRT's reference kernels: TFLite-Micro does not run it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_array_equal(found, expected)
