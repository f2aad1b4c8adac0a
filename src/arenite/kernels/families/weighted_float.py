"""Kernels of float conv2d, depthwise_conv2d and fully_connected."""

from arenite.kernels.families.weighted import WINDOW, fields
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

CONV2D_F32 = KernelInfo(
    symbol="arenite_conv2d_f32",
    summary="Convolution, float, any filter, in groups; one result at a time.",
    fields=(
        *fields("batches", "input_height", "input_width", "input_channels"),
        *fields("output_height", "output_width", "output_channels", "groups"),
        *WINDOW,
        Field("clamp_low", "float"),
        Field("clamp_high", "float"),
    ),
    arguments=(
        Argument("input", "float", Role.INPUT),
        Argument("weights", "float", Role.CONSTANT),
        Argument("biases", "float", Role.CONSTANT),
        Argument("output", "float", Role.OUTPUT),
    ),
    headers=("arenite_grouped.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (CONV2D_F32,)
