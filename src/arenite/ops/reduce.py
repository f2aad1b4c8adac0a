"""Reductions over constant axes (operand 1, int32): mean, sum, reduce_max, reduce_min."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize
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
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    SAME_QUANTIZATION,
    axis_in,
    constant_ints,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.unsigned import on_uint8_too


@dataclass(frozen=True)
class ReduceAttrs(Attrs):
    """Attributes of reductions; the axes are operand 1."""

    keep_dims: bool = False


@dataclass(frozen=True)
class SumScaling:
    """How the sum of a quantized mean or sum becomes its result.

    The stored result is `clamp(requantize(sum - offset, multiplier, shift) + zero_point)`.

    Attributes:
        offset: elements in one sum times the input's zero point.
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
    axes = constant_ints(call, 1, "axes", wide=False)
    return tuple(sorted({axis_in(int(axis), rank) for axis in axes.ravel()}))


def reduced_nelem(call: OpCall) -> int:
    """How many elements go into each element of the result."""
    shape = call.operand(0).dims
    return math.prod(shape[axis] for axis in reduce_axes(call))


def mean_scaling(call: OpCall) -> SumScaling:
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
    return SumScaling(nelem * source.zero_point, (multiplier << extra) // nelem, shift - extra, result.zero_point)


def sum_scaling(call: OpCall) -> SumScaling:
    """Multiplier and offsets of a quantized sum.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    scaling = quantize_multiplier(source.scale / result.scale)
    return SumScaling(reduced_nelem(call) * source.zero_point, *scaling, result.zero_point)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    axes, attrs = reduce_axes(call), call.attrs
    assert isinstance(attrs, ReduceAttrs)
    shape = enumerate(call.operand(0).dims)
    if attrs.keep_dims:
        return (declared_result(call, tuple(1 if axis in axes else dim for axis, dim in shape)),)
    return (declared_result(call, tuple(dim for axis, dim in shape if axis not in axes)),)


def _float(reduce: Callable[..., npt.NDArray[np.float64]]) -> Evaluate:
    """The reduction in double, rounded once."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        x = np.asarray(operands[0], np.float64)
        (result,) = _infer(call)
        return (reduce(x, axis=reduce_axes(call)).astype(np.float32).reshape(result.dims),)

    return evaluate


def _summed(scaling_of: Callable[[OpCall], SumScaling]) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        total = np.asarray(operands[0], np.int64).sum(axis=reduce_axes(call))
        scaling = scaling_of(call)
        stored = requantize(total - scaling.offset, scaling.multiplier, scaling.shift) + scaling.zero_point
        (result,) = _infer(call)
        return (clamp(stored, *result.dtype.limits, result.dtype.numpy).reshape(result.dims),)

    return evaluate


def _extreme(reduce: Callable[..., npt.NDArray[np.generic]]) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        (result,) = _infer(call)
        return (np.asarray(reduce(np.asarray(operands[0]), axis=reduce_axes(call))).reshape(result.dims),)

    return evaluate


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _axes_are_constant(call: OpCall) -> bool | str:
    return call.constant(1) is not None or "axes that the network computes"


def _is_not_empty(call: OpCall) -> bool | str:
    operand = call.operand(0)
    return not operand.is_static or operand.nelem > 0 or f"{operand}"


_LONGEST_SUM = {DType.INT8: 2**23, DType.INT16: 2**15}


def _sum_fits(call: OpCall) -> bool | str:
    operand = call.operand(0)
    limit = _LONGEST_SUM.get(operand.dtype)
    if limit is None or not operand.is_static or call.constant(1) is None:
        return True
    return reduced_nelem(call) <= limit or f"{reduced_nelem(call)}"


_SHARED = (
    QUANTIZED_PER_TENSOR,
    INT16_SYMMETRIC,
    Constraint("the axes are constant", _axes_are_constant),
    Constraint("the input has elements", _is_not_empty),
)
_SUM_FITS = Constraint("one sum is over at most 2**23 int8 or 2**15 int16 elements, so that it fits 32 bits", _sum_fits)
_FLOAT = ((DType.FLOAT32,), DType.FLOAT32)
_INT8 = ((DType.INT8,), DType.INT8)
_INT16 = ((DType.INT16,), DType.INT16)


def _definition(
    name: str, summary: str, real: Evaluate, quantized: Evaluate, *constraints: Constraint, same_scale: bool = False
) -> OpDef:
    return OpDef(
        name=name,
        summary=f"{summary} over the dimensions that `axes` (constant, may be negative) names.",
        attrs=ReduceAttrs,
        operands=(Operand("input"), Operand("axes")),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer,
        evaluate_float=real,
        evaluate_quantized=quantized,
        cost=_cost,
        quantization=QuantizationRule(same_scale=same_scale, untouched=(1,)),
        canonicalize=NotApplicable("keep_dims decides the result's shape, and axes are an operand"),
        constraints=constraints,
    )


_SUMMABLE = signatures(_FLOAT, _INT8, _INT16)
_COMPARABLE = signatures(_FLOAT, _INT8)

_DEFINITIONS: tuple[OpDef, ...] = (
    _definition("mean", "Arithmetic mean", _float(np.mean), _summed(mean_scaling), _SUMMABLE, *_SHARED, _SUM_FITS),
    _definition("sum", "Sum", _float(np.sum), _summed(sum_scaling), _SUMMABLE, *_SHARED, _SUM_FITS),
    *(
        _definition(
            f"reduce_{name}",
            summary,
            _extreme(reduce),
            _extreme(reduce),
            _COMPARABLE,
            *_SHARED,
            SAME_QUANTIZATION,
            same_scale=True,
        )
        for name, summary, reduce in (("max", "The largest element", np.max), ("min", "The smallest element", np.min))
    ),
)

OPS: tuple[OpDef, ...] = on_uint8_too(_DEFINITIONS, "mean", "sum", "reduce_max", "reduce_min")
