"""Functions of one operand: relu, relu6, logistic, tanh, softmax (over the last dimension)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import (
    Constraint,
    Cost,
    Evaluate,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    QuantizationRule,
    Trait,
)
from arenite.ir.types import Quantization, TensorType
from arenite.ops.clamps import activation_range, activation_range_float
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.elementary import Stored, logistic_stored, softmax_exponentials, softmax_stored, tanh_stored
from arenite.ops.interpolated import (
    SIGMOID_LARGEST_MULTIPLIER,
    SigmoidScaling,
    sigmoid_scaling,
    sigmoid_stored,
    sigmoid_table,
    softmax_int16_rows,
    softmax_int16_scaling,
    softmax_int16_tables,
)
from arenite.ops.quant import quantize_real
from arenite.ops.tabulated import rounded_to_float32, tabulated
from arenite.ops.unsigned import on_uint8_too


@dataclass(frozen=True)
class SoftmaxAttrs(Attrs):
    """softmax(beta * x) over the last dimension."""

    beta: float = 1.0


PROBABILITY_INT8 = Quantization.per_tensor(1 / 256, -128)
PROBABILITY_UINT8 = Quantization.per_tensor(1 / 256, 0)
PROBABILITY_INT16 = Quantization.per_tensor(1 / 65536, -32768)
TANH_INT8 = Quantization.per_tensor(1 / 128, 0)
UNIT_INT16 = Quantization.per_tensor(1 / 32768, 0)
SOFTMAX_LIMIT_NELEM = 4095
"""Longest last dimension of a quantized softmax: the sum of its exponentials has 12 integer bits."""


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _infer_softmax(call: OpCall) -> tuple[TensorType, ...]:
    shape = static_dims(call, 0, "the input")
    if not shape or shape[-1] < 1:
        raise OpError(f"softmax needs a last dimension with elements, found {list(shape)}")
    return (declared_result(call, shape),)


def _clamp_float(activation: Activation) -> Evaluate:
    low, high = activation_range_float(activation)

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        return (np.clip(np.asarray(operands[0], np.float32), np.float32(low), np.float32(high)),)

    return evaluate


def _clamp_quantized(activation: Activation) -> Evaluate:
    """TFLite's QuantizedReluX: requantize to the result's scale, then clamp (TFLM's RELU6 forgets to requantize)."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
        multiplier, shift = quantize_multiplier(source.scale / result.scale)
        centred = np.asarray(operands[0], np.int64) - source.zero_point
        stored = requantize(centred, multiplier, shift) + result.zero_point
        dtype = call.results[0].dtype
        return (clamp(stored, *activation_range(activation, result, dtype), dtype.numpy),)

    return evaluate


def _logistic_real(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    smaller = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + smaller), smaller / (1 + smaller))


Real = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


def _function_float(real: Real) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        return (real(np.asarray(operands[0], np.float64)).astype(np.float32),)

    return evaluate


