"""Activations around 0: relu_n1_to_1, relu_0_to_1, leaky_relu, prelu, elu, hard_swish."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, clamp, quantize_multiplier, requantize
from arenite.ir.attrs import Attrs
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
from arenite.ir.types import TensorType
from arenite.ops.arithmetic import Scaling
from arenite.ops.broadcasting import broadcast_result, operand_pair
from arenite.ops.clamps import stored_range
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.hardswish import hard_swish_scalings, hard_swish_stored
from arenite.ops.tabulated import Float32Array, tabulate
from arenite.ops.unsigned import on_uint8_too


@dataclass(frozen=True)
class LeakyReluAttrs(Attrs):
    """Elements below 0 are multiplied by alpha."""

    alpha: float = 0.0


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _infer_prelu(call: OpCall) -> tuple[TensorType, ...]:
    (result,) = broadcast_result(call)
    shape, alpha = list(call.operand(0).dims), list(call.operand(1).dims)
    if list(result.dims) != shape:
        raise OpError(f"alpha must broadcast to the input's shape {shape}, found {alpha}")
    return (result,)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _clamp_float(low: float, high: float) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        return (np.clip(np.asarray(operands[0], np.float32), np.float32(low), np.float32(high)),)

    return evaluate


def _clamp_quantized(low: float, high: float) -> Evaluate:
    """TFLite's QuantizedReluX: requantize to the result's scale, then clamp; the ratio of scales is a float32."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
        scaling = quantize_multiplier(float(np.float32(source.scale) / np.float32(result.scale)))
        centred = np.asarray(operands[0], np.int64) - source.zero_point
        stored = requantize(centred, *scaling) + result.zero_point
        return (clamp(stored, *stored_range(low, high, result, call.results[0].dtype), np.int8),)

    return evaluate


def _alpha(call: OpCall) -> float:
    assert isinstance(call.attrs, LeakyReluAttrs)
    return call.attrs.alpha


def leaky_relu_scalings(call: OpCall) -> tuple[Scaling, Scaling]:
    """Of elements below 0, and of the others (TFLite's leaky_relu.cc, in double).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    alpha = float(np.float32(_alpha(call)))
    return (
        Scaling(*quantize_multiplier(source.scale * alpha / result.scale)),
        Scaling(*quantize_multiplier(source.scale / result.scale)),
    )


def _leaky_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float32)
    return (np.where(x > 0, x, x * np.float32(_alpha(call))),)


def _two_slopes(call: OpCall, below: Int64Array, above: Int64Array, centred: Int64Array) -> tuple[Array, ...]:
    result = call.results[0]
    stored = np.where(centred >= 0, above, below) + per_tensor(result, "the result").zero_point
    return (clamp(stored, *result.dtype.limits, result.dtype.numpy),)


def _leaky_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    below, above = leaky_relu_scalings(call)
    centred = np.asarray(operands[0], np.int64) - per_tensor(call.operand(0), "the input").zero_point
    return _two_slopes(
        call,
        requantize(centred, below.multiplier, below.shift),
        requantize(centred, above.multiplier, above.shift),
        centred,
    )


def prelu_scalings(call: OpCall) -> tuple[Scaling, Scaling]:
    """Of the products with alpha, and of elements that are not below 0 (TFLite's prelu.cc, in double).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, alpha = per_tensor(call.operand(0), "the input"), per_tensor(call.operand(1), "alpha")
    result = per_tensor(call.results[0], "the result")
    return (
        Scaling(*quantize_multiplier(source.scale * alpha.scale / result.scale)),
        Scaling(*quantize_multiplier(source.scale / result.scale)),
    )


def _prelu_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x, alpha = operand_pair(operands, np.float32)
    return (np.where(x >= 0, x, x * alpha),)


def _prelu_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    below, above = prelu_scalings(call)
    x, alpha = operand_pair(operands, np.int64)
    centred = x - per_tensor(call.operand(0), "the input").zero_point
    product = centred * (alpha - per_tensor(call.operand(1), "alpha").zero_point)
    return _two_slopes(
        call,
        requantize(product, below.multiplier, below.shift),
        requantize(centred, above.multiplier, above.shift),
        centred,
    )


def _elu_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float32)
    below = np.expm1(np.minimum(x, 0).astype(np.float64)).astype(np.float32)
    return (np.where(x < 0, below, x),)


def _elu_tabulated(x: Float32Array) -> Float32Array:
    below = np.exp(np.minimum(x, 0).astype(np.float64)).astype(np.float32) - np.float32(1)
    return np.where(x < 0, below, x)


