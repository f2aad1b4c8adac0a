"""Functions of one int8 operand that TFLite tabulates in float32."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from arenite._base.fixedpoint import round_half_away
from arenite.ir.graph import Array
from arenite.ir.opdef import Evaluate, OpCall
from arenite.ir.types import Quantization
from arenite.ops.constraints import per_tensor

Float32Array = npt.NDArray[np.float32]
Real32 = Callable[[Float32Array], Float32Array]
"""A function on float32, with float32 intermediate results."""


def rounded_to_float32(function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]) -> Real32:
    """A function computed in double and rounded once, which is what a good float32 library gives."""

    def rounded(x: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            return function(x.astype(np.float64)).astype(np.float32)

    return rounded


def tabulate(
    function: Real32, codes: npt.NDArray[np.int8], source: Quantization, result: Quantization
) -> npt.NDArray[np.int8]:
    """`function` of int8 codes as int8 codes.

    TFLite's LUTPopulate (kernels/internal/common.h): the code's real value, the function, the product with the
    reciprocal of the result's scale and its rounding (halves away from zero) are float32. What leaves 32 bits, which C
    leaves undefined, saturates, and what is no number is the lowest code.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        real = np.float32(source.scale) * (codes.astype(np.int64) - source.zero_point).astype(np.float32)
        scaled = function(real) * (np.float32(1) / np.float32(result.scale))
        stored = round_half_away(scaled).astype(np.float32) + np.float32(result.zero_point)
    return np.clip(np.where(np.isnan(stored), -128, stored), -128, 127).astype(np.int8)


def tabulated(function: Real32) -> Evaluate:
    """The meaning on int8 of an op that TFLite fills such a table for."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
        return (tabulate(function, np.asarray(operands[0], np.int8), source, result),)

    return evaluate
