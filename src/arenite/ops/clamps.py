"""Bounds that fused activations put on results."""

import math

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization

# In real numbers; None: the type's own limit.
_BOUNDS: dict[Activation, tuple[float | None, float | None]] = {
    Activation.NONE: (None, None),
    Activation.RELU: (0.0, None),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
}

CLAMPING_ACTIVATIONS = frozenset(_BOUNDS)
"""The activations that are nothing but bounds."""


def activation_range(activation: Activation, quantization: Quantization, dtype: DType) -> tuple[int, int]:
    """Smallest and largest stored value that a result with this fused activation may have.

    TFLite's CalculateActivationRangeQuantized: a real bound is stored as `zero_point + round(bound / scale)`, the
    division in float32 and halves rounded away from zero, and never leaves the type's limits.

    `quantization` (per tensor) and `dtype` (an integer type) are the result's.

    Returns:
        `(low, high)`, both included.

    Raises:
        OpError: the activation is more than a clamp, or `bound / scale` leaves 32 bits.
    """
    return stored_range(*_bounds(activation), quantization, dtype)


def stored_range(
    real_low: float | None, real_high: float | None, quantization: Quantization, dtype: DType
) -> tuple[int, int]:
    """The same for bounds in real numbers; None where there is none.

    Raises:
        OpError: `bound / scale` leaves 32 bits.
    """
    low, high = dtype.limits
    if real_low is not None:
        low = max(low, _stored(real_low, quantization))
    if real_high is not None:
        high = min(high, _stored(real_high, quantization))
    return low, high


def activation_range_float(activation: Activation) -> tuple[float, float]:
    """The same in real numbers; infinities where there is no bound.

    Raises:
        OpError: the activation is more than a clamp.
    """
    low, high = _bounds(activation)
    return (-math.inf if low is None else low), (math.inf if high is None else high)


def _bounds(activation: Activation) -> tuple[float | None, float | None]:
    bounds = _BOUNDS.get(activation)
    if bounds is None:
        known = ", ".join(a.value for a in _BOUNDS)
        raise OpError(f"a fused activation must be one of {known}, found {activation.value}")
    return bounds


def _stored(bound: float, quantization: Quantization) -> int:
    quotient = float(np.float32(bound) / np.float32(quantization.scale))
    # Halves away from zero; floor(x + 1/2) is exact in double for any float32 within 32 bits.
    steps = math.copysign(math.floor(abs(quotient) + 0.5), quotient) if math.isfinite(quotient) else quotient
    stored = quantization.zero_point + steps
    if not -(2.0**31) <= stored < 2.0**31:
        raise OpError(f"the scale {quantization.scale} is too small to store the activation's bound {bound} in 32 bits")
    return int(stored)
