"""Kernels of conv2d and depthwise_conv2d."""

from arenite.kernels.families.weighted import ARGUMENTS, HEADERS, OUTPUT_RANGE, TILE_HEADERS, WINDOW, fields
from arenite.kernels.manifest import Argument, KernelInfo, Role

CONV2D_S8 = KernelInfo(
    symbol="arenite_conv2d_s8",
    summary="Convolution, int8, any filter; windows that cross the border are gathered into scratch.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "output_channels"),
        *WINDOW,
        *fields("in_place", "patch_nelem", "input_zero_point"),
        *OUTPUT_RANGE,
        *fields("narrow"),
    ),
    arguments=(*ARGUMENTS, Argument("patches", "int8_t", Role.SCRATCH, optional=True)),
    headers=TILE_HEADERS,
)

CONV2D_LEAN_S8 = KernelInfo(
    symbol="arenite_conv2d_lean_s8",
    summary="Convolution, int8, any filter, without scratch; windows that cross the border are taken tap by tap.",
    fields=CONV2D_S8.fields,
    arguments=ARGUMENTS,
    headers=(*TILE_HEADERS, CONV2D_S8.header),
)

CONV2D_GROUPED_S8 = KernelInfo(
    symbol="arenite_conv2d_grouped_s8",
    summary="Convolution, int8, any filter, in groups, without scratch: one result at a time.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "output_channels", "groups"),
        *WINDOW,
        *fields("input_zero_point"),
        *OUTPUT_RANGE,
        *fields("narrow"),
    ),
    arguments=ARGUMENTS,
    headers=("arenite_grouped.h", *HEADERS),
)

POINTWISE_S8 = KernelInfo(
    symbol="arenite_pointwise_s8",
    summary="Convolution with a filter of one tap and stride 1, int8: a matrix product.",
    fields=(*fields("pixels", "input_channels", "output_channels"), *OUTPUT_RANGE, *fields("narrow")),
    arguments=ARGUMENTS,
    headers=TILE_HEADERS,
)

DEPTHWISE_CONV2D_S8 = KernelInfo(
    symbol="arenite_depthwise_conv2d_s8",
    summary="Depthwise convolution, int8, without scratch: one result at a time.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "multiplier"),
        *WINDOW,
        *fields("input_zero_point"),
        *OUTPUT_RANGE,
        *fields("narrow"),
    ),
    arguments=ARGUMENTS,
    headers=HEADERS,
)

DEPTHWISE_PLANES_S8 = KernelInfo(
    symbol="arenite_depthwise_planes_s8",
    summary="Depthwise convolution, int8: three results at a time from a padded copy of one channel.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "multiplier"),
        *WINDOW,
        *fields("band_height", "plane_width", "input_zero_point"),
        *OUTPUT_RANGE,
        *fields("narrow"),
    ),
    arguments=(*ARGUMENTS, Argument("plane", "int8_t", Role.SCRATCH)),
    headers=(*HEADERS, "arenite_three.h"),
)

KERNELS: tuple[KernelInfo, ...] = (
    CONV2D_S8,
    CONV2D_LEAN_S8,
    CONV2D_GROUPED_S8,
    POINTWISE_S8,
    DEPTHWISE_CONV2D_S8,
    DEPTHWISE_PLANES_S8,
)
