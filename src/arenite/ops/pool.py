"""Pooling over NHWC: average_pool2d and max_pool2d."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp
from arenite.ir.attrs import Activation, Attrs, Margins, Padding
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
from arenite.ir.types import TensorType
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range, activation_range_float
from arenite.ops.constraints import (
    NEAR_QUANTIZATION,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)
from arenite.ops.windows import Window, along, window


@dataclass(frozen=True)
class Pool2dAttrs(Attrs):
    """Attributes of both pools. Pairs are (height, width)."""

    filter: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: Padding | Margins = Padding.VALID
    activation: Activation = Activation.NONE


def pool_attrs(call: OpCall) -> Pool2dAttrs:
    assert isinstance(call.attrs, Pool2dAttrs)
    return call.attrs


def pool_windows(call: OpCall) -> tuple[Window, Window]:
    """The windows over height and over width.

    Raises:
        OpError: the operand is not NHWC, or no window fits.
    """
    attrs, shape = pool_attrs(call), static_dims(call, 0, "the input")
    if len(shape) != 4:
        raise OpError(f"the input must be [batch, height, width, channels], found {list(shape)}")
    return (
        window(shape[1], attrs.filter[0], attrs.stride[0], 1, along(attrs.padding, 0)),
        window(shape[2], attrs.filter[1], attrs.stride[1], 1, along(attrs.padding, 1)),
    )


def pool_clamp(call: OpCall) -> tuple[int, int]:
    """Smallest and largest stored result of a quantized pool."""
    result = call.results[0]
    return activation_range(pool_attrs(call).activation, per_tensor(result, "the result"), result.dtype)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    rows, columns = pool_windows(call)
    batch, _, _, channels = call.operand(0).dims
    return (declared_result(call, (batch, rows.output, columns.output, channels)),)


def _taps(along: Window, tap: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where tap number `tap` of every window falls (limited to the input), and whether it is inside."""
    at = np.arange(along.output) * along.stride - along.pad_before + tap
    return np.clip(at, 0, along.size - 1), (at >= 0) & (at < along.size)


def _present_taps(along: Window) -> range:
    """The taps that are inside the input in some window: a filter may be far larger than the input."""
    first = max(0, along.pad_before - (along.output - 1) * along.stride)
    return range(first, min(along.filter, along.size + along.pad_before))


def _cells(along: Window) -> npt.NDArray[np.int64]:
    starts = np.arange(along.output) * along.stride - along.pad_before
    covered: npt.NDArray[np.int64] = np.minimum(starts + along.filter, along.size) - np.maximum(starts, 0)
    return covered


def _window_cells(rows: Window, columns: Window) -> npt.NDArray[np.int64]:
    """How many cells of the input each window covers: [output rows, output columns]."""
    cells: npt.NDArray[np.int64] = np.multiply.outer(_cells(rows), _cells(columns))
    return cells


def _reduce(x: npt.NDArray[Any], rows: Window, columns: Window, start: Any, combine: Any) -> npt.NDArray[Any]:
    """Combine the cells of every window, beginning with `start`: down the columns, then across."""
    return _reduce_along(_reduce_along(x, rows, 1, start, combine), columns, 2, start, combine)


def _reduce_along(x: npt.NDArray[Any], along: Window, axis: int, start: Any, combine: Any) -> npt.NDArray[Any]:
    shape = list(x.shape)
    shape[axis] = along.output
    total = np.full(shape, start, x.dtype)
    shown = tuple(slice(None) if dimension == axis else None for dimension in range(x.ndim))
    for tap in _present_taps(along):
        at, inside = _taps(along, tap)
        total = combine(total, np.where(inside[shown], x.take(at, axis=axis), np.asarray(start, x.dtype)))
    return total


def _average_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float64)
    rows, columns = pool_windows(call)
    mean = _reduce(x, rows, columns, 0, np.add) / _window_cells(rows, columns)[None, :, :, None]
    return (np.clip(mean, *activation_range_float(pool_attrs(call).activation)).astype(np.float32),)


def _average_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """TFLM's AveragePool: the sum over the cells that exist, divided with halves away from zero."""
    x = np.asarray(operands[0], np.int64)
    rows, columns = pool_windows(call)
    total = _reduce(x, rows, columns, 0, np.add)
    cells = _window_cells(rows, columns)[None, :, :, None]
    mean = np.sign(total) * ((np.abs(total) + cells // 2) // cells)
    return (clamp(mean, *pool_clamp(call), call.results[0].dtype.numpy),)


def _max_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0], np.float32)
    largest = _reduce(x, *pool_windows(call), -np.inf, np.maximum)
    return (np.clip(largest, *activation_range_float(pool_attrs(call).activation)).astype(np.float32),)


def _max_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x = np.asarray(operands[0])
    largest = _reduce(x, *pool_windows(call), call.operand(0).dtype.limits[0], np.maximum)
    return (clamp(largest, *pool_clamp(call), call.results[0].dtype.numpy),)


def _cost(call: OpCall) -> Cost:
    rows, columns = pool_windows(call)
    batch, _, _, channels = call.operand(0).dims
    return Cost(ops=batch * channels * rows.output * columns.output * rows.filter * columns.filter)


def _activation_clamps(call: OpCall) -> bool | str:
    found = pool_attrs(call).activation
    return found in CLAMPING_ACTIVATIONS or found.value


def _covers_a_cell(call: OpCall) -> bool | str:
    attrs = pool_attrs(call)
    return min(*attrs.filter, *attrs.stride) >= 1 or f"filter {attrs.filter}, stride {attrs.stride}"


_CONSTRAINTS = (
    signatures(*(((dtype,), dtype) for dtype in (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16))),
    QUANTIZED_PER_TENSOR,
    NEAR_QUANTIZATION,
    Constraint("filter and stride are at least 1", _covers_a_cell),
    Constraint("the fused activation is a clamp", _activation_clamps),
)
_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC})
_NO_SIMPLER = NotApplicable("stride, filter and padding have one spelling each")

OPS: tuple[OpDef, ...] = (
    OpDef(
        name="average_pool2d",
        summary="Mean over each window of an NHWC input; cells outside the input do not count.",
        attrs=Pool2dAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_average_float,
        evaluate_quantized=_average_quantized,
        cost=_cost,
        quantization=QuantizationRule(same_scale=True),
        canonicalize=_NO_SIMPLER,
        constraints=_CONSTRAINTS,
    ),
    OpDef(
        name="max_pool2d",
        summary="Largest element of each window of an NHWC input; cells outside the input do not count.",
        attrs=Pool2dAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_max_float,
        evaluate_quantized=_max_quantized,
        cost=_cost,
        quantization=QuantizationRule(same_scale=True),
        canonicalize=_NO_SIMPLER,
        constraints=_CONSTRAINTS,
    ),
)
