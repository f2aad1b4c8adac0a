"""hard_swish in 16-bit fixed point, bit for bit as TFLite computes it (kernels/internal/reference/hard_swish.h)."""

import numpy as np

from arenite._base.fixedpoint import Int64Array, quantize_multiplier
from arenite.ops.arithmetic import Scaling

INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1
HIRES_BITS = 7
"""Bits by which the operand is widened, as many as 16 bits allow."""


def hard_swish_scalings(source_scale: float, result_scale: float) -> tuple[Scaling, Scaling]:
    """From the widened operand to the result, and to [-1, 1] for [-3, 3], with multipliers of 15 bits.

    The ratios are float32 numbers.

    Raises:
        ValueError: one is too large for that.
    """
    hires = np.float32(source_scale) * np.float32(1 / 128)
    with np.errstate(over="ignore"):
        output = quantize_multiplier(float(hires / np.float32(result_scale)))
        reluish = quantize_multiplier(float(hires / np.float32(3 / 32768)))
    return Scaling(_narrowed(output[0]), output[1]), Scaling(_narrowed(reluish[0]), reluish[1])


def hard_swish_stored(centred: Int64Array, output: Scaling, reluish: Scaling) -> Int64Array:
    """Codes, before the result's zero point is added, for int8 codes less their zero point."""
    wide = centred << HIRES_BITS
    scaled = _rounding_high_mul(wide, output.multiplier)
    gate = wide
    if reluish.shift > 0:
        gate = _saturate(gate << (reluish.shift - 1))
    gate = _rounding_high_mul(gate, reluish.multiplier)
    if reluish.shift > 0:
        gate = _saturate(gate << 1)
    if reluish.shift < 0:
        gate = _divide_by_pot(gate, -reluish.shift)
    gate = (gate + (1 << 15)) >> 1
    product = gate * scaled
    # Towards 0: a rounding product would add to the bias of the two before.
    truncated = np.where(product < 0, -(-product >> 15), product >> 15)
    return _divide_by_pot(np.minimum(truncated, INT16_MAX), -output.shift)


def _narrowed(multiplier: int) -> int:
    """A Q31 multiplier as a Q15 one (TFLite's DownScaleInt32ToInt16Multiplier)."""
    rounding = 1 << 15
    return INT16_MAX if multiplier >= 2**31 - 1 - rounding else (multiplier + rounding) >> 16


def _saturate(values: Int64Array) -> Int64Array:
    limited: Int64Array = np.clip(values, INT16_MIN, INT16_MAX)
    return limited


def _rounding_high_mul(values: Int64Array, multiplier: int) -> Int64Array:
    return _saturate((values * multiplier + (1 << 14)) >> 15)


def _divide_by_pot(values: Int64Array, exponent: int) -> Int64Array:
    """Halves away from zero (gemmlowp's RoundingDivideByPOT, whose mask has 16 bits here)."""
    mask = int(np.int64((1 << exponent) - 1).astype(np.int16))
    threshold = (mask >> 1) + (values < 0)
    return (values >> exponent) + ((values & mask) > threshold)
