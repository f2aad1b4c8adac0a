"""C kernels of functions of two operands with broadcasting in up to four dimensions."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

BROADCAST = (Field("sizes", length=4), Field("strides_a", length=4), Field("strides_b", length=4))
_PLAIN = ("arenite_broadcast.h", "arenite_port.h")
_FIXED = ("arenite_broadcast.h", "arenite_fixedpoint.h", "arenite_port.h")
_SCALED = (
    Field("zero_point_a"),
    Field("zero_point_b"),
    Field("multiplier_a"),
    Field("shift_a"),
    Field("multiplier_b"),
    Field("shift_b"),
    Field("multiplier"),
    Field("shift"),
    Field("zero_point"),
)


def _arguments(a: str, b: str, output: str) -> tuple[Argument, ...]:
    return (
        Argument("a", a, Role.INPUT),
        Argument("b", b, Role.INPUT),
        Argument("output", output, Role.OUTPUT),
    )


def _extremum(bits: int) -> KernelInfo:
    return KernelInfo(
        f"arenite_extremum_s{bits}",
        f"The larger or the smaller of two {bits}-bit elements.",
        (*BROADCAST, Field("largest")),
        _arguments(*(f"int{bits}_t",) * 3),
        _PLAIN,
    )


def _squared_difference(bits: int) -> KernelInfo:
    return KernelInfo(
        f"arenite_squared_difference_s{bits}",
        f"The square of the difference of two {bits}-bit elements, each rescaled on the way.",
        (*BROADCAST, *_SCALED),
        _arguments(*(f"int{bits}_t",) * 3),
        (*_FIXED, "arenite_squared_difference.h"),
    )


def _prelu(bits: int) -> KernelInfo:
    return KernelInfo(
        f"arenite_prelu_s{bits}",
        f"Each {bits}-bit element, below 0 times an 8-bit alpha.",
        (
            *BROADCAST,
            Field("zero_point_a"),
            Field("zero_point_b"),
            Field("multiplier_below"),
            Field("shift_below"),
            Field("multiplier_above"),
            Field("shift_above"),
            Field("zero_point"),
        ),
        _arguments(f"int{bits}_t", "int8_t", f"int{bits}_t"),
        _FIXED,
    )


EXTREMUM = {bits: _extremum(bits) for bits in (8, 16, 32, 64)}
SQUARED_DIFFERENCE = {bits: _squared_difference(bits) for bits in (8, 16)}
PRELU = {bits: _prelu(bits) for bits in (8, 16)}
ARITHMETIC_S32 = KernelInfo(
    "arenite_arithmetic_s32",
    "Sums, differences, products, quotients of int32 that wrap.",
    (*BROADCAST, Field("operation"), Field("low"), Field("high")),
    _arguments("int32_t", "int32_t", "int32_t"),
    _FIXED,
)
DIV_S8 = KernelInfo(
    "arenite_div_s8",
    "Quotients of two tensors, by a table of 256 reciprocals.",
    (
        *BROADCAST,
        Field("zero_point_a"),
        Field("zero_point_b"),
        Field("multiplier"),
        Field("shift"),
        Field("zero_point"),
        Field("low"),
        Field("high"),
    ),
    (
        Argument("a", "int8_t", Role.INPUT),
        Argument("b", "int8_t", Role.INPUT),
        Argument("reciprocals", "int32_t", Role.CONSTANT),
        Argument("output", "int8_t", Role.OUTPUT),
    ),
    _FIXED,
)

KERNELS: tuple[KernelInfo, ...] = (
    *EXTREMUM.values(),
    *SQUARED_DIFFERENCE.values(),
    *PRELU.values(),
    ARITHMETIC_S32,
    DIV_S8,
)
