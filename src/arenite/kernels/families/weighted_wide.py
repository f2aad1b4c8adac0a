"""Kernels of conv2d, depthwise_conv2d and fully_connected with 16-bit activations, or on uint8."""

from arenite.kernels.families.weighted import OUTPUT_RANGE, WINDOW, fields
from arenite.kernels.manifest import Argument, KernelInfo, Role

_SHAPE = (
    *fields("batches", "input_height", "input_width", "input_channels"),
    *fields("output_height", "output_width", "output_channels", "groups"),
    *WINDOW,
)

CONV2D_S16 = KernelInfo(
    symbol="arenite_conv2d_s16",
    summary="Convolution of int16 with int8 weights, any filter, in groups; one result at a time.",
    fields=(*_SHAPE, *fields("clamp_low", "clamp_high", "once", "wide")),
    arguments=(
        Argument("input", "int16_t", Role.INPUT),
        Argument("weights", "int8_t", Role.CONSTANT),
        Argument("biases", "int64_t", Role.CONSTANT),
        Argument("multipliers", "int32_t", Role.CONSTANT),
        Argument("shifts", "int8_t", Role.CONSTANT),
        Argument("output", "int16_t", Role.OUTPUT),
    ),
    headers=("arenite_fixedpoint.h", "arenite_port.h"),
)

CONV2D_U8 = KernelInfo(
    symbol="arenite_conv2d_u8",
    summary="Convolution of uint8 with uint8 weights, each with its zero point, in groups; one result at a time.",
    fields=(*_SHAPE, *fields("input_zero_point", "weight_zero_point", "multiplier", "shift"), *OUTPUT_RANGE),
    arguments=(
        Argument("input", "uint8_t", Role.INPUT),
        Argument("weights", "uint8_t", Role.CONSTANT),
        Argument("biases", "int32_t", Role.CONSTANT),
        Argument("output", "uint8_t", Role.OUTPUT),
    ),
    headers=("arenite_fixedpoint.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (CONV2D_S16, CONV2D_U8)
