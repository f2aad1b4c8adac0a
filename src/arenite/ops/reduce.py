"""Reductions: mean over constant axes (operand 1, int32)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import (
    QUANTIZED_PER_TENSOR,
    axis_in,
    constant_ints,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)


@dataclass(frozen=True)
class ReduceAttrs(Attrs):
    """Attributes of reductions; the axes are operand 1."""

    keep_dims: bool = False


@dataclass(frozen=True)
class MeanScaling:
    """How the sum of a quantized mean becomes its result.

    The stored result is `clamp(requantize(sum - offset, multiplier, shift) + zero_point)`.

    Attributes:
        offset: elements in one mean times the input's zero point.
        zero_point: of the result.
    """

    offset: int
    multiplier: int
    shift: int
    zero_point: int


def reduce_axes(call: OpCall) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front, ascending, each once.

    Raises:
        OpError: the axes are not constant, or there is no such dimension.
    """
    rank = len(static_dims(call, 0, "the input"))
    axes = constant_ints(call, 1, "axes")
    return tuple(sorted({axis_in(int(axis), rank) for axis in axes.ravel()}))


def reduced_nelem(call: OpCall) -> int:
    """How many elements go into each element of the result."""
    shape = call.operand(0).dims
    return math.prod(shape[axis] for axis in reduce_axes(call))


def mean_scaling(call: OpCall) -> MeanScaling:
    """Multiplier and offsets of a quantized mean.

    TFLite's QuantizedMeanOrSum (reduce.h): 1 / n goes into the multiplier, which is first shifted left by
    floor(log2(n)) to keep its precision, and then divided, rounding down.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    nelem = reduced_nelem(call)
    multiplier, shift = quantize_multiplier(source.scale / result.scale)
    extra = min(nelem.bit_length() - 1, 32, 31 + shift)
    return MeanScaling(nelem * source.zero_point, (multiplier << extra) // nelem, shift - extra, result.zero_point)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    axes, attrs = reduce_axes(call), call.attrs
    assert isinstance(attrs, ReduceAttrs)
    shape = enumerate(call.operand(0).dims)
    if attrs.keep_dims:
        return (declared_result(call, tuple(1 if axis in axes else dim for axis, dim in shape)),)
    return (declared_result(call, tuple(dim for axis, dim in shape if axis not in axes)),)


def _mean_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float64)
    (result,) = _infer(call)
    return (x.mean(axis=reduce_axes(call)).astype(np.float32).reshape(result.dims),)


def _mean_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    total = np.asarray(operands[0], np.int64).sum(axis=reduce_axes(call))
    scaling = mean_scaling(call)
    mean = requantize(total - scaling.offset, scaling.multiplier, scaling.shift) + scaling.zero_point
    (result,) = _infer(call)
    return (clamp(mean, *result.dtype.limits, result.dtype.numpy).reshape(result.dims),)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _axes_are_constant(call: OpCall) -> bool | str:
    return call.constant(1) is not None or "axes that the network computes"


def _is_not_empty(call: OpCall) -> bool | str:
    operand = call.operand(0)
    return not operand.is_static or operand.nelem > 0 or f"{operand}"


def _sum_fits(call: OpCall) -> bool | str:
    operand = call.operand(0)
    if operand.dtype != DType.INT8 or not operand.is_static or call.constant(1) is None:
        return True
    return reduced_nelem(call) <= 2**23 or f"{reduced_nelem(call)}"


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="mean",
        summary="Arithmetic mean over the dimensions that `axes` (constant, may be negative) names.",
        attrs=ReduceAttrs,
        operands=(Operand("input"), Operand("axes")),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer,
        evaluate_float=_mean_float,
        evaluate_quantized=_mean_quantized,
        cost=_cost,
        quantization=QuantizationRule(untouched=(1,)),
        canonicalize=NotApplicable("keep_dims decides the result's shape, and axes are an operand"),
        constraints=(
            signatures(((DType.FLOAT32,), DType.FLOAT32), ((DType.INT8,), DType.INT8)),
            QUANTIZED_PER_TENSOR,
            Constraint("the axes are constant", _axes_are_constant),
            Constraint("the input has elements", _is_not_empty),
            Constraint("one int8 mean is over at most 2**23 elements, so that their sum fits 32 bits", _sum_fits),
        ),
    ),
)
