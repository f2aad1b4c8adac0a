"""transpose_conv: C, its numpy reference and the op's meaning agree."""

import pytest
from hypothesis import assume, given

from kernels.test_plain import agree
from plain_cases import Plain
from transposed_cases import transpose_cases


@pytest.mark.parametrize(
    "how",
    ["reference", pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)],
)
@given(case=transpose_cases())
def test_transpose_conv(how: str, case: Plain) -> None:
    assume(not case.problems())
    agree(case, how)
