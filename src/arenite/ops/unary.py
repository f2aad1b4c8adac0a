"""Functions of one operand, element by element: neg, abs, square, roots, exp, log, sin, cos, and rounding."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, clamp, quantize_multiplier, requantize
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Cost, Evaluate, NotApplicable, OpCall, OpDef, Operand, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.roots import inverse_sqrt
from arenite.ops.tabulated import Real32, rounded_to_float32, tabulated

RSQRT_EXTRA_BITS = 20
"""Bits by which rsqrt widens the inverse square root before it rescales it (TFLite-Micro's elementwise.cc)."""


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _float(function: Real32) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        return (function(np.asarray(operands[0], np.float32)),)

    return evaluate


def abs_scaling(call: OpCall) -> tuple[int, int]:
    """Multiplier and shift from the operand's scale to the result's.

    TFLite-Micro leaves the multiplication out for equal scales, which a multiplication by exactly 1 equals.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    return quantize_multiplier(source.scale / result.scale)


def _abs_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    distance = np.abs(np.asarray(operands[0], np.int64) - per_tensor(call.operand(0), "the input").zero_point)
    result = call.results[0]
    stored = requantize(distance, *abs_scaling(call)) + per_tensor(result, "the result").zero_point
    return (clamp(stored, *result.dtype.limits, result.dtype.numpy),)


def rsqrt_scaling(call: OpCall) -> tuple[int, int]:
    """Multiplier and shift from 1 / sqrt(centred code) to the result's scale (TFLite-Micro's elementwise.cc).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    return quantize_multiplier(1.0 / (float(np.sqrt(source.scale)) * result.scale))


def rsqrt_stored(centred: Int64Array, multiplier: int, shift: int) -> Int64Array:
    """1 / sqrt of positive codes less their zero point, before the result's zero point is added."""
    root, root_shift = inverse_sqrt(centred)
    wide = requantize(np.ones_like(centred), root, root_shift + RSQRT_EXTRA_BITS)
    # A shift by 31 leaves nothing, and so does any beyond.
    return requantize(wide, multiplier, max(shift - RSQRT_EXTRA_BITS, -31))


def _rsqrt_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """Numbers that are not positive give the largest code (TFLite-Micro: of 0 too, and fails for negative ones)."""
    centred = np.asarray(operands[0], np.int64) - per_tensor(call.operand(0), "the input").zero_point
    result = call.results[0]
    low, high = result.dtype.limits
    stored = rsqrt_stored(np.maximum(centred, 1), *rsqrt_scaling(call)) + per_tensor(result, "the result").zero_point
    return (clamp(np.where(centred > 0, stored, high), low, high, result.dtype.numpy),)


def _in_float32(function: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.floating]]) -> Real32:
    """A function that numpy computes exactly rounded in float32."""

    def computed(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        with np.errstate(all="ignore"):
            return np.asarray(function(x), np.float32)

    return computed


_EXP = rounded_to_float32(np.exp)
_LOG = rounded_to_float32(np.log)
_FUNCTION = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_ATTRIBUTES = NotApplicable("it has no attributes")
_FLOAT_ALONE = NotApplicable("TFLite-Micro has it on float32 alone, so a quantized network keeps it in float32")
_NO_RULE = NotApplicable("it stays in float32, as TFLite-Micro has no integer kernel for it")
_FLOAT = ((DType.FLOAT32,), DType.FLOAT32)
_INT8 = ((DType.INT8,), DType.INT8)
_INT16 = ((DType.INT16,), DType.INT16)


def _definition(
    name: str, summary: str, real: Real32, quantized: Evaluate | None, *dtypes: tuple[tuple[DType, ...], DType]
) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_FUNCTION,
        infer=_infer,
        evaluate_float=_float(real),
        evaluate_quantized=_FLOAT_ALONE if quantized is None else quantized,
        cost=_cost,
        quantization=_NO_RULE if quantized is None else QuantizationRule(),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(signatures(_FLOAT, *dtypes), QUANTIZED_PER_TENSOR, INT16_SYMMETRIC),
    )


OPS: tuple[OpDef, ...] = (
    _definition("abs", "The magnitude of each element.", np.abs, _abs_quantized, _INT8, _INT16),
    _definition("neg", "Each element with the other sign.", np.negative, None),
    _definition("square", "Each element times itself.", _in_float32(np.square), None),
    _definition("sqrt", "The square root of each element.", _in_float32(np.sqrt), None),
    _definition(
        "rsqrt",
        "1 / sqrt of each element.",
        _in_float32(lambda x: np.float32(1) / np.sqrt(x)),
        _rsqrt_quantized,
        _INT8,
        _INT16,
    ),
    _definition("exp", "The exponential of each element.", _EXP, tabulated(_EXP), _INT8),
    _definition("log", "The natural logarithm of each element.", _LOG, tabulated(_LOG), _INT8),
    _definition("sin", "The sine of each element, in radians.", rounded_to_float32(np.sin), None),
    _definition("cos", "The cosine of each element, in radians.", rounded_to_float32(np.cos), None),
    _definition("floor", "The largest whole number that is not above each element.", _in_float32(np.floor), None),
    _definition("ceil", "The smallest whole number that is not below each element.", _in_float32(np.ceil), None),
    _definition("round", "Each element to the nearest whole number, halves to even.", _in_float32(np.rint), None),
)
