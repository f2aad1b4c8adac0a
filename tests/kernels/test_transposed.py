"""transpose_conv: C, its numpy reference and the op's meaning agree."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernels.test_plain import agree
from plain_cases import Plain
from transposed_cases import transpose_cases, transpose_int16_cases


@pytest.mark.parametrize(
    "how",
    ["reference", pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)],
)
@given(case=st.one_of(transpose_cases(), transpose_int16_cases()))
def test_transpose_conv(how: str, case: Plain) -> None:
    assume(not case.problems())
    agree(case, how)
