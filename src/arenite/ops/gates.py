"""Sigmoid and hyperbolic tangent of 16 bits, as TFLite-Micro computes them: chords between 256 points.

Arguments have 12 fractional bits by default, results 15. The points are 1/24 apart, so that three times an argument
falls between two of them by its leading bits.
"""

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import Int64Array

POINTS = 256


def sigmoid_points() -> npt.NDArray[np.uint16]:
    """65536 * sigmoid(i / 24) for i in 0 to 255, each raised by half of the largest error of the chords beside it.

    The chord over a step h lies below a concave curve by up to h**2 / 8 * |f''|. The last point is the largest number.
    (TFLM holds the numbers; these are the same, as the test over all arguments shows.)
    """
    x = np.arange(POINTS) / 24
    sigmoid = 1 / (1 + np.exp(-x))
    curvature = sigmoid * (1 - sigmoid) * (2 * sigmoid - 1)
    points = np.floor(65536 * (sigmoid + curvature / 24**2 / 16) + 0.5)
    points[-1] = 65535
    return points.astype(np.uint16)


def _between_points(magnitude: Int64Array, points: Int64Array, bits: int, beyond: int) -> Int64Array:
    """The chord's value at a magnitude of which `bits` bits are the fraction, shifted left by as many."""
    index = np.minimum(magnitude >> bits, POINTS - 2)
    left, right = points[index], points[index + 1]
    inside = (left << bits) + (magnitude & ((1 << bits) - 1)) * (right - left)
    found: Int64Array = np.where(magnitude >> bits >= POINTS - 1, beyond, inside)
    return found


def sigmoid_16(x: npt.ArrayLike) -> Int64Array:
    """sigmoid(x / 2**12) * 2**15 for int16 x: TFLite's reference_integer_ops::Logistic."""
    scaled = 3 * np.asarray(x, np.int64)
    value = _between_points(np.abs(scaled), sigmoid_points().astype(np.int64), 9, 0x7FFF << 10)
    rounded: Int64Array = np.where(scaled >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1) >> 10
    return rounded


def tanh_16(x: npt.ArrayLike, fraction_bits: int = 12) -> Int64Array:
    """tanh(x / 2**fraction_bits) * 2**15 for int16 x: TFLite's reference_integer_ops::Tanh, 2 * sigmoid(2 * x) - 1."""
    wide = 3 * np.asarray(x, np.int64)
    left = 12 - fraction_bits
    scaled = wide << left if left >= 0 else (wide + (1 << (-left - 1))) >> -left
    value = _between_points(np.abs(scaled), sigmoid_points().astype(np.int64), 8, 0xFFFF << 8)
    half, nudge = 1 << 23, 1 << 7
    rounded: Int64Array = np.where(scaled >= 0, value - half + nudge, half - value + nudge - 1) >> 8
    return rounded
