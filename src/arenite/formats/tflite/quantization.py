"""Quantization parameters of a tensor: checked, and written back."""

import math

import numpy as np

from arenite._base.dtypes import DType
from arenite.formats.tflite.flat import Record, Schema
from arenite.ir.types import Quantization


def scales_and_zero_points(record: Record | None) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """As stored; empty when absent."""
    if record is None:
        return (), ()
    scales = record.array("scale")
    return () if scales is None else tuple(float(x) for x in scales.tolist()), record.integers("zero_point")


def range_of(record: Record | None, name: str) -> tuple[float, ...]:
    """The `min` or `max` that calibration found; empty when absent."""
    array = None if record is None else record.array(name)
    return () if array is None else tuple(float(x) for x in array.tolist())


def read_quantization(record: Record | None, dtype: DType, shape: tuple[int, ...]) -> Quantization | None:
    """The quantization of a tensor of integers; None for other types and without scales.

    Raises:
        ValueError: the parameters do not fit; the text says what was expected and what was found.
    """
    if record is None:
        return None
    details = record.record("details")
    if details is not None:
        raise ValueError(f"its quantization is a {details.table.name}, which Arenite does not have")
    scales, zero_points = scales_and_zero_points(record)
    if not scales or not dtype.is_integer:
        return None
    if len(zero_points) != len(scales):
        raise ValueError(f"expected as many zero points as scales ({len(scales)}), found {len(zero_points)}")
    axis = record.integer("quantized_dimension") if len(scales) > 1 else None
    if axis is not None and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
        raise ValueError(
            f"expected one scale or one for each slice along dimension {axis} of {list(shape)}, found {len(scales)}"
        )
    wrong = next((scale for scale in scales if not (math.isfinite(scale) and scale > 0)), None)
    if wrong is not None:
        raise ValueError(f"expected scales that are finite and > 0, found {wrong}: quantize the model again")
    low, high = dtype.limits
    outside = next((point for point in zero_points if not low <= point <= high), None)
    if outside is not None:
        raise ValueError(f"expected zero points of {dtype} in [{low}, {high}], found {outside}")
    return Quantization(scales, zero_points, axis)


def write_quantization(
    schema: Schema,
    quantization: Quantization | None,
    *,
    idle: tuple[tuple[float, ...], tuple[int, ...]] | None = None,
    minimum: tuple[float, ...] = (),
    maximum: tuple[float, ...] = (),
    axis: int = 0,
) -> Record | None:
    """The parameters for the file; None when there is nothing to say.

    Args:
        schema: TFLite's.
        quantization: of the value.
        idle: scales and zero points that a tensor of floats had.
        minimum: the least value that calibration found.
        maximum: the greatest.
        axis: for a single scale, where it says nothing.
    """
    if quantization is not None:
        scales, zero_points = quantization.scales, quantization.zero_points
        axis = axis if quantization.axis is None else quantization.axis
    else:
        scales, zero_points = idle or ((), ())
    if not (scales or zero_points or minimum or maximum):
        return None
    return schema.record(
        "QuantizationParameters",
        min=np.array(minimum, np.float32) if minimum else None,
        max=np.array(maximum, np.float32) if maximum else None,
        scale=np.array(scales, np.float32) if scales else None,
        zero_point=np.array(zero_points, np.int64) if zero_points else None,
        quantized_dimension=axis,
    )
