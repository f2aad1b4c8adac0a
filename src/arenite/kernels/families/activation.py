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
SOFTMAX_S8 = KernelInfo(
    "arenite_softmax_s8",
    "Softmax of rows, by a table of 256 exponentials.",
    (Field("rows"), Field("depth")),
    (
        Argument("input", "int8_t", Role.INPUT),
        Argument("exponentials", "int32_t", Role.CONSTANT),
        Argument("output", "int8_t", Role.OUTPUT),
    ),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (LOOKUP_8, SOFTMAX_S8)
