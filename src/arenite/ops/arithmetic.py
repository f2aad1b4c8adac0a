"""Elementwise arithmetic of two operands with numpy broadcasting: add, sub, mul."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import (
    Constraint,
    Evaluate,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    QuantizationRule,
    Trait,
)
from arenite.ops.broadcasting import broadcast_result, one_operation_each, operand_pair
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range, activation_range_float
from arenite.ops.constraints import INT16_SYMMETRIC, QUANTIZED_PER_TENSOR, per_tensor, signatures


@dataclass(frozen=True)
class ArithmeticAttrs(Attrs):
    """Attributes of add, sub and mul."""

    activation: Activation = Activation.NONE


ADD_LEFT_SHIFT = 20
"""Bits by which an int8 addition widens its operands before it rescales them (TFLite's add.cc)."""

ADD_LEFT_SHIFT_INT16 = 15
"""The same for int16."""


@dataclass(frozen=True)
class Scaling:
    """A requantization by `multiplier * 2**(shift - 31)`."""

    multiplier: int
    shift: int


def add_scalings(call: OpCall) -> tuple[Scaling, Scaling, Scaling]:
    """Of the two operands and of the result of a quantized addition or subtraction.

    TFLite's add.cc and sub.cc: both operands are brought to twice the larger scale, 20 bits wider, added or
    subtracted, and the outcome is brought to the result's scale.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    first, second = per_tensor(call.operand(0), "operand 0"), per_tensor(call.operand(1), "operand 1")
    result = per_tensor(call.results[0], "the result")
    common = 2.0 * max(first.scale, second.scale)
    return (
        Scaling(*quantize_multiplier(first.scale / common)),
        Scaling(*quantize_multiplier(second.scale / common)),
        Scaling(*quantize_multiplier(common / ((1 << _left_shift(call)) * result.scale))),
    )


def _left_shift(call: OpCall) -> int:
    return ADD_LEFT_SHIFT_INT16 if call.operand(0).dtype is DType.INT16 else ADD_LEFT_SHIFT


def mul_scaling(call: OpCall) -> Scaling:
    """Of the product in a quantized multiplication (TFLite's mul.cc).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    first, second = per_tensor(call.operand(0), "operand 0"), per_tensor(call.operand(1), "operand 1")
    result = per_tensor(call.results[0], "the result")
    return Scaling(*quantize_multiplier(first.scale * second.scale / result.scale))


def arithmetic_clamp(call: OpCall) -> tuple[int, int]:
    """Smallest and largest stored result of quantized arithmetic."""
    assert isinstance(call.attrs, ArithmeticAttrs)
    result = call.results[0]
    return activation_range(call.attrs.activation, per_tensor(result, "the result"), result.dtype)


def _plain(combine: Callable[[Any, Any], Any]) -> Evaluate:
    """Float arithmetic; int32 wraps, as in C with -fwrapv."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        assert isinstance(call.attrs, ArithmeticAttrs)
        dtype = call.results[0].dtype.numpy
        low, high = activation_range_float(call.attrs.activation)
        with np.errstate(over="ignore", invalid="ignore"):
            value = combine(*operand_pair(operands, dtype))
        if call.attrs.activation is not Activation.NONE:
            value = np.clip(value, low, high)
        return (np.asarray(value, dtype),)

    return evaluate


def _sum_quantized(sign: int) -> Evaluate:
    """The sum of the operands, the second taken times `sign`."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        first, second, result = add_scalings(call)
        a, b = operand_pair(operands, np.int64)
        a = (a - per_tensor(call.operand(0), "operand 0").zero_point) << _left_shift(call)
        b = (b - per_tensor(call.operand(1), "operand 1").zero_point) << _left_shift(call)
        total = requantize(a, first.multiplier, first.shift) + sign * requantize(b, second.multiplier, second.shift)
        zero_point = per_tensor(call.results[0], "the result").zero_point
        stored = requantize(total, result.multiplier, result.shift) + zero_point
        return (clamp(stored, *arithmetic_clamp(call), call.results[0].dtype.numpy),)

    return evaluate


def _mul_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    scaling = mul_scaling(call)
    a, b = operand_pair(operands, np.int64)
    a = a - per_tensor(call.operand(0), "operand 0").zero_point
    b = b - per_tensor(call.operand(1), "operand 1").zero_point
    product = requantize(a * b, scaling.multiplier, scaling.shift)
    stored = product + per_tensor(call.results[0], "the result").zero_point
    return (clamp(stored, *arithmetic_clamp(call), call.results[0].dtype.numpy),)


def _activation_clamps(call: OpCall) -> bool | str:
    assert isinstance(call.attrs, ArithmeticAttrs)
    found = call.attrs.activation
    return found in CLAMPING_ACTIVATIONS or found.value


_CONSTRAINTS = (
    signatures(
        *(((dtype, dtype), dtype) for dtype in (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32))
    ),
    QUANTIZED_PER_TENSOR,
    INT16_SYMMETRIC,
    Constraint("the fused activation is a clamp", _activation_clamps),
)
_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_SIMPLER = NotApplicable("the activation is its only attribute, and it has one spelling")


def _definition(name: str, summary: str, traits: frozenset[Trait], real: Evaluate, quantized: Evaluate) -> OpDef:
    return OpDef(
        name=name,
        summary=f"{summary} of two operands of the same shape, or of shapes that broadcast.",
        attrs=ArithmeticAttrs,
        operands=(Operand("a"), Operand("b")),
        result_names=("output",),
        traits=traits,
        infer=broadcast_result,
        evaluate_float=real,
        evaluate_quantized=quantized,
        cost=one_operation_each,
        quantization=QuantizationRule(),
        canonicalize=_NO_SIMPLER,
        constraints=_CONSTRAINTS,
    )


OPS: tuple[OpDef, ...] = (
    _definition("add", "Sum", _TRAITS | {Trait.COMMUTATIVE}, _plain(np.add), _sum_quantized(1)),
    _definition("sub", "Difference", _TRAITS, _plain(np.subtract), _sum_quantized(-1)),
    _definition("mul", "Product", _TRAITS | {Trait.COMMUTATIVE}, _plain(np.multiply), _mul_quantized),
)
