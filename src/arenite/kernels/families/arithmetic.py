"""C kernels of arithmetic with broadcasting in up to four dimensions."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_BROADCAST = (Field("sizes", length=4), Field("strides_a", length=4), Field("strides_b", length=4))
_RESULT = (Field("zero_point"), Field("low"), Field("high"))
_OUTPUT = Argument("output", "int8_t", Role.OUTPUT)
_PAIR = (Argument("a", "int8_t", Role.INPUT), Argument("b", "int8_t", Role.INPUT), _OUTPUT)
_HEADERS = ("arenite_fixedpoint.h", "arenite_port.h")

ADD_S8 = KernelInfo(
    "arenite_add_s8",
    "Sum of two tensors, each rescaled on the way.",
    (
        *_BROADCAST,
        Field("zero_point_a"),
        Field("zero_point_b"),
        Field("multiplier_a"),
        Field("shift_a"),
        Field("multiplier_b"),
        Field("shift_b"),
        Field("multiplier"),
        Field("shift"),
        *_RESULT,
    ),
    _PAIR,
    _HEADERS,
)
ADD_TABLE_S8 = KernelInfo(
    "arenite_add_table_s8",
    "Sum of two tensors, the rescaled operands looked up in two tables of 256 int32.",
    (*_BROADCAST, Field("multiplier"), Field("shift"), *_RESULT),
    (
        Argument("a", "uint8_t", Role.INPUT),
        Argument("b", "uint8_t", Role.INPUT),
        Argument("table_a", "int32_t", Role.CONSTANT),
        Argument("table_b", "int32_t", Role.CONSTANT),
        _OUTPUT,
    ),
    _HEADERS,
)
MUL_S8 = KernelInfo(
    "arenite_mul_s8",
    "Product of two tensors.",
    (
        *_BROADCAST,
        Field("zero_point_a"),
        Field("zero_point_b"),
        Field("multiplier"),
        Field("shift"),
        *_RESULT,
    ),
    _PAIR,
    _HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (ADD_S8, ADD_TABLE_S8, MUL_S8)
