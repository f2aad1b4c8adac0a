"""Clamping activations as intervals of real numbers."""

import math

from arenite.ir.attrs import Activation

_BOUNDS = {
    Activation.NONE: (-math.inf, math.inf),
    Activation.RELU: (0.0, math.inf),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
}


CLAMPS = {activation.value: activation for activation in _BOUNDS if activation is not Activation.NONE}
"""Ops that clamp, and nothing else: each is named after its activation."""


def both(first: Activation, second: Activation) -> Activation | None:
    """The one activation that clamps as `first` and then `second` do; None when there is none."""
    if first not in _BOUNDS or second not in _BOUNDS:
        return first if second is Activation.NONE else None
    (low1, high1), (low2, high2) = _BOUNDS[first], _BOUNDS[second]
    wanted = (max(low1, low2), min(high1, high2))
    return next((activation for activation, bounds in _BOUNDS.items() if bounds == wanted), None)
