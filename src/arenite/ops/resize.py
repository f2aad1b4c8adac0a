"""Ops that change height and width of [batch, height, width, channels]: resize_nearest_neighbor, resize_bilinear."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import round_half_away
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule
from arenite.ops.spatial import Table, steps_of, taking
from arenite.ops.views import MOVER_TRAITS, as_declared, infer_of, static_operand, unchanged, whole_numbers, with_values

FRACTION_BITS = 10
"""Of positions between elements, in resize_bilinear on integers."""

_ONE = 1 << FRACTION_BITS


@dataclass(frozen=True)
class ResizeAttrs(Attrs):
    """Where the elements of the result lie among those of the input.

    Attributes:
        align_corners: the first and last elements coincide.
        half_pixel_centers: elements are the centers of areas that fill the same square.
    """

    align_corners: bool = False
    half_pixel_centers: bool = False


@dataclass(frozen=True)
class Between:
    """Along one dimension, the two neighbours of each element of the result and how far it is from the lower one.

    `fraction` is in 1/1024 for integers, real for float32.
    """

    lower: Table
    upper: Table
    fraction: npt.NDArray[Any]


def resized_shape(call: OpCall) -> tuple[int, ...]:
    """The shape of the result.

    Raises:
        OpError: the input is not four-dimensional, or a size is not positive.
    """
    dims, size = static_operand(call, 0).dims, whole_numbers(call, 1, "size", 2, wide=False)
    if len(dims) != 4 or 0 in dims[1:3]:
        raise OpError(f"the input must be [batch, height, width, channels] with pixels, found {list(dims)}")
    if min(size) < 1:
        raise OpError(f"size (operand 1) must be at least 1, found {list(size)}")
    return (dims[0], *size, dims[3])


def nearest_along(source: int, wanted: int, attrs: ResizeAttrs) -> Table:
    """The nearest element, in float32 as TFLite computes it (resize_nearest_neighbor.h)."""
    apart = attrs.align_corners and wanted > 1
    scale = np.float32(source - 1) / np.float32(wanted - 1) if apart else np.float32(source) / np.float32(wanted)
    place = (np.arange(wanted).astype(np.float32) + np.float32(0.5 if attrs.half_pixel_centers else 0)) * scale
    index = round_half_away(place) if attrs.align_corners else np.floor(place)
    return np.clip(index, 0, source - 1).astype(np.int64)


def nearest_positions(call: OpCall) -> tuple[Table, ...]:
    assert isinstance(call.attrs, ResizeAttrs)
    dims, shape = call.operand(0).dims, resized_shape(call)
    steps = steps_of(dims)
    return (
        np.arange(dims[0], dtype=np.int64) * steps[0],
        nearest_along(dims[1], shape[1], call.attrs) * steps[1],
        nearest_along(dims[2], shape[2], call.attrs) * steps[2],
        np.arange(dims[3], dtype=np.int64),
    )


def between_integer(source: int, wanted: int, attrs: ResizeAttrs) -> Between:
    """Neighbours in fixed point of 10 fraction bits (TFLite's resize_bilinear.h).

    Rounding of the scale can lead behind the last element, where the last one stands for both neighbours.
    """
    spans = (source - 1, wanted - 1) if attrs.align_corners and wanted > 1 else (source, wanted)
    scale = (_ONE * spans[0] + spans[1] // 2) // spans[1]
    place = np.arange(wanted, dtype=np.int64) * scale
    if attrs.half_pixel_centers:
        place += scale // 2 - _ONE // 2
    lower = np.clip(place >> FRACTION_BITS, 0, source - 1)
    # C's division, which truncates, and what lies before the first element is below it by less than one.
    upper = np.clip((place + _ONE - 1) >> FRACTION_BITS, 0, source - 1)
    return Between(lower, upper, np.where(lower == upper, 0, place - (lower << FRACTION_BITS)))


def between_float(source: int, wanted: int, attrs: ResizeAttrs) -> Between:
    """Neighbours in float32 (TFLite's resize_bilinear.h)."""
    spans = (source - 1, wanted - 1) if attrs.align_corners and wanted > 1 else (source, wanted)
    scale = np.float32(spans[0]) / np.float32(spans[1])
    place = np.arange(wanted).astype(np.float32)
    place = (place + np.float32(0.5)) * scale - np.float32(0.5) if attrs.half_pixel_centers else place * scale
    lower = np.clip(np.floor(place).astype(np.int64), 0, source - 1)
    upper = np.clip(np.ceil(place).astype(np.int64), 0, source - 1)
    return Between(lower, upper, (place - lower.astype(np.float32)).astype(np.float32))


def _interpolated(x: npt.NDArray[Any], rows: Between, columns: Between, one: Any) -> npt.NDArray[Any]:
    """The weighted sum of four pixels, in TFLite's order of multiplying and adding."""
    down, right = rows.fraction[:, None, None], columns.fraction[None, :, None]
    total: npt.NDArray[Any] | None = None
    for column, across in ((columns.lower, one - right), (columns.upper, right)):
        for row, along in ((rows.lower, one - down), (rows.upper, down)):
            term = x[:, row][:, :, column] * along * across
            total = term if total is None else total + term
    assert total is not None
    return total


def round_interpolated(total: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A sum of products of two weights each as whole numbers, halves away from zero."""
    bits = 2 * FRACTION_BITS
    rounded: npt.NDArray[np.int64] = np.sign(total) * ((np.abs(total) + (1 << (bits - 1))) >> bits)
    return rounded


def in_float(dtype: DType) -> bool:
    """Whether resize_bilinear works in float32: on uint8, too, where LiteRT's reference kernel does."""
    return dtype in (DType.FLOAT32, DType.UINT8)


def rounded_up(real: npt.NDArray[np.float32], dtype: DType) -> Array:
    """What resize_bilinear stores of floats: on uint8 they are rounded, halves upwards."""
    return real if dtype.is_float else (real + np.float32(0.5)).astype(dtype.numpy)


def _bilinear_integer(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    assert isinstance(call.attrs, ResizeAttrs)
    x = np.asarray(operands[0])
    if in_float(call.operand(0).dtype):
        return _bilinear_float(call, operands)
    (type_,) = _infer(with_values(call, operands))
    rows = between_integer(x.shape[1], type_.dims[1], call.attrs)
    columns = between_integer(x.shape[2], type_.dims[2], call.attrs)
    total = _interpolated(x.astype(np.int64), rows, columns, _ONE)
    return as_declared(call, (round_interpolated(total).astype(x.dtype),))


def _bilinear_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    assert isinstance(call.attrs, ResizeAttrs)
    (type_,) = _infer(with_values(call, operands))
    x = np.asarray(operands[0], np.float32)
    rows = between_float(x.shape[1], type_.dims[1], call.attrs)
    columns = between_float(x.shape[2], type_.dims[2], call.attrs)
    found = rounded_up(_interpolated(x, rows, columns, np.float32(1)), call.operand(0).dtype)
    return as_declared(call, (found,))


_infer = infer_of(lambda call: (resized_shape(call),), 1)


def _bilinear_cost(call: OpCall) -> Cost:
    return Cost(macs=4 * call.results[0].nelem)


def _one_alignment(call: OpCall) -> bool | str:
    assert isinstance(call.attrs, ResizeAttrs)
    return not (call.attrs.align_corners and call.attrs.half_pixel_centers) or "both"


def _interpolates(call: OpCall) -> bool | str:
    return call.operand(0).dtype in (DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT32) or f"{call.operand(0)}"


OPS: tuple[OpDef, ...] = (
    taking(
        "resize_nearest_neighbor",
        "Each pixel of the result is the nearest one of the input.",
        (Operand("input"), Operand("size")),
        resized_shape,
        nearest_positions,
        ResizeAttrs,
    ),
    OpDef(
        name="resize_bilinear",
        summary="Each pixel of the result is interpolated between four of the input.",
        attrs=ResizeAttrs,
        operands=(Operand("input"), Operand("size")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer,
        evaluate_float=_bilinear_float,
        evaluate_quantized=_bilinear_integer,
        cost=_bilinear_cost,
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=NotApplicable("its attributes have no simpler form"),
        constraints=(
            unchanged(0),
            Constraint("the input is int8, uint8, int16 or float32", _interpolates),
            Constraint("at most one of align_corners and half_pixel_centers is set", _one_alignment),
        ),
    ),
)
