"""Kernels of conv2d, depthwise_conv2d and fully_connected with 16-bit activations, or on uint8."""

from arenite.kernels.families.weighted import OUTPUT_RANGE, WINDOW, fields
from arenite.kernels.manifest import Argument, KernelInfo, Role

_SHAPE = (
    *fields("batches", "input_height", "input_width", "input_channels"),
    *fields("output_height", "output_width", "output_channels", "groups"),
    *WINDOW,
)

_TABLES = (Argument("multipliers", "int32_t", Role.CONSTANT), Argument("shifts", "int8_t", Role.CONSTANT))
_GROUPED = ("arenite_fixedpoint.h", "arenite_grouped.h", "arenite_port.h")
_WIDE = "arenite_rescale_s64.h"


def arguments_s16(*scratch: Argument, weights: str = "int8_t") -> tuple[Argument, ...]:
    """Of a kernel on int16."""
    return (
        Argument("input", "int16_t", Role.INPUT),
        Argument("weights", weights, Role.CONSTANT),
        Argument("biases", "int64_t", Role.CONSTANT),
        *_TABLES,
        Argument("output", "int16_t", Role.OUTPUT),
        *scratch,
    )


def _of_u8(weights: str, *more: Argument) -> tuple[Argument, ...]:
    return (
        Argument("input", "uint8_t", Role.INPUT),
        Argument("weights", weights, Role.CONSTANT),
        Argument("biases", "int32_t", Role.CONSTANT),
        *more,
    )


_OUTPUT_U8 = Argument("output", "uint8_t", Role.OUTPUT)

CONV2D_S16 = KernelInfo(
    symbol="arenite_conv2d_s16",
    summary="Convolution of int16 with int8 weights, any filter, in groups; one result at a time.",
    fields=(*_SHAPE, *fields("clamp_low", "clamp_high", "once", "wide")),
    arguments=arguments_s16(),
    headers=(*_GROUPED, _WIDE),
)

CONV2D_U8 = KernelInfo(
    symbol="arenite_conv2d_u8",
    summary="Convolution of uint8, any filter, in groups; one result at a time.",
    fields=(*_SHAPE, *fields("input_zero_point", "multiplier", "shift"), *OUTPUT_RANGE, *fields("once")),
    arguments=_of_u8("int16_t", _OUTPUT_U8),
    headers=_GROUPED,
)

_QUADS = (
    *fields("batches", "input_height", "input_width", "input_channels"),
    *fields("output_height", "output_width", "output_channels"),
    *WINDOW,
    *fields("in_place", "patch_nelem", "input_zero_point", "weight_zero_point"),
    *OUTPUT_RANGE,
    *fields("narrow", "once", "wide"),
)
_QUAD_HEADERS = ("arenite_bytes.h", "arenite_fixedpoint.h", "arenite_port.h", "arenite_quads.h")

QUADS_S16 = KernelInfo(
    symbol="arenite_quads_s16",
    summary="Convolution of int16 with int8 weights, any filter; four channels at a time.",
    fields=_QUADS,
    arguments=arguments_s16(Argument("patch", "int16_t", Role.SCRATCH, optional=True)),
    headers=(*_QUAD_HEADERS, _WIDE),
)

QUADS_U8 = KernelInfo(
    symbol="arenite_quads_u8",
    summary="Convolution of uint8 with uint8 weights, each with its zero point, any filter; four channels at a time.",
    fields=_QUADS,
    arguments=_of_u8("int8_t", *_TABLES, _OUTPUT_U8, Argument("patch", "uint8_t", Role.SCRATCH, optional=True)),
    headers=_QUAD_HEADERS,
)

_PLANES = (
    *fields("batches", "input_height", "input_width", "input_channels"),
    *fields("output_height", "output_width", "multiplier"),
    *WINDOW,
    *fields("band_height", "plane_width", "input_zero_point"),
    *OUTPUT_RANGE,
    *fields("narrow", "once"),
)
_PLANE_HEADERS = ("arenite_fixedpoint.h", "arenite_planes.h", "arenite_port.h", "arenite_three.h", _WIDE)
_PLANE = Argument("plane", "int16_t", Role.SCRATCH)

DEPTHWISE_PLANES_S16 = KernelInfo(
    symbol="arenite_depthwise_planes_s16",
    summary="Depthwise convolution, int16: three results at a time from a padded copy of one channel.",
    fields=_PLANES,
    arguments=arguments_s16(_PLANE, weights="int16_t"),
    headers=_PLANE_HEADERS,
)

DEPTHWISE_PLANES_U8 = KernelInfo(
    symbol="arenite_depthwise_planes_u8",
    summary="Depthwise convolution, uint8: three results at a time from a padded copy of one channel.",
    fields=_PLANES,
    arguments=_of_u8("int16_t", *_TABLES, _OUTPUT_U8, _PLANE),
    headers=_PLANE_HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (
    CONV2D_S16,
    CONV2D_U8,
    QUADS_S16,
    QUADS_U8,
    DEPTHWISE_PLANES_S16,
    DEPTHWISE_PLANES_U8,
)
