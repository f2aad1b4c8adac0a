"""Fixed-point arithmetic on numpy arrays: the only rounding of integers in Python.

The scheme is gemmlowp's (https://github.com/google/gemmlowp, doc/quantization.md): a real multiplier is
`multiplier * 2**(shift - 31)` with a Q31 `multiplier` and a `shift` that is positive to the left. A
requantization rounds twice, which is what TFLite-Micro's reference kernels do.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
IntArray = npt.NDArray[np.signedinteger]

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

# As many numbers as stay in a processor's cache from one step of their arithmetic to the next.
_BLOCK_NELEM = 1 << 15


def quantize_multiplier(real: float) -> tuple[int, int]:
    """The Q31 multiplier and shift nearest to a non-negative real number.

    Args:
        real: the real multiplier, finite and >= 0.

    Returns:
        `(multiplier, shift)` with multiplier 0 or in [2**30, 2**31); a real below 2**-32 gives (0, 0), as in
        TFLite-Micro, and one of 2**30 or more saturates.

    Raises:
        ValueError: `real` is negative, infinite or NaN.
    """
    if not math.isfinite(real) or real < 0:
        raise ValueError(f"a multiplier must be finite and not negative, not {real}")
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    # C's round(): halves away from zero. fraction * 2**31 is exact, so floor(x + 1/2) is too.
    multiplier = math.floor(fraction * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        return INT32_MAX, 30
    return multiplier, shift


def wrap_int32(values: Int64Array) -> Int64Array:
    """Two's complement wrap-around to 32 bits, kept as int64."""
    return values.astype(np.int32).astype(np.int64)


def saturating_rounding_doubling_high_mul(a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array:
    """`round(a * b / 2**31)` of int32 values, halves upwards, saturating the one case that overflows.

    gemmlowp fixedpoint.h, SaturatingRoundingDoublingHighMul: its nudge with truncating division equals an
    arithmetic shift after adding 2**30.
    """
    product = np.asarray(np.multiply(a, b, dtype=np.int64))
    product += 2**30
    product >>= 31
    rounded: Int64Array = np.minimum(product, INT32_MAX, out=product)
    return rounded


def rounding_divide_by_pot(values: npt.ArrayLike, exponent: npt.ArrayLike) -> Int64Array:
    """`round(values / 2**exponent)` of int32 values, halves away from zero; exponent in [0, 31].

    gemmlowp fixedpoint.h, RoundingDivideByPOT.
    """
    x = np.asarray(values, np.int64)
    e = np.asarray(exponent, np.int64)
    half = (np.int64(1) << e) >> 1
    minus_one_below_zero = (x >> 63) & -(e > 0).astype(np.int64)
    rounded: Int64Array = np.asarray(minus_one_below_zero + x)
    rounded += half
    rounded >>= e
    return rounded


def requantize(accumulator: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64Array:
    """An int32 accumulator times `multiplier * 2**(shift - 31)`, rounded twice.

    TFLite's MultiplyByQuantizedMultiplier without TFLITE_SINGLE_ROUNDING. A left shift wraps at 32 bits.

    Args:
        accumulator: integers, of which the lowest 32 bits count; `multiplier` and `shift` broadcast against it.
        multiplier: Q31 in [0, 2**31).
        shift: in [-31, 30], positive to the left.
    """
    s = np.asarray(shift, np.int64)
    left = np.maximum(s, 0)
    right = np.maximum(-s, 0)
    shifted = (np.asarray(accumulator, np.int64) << left if left.any() else np.asarray(accumulator)).astype(np.int32)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, multiplier), right)


def requantize_int64(accumulator: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64Array:
    """An accumulator of up to 48 bits times `multiplier * 2**(shift - 31)`, rounded once.

    TFLite's MultiplyByQuantizedMultiplier for int64 (16x8 convolutions): the multiplier is reduced to 16 bits,
    rounded half up, and the product shifted by `15 - shift`, rounded half up.
    """
    m = np.asarray(multiplier, np.int64)
    reduced = np.where(m < 0x7FFF0000, (m + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - np.asarray(shift, np.int64)
    product = np.asarray(accumulator, np.int64) * reduced
    rounded: Int64Array = (product + (np.int64(1) << (total - 1))) >> total
    return rounded


def requantize_wide(accumulator: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64Array:
    """`requantize_int64` as what is stored of it: wrapped to 32 bits."""
    return wrap_int32(requantize_int64(accumulator, multiplier, shift))


def requantize_once(accumulator: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64Array:
    """An int32 accumulator times `multiplier * 2**(shift - 31)`, rounded once, halves away from zero.

    What LiteRT's reference kernel of FULLY_CONNECTED computes in double. The result may leave 32 bits; the arguments
    are those of `requantize`.
    """
    total = 31 - np.asarray(shift, np.int64)
    product = wrap_int32(np.asarray(accumulator, np.int64)) * np.asarray(multiplier, np.int64)
    rounded: Int64Array = (product + (product >> 63) + (np.int64(1) << (total - 1))) >> total
    return rounded


Requantize = Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Int64Array]
"""Accumulators, multipliers, shifts → what is stored of them, before the zero point: `requantize` and its like."""


def clamp(values: Int64Array, low: int, high: int, dtype: npt.DTypeLike) -> npt.NDArray[np.signedinteger]:
    """Values limited to [low, high], as `dtype`."""
    return np.clip(values, low, high).astype(dtype)


def stored_sums(
    sums: Int64Array,
    bias: npt.ArrayLike,
    multiplier: npt.ArrayLike,
    shift: npt.ArrayLike,
    *,
    zero_point: int,
    limits: tuple[int, int],
    dtype: npt.DTypeLike,
    rescale: Requantize = requantize,
) -> npt.NDArray[np.signedinteger]:
    """What is stored of sums of products: with their bias, requantized, offset and clamped.

    Args:
        sums: (..., channels), at least one dimension.
        bias: of each channel, or one for all.
        multiplier: Q31, of each channel or one for all.
        shift: likewise.
        zero_point: of what is stored.
        limits: least and greatest number that is stored.
        dtype: of what is stored.
        rescale: how sums are requantized.
    """
    rows, biases = sums.reshape(-1, sums.shape[-1]), np.asarray(bias, np.int64)
    stored = np.empty(rows.shape, dtype)
    height = max(1, _BLOCK_NELEM // max(1, rows.shape[1]))
    for top in range(0, len(rows), height):
        totals = rows[top : top + height] + biases
        stored[top : top + height] = clamp(rescale(totals, multiplier, shift) + zero_point, *limits, dtype)
    return stored.reshape(sums.shape)


def round_half_away(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Float32 or double values rounded to whole numbers, halves away from zero: C's round().

    Adding 1/2 must not round up what lies just below a half, so the fraction is looked at by itself.
    """
    x = np.asarray(values, np.float64)
    whole = np.trunc(x)
    rounded: npt.NDArray[np.float64] = whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)
    return rounded
