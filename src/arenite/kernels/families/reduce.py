"""C kernels of reductions."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_RUNS = (
    Field("kept", length=3),
    Field("kept_strides", length=3),
    Field("reduced", length=3),
    Field("reduced_strides", length=3),
)

MEAN_S8 = KernelInfo(
    "arenite_mean_s8",
    "Mean or sum over some dimensions, of up to three kept and three reduced runs of dimensions.",
    (
        *_RUNS,
        Field("offset"),
        Field("multiplier"),
        Field("shift"),
        Field("zero_point"),
    ),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)

MEAN_S16 = KernelInfo(
    "arenite_mean_s16",
    "The same of 16-bit elements with zero point 0.",
    (*_RUNS, Field("multiplier"), Field("shift")),
    (Argument("input", "int16_t", Role.INPUT), Argument("output", "int16_t", Role.OUTPUT)),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)
REDUCE_EXTREMUM_S8 = KernelInfo(
    "arenite_reduce_extremum_s8",
    "The largest or the smallest element over some dimensions.",
    (*_RUNS, Field("largest")),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
)

KERNELS: tuple[KernelInfo, ...] = (MEAN_S8, MEAN_S16, REDUCE_EXTREMUM_S8)
