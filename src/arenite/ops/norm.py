"""Normalizations over the last dimension: l2_normalization, log_softmax."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import (
    INT32_MAX,
    INT32_MIN,
    Int64Array,
    quantize_multiplier,
    requantize,
    rounding_divide_by_pot,
)
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import (
    Constraint,
    Cost,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    QuantizationRule,
    Trait,
)
from arenite.ir.types import Quantization, TensorType
from arenite.ops.constraints import QUANTIZED_PER_TENSOR, declared_result, per_tensor, signatures, static_dims
from arenite.ops.elementary import (
    SOFTMAX_INTEGER_BITS,
    SOFTMAX_SUM_INTEGER_BITS,
    input_radius,
    softmax_exponentials,
)
from arenite.ops.logarithms import LOG_INTEGER_BITS, log_of_at_least_one
from arenite.ops.roots import inverse_sqrt
from arenite.ops.unsigned import on_uint8_too

UNIT_INT8 = Quantization.per_tensor(1 / 128, 0)
LOG_PROBABILITY_INT8 = Quantization.per_tensor(16 / 256, 127)
L2_LIMIT_NELEM = (2**31 - 1) // 255**2
"""Longest last dimension of a quantized l2_normalization: its squares add up within 32 bits."""
LOG_SOFTMAX_LIMIT_NELEM = 4095
_L2_RESULT_BITS = 7
_LOG_RESULT_INTEGER_BITS = 4
_EPSILON = np.float32(1e-6)


@dataclass(frozen=True)
class LogSoftmaxScaling:
    """From distances of codes to logarithms with 5 integer bits, and back.

    Attributes:
        multiplier, shift: of distances.
        radius: the largest distance that the sum of exponentials takes in.
        back_multiplier, back_shift: from logarithms to distances.
    """

    multiplier: int
    shift: int
    radius: int
    back_multiplier: int
    back_shift: int


def log_softmax_scaling(call: OpCall) -> LogSoftmaxScaling:
    """TFLite's PreprocessLogSoftmaxScalingExp.

    Raises:
        OpError: the input is not quantized per tensor.
    """
    scale = per_tensor(call.operand(0), "the input").scale
    multiplier, shift = quantize_multiplier(min(scale * 2.0 ** (31 - SOFTMAX_INTEGER_BITS), INT32_MAX))
    back = quantize_multiplier(2.0 ** (31 - shift) / multiplier)
    return LogSoftmaxScaling(multiplier, shift, input_radius(SOFTMAX_INTEGER_BITS, shift), *back)


def log_softmax_rows(x: Int64Array, exponentials: Int64Array, scaling: LogSoftmaxScaling) -> Int64Array:
    """int8 codes of the result for rows of int8 codes (TFLite's LogSoftmaxQuantized)."""
    distance = x.max(axis=-1, keepdims=True) - x
    total = rounding_divide_by_pot(exponentials[distance], SOFTMAX_SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    log_total = log_of_at_least_one(total, SOFTMAX_SUM_INTEGER_BITS)
    lowest = requantize(log_total + INT32_MIN, scaling.back_multiplier, scaling.back_shift)
    counts = -distance > np.maximum(-scaling.radius - 1, lowest)
    scaled = requantize(-np.where(counts, distance, 0), scaling.multiplier, scaling.shift)
    drop = 31 - LOG_INTEGER_BITS - _LOG_RESULT_INTEGER_BITS
    stored = rounding_divide_by_pot(scaled - log_total, drop) + LOG_PROBABILITY_INT8.zero_point
    limited: Int64Array = np.where(counts, np.clip(stored, -128, 127), -128)
    return limited


def l2_rows(centred: Int64Array) -> Int64Array:
    """int8 codes of the result for rows of codes less their zero point (TFLite's L2Normalization)."""
    multiplier, shift = inverse_sqrt((centred * centred).sum(axis=-1, keepdims=True))
    limited: Int64Array = np.clip(requantize(centred, multiplier, shift + _L2_RESULT_BITS), -128, 127)
    return limited


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    shape = static_dims(call, 0, "the input")
    if not shape or shape[-1] < 1:
        raise OpError(f"{call.op} needs a last dimension with elements, found {list(shape)}")
    return (declared_result(call, shape),)


def _l2_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float32)
    norm = np.sqrt((x.astype(np.float64) ** 2).sum(axis=-1, keepdims=True)).astype(np.float32)
    return (x / np.maximum(norm, _EPSILON),)


def _l2_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    centred = np.asarray(operands[0], np.int64) - per_tensor(call.operand(0), "the input").zero_point
    return (l2_rows(centred).astype(np.int8),)


def _log_softmax_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float64)
    below = x - x.max(axis=-1, keepdims=True)
    return ((below - np.log(np.exp(below).sum(axis=-1, keepdims=True))).astype(np.float32),)


