"""Functions of 16 bits that TFLite interpolates between points of a table: logistic, tanh, softmax."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import Int64Array, quantize_multiplier, requantize, round_half_away

SIGMOID_POINTS_PER_UNIT = 24
SIGMOID_LARGEST_MULTIPLIER = 2**15 - 1
_SIGMOID_STEPS = 3 * 4096
"""Steps of a logistic function's argument in one unit."""

_LN_SPAN = np.float32(1) / np.log(np.float32(2))
_LUT_STEPS = 512
_EXP_SPAN = 10.0

Float32Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SigmoidScaling:
    """From int16 codes to steps of 1 / 12288: `(code * multiplier + half) >> right`."""

    multiplier: int
    right: int


def sigmoid_table() -> Int64Array:
    """The logistic function of i / 24 in 16 bits, for i = 0...255.

    Each point is raised by half of what linear interpolation to the next misses in the middle; the last is the
    largest number. So is TFLite's table (kernels/internal/common.h).
    """

    def exact(i: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return 65536 / (1 + np.exp(-i / SIGMOID_POINTS_PER_UNIT))

    i = np.arange(256, dtype=np.float64)
    missed = exact(i + 0.5) - (exact(i) + exact(i + 1)) / 2
    table = np.floor(exact(i) + missed / 2 + 0.5).astype(np.int64)
    table[-1] = 65535
    return table


def sigmoid_scaling(scale: float, *, tangent: bool) -> SigmoidScaling:
    """TFLite's LogisticPrepare and TanhPrepare: powers of two are exact, other scales get 15 bits, rounded down.

    Args:
        scale: of the operand, a float32 number.
        tangent: of tanh, else of logistic.
    """
    log = np.log(np.float32(scale)) * _LN_SPAN
    nearest = int(round_half_away(log))
    doublings = 12 + nearest
    if abs(log - np.float32(nearest)) < 1e-3 and doublings in ((0, 1) if tangent else (0,)):
        return SigmoidScaling(3 << doublings, 0)
    multiplier, right = scale * _SIGMOID_STEPS, 0
    while multiplier <= SIGMOID_LARGEST_MULTIPLIER / 2 and right <= 30:
        multiplier, right = 2 * multiplier, right + 1
    return SigmoidScaling(math.floor(multiplier), right)


def sigmoid_stored(codes: npt.ArrayLike, scaling: SigmoidScaling, table: Int64Array, *, tangent: bool) -> Int64Array:
    """Logistic or tanh of int16 codes, with scale 2**-15 (TFLite's integer_ops/logistic.h and tanh.h)."""
    half = (1 << scaling.right) >> 1
    x = (np.asarray(codes, np.int64) * scaling.multiplier + half) >> scaling.right
    bits = 8 if tangent else 9
    place = np.abs(x) >> bits
    low, high = table[np.minimum(place, 255)], table[np.minimum(place + 1, 255)]
    between = (low << bits) + (np.abs(x) & ((1 << bits) - 1)) * (high - low)
    if tangent:
        value = np.where(place >= 255, 0xFFFF << 8, between) - (1 << 23)
        return np.where(x >= 0, value + 128, -value + 127) >> 8
    value = np.where(place >= 255, 0x7FFF << 10, between)
    return np.where(x >= 0, value + 512, (1 << 25) - value + 511) >> 10


def _lut(function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], low: float, high: float) -> Int64Array:
    """513 points in [low, high], as int16 with scale 2**-15, lowered by half of what interpolation is too high.

    TFLite's gen_lut, in float32.
    """

    def exact(x: Float32Array) -> Float32Array:
        return function(x.astype(np.float64)).astype(np.float32) * np.float32(32768)

    step = np.float32((high - low) / _LUT_STEPS)
    start = np.float32(low) + np.arange(_LUT_STEPS, dtype=np.float32) * step
    following = np.float32(low) + np.arange(1, _LUT_STEPS + 1, dtype=np.float32) * step
    here = round_half_away(exact(start)).astype(np.float32)
    interpolated = round_half_away((exact(following) + here) / np.float32(2))
    excess = interpolated - round_half_away(exact(start + step / np.float32(2)))
    last = round_half_away(exact(np.array([high], np.float32)))
    points = np.concatenate([here - round_half_away(excess / 2), last])
    table: Int64Array = np.clip(points, -32768, 32767).astype(np.int64)
    return table


def softmax_int16_tables() -> tuple[Int64Array, Int64Array]:
    """exp(x) over [-10, 0], and 1 / (1 + x) over [0, 1], 513 points each."""
    return _lut(np.exp, -_EXP_SPAN, 0.0), _lut(lambda x: 1 / (1 + x), 0.0, 1.0)


def softmax_int16_scaling(scale: float, beta: float) -> tuple[int, int]:
    """Multiplier and shift from codes to steps of 10 / 65535."""
    return quantize_multiplier(scale * beta / (_EXP_SPAN / 65535.0))


def _interpolate(table: Int64Array, values: Int64Array) -> Int64Array:
    place = 256 + (values >> 7)
    between: Int64Array = table[place] + (((table[place + 1] - table[place]) * (values & 127) + 64) >> 7)
    return between


def softmax_int16_rows(
    codes: npt.ArrayLike, scaling: tuple[int, int], exponentials: Int64Array, reciprocals: Int64Array
) -> Int64Array:
    """Softmax over the last dimension of int16 codes, with scale 2**-15 (TFLite's SoftmaxInt16)."""
    x = np.asarray(codes, np.int64)
    scaled = requantize(x - x.max(axis=-1, keepdims=True), *scaling)
    exponential = _interpolate(exponentials, np.clip(scaled + 32767, -32768, 32767))
    total = exponential.sum(axis=-1, keepdims=True)
    headroom = 31 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    mantissa = ((total << headroom) + (1 << 13)) >> 14
    reciprocal = _interpolate(reciprocals, np.clip(mantissa - 3 * 2**15, -32768, 32767))
    right = 30 - headroom
    limited: Int64Array = np.clip((exponential * reciprocal + (np.int64(1) << (right - 1))) >> right, 0, 32767)
    return limited
