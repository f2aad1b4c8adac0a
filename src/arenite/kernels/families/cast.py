"""C kernels that convert numbers from one element type to another."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_HEADERS = ("arenite_integers.h", "arenite_port.h")

CAST_INTEGER = KernelInfo(
    "arenite_cast_integer",
    "Integers as integers of another width, or as truth values.",
    (Field("nelem"), Field("input_nbytes"), Field("input_signed"), Field("output_nbytes"), Field("to_bool")),
    (Argument("input", "uint8_t", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
    _HEADERS,
)
CAST_F32_INTEGER = KernelInfo(
    "arenite_cast_f32_integer",
    "Floats without their fractions as integers, limited, or as truth values.",
    (Field("nelem"), Field("output_nbytes"), Field("low"), Field("high"), Field("to_bool")),
    (Argument("input", "float", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
    _HEADERS,
)
CAST_F32_WIDE = KernelInfo(
    "arenite_cast_f32_wide",
    "Floats without their fractions as uint32 or int64, limited.",
    (Field("nelem"), Field("output_nbytes")),
    (Argument("input", "float", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
    _HEADERS,
)
CAST_INTEGER_F32 = KernelInfo(
    "arenite_cast_integer_f32",
    "Integers as floats.",
    (Field("nelem"), Field("input_nbytes"), Field("input_signed")),
    (Argument("input", "uint8_t", Role.INPUT), Argument("output", "float", Role.OUTPUT)),
    _HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (CAST_INTEGER, CAST_F32_INTEGER, CAST_F32_WIDE, CAST_INTEGER_F32)
