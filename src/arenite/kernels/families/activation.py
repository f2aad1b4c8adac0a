"""C kernels of functions of one operand."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

LOOKUP_8 = KernelInfo(
    "arenite_lookup_8",
    "Any function of one 8-bit operand with an 8-bit result, by a table of 256 bytes.",
    (Field("nelem"),),
    (
        Argument("input", "uint8_t", Role.INPUT),
        Argument("table", "uint8_t", Role.CONSTANT),
        Argument("output", "uint8_t", Role.OUTPUT),
    ),
)
_SOFTMAX_FIELDS = (Field("rows"), Field("depth"))
_SOFTMAX_INPUTS = (
    Argument("input", "int8_t", Role.INPUT),
    Argument("exponentials", "int32_t", Role.CONSTANT),
)
_SOFTMAX_HEADERS = ("arenite_fixedpoint.h", "arenite_port.h", "arenite_reciprocal.h", "arenite_softmax.h")

SOFTMAX_S8 = KernelInfo(
    "arenite_softmax_s8",
    "Softmax of rows, by a table of 256 exponentials.",
    _SOFTMAX_FIELDS,
    (*_SOFTMAX_INPUTS, Argument("output", "int8_t", Role.OUTPUT)),
    _SOFTMAX_HEADERS,
)
SOFTMAX_S8_S16 = KernelInfo(
    "arenite_softmax_s8_s16",
    "Softmax of rows with a 16-bit result, by a table of 256 exponentials.",
    _SOFTMAX_FIELDS,
    (*_SOFTMAX_INPUTS, Argument("output", "int16_t", Role.OUTPUT)),
    _SOFTMAX_HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (LOOKUP_8, SOFTMAX_S8, SOFTMAX_S8_S16)
