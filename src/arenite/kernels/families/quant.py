"""C kernels between real and stored numbers."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

QUANTIZE_F32_8 = KernelInfo(
    "arenite_quantize_f32_8",
    "float to int8 or uint8, halves away from zero, saturating.",
    (Field("nelem"), Field("scale", "float"), Field("zero_point"), Field("low"), Field("high")),
    (Argument("input", "float", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
)
DEQUANTIZE_8_F32 = KernelInfo(
    "arenite_dequantize_8_f32",
    "int8 or uint8 to float.",
    (Field("nelem"), Field("sign"), Field("zero_point"), Field("scale", "float")),
    (Argument("input", "uint8_t", Role.INPUT), Argument("output", "float", Role.OUTPUT)),
)
LOOKUP_8_F32 = KernelInfo(
    "arenite_lookup_8_f32",
    "Any function of one 8-bit operand with a float result, by a table of 256.",
    (Field("nelem"),),
    (
        Argument("input", "uint8_t", Role.INPUT),
        Argument("table", "float", Role.CONSTANT),
        Argument("output", "float", Role.OUTPUT),
    ),
)

KERNELS: tuple[KernelInfo, ...] = (QUANTIZE_F32_8, DEQUANTIZE_8_F32, LOOKUP_8_F32)
