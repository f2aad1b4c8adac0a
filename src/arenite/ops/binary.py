"""Functions of two operands with numpy broadcasting: div, minimum, maximum, squared_difference, pow."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import (
    Int64Array,
    clamp,
    quantize_multiplier,
    requantize,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
    wrap_int32,
)
from arenite.ir.attrs import Attrs
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
from arenite.ops.arithmetic import ArithmeticAttrs, Scaling, arithmetic_clamp
from arenite.ops.broadcasting import broadcast_result, one_operation_each, operand_pair
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range_float
from arenite.ops.constraints import INT16_SYMMETRIC, QUANTIZED_PER_TENSOR, per_tensor, signatures
from arenite.ops.elementary import one_over_one_plus
from arenite.ops.unsigned import on_uint8_too

SQUARED_DIFFERENCE_LEFT_SHIFT = {DType.INT8: 7, DType.INT16: 0}
"""Bits by which a squared difference widens its operands (TFLite's squared_difference.cc)."""


def squared_difference_scalings(call: OpCall) -> tuple[Scaling, Scaling, Scaling]:
    """Of the two operands and of the square.

    TFLite's squared_difference.cc: both operands are brought to twice the larger scale, some bits wider, subtracted and
    squared, and the square is brought to the result's scale.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    first, second = per_tensor(call.operand(0), "operand 0"), per_tensor(call.operand(1), "operand 1")
    result = per_tensor(call.results[0], "the result")
    common = 2.0 * max(first.scale, second.scale)
    widening = 1 << (2 * SQUARED_DIFFERENCE_LEFT_SHIFT[call.operand(0).dtype])
    return (
        Scaling(*quantize_multiplier(first.scale / common)),
        Scaling(*quantize_multiplier(second.scale / common)),
        Scaling(*quantize_multiplier(common * common / (widening * result.scale))),
    )


def _squared_difference_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    scalings = squared_difference_scalings(call)
    left = SQUARED_DIFFERENCE_LEFT_SHIFT[call.operand(0).dtype]
    a, b = operand_pair(operands, np.int64)
    a = (a - per_tensor(call.operand(0), "operand 0").zero_point) << left
    b = (b - per_tensor(call.operand(1), "operand 1").zero_point) << left
    first, second = (requantize(x, y.multiplier, y.shift) for x, y in zip((a, b), scalings[:2], strict=True))
    square = wrap_int32((first - second) ** 2)
    result = call.results[0]
    stored = requantize(square, scalings[2].multiplier, scalings[2].shift) + per_tensor(result, "the result").zero_point
    return (clamp(stored, *result.dtype.limits, result.dtype.numpy),)


def div_scaling(call: OpCall) -> Scaling:
    """Of the quotient of two codes (TFLite's div.cc).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    first, second = per_tensor(call.operand(0), "operand 0"), per_tensor(call.operand(1), "operand 1")
    result = per_tensor(call.results[0], "the result")
    return Scaling(*quantize_multiplier(first.scale / (second.scale * result.scale)))


DIV_LARGEST_SHIFT = 22
"""Above it, quotients of codes leave 32 bits."""


def reciprocals() -> Int64Array:
    """1 / d in Q31, for d = 0...255 brought into [1, 2) by a power of two; of 0 there is none, and 0 stands for it."""
    divisors = np.arange(256, dtype=np.int64)
    _, length = np.frexp(divisors.astype(np.float64))
    fraction = (divisors << (32 - length.astype(np.int64))) - (1 << 31)
    return np.where(divisors == 0, 0, one_over_one_plus(np.maximum(fraction, 0)))


def quotients(numerator: Int64Array, denominator: Int64Array, scaling: Scaling) -> Int64Array:
    """Scaled quotients of int8 codes less their zero points, rounded as TFLite rounds them (div.h).

    The numerator, shifted left as far as it goes, is multiplied by the Q31 reciprocal of the denominator and by the
    scaling's multiplier, and shifted back; the scaling's shift is at most 22. A shift back by more than 31, which
    TFLite leaves undefined, gives 0. What is divided by 0 counts as infinite, except 0, which stays 0.
    """
    a, b = np.where(denominator < 0, -numerator, numerator), np.abs(denominator)
    headroom = 31 - np.frexp(np.where(a < 0, -a - 1, a).astype(np.float64))[1].astype(np.int64)
    unscaled = saturating_rounding_doubling_high_mul(a << headroom, reciprocals()[b])
    below_one = np.frexp(np.maximum(b, 1).astype(np.float64))[1].astype(np.int64) - 1
    scaled = saturating_rounding_doubling_high_mul(unscaled, scaling.multiplier)
    finite = rounding_divide_by_pot(scaled, np.minimum(headroom + below_one - scaling.shift, 62))
    return np.where(b == 0, np.sign(a) << 31, finite)


def _quotients_fit(call: OpCall) -> bool | str:
    if call.results[0].dtype is not DType.INT8 or QUANTIZED_PER_TENSOR.holds(call) is not True:
        return True
    shift = div_scaling(call).shift
    return shift <= DIV_LARGEST_SHIFT or f"2**{shift}"


def _div_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    a, b = operand_pair(operands, np.int64)
    a = a - per_tensor(call.operand(0), "operand 0").zero_point
    b = b - per_tensor(call.operand(1), "operand 1").zero_point
    stored = quotients(a, b, div_scaling(call)) + per_tensor(call.results[0], "the result").zero_point
    return (clamp(stored, *arithmetic_clamp(call), np.int8),)


def _div_plain(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """int32 rounds towards 0 as in C; what C leaves undefined is 0 (x / 0) or wraps (-2**31 / -1)."""
    assert isinstance(call.attrs, ArithmeticAttrs)
    a, b = operand_pair(operands, call.results[0].dtype.numpy)
    low, high = activation_range_float(call.attrs.activation)
    if call.results[0].dtype is DType.INT32:
        return (np.clip(divide_int32(a, b), low, high).astype(np.int32),)
    with np.errstate(all="ignore"):
        return (np.clip(a / b, np.float32(low), np.float32(high)).astype(np.float32),)


def divide_int32(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Int64Array:
    """int32 quotients rounded towards 0; x / 0 is 0, and -2**31 / -1 wraps."""
    numerator, denominator = a.astype(np.int64), b.astype(np.int64)
    magnitude = np.abs(numerator) // np.maximum(np.abs(denominator), 1)
    signed = np.where((numerator < 0) != (denominator < 0), -magnitude, magnitude)
    return wrap_int32(np.where(denominator == 0, 0, signed))


def _alike(function: Callable[[Any, Any], Any]) -> Evaluate:
    """The function on whatever numbers the operands hold."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        dtype = call.results[0].dtype.numpy
        with np.errstate(all="ignore"):
            return (np.asarray(function(*operand_pair(operands, dtype)), dtype),)

    return evaluate


def _smaller(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(a < b, a, b)


def _larger(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(a > b, a, b)


def _power(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64))
    return integer_power(a.astype(np.int64), b.astype(np.int64))


def integer_power(base: Int64Array, exponent: Int64Array) -> Int64Array:
    """Wraps at 32 bits, by squaring; 0 for negative exponents, save those of 1 and -1."""
    result, factor, left = np.ones_like(base + exponent), base + 0 * exponent, np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, wrap_int32(result * factor), result)
        factor, left = wrap_int32(factor * factor), left >> 1
    sign = np.where(exponent & 1, base, 1)
    return np.where(exponent >= 0, result, np.where(np.abs(base) == 1, sign, 0))


def _activation_clamps(call: OpCall) -> bool | str:
    assert isinstance(call.attrs, ArithmeticAttrs)
    found = call.attrs.activation
    return found in CLAMPING_ACTIVATIONS or found.value


def _one_quantization(call: OpCall) -> bool | str:
    found = [t for t in (*call.operands, *call.results) if t is not None]
    alike = len({t.quantization for t in found}) == 1
    return alike or ", ".join(str(t) for t in found)


_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_COMMUTATIVE = _TRAITS | {Trait.COMMUTATIVE}
_NO_ATTRIBUTES = NotApplicable("it has no attributes")
_STORED = (QUANTIZED_PER_TENSOR, INT16_SYMMETRIC)


def _like(*dtypes: DType) -> Constraint:
    return signatures(*(((dtype, dtype), dtype) for dtype in dtypes))


def _definition(
    name: str,
    summary: str,
    evaluate: tuple[Evaluate, Evaluate | NotApplicable],
    *constraints: Constraint,
    attrs: type[Attrs] = Attrs,
    traits: frozenset[Trait] = _TRAITS,
    rule: QuantizationRule | NotApplicable = QuantizationRule(),  # noqa: B008 - frozen
) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=(Operand("a"), Operand("b")),
        result_names=("output",),
        traits=traits,
        infer=broadcast_result,
        evaluate_float=evaluate[0],
        evaluate_quantized=evaluate[1],
        cost=one_operation_each,
        quantization=rule,
        canonicalize=_NO_ATTRIBUTES if attrs is Attrs else NotApplicable("the activation has one spelling"),
        constraints=constraints,
    )


_NUMBERS = _like(DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_SAME = Constraint("operands and result have one scale and zero point", _one_quantization)

_DEFINITIONS: tuple[OpDef, ...] = (
    _definition(
        "minimum",
        "The smaller of two elements.",
        (_alike(_smaller), _alike(_smaller)),
        _NUMBERS,
        *_STORED,
        _SAME,
        traits=_COMMUTATIVE,
        rule=QuantizationRule(same_scale=True),
    ),
    _definition(
        "maximum",
        "The larger of two elements.",
        (_alike(_larger), _alike(_larger)),
        _NUMBERS,
        *_STORED,
        _SAME,
        traits=_COMMUTATIVE,
        rule=QuantizationRule(same_scale=True),
    ),
    _definition(
        "squared_difference",
        "The square of the difference of two elements.",
        (_alike(lambda a, b: (a - b) * (a - b)), _squared_difference_quantized),
        _like(DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32),
        *_STORED,
        traits=_COMMUTATIVE,
    ),
    _definition(
        "div",
        "The quotient of two elements.",
        (_div_plain, _div_quantized),
        _like(DType.FLOAT32, DType.INT8, DType.INT32),
        *_STORED,
        Constraint("the fused activation is a clamp", _activation_clamps),
        Constraint(f"the scale of a over those of b and of the result is below 2**{DIV_LARGEST_SHIFT}", _quotients_fit),
        attrs=ArithmeticAttrs,
    ),
    _definition(
        "pow",
        "The first element to the power of the second.",
        (_alike(_power), NotApplicable("TFLite has it on float32 and int32 alone")),
        _like(DType.FLOAT32, DType.INT32),
        rule=NotApplicable("it stays in float32, as TFLite has no quantized kernel for it"),
    ),
)

OPS: tuple[OpDef, ...] = on_uint8_too(_DEFINITIONS, "minimum", "maximum")