def _log_softmax_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    exponentials = softmax_exponentials(per_tensor(call.operand(0), "the input").scale, 1.0)
    rows = log_softmax_rows(np.asarray(operands[0], np.int64), exponentials, log_softmax_scaling(call))
    return (rows.astype(np.int8),)


def _prescribed(wanted: Quantization) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        result = call.results[0]
        return result.dtype is not DType.INT8 or result.quantization == wanted or str(result)

    return Constraint(f"an int8 result has scale {wanted.scale} and zero point {wanted.zero_point}", holds)


def _at_most(limit: int) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        operand = call.operand(0)
        if operand.dtype is not DType.INT8 or not operand.is_static or not operand.rank:
            return True
        return operand.dims[-1] <= limit or f"{operand.dims[-1]}"

    return Constraint(f"the last dimension of an int8 input has at most {limit} elements", holds)


def _usable_scale(call: OpCall) -> bool | str:
    operand = call.operand(0)
    if operand.dtype is not DType.INT8 or operand.quantization is None or not operand.quantization.is_per_tensor:
        return True
    # So that its multiplier has a shift > 0, as TFLite asserts.
    return operand.quantization.scale >= 2.0 ** (SOFTMAX_INTEGER_BITS - 31) or f"{operand}"


def _cost(call: OpCall) -> Cost:
    return Cost(ops=10 * call.operand(0).nelem)


_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC})
_SIGNATURES = signatures(((DType.FLOAT32,), DType.FLOAT32), ((DType.INT8,), DType.INT8))
_NO_ATTRIBUTES = NotApplicable("it has no attributes")

_DEFINITIONS: tuple[OpDef, ...] = (
    OpDef(
        name="l2_normalization",
        summary="Each element, divided by the Euclidean norm of its row along the last dimension (at least 1e-6).",
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_l2_float,
        evaluate_quantized=_l2_quantized,
        cost=_cost,
        quantization=QuantizationRule(fixed_output=(UNIT_INT8.scale, UNIT_INT8.zero_point)),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(_SIGNATURES, QUANTIZED_PER_TENSOR, _prescribed(UNIT_INT8), _at_most(L2_LIMIT_NELEM)),
    ),
    OpDef(
        name="log_softmax",
        summary="The logarithm of softmax over the last dimension.",
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_log_softmax_float,
        evaluate_quantized=_log_softmax_quantized,
        cost=_cost,
        quantization=QuantizationRule(fixed_output=(LOG_PROBABILITY_INT8.scale, LOG_PROBABILITY_INT8.zero_point)),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            _SIGNATURES,
            QUANTIZED_PER_TENSOR,
            _prescribed(LOG_PROBABILITY_INT8),
            _at_most(LOG_SOFTMAX_LIMIT_NELEM),
            Constraint("the scale of an int8 input is at least 2**-26", _usable_scale),
        ),
    ),
)

OPS: tuple[OpDef, ...] = on_uint8_too(_DEFINITIONS, "log_softmax")
