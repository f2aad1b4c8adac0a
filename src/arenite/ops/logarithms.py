"""The natural logarithm in fixed point, bit for bit as TFLite-Micro computes it (gemmlowp's scheme)."""

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from arenite.ops.elementary import one_over_one_plus

LOG_INTEGER_BITS = 5
"""Of the result."""

# With no integer bits: log(2), sqrt(1/2), sqrt(sqrt(1/2)), and four constants of the rational function.
_LOG_TWO, _SQRT_HALF, _FOURTH_ROOT_HALF = 1488522236, 1518500250, 1805811301
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708
_ACCUMULATOR_BITS = LOG_INTEGER_BITS + 1
_QUARTER = 1 << (29 - _ACCUMULATOR_BITS)


def _saturating_left(values: Int64Array, bits: npt.ArrayLike) -> Int64Array:
    limited: Int64Array = np.clip(values << np.asarray(bits, np.int64), INT32_MIN, INT32_MAX)
    return limited


def _leading_zeros(values: Int64Array) -> Int64Array:
    return 32 - np.frexp(values.astype(np.float64))[1].astype(np.int64)


def log_of_at_least_one(values: npt.ArrayLike, integer_bits: int) -> Int64Array:
    """log(x) with 5 integer bits, for x >= 1 with `integer_bits`.

    TFLite's log_x_for_x_greater_than_or_equal_to_1 (kernels/internal/common.h): x is a power of two, with or without
    a half in the exponent, times r around sqrt(sqrt(1/2)); the logarithm of r is a rational function of
    q = 2 (r - sqrt(sqrt(1/2))).
    """
    mul = saturating_rounding_doubling_high_mul
    z = np.asarray(values, np.int64)
    zeros = _leading_zeros(z)
    r_whole = _saturating_left(mul(_saturating_left(z, zeros - 1), _SQRT_HALF), 1)
    power_whole = ((integer_bits - zeros) << (31 - _ACCUMULATOR_BITS)) + _QUARTER
    headroom = _leading_zeros(mul(z, _SQRT_HALF)) - 1
    r_half = _saturating_left(z, headroom)
    power_half = ((integer_bits - headroom) << (31 - _ACCUMULATOR_BITS)) - _QUARTER
    r, power = np.minimum(r_whole, r_half), np.maximum(power_whole, power_half)
    middle = (r + _FOURTH_ROOT_HALF + 1) >> 1
    q = 2 * (r - _FOURTH_ROOT_HALF)
    square = mul(q, q)
    numerator = mul(q, r) + mul(mul(q, square), _ALPHA_N)
    denominator = mul(middle, _ALPHA_I + q + mul(_ALPHA_D, square)) + mul(_ALPHA_F, q)
    quotient = mul(rounding_divide_by_pot(numerator, _ACCUMULATOR_BITS), one_over_one_plus(denominator))
    return _saturating_left(mul(power, _LOG_TWO) + quotient, 1)
