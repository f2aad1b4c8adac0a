"""Elementary functions in fixed point, bit for bit as TFLite-Micro's int8 kernels compute them.

The scheme is gemmlowp's (https://github.com/google/gemmlowp, fixedpoint/fixedpoint.h): a value with `k` integer bits
is stored as `real * 2**(31 - k)` in 32 bits; here arrays of int64 hold such values.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    quantize_multiplier,
    requantize,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)

FUNCTION_INTEGER_BITS = 4
SOFTMAX_INTEGER_BITS = 5
SOFTMAX_SUM_INTEGER_BITS = 12

# exp(-1/8) and 1/3 with no integer bits.
_EXP_MINUS_EIGHTH = 1895147668
_THIRD = 715827883
# (exponent e, exp(-2**e) with no integer bits).
_EXP_OF_POWERS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
# 48/17 and -32/17 with two integer bits: the first guess of 1 / x on [1/2, 1] that errs least.
_GUESS_CONSTANT, _GUESS_SLOPE = 1515870810, -1010580540


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The largest distance from the zero point that does not overflow once scaled (TFLite's CalculateInputRadius)."""
    return math.floor(((1 << integer_bits) - 1) * 2.0 ** (31 - integer_bits) / 2.0**left_shift)


def _input_scaling(real: float, integer_bits: int) -> tuple[int, int, int]:
    """Multiplier, shift and input radius; the radius is 0 from a shift of 31 on, which no multiplication has."""
    _, left_shift = math.frexp(real)
    return *quantize_multiplier(real), input_radius(integer_bits, left_shift)


def _saturate(values: Int64Array) -> Int64Array:
    limited: Int64Array = np.clip(values, INT32_MIN, INT32_MAX)
    return limited


def _exp_on_last_quarter(a: Int64Array) -> Int64Array:
    """exp(a) for a in [-1/4, 0), no integer bits: a Taylor polynomial of degree 4 around -1/8."""
    mul = saturating_rounding_doubling_high_mul
    x = a + (1 << 28)
    square = mul(x, x)
    cube, fourth = mul(square, x), mul(square, square)
    tail = rounding_divide_by_pot(mul(rounding_divide_by_pot(fourth, 2) + cube, _THIRD) + square, 1)
    return _saturate(_EXP_MINUS_EIGHTH + mul(_EXP_MINUS_EIGHTH, x + tail))


