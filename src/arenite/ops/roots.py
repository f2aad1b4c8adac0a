"""Inverse square roots in fixed point, bit for bit as TFLite-Micro computes them (gemmlowp's scheme)."""

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)

NEWTON_STEPS = 5
_ONE, _THREE_HALVES = 1 << 28, (1 << 28) + (1 << 27)  # with three integer bits
_HALF_SQRT_TWO = 1518500250  # with none


def inverse_sqrt(values: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """1 / sqrt(x) of positive int32 numbers as Q31 multiplier and shift, positive to the left.

    TFLite's GetInvSqrtQuantizedMultiplierExp: x is brought into [2**27, 2**29) by factors of 4, then Newton-Raphson
    steps from 1. For 0, as for 1, the largest multiplier stands.
    """
    x = np.asarray(values, np.int64)
    shift = np.full(x.shape, 11, np.int64)
    scaled = np.maximum(x, 2)
    for _ in range(2):
        large = scaled >= 1 << 29
        scaled, shift = np.where(large, scaled // 4, scaled), shift + large
    for _ in range(14):
        small = scaled < 1 << 27
        scaled, shift = np.where(small, scaled * 4, scaled), shift - small
    multiplier = saturating_rounding_doubling_high_mul(_newton(scaled >> 1), _HALF_SQRT_TWO)
    multiplier = np.where(shift < 0, multiplier << np.maximum(-shift, 0), multiplier)
    shift = np.maximum(shift, 0)
    unit = x <= 1
    return np.where(unit, INT32_MAX, multiplier), np.where(unit, 0, -shift)


def _newton(a: Int64Array) -> Int64Array:
    mul = saturating_rounding_doubling_high_mul
    half = rounding_divide_by_pot(a, 1)
    x = np.full(a.shape, _ONE, np.int64)
    for _ in range(NEWTON_STEPS):
        cube = _shifted(mul(mul(x, x), x), 6)
        x = _shifted(mul(_THREE_HALVES, x) - mul(half, cube), 3)
    return x


def _shifted(values: Int64Array, bits: int) -> Int64Array:
    limited: Int64Array = np.clip(values << bits, INT32_MIN, INT32_MAX)
    return limited
