"""C kernels of 16-bit elementwise functions."""

from arenite.kernels.families.pairs import BROADCAST
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_INPUT, _OUTPUT = Argument("input", "int16_t", Role.INPUT), Argument("output", "int16_t", Role.OUTPUT)
_PAIR = (Argument("a", "int16_t", Role.INPUT), Argument("b", "int16_t", Role.INPUT), _OUTPUT)
_FIXED = ("arenite_fixedpoint.h", "arenite_port.h")
_BOUNDS = (Field("low"), Field("high"))

PIECEWISE_S16 = KernelInfo(
    "arenite_piecewise_s16",
    "Each element by one factor where it is below 0, by another elsewhere, limited.",
    (
        Field("nelem"),
        Field("zero_point_input"),
        Field("mirror"),
        Field("multiplier_below"),
        Field("shift_below"),
        Field("multiplier_above"),
        Field("shift_above"),
        Field("zero_point"),
        *_BOUNDS,
    ),
    (_INPUT, _OUTPUT),
    _FIXED,
)
RSQRT_S16 = KernelInfo(
    "arenite_rsqrt_s16",
    "1 / sqrt of each element.",
    (Field("nelem"), Field("multiplier"), Field("shift")),
    (_INPUT, _OUTPUT),
    ("arenite_fixedpoint.h", "arenite_inverse_sqrt.h", "arenite_saturate.h", "arenite_port.h"),
)
SIGMOID_S16 = KernelInfo(
    "arenite_sigmoid_s16",
    "Logistic function or hyperbolic tangent, interpolated between 256 points.",
    (Field("nelem"), Field("multiplier"), Field("right"), Field("tangent")),
    (_INPUT, Argument("table", "uint16_t", Role.CONSTANT), _OUTPUT),
)
ADD_S16 = KernelInfo(
    "arenite_add_s16",
    "Sum or difference of two tensors, each rescaled on the way.",
    (
        *BROADCAST,
        Field("subtract"),
        Field("multiplier_a"),
        Field("shift_a"),
        Field("multiplier_b"),
        Field("shift_b"),
        Field("multiplier"),
        Field("shift"),
        *_BOUNDS,
    ),
    _PAIR,
    ("arenite_broadcast.h", *_FIXED),
)
MUL_S16 = KernelInfo(
    "arenite_mul_s16",
    "Product of two tensors.",
    (*BROADCAST, Field("multiplier"), Field("shift"), *_BOUNDS),
    _PAIR,
    ("arenite_broadcast.h", *_FIXED),
)

KERNELS: tuple[KernelInfo, ...] = (PIECEWISE_S16, RSQRT_S16, SIGMOID_S16, ADD_S16, MUL_S16)