def exp_on_negative_values(values: npt.ArrayLike, integer_bits: int) -> Int64Array:
    """exp(a), without integer bits, for a <= 0 with `integer_bits` (at most 5).

    gemmlowp's exp_on_negative_values: what remains above a multiple of 1/4 by a polynomial, then one multiplication
    for each bit of the multiple.
    """
    a = np.asarray(values, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    last = (a & (quarter - 1)) - quarter
    result = _exp_on_last_quarter(_saturate(last << integer_bits))
    remainder = last - a
    for exponent, factor in _EXP_OF_POWERS:
        if exponent < integer_bits:
            bit = remainder & (1 << (fraction_bits + exponent))
            result = np.where(bit != 0, saturating_rounding_doubling_high_mul(result, factor), result)
    return np.where(a == 0, INT32_MAX, result)


def _reciprocal_of_half(values: npt.ArrayLike) -> Int64Array:
    """2 / (1 + a) with two integer bits, for a in [0, 1] without: three Newton-Raphson steps."""
    mul = saturating_rounding_doubling_high_mul
    total = np.asarray(values, np.int64) + INT32_MAX
    half = (total + 1) >> 1  # of non-negative numbers: halves upwards is halves away from zero
    x = _GUESS_CONSTANT + mul(half, _GUESS_SLOPE)
    for _ in range(3):
        x = x + _saturate(mul(x, (1 << 29) - mul(half, x)) << 2)
    return x


def one_over_one_plus(values: npt.ArrayLike) -> Int64Array:
    """1 / (1 + a) for a in [0, 1], all without integer bits (gemmlowp's one_over_one_plus_x_for_x_in_0_1)."""
    return _saturate(_reciprocal_of_half(values) << 1)


def one_minus_over_one_plus(values: npt.ArrayLike) -> Int64Array:
    """(1 - a) / (1 + a) for a in [0, 1], all without integer bits (gemmlowp's one_minus_x_over_one_plus_x...)."""
    return _saturate((_reciprocal_of_half(values) - (1 << 29)) << 2)


def logistic(values: npt.ArrayLike, integer_bits: int) -> Int64Array:
    """1 / (1 + exp(-a)) without integer bits (gemmlowp's logistic)."""
    a = np.asarray(values, np.int64)
    positive = one_over_one_plus(exp_on_negative_values(-np.abs(a), integer_bits))
    return np.where(a == 0, 1 << 30, np.where(a > 0, positive, INT32_MAX - positive))


def tanh(values: npt.ArrayLike, integer_bits: int) -> Int64Array:
    """Hyperbolic tangent, no integer bits (gemmlowp's tanh): by exp(-2 |a|), which is exp with one more integer bit."""
    a = np.asarray(values, np.int64)
    positive = one_minus_over_one_plus(exp_on_negative_values(-np.abs(a), integer_bits + 1))
    return np.where(a == 0, 0, np.where(a > 0, positive, -positive))


Stored = Callable[[npt.ArrayLike, float], Int64Array]
"""A function of `scale * centred` as int8 codes; `centred` are int8 codes less their zero point."""


def _stored(function: Callable[[Int64Array, int], Int64Array], drop: int, low: int) -> Stored:
    def stored(centred: npt.ArrayLike, scale: float) -> Int64Array:
        x = np.asarray(centred, np.int64)
        real = scale * 2.0 ** (31 - FUNCTION_INTEGER_BITS)
        multiplier, shift, radius = _input_scaling(real, FUNCTION_INTEGER_BITS)
        scaled = requantize(np.clip(x, -radius, radius), multiplier, shift)
        code = rounding_divide_by_pot(function(scaled, FUNCTION_INTEGER_BITS), drop) + low
        return np.where(x <= -radius, -128, np.where(x >= radius, 127, np.clip(code, -128, 127)))

    return stored


logistic_stored: Stored = _stored(logistic, 23, -128)
"""With scale 1/256 and zero point -128 (TFLite's reference_integer_ops::Logistic)."""

tanh_stored: Stored = _stored(tanh, 24, 0)
"""With scale 1/128 and zero point 0 (TFLite's reference_integer_ops::Tanh)."""


def softmax_exponentials(scale: float, beta: float) -> Int64Array:
    """exp(-beta * scale * d) for each distance d = 0...255 of a code from its row's largest, no integer bits.

    0 where TFLite leaves the element out (below its diff_min).
    """
    real = min(beta * scale * 2.0 ** (31 - SOFTMAX_INTEGER_BITS), INT32_MAX)
    multiplier, shift, radius = _input_scaling(real, SOFTMAX_INTEGER_BITS)
    distance = np.arange(256, dtype=np.int64)
    counts = distance <= radius
    scaled = requantize(-np.where(counts, distance, 0), multiplier, shift)
    return np.where(counts, exp_on_negative_values(scaled, SOFTMAX_INTEGER_BITS), 0)


def softmax_stored(codes: npt.ArrayLike, exponentials: Int64Array, bits: int) -> Int64Array:
    """Softmax over the last dimension of int8 codes, stored in `bits` with scale 2**-bits and the lowest zero point.

    TFLite's reference_ops::Softmax. `exponentials` are those of `softmax_exponentials`; the last dimension has at
    most 4095 elements, so that their sum fits.
    """
    x = np.asarray(codes, np.int64)
    exponential = exponentials[x.max(axis=-1, keepdims=True) - x]
    total = rounding_divide_by_pot(exponential, SOFTMAX_SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    _, length = np.frexp(total.astype(np.float64))  # bits up to the leading one
    headroom = 32 - length.astype(np.int64)
    # total = 2**(31 - headroom) * (1 + a): the reciprocal is taken of 1 + a.
    reciprocal = one_over_one_plus((total << headroom) - (1 << 31))
    scaled = saturating_rounding_doubling_high_mul(reciprocal, exponential)
    shift = SOFTMAX_SUM_INTEGER_BITS - headroom + 31 - bits
    low = -(1 << (bits - 1))
    limited: Int64Array = np.clip(rounding_divide_by_pot(scaled, shift) + low, low, -low - 1)
    return limited