def _elu_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    return (tabulate(_elu_tabulated, np.asarray(operands[0], np.int8), source, result),)


def _hard_swish_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x: npt.NDArray[np.float32] = np.asarray(operands[0], np.float32)
    return (x * np.clip(x + np.float32(3), np.float32(0), np.float32(6)) / np.float32(6),)


def _hard_swish_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    centred = np.asarray(operands[0], np.int64) - source.zero_point
    stored = hard_swish_stored(centred, *hard_swish_scalings(source.scale, result.scale)) + result.zero_point
    return (clamp(stored, -128, 127, np.int8),)


def _usable_alpha(call: OpCall) -> bool | str:
    alpha = _alpha(call)
    stored = call.operand(0).dtype.is_integer
    return (math.isfinite(alpha) and (alpha >= 0 or not stored)) or f"{alpha}"


def _not_much_wider(call: OpCall) -> bool | str:
    source, result = call.operand(0), call.results[0]
    if source.quantization is None or result.quantization is None or not source.dtype.is_integer:
        return True
    try:
        output, _ = hard_swish_scalings(source.quantization.scale, result.quantization.scale)
    except ValueError:  # a ratio that float32 does not hold
        return f"{source} and {result}"
    return output.shift <= 0 or f"{source} and {result}"


_FUNCTION = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_ATTRIBUTES = NotApplicable("it has no attributes")
_FLOAT = ((DType.FLOAT32,), DType.FLOAT32)
_INT8 = ((DType.INT8,), DType.INT8)
_INT16 = ((DType.INT16,), DType.INT16)
_STORED = (QUANTIZED_PER_TENSOR, INT16_SYMMETRIC)


def _function(
    name: str,
    summary: str,
    real: Evaluate,
    quantized: Evaluate,
    *constraints: Constraint,
    attrs: type[Attrs] = Attrs,
    traits: frozenset[Trait] = _FUNCTION,
) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=traits,
        infer=_infer,
        evaluate_float=real,
        evaluate_quantized=quantized,
        cost=_cost,
        quantization=QuantizationRule(),
        canonicalize=_NO_ATTRIBUTES if attrs is Attrs else NotApplicable("alpha has one spelling"),
        constraints=constraints,
    )


_DEFINITIONS: tuple[OpDef, ...] = (
    *(
        _function(
            name,
            f"Each element, limited to [{low}, 1].",
            _clamp_float(low, 1),
            _clamp_quantized(low, 1),
            signatures(_FLOAT, _INT8),
            *_STORED,
            traits=traits,
        )
        # A fused activation limits to [-1, 1], but never to [0, 1].
        for name, low, traits in (
            ("relu_n1_to_1", -1, _FUNCTION | {Trait.ACTIVATION}),
            ("relu_0_to_1", 0, _FUNCTION),
        )
    ),
    _function(
        "leaky_relu",
        "Each element, below 0 times alpha.",
        _leaky_float,
        _leaky_quantized,
        signatures(_FLOAT, _INT8, _INT16),
        *_STORED,
        Constraint("alpha is finite, and not negative for integers", _usable_alpha),
        attrs=LeakyReluAttrs,
    ),
    _function(
        "elu", "Each element x, below 0 exp(x) - 1.", _elu_float, _elu_quantized, signatures(_FLOAT, _INT8), *_STORED
    ),
    _function(
        "hard_swish",
        "x * min(max(x + 3, 0), 6) / 6 for each element x.",
        _hard_swish_float,
        _hard_swish_quantized,
        signatures(_FLOAT, _INT8),
        *_STORED,
        Constraint("the result's scale is above 1/128 of the operand's", _not_much_wider),
    ),
    OpDef(
        name="prelu",
        summary="Each element of `input`, below 0 times that of `alpha`, which broadcasts to the input's shape.",
        attrs=Attrs,
        operands=(Operand("input"), Operand("alpha")),
        result_names=("output",),
        traits=_FUNCTION,
        infer=_infer_prelu,
        evaluate_float=_prelu_float,
        evaluate_quantized=_prelu_quantized,
        cost=_cost,
        quantization=QuantizationRule(),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            signatures(
                ((DType.FLOAT32, DType.FLOAT32), DType.FLOAT32),
                ((DType.INT8, DType.INT8), DType.INT8),
                ((DType.INT16, DType.INT8), DType.INT16),
            ),
            *_STORED,
        ),
    ),
)

OPS: tuple[OpDef, ...] = on_uint8_too(_DEFINITIONS, "relu_n1_to_1", "relu_0_to_1", "leaky_relu", "hard_swish", "prelu")
