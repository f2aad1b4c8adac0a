"""Sigmoid and hyperbolic tangent of 16 bits, as the gates of an LSTM have them: 15 fractional bits in their results."""

import numpy.typing as npt

from arenite._base.fixedpoint import Int64Array
from arenite.ops.interpolated import SigmoidScaling, sigmoid_stored, sigmoid_table


def sigmoid_16(x: npt.ArrayLike) -> Int64Array:
    """sigmoid(x / 2**12) * 2**15 for int16 x."""
    return sigmoid_stored(x, SigmoidScaling(3, 0), sigmoid_table(), tangent=False)


def tanh_16(x: npt.ArrayLike, fraction_bits: int = 12) -> Int64Array:
    """tanh(x / 2**fraction_bits) * 2**15 for int16 x."""
    left = 12 - fraction_bits
    scaling = SigmoidScaling(3 << left, 0) if left >= 0 else SigmoidScaling(3, -left)
    return sigmoid_stored(x, scaling, sigmoid_table(), tangent=True)
