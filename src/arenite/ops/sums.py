"""Sums of many: add_n over tensors, cumsum along a dimension."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, clamp, quantize_multiplier, requantize, wrap_int32
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import axis_in, per_tensor
from arenite.ops.views import infer_of, results_of, static_operand, whole_number, with_values

HALF_BITS = 19
"""Stored numbers are summed as multiples of 2**-19 of twice their scale: TFLite shifts by 20, and multiplies by 1/2."""


@dataclass(frozen=True)
class CumsumAttrs(Attrs):
    """exclusive: an element is not part of its own sum. reverse: from the last element on."""

    exclusive: bool = False
    reverse: bool = False


@dataclass(frozen=True)
class SumScaling:
    """How sums of stored int8 numbers become results.

    `result = clamp(requantize(start + sum of (stored - source_zero_point) << HALF_BITS, multiplier, shift) +
    zero_point)`, the sum wrapping around at 32 bits. `start` is what TFLite-Micro takes for a sum of nothing: minus
    the zero point, which is 0 only for symmetric operands; that is its result, byte for byte.
    """

    source_zero_point: int
    start: int
    multiplier: int
    shift: int
    zero_point: int

    def stored(self, total: Int64Array) -> Array:
        """Results of totals that include `start`."""
        scaled = requantize(wrap_int32(total), self.multiplier, self.shift) + self.zero_point
        return clamp(scaled, -128, 127, np.int8)


def sum_scaling(call: OpCall) -> SumScaling:
    """The scaling of add_n and cumsum on int8 (TFLite-Micro's add_n.cc, cumsum.cc).

    Raises:
        OpError: a type is not quantized per tensor, or the scales are too far apart.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    real = 2 * source.scale / ((1 << 20) * result.scale)
    if real >= 1:
        raise OpError(f"the input's scale may be at most 2**19 of the result's, found {source.scale}, {result.scale}")
    multiplier, shift = quantize_multiplier(real)
    start = -source.zero_point << HALF_BITS
    return SumScaling(source.zero_point, start, multiplier, shift, result.zero_point)


def _infer_add_n(call: OpCall) -> tuple[TensorType, ...]:
    shapes = [static_operand(call, index).dims for index in range(len(call.operands))]
    if len(set(shapes)) > 1:
        raise OpError(f"all values must have the same shape, found {', '.join(str(list(s)) for s in shapes)}")
    return results_of(call, (shapes[0],))


def _add_n_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    arrays = [np.asarray(operand) for operand in operands]
    total = np.zeros(arrays[0].shape, arrays[0].dtype)
    for array in arrays:
        total = total + array
    return (total,)


def _add_n(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    scaling = sum_scaling(call)
    arrays = [np.asarray(operand).astype(np.int64) for operand in operands]
    total = sum((array - scaling.source_zero_point) << HALF_BITS for array in arrays)
    return (scaling.stored(scaling.start + np.asarray(total, np.int64)),)


def cumsum_axis(call: OpCall) -> int:
    """The dimension that is summed along, counted from the front.

    Raises:
        OpError: there is none such.
    """
    return axis_in(whole_number(call, 1, "axis", wide=False), static_operand(call, 0).rank)


def cumsum_runs(call: OpCall) -> tuple[int, int, int]:
    """Elements before, along and behind the dimension that is summed along."""
    axis, dims = cumsum_axis(call), call.operand(0).dims
    return math.prod(dims[:axis]), dims[axis], math.prod(dims[axis + 1 :])


def _cumsum_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    cumsum_axis(call)
    return (static_operand(call, 0).dims,)


def _running(call: OpCall, x: Array, start: int) -> Array:
    """The sums along the axis, one addition after the other, in the operand's own type."""
    attrs = call.attrs
    assert isinstance(attrs, CumsumAttrs)
    moved = np.moveaxis(x, cumsum_axis(call), 0)
    moved = moved[::-1] if attrs.reverse else moved
    sums, total = np.empty(moved.shape, moved.dtype), np.full(moved.shape[1:], start, moved.dtype)
    with np.errstate(over="ignore"):
        for i in range(len(moved)):
            before, total = total, total + moved[i]
            sums[i] = before if attrs.exclusive else total
    return np.moveaxis(sums[::-1] if attrs.reverse else sums, 0, cumsum_axis(call))


def _cumsum_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    call = with_values(call, operands)
    return (np.ascontiguousarray(_running(call, np.asarray(operands[0]), 0)).reshape(call.operand(0).dims),)


def _cumsum(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    call = with_values(call, operands)
    scaling, x = sum_scaling(call), np.asarray(operands[0]).astype(np.int64)
    sums = _running(call, (x - scaling.source_zero_point) << HALF_BITS, scaling.start)
    return (np.ascontiguousarray(scaling.stored(sums.astype(np.int64))).reshape(call.operand(0).dims),)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=sum(tensor.nelem for tensor in call.operands if tensor is not None))


def _addable(call: OpCall) -> bool | str:
    first = call.operand(0)
    if any(tensor is None or tensor.dtype is not first.dtype for tensor in (*call.operands[:1], *call.results)):
        return f"{first} and {call.results[0]}"
    fits = first.dtype in (DType.FLOAT32, DType.INT32, DType.INT64) and first.quantization is None
    return fits or first.dtype is DType.INT8 or f"{first}"


def _several(call: OpCall) -> bool | str:
    return len(call.operands) > 1 or "found one"


def _alike(call: OpCall) -> bool | str:
    first = call.operand(0)
    for tensor in call.operands[1:]:
        if tensor is None or (tensor.dtype, tensor.quantization) != (first.dtype, first.quantization):
            return f"{first} and {tensor}"
    return True


def _quantized(call: OpCall) -> bool | str:
    if call.operand(0).dtype is not DType.INT8:
        return True
    sum_scaling(call)
    return True


_ADDABLE = Constraint("input and result are both int8, float32, int32 or int64 (not quantized)", _addable)
_SCALED = Constraint("int8 has one scale and zero point", _quantized)

OPS: tuple[OpDef, ...] = (
    OpDef(
        name="add_n",
        summary="The sum of values of one shape.",
        attrs=Attrs,
        operands=(Operand("values", variadic=True),),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE}),
        infer=_infer_add_n,
        evaluate_float=_add_n_float,
        evaluate_quantized=_add_n,
        cost=_cost,
        quantization=QuantizationRule(),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=(
            Constraint("there are at least two values", _several),
            _ADDABLE,
            Constraint("all values have the same dtype, scale and zero point", _alike),
            _SCALED,
        ),
    ),
    OpDef(
        name="cumsum",
        summary="The sum of all elements up to each one, along one dimension.",
        attrs=CumsumAttrs,
        operands=(Operand("input"), Operand("axis")),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=infer_of(_cumsum_shapes, 1),
        evaluate_float=_cumsum_float,
        evaluate_quantized=_cumsum,
        cost=_cost,
        quantization=QuantizationRule(untouched=(1,)),
        canonicalize=NotApplicable("its attributes have no simpler form"),
        constraints=(_ADDABLE, _SCALED),
    ),
)
