"""C kernels of reductions."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

MEAN_S8 = KernelInfo(
    "arenite_mean_s8",
    "Mean over some dimensions, of up to three kept and three reduced runs of dimensions.",
    (
        Field("kept", length=3),
        Field("kept_strides", length=3),
        Field("reduced", length=3),
        Field("reduced_strides", length=3),
        Field("offset"),
        Field("multiplier"),
        Field("shift"),
        Field("zero_point"),
    ),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (MEAN_S8,)
