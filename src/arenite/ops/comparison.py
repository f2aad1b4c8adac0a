"""Comparisons of two operands, and logic of truth values, with numpy broadcasting."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, quantize_multiplier, requantize
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
    QuantizationRule,
    Trait,
)
from arenite.ir.types import TensorType
from arenite.ops.broadcasting import broadcast_result, one_operation_each, operand_pair
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.unsigned import on_uint8_too

COMPARISON_LEFT_SHIFT = 8
"""Bits by which a quantized comparison widens its operands (TFLite's comparisons.cc)."""

Compare = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[np.bool_]]


def compared(call: OpCall, index: int, codes: npt.NDArray[Any]) -> Int64Array:
    """What stands for the codes of an operand in a quantized comparison: their real value, times 256 and rounded.

    TFLite's ComparisonWithScaling. Codes that differ by less than that compare as equal.

    Raises:
        OpError: the operand is not quantized per tensor.
    """
    quantization = per_tensor(call.operand(index), f"operand {index}")
    wide = (codes.astype(np.int64) - quantization.zero_point) << COMPARISON_LEFT_SHIFT
    return requantize(wide, *quantize_multiplier(quantization.scale))


def _plain(compare: Compare) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        return (np.asarray(compare(*operand_pair(operands, call.operand(0).dtype.numpy)), np.bool_),)

    return evaluate


def _quantized(compare: Compare) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        a, b = (compared(call, index, np.asarray(x)) for index, x in enumerate(operands))
        return (np.asarray(compare(a, b), np.bool_),)

    return evaluate


def _invert(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.logical_not(np.asarray(operands[0])),)


def _infer_one(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _cost_one(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _scales_below_one(call: OpCall) -> bool | str:
    for index, tensor in enumerate(call.operands):
        if tensor is not None and tensor.quantization is not None and max(tensor.quantization.scales) >= 1:
            return f"operand {index} is {tensor}"
    return True


_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_ATTRIBUTES = NotApplicable("it has no attributes")
_LOGIC = NotApplicable("truth values are not quantized")
_ALWAYS_PLAIN = NotApplicable("truth values are not quantized, so the other facet answers")
_ORDERED = (DType.FLOAT32, DType.INT8, DType.INT32, DType.INT64)
_SCALES_BELOW_ONE = Constraint("quantized operands have scales below 1", _scales_below_one)


def _comparison(name: str, relation: str, compare: Compare, dtypes: tuple[DType, ...], *traits: Trait) -> OpDef:
    return OpDef(
        name=name,
        summary=f"Whether the first element is {relation} the second.",
        attrs=Attrs,
        operands=(Operand("a"), Operand("b")),
        result_names=("output",),
        traits=_TRAITS | set(traits),
        infer=broadcast_result,
        evaluate_float=_plain(compare),
        evaluate_quantized=_quantized(compare),
        cost=one_operation_each,
        quantization=QuantizationRule(),
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            signatures(*(((dtype, dtype), DType.BOOL) for dtype in dtypes)),
            QUANTIZED_PER_TENSOR,
            INT16_SYMMETRIC,
            _SCALES_BELOW_ONE,
        ),
    )


def _logic(name: str, summary: str, evaluate: Evaluate, operands: int) -> OpDef:
    pair = operands == 2
    return OpDef(
        name=name,
        summary=summary,
        attrs=Attrs,
        operands=(Operand("a"), Operand("b")) if pair else (Operand("input"),),
        result_names=("output",),
        traits=_TRAITS | ({Trait.COMMUTATIVE} if pair else set()),
        infer=broadcast_result if pair else _infer_one,
        evaluate_float=evaluate,
        evaluate_quantized=_ALWAYS_PLAIN,
        cost=one_operation_each if pair else _cost_one,
        quantization=_LOGIC,
        canonicalize=_NO_ATTRIBUTES,
        constraints=(signatures(((DType.BOOL,) * operands, DType.BOOL)),),
    )


_DEFINITIONS: tuple[OpDef, ...] = (
    _comparison("equal", "equal to", np.equal, (*_ORDERED, DType.BOOL), Trait.COMMUTATIVE),
    _comparison("not_equal", "other than", np.not_equal, (*_ORDERED, DType.BOOL), Trait.COMMUTATIVE),
    _comparison("less", "less than", np.less, _ORDERED),
    _comparison("less_equal", "less than or equal to", np.less_equal, _ORDERED),
    _comparison("greater", "greater than", np.greater, _ORDERED),
    _comparison("greater_equal", "greater than or equal to", np.greater_equal, _ORDERED),
    _logic("logical_and", "Whether both elements hold.", _plain(np.logical_and), 2),
    _logic("logical_or", "Whether one of two elements holds, or both.", _plain(np.logical_or), 2),
    _logic("logical_not", "Whether an element does not hold.", _invert, 1),
)

OPS: tuple[OpDef, ...] = on_uint8_too(
    _DEFINITIONS, "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"
)
