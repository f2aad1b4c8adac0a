"""Kernels of transpose_conv."""

from arenite.kernels.families.weighted import ARGUMENTS, HEADERS, OUTPUT_RANGE, fields
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
    headers=HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (TRANSPOSE_CONV_S8,)
