"""Kernels of transpose_conv."""

from arenite.kernels.families.weighted import ARGUMENTS, HEADERS, OUTPUT_RANGE, fields
from arenite.kernels.families.weighted_wide import arguments_s16
from arenite.kernels.manifest import KernelInfo

TRANSPOSE_CONV_S8 = KernelInfo(
    symbol="arenite_transpose_conv_s8",
    summary="Transposed convolution, int8, without scratch: each result gathers the taps that reach it.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "output_channels"),
        *fields("filter_height", "filter_width", "stride_height", "stride_width", "pad_top", "pad_left"),
        *fields("input_zero_point"),
        *OUTPUT_RANGE,
        *fields("narrow"),
    ),
    arguments=ARGUMENTS,
    headers=(*HEADERS, "arenite_transposed.h"),
)

TRANSPOSE_CONV_S16 = KernelInfo(
    symbol="arenite_transpose_conv_s16",
    summary="Transposed convolution, int16 with int8 weights: each result gathers the taps that reach it.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "output_channels"),
        *fields("filter_height", "filter_width", "stride_height", "stride_width", "pad_top", "pad_left"),
        *fields("clamp_low", "clamp_high"),
    ),
    arguments=arguments_s16(),
    headers=("arenite_fixedpoint.h", "arenite_port.h", "arenite_rescale_s64.h", "arenite_transposed.h"),
)

KERNELS: tuple[KernelInfo, ...] = (TRANSPOSE_CONV_S8, TRANSPOSE_CONV_S16)
