from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range, activation_range_float

_REAL = {Activation.NONE: (None, None), Activation.RELU: (0, None), Activation.RELU6: (0, 6)}
_REAL[Activation.RELU_N1_TO_1] = (-1, 1)


def _nearest(bound: int, scale: float, zero_point: int) -> int:
    quotient = Fraction(float(np.float32(bound) / np.float32(scale)))
    magnitude = (2 * abs(quotient) + 1) // 2
    return zero_point + int(magnitude if quotient >= 0 else -magnitude)


@given(
    st.sampled_from(sorted(CLAMPING_ACTIVATIONS, key=lambda a: a.value)),
    st.floats(2.0**-24, 2.0**10, width=32),
    st.integers(-128, 127),
    st.sampled_from((DType.INT8, DType.INT16)),
)
def test_bounds_are_the_stored_values_nearest_to_the_real_ones(
    activation: Activation, scale: float, zero_point: int, dtype: DType
) -> None:
    low, high = activation_range(activation, Quantization.per_tensor(scale, zero_point), dtype)
    least, most = dtype.limits
    real_low, real_high = _REAL[activation]
    assert low == (least if real_low is None else max(least, _nearest(real_low, scale, zero_point)))
    assert high == (most if real_high is None else min(most, _nearest(real_high, scale, zero_point)))
    assert least <= low <= high <= most


def test_halves_go_away_from_zero() -> None:
    # 1 / (2/3): 1.5 in float32 too, since 2/3 is rounded up and the quotient to nearest.
    quantization = Quantization.per_tensor(0.4, 0)
    assert activation_range(Activation.RELU_N1_TO_1, quantization, DType.INT8) == (-3, 3)


def test_relu_of_the_lowest_zero_point_is_no_clamp() -> None:
    assert activation_range(Activation.RELU, Quantization.per_tensor(0.1, -128), DType.INT8) == (-128, 127)


def test_a_bound_beyond_32_bits_is_refused() -> None:
    with pytest.raises(OpError, match="too small"):
        activation_range(Activation.RELU6, Quantization.per_tensor(1e-30), DType.INT8)


@pytest.mark.parametrize("activation", [Activation.TANH, Activation.SIGN_BIT])
def test_what_is_more_than_a_clamp_is_refused(activation: Activation) -> None:
    with pytest.raises(OpError, match=f"found {activation.value}"):
        activation_range(activation, Quantization.per_tensor(0.1), DType.INT8)
    with pytest.raises(OpError, match=f"found {activation.value}"):
        activation_range_float(activation)


def test_real_bounds() -> None:
    assert activation_range_float(Activation.NONE) == (-np.inf, np.inf)
    assert activation_range_float(Activation.RELU) == (0.0, np.inf)
    assert activation_range_float(Activation.RELU6) == (0.0, 6.0)
    assert activation_range_float(Activation.RELU_N1_TO_1) == (-1.0, 1.0)