def _function_quantized(real: Real, stored: Stored, prescribed: Quantization) -> Evaluate:
    """TFLM's fixed point for the prescribed result; for others (which TFLM does not look at) rounded from double."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
        if call.operand(0).dtype is DType.INT16:
            scaling, tangent = sigmoid_scaling_of(call), call.op == "tanh"
            return (
                sigmoid_stored(np.asarray(operands[0]), scaling, sigmoid_table(), tangent=tangent).astype(np.int16),
            )
        centred = np.asarray(operands[0], np.int64) - source.zero_point
        if result == prescribed:
            return (stored(centred, source.scale).astype(np.int8),)
        return (quantize_real(real(source.scale * centred.astype(np.float64)), result, DType.INT8),)

    return evaluate


def sigmoid_scaling_of(call: OpCall) -> SigmoidScaling:
    """Of a logistic or tanh on int16.

    Raises:
        OpError: the input is not quantized per tensor.
    """
    return sigmoid_scaling(per_tensor(call.operand(0), "the input").scale, tangent=call.op == "tanh")


def _softmax_beta(call: OpCall) -> float:
    assert isinstance(call.attrs, SoftmaxAttrs)
    return call.attrs.beta


def softmax_table(call: OpCall) -> npt.NDArray[np.int64]:
    """`softmax_exponentials` for a quantized softmax."""
    return softmax_exponentials(per_tensor(call.operand(0), "the input").scale, _softmax_beta(call))


def _softmax_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float64)
    exponential = np.exp(_softmax_beta(call) * (x - x.max(axis=-1, keepdims=True)))
    return ((exponential / exponential.sum(axis=-1, keepdims=True)).astype(np.float32),)


def softmax_scaling(call: OpCall) -> tuple[int, int]:
    """Multiplier and shift of a softmax on int16.

    Raises:
        OpError: the input is not quantized per tensor.
    """
    return softmax_int16_scaling(per_tensor(call.operand(0), "the input").scale, _softmax_beta(call))


def _softmax_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    dtype = call.results[0].dtype
    codes: npt.NDArray[Any] = np.asarray(operands[0])
    if call.operand(0).dtype is DType.INT16:
        return (softmax_int16_rows(codes, softmax_scaling(call), *softmax_int16_tables()).astype(dtype.numpy),)
    stored = softmax_stored(codes, softmax_table(call), 8 * dtype.itemsize)
    return ((stored - DType.INT8.limits[0] if dtype is DType.UINT8 else stored).astype(dtype.numpy),)


def _cost(operations: int) -> Callable[[OpCall], Cost]:
    return lambda call: Cost(ops=operations * call.operand(0).nelem)


def _beta_is_positive(call: OpCall) -> bool | str:
    beta = _softmax_beta(call)
    return (math.isfinite(beta) and beta > 0) or f"{beta}"


def _softmax_result(call: OpCall) -> bool | str:
    result = call.results[0]
    if not result.dtype.is_integer or result.quantization is None or not result.quantization.is_per_tensor:
        return True
    scale, zero_point = result.quantization.scale, result.quantization.zero_point
    if result.dtype is DType.INT16:
        # TFLM takes 1/65535, as converters write it, for 1/65536.
        wanted = UNIT_INT16 if call.operand(0).dtype is DType.INT16 else PROBABILITY_INT16
        fits = abs(scale - wanted.scale) <= wanted.scale / 1000 and zero_point == wanted.zero_point
        return fits or str(result)
    wanted = PROBABILITY_UINT8 if result.dtype is DType.UINT8 else PROBABILITY_INT8
    return result.quantization == wanted or str(result)


def _softmax_int16_input(call: OpCall) -> bool | str:
    operand = call.operand(0)
    return operand.dtype is not DType.INT16 or per_tensor(operand, "the input").zero_point == 0 or f"{operand}"


def _softmax_length(call: OpCall) -> bool | str:
    operand = call.operand(0)
    if operand.dtype not in (DType.INT8, DType.UINT8, DType.INT16) or not operand.is_static or not operand.rank:
        return True
    return operand.dims[-1] <= SOFTMAX_LIMIT_NELEM or f"{operand.dims[-1]}"


def _softmax_int16_steps(call: OpCall) -> bool | str:
    if call.operand(0).dtype is not DType.INT16 or QUANTIZED_PER_TENSOR.holds(call) is not True:
        return True
    shift = softmax_scaling(call)[1]
    return shift <= SOFTMAX_INT16_LARGEST_SHIFT or f"{call.operand(0)}"


def _sigmoid_int16_scale(call: OpCall) -> bool | str:
    if call.operand(0).dtype is not DType.INT16 or QUANTIZED_PER_TENSOR.holds(call) is not True:
        return True
    return sigmoid_scaling_of(call).multiplier <= SIGMOID_LARGEST_MULTIPLIER or f"{call.operand(0)}"


def _sigmoid_int16_result(call: OpCall) -> bool | str:
    result = call.results[0]
    if result.dtype is not DType.INT16 or result.quantization is None or not result.quantization.is_per_tensor:
        return True
    # TFLM takes what is a power of two but for a thousandth.
    return abs(math.log2(result.quantization.scale) + 15) < 1e-3 or str(result)


SOFTMAX_INT16_LARGEST_SHIFT = 14
"""Above it, distances of codes leave 32 bits."""

_SIGNATURES = signatures(((DType.FLOAT32,), DType.FLOAT32), ((DType.INT8,), DType.INT8), ((DType.INT16,), DType.INT16))
_FUNCTION = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_ATTRIBUTES = NotApplicable("it has no attributes")


def _clamping(name: str, summary: str, activation: Activation) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_FUNCTION | {Trait.ACTIVATION},
        infer=_infer,
        evaluate_float=_clamp_float(activation),
        evaluate_quantized=_clamp_quantized(activation),
        cost=_cost(1),
        quantization=QuantizationRule(),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(_SIGNATURES, QUANTIZED_PER_TENSOR, INT16_SYMMETRIC),
    )


def _function(name: str, summary: str, real: Real, stored: Stored, prescribed: Quantization) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_FUNCTION,
        infer=_infer,
        evaluate_float=_function_float(real),
        evaluate_quantized=_function_quantized(real, stored, prescribed),
        cost=_cost(10),
        quantization=QuantizationRule(fixed_output=(prescribed.scale, prescribed.zero_point)),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            _SIGNATURES,
            QUANTIZED_PER_TENSOR,
            INT16_SYMMETRIC,
            Constraint("the scale of an int16 input is below 8/3", _sigmoid_int16_scale),
            Constraint("an int16 result has scale 1/32768", _sigmoid_int16_result),
        ),
    )


_DEFINITIONS: tuple[OpDef, ...] = (
    _clamping("relu", "The larger of each element and 0.", Activation.RELU),
    _clamping("relu6", "Each element, limited to [0, 6].", Activation.RELU6),
    _function("logistic", "1 / (1 + exp(-x)) of each element.", _logistic_real, logistic_stored, PROBABILITY_INT8),
    _function("tanh", "Hyperbolic tangent of each element.", np.tanh, tanh_stored, TANH_INT8),
    OpDef(
        name="softmax",
        summary="exp(beta x) over the last dimension, divided by its sum there.",
        attrs=SoftmaxAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer_softmax,
        evaluate_float=_softmax_float,
        evaluate_quantized=_softmax_quantized,
        cost=_cost(10),
        quantization=QuantizationRule(fixed_output=(1 / 256, -128)),
        canonicalize=NotApplicable("beta has one spelling"),
        constraints=(
            signatures(
                ((DType.FLOAT32,), DType.FLOAT32),
                ((DType.INT8,), DType.INT8),
                ((DType.INT8,), DType.INT16),
                ((DType.INT16,), DType.INT16),
                ((DType.UINT8,), DType.UINT8),
            ),
            QUANTIZED_PER_TENSOR,
            Constraint("beta is positive and finite", _beta_is_positive),
            Constraint(
                "an int8 result has scale 1/256 and zero point -128, an int16 one scale 1/65536 and zero point -32768, "
                "or 1/32768 and 0 for an int16 input",
                _softmax_result,
            ),
            Constraint("an int16 input has zero point 0", _softmax_int16_input),
            Constraint("beta times the scale of an int16 input is below 2.5", _softmax_int16_steps),
            Constraint(
                f"the last dimension of a quantized input has at most {SOFTMAX_LIMIT_NELEM} elements", _softmax_length
            ),
        ),
    ),
)

_EXP = rounded_to_float32(np.exp)
# LiteRT's reference kernels fill a table in float32.
_ON_UINT8 = {
    "logistic": tabulated(lambda x: np.float32(1) / (np.float32(1) + _EXP(-x))),
    "tanh": tabulated(rounded_to_float32(np.tanh)),
}

OPS: tuple[OpDef, ...] = on_uint8_too(_DEFINITIONS, "relu", "relu6", otherwise=_ON_UINT8)
