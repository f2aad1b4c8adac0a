"""C kernels between real and stored numbers."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role


def _quantize(suffix: str, ctype: str, stored: str) -> KernelInfo:
    return KernelInfo(
        f"arenite_quantize_f32_{suffix}",
        f"float to {stored}, halves away from zero, saturating.",
        (Field("nelem"), Field("scale", "float"), Field("zero_point"), Field("low"), Field("high")),
        (Argument("input", "float", Role.INPUT), Argument("output", ctype, Role.OUTPUT)),
        ("arenite_port.h", "arenite_quantize_f32.h"),
    )


def _dequantize(source: str) -> KernelInfo:
    return KernelInfo(
        f"arenite_dequantize_s{source}_f32",
        f"int{source} to float.",
        (Field("nelem"), Field("zero_point"), Field("scale", "float")),
        (Argument("input", f"int{source}_t", Role.INPUT), Argument("output", "float", Role.OUTPUT)),
    )


QUANTIZE_F32_8 = _quantize("8", "uint8_t", "int8 or uint8")
QUANTIZE_F32_S16 = _quantize("s16", "int16_t", "int16")
DEQUANTIZE_S16_F32 = _dequantize("16")
DEQUANTIZE_S32_F32 = _dequantize("32")
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


def _rescale(source: str, result: str) -> KernelInfo:
    return KernelInfo(
        f"arenite_rescale_s{source}_s{result}",
        f"int{source} to int{result} of another quantization.",
        (Field("nelem"), Field("from_zero_point"), Field("multiplier"), Field("shift"), Field("zero_point")),
        (Argument("input", f"int{source}_t", Role.INPUT), Argument("output", f"int{result}_t", Role.OUTPUT)),
        ("arenite_fixedpoint.h", "arenite_port.h", "arenite_rescale.h"),
    )


RESCALE: dict[tuple[str, str], KernelInfo] = {
    (f"int{source}", f"int{result}"): _rescale(source, result)
    for source, result in (
        ("8", "16"),
        ("8", "32"),
        ("16", "8"),
        ("16", "16"),
        ("16", "32"),
        ("32", "8"),
        ("32", "16"),
    )
}
"""By the names of the operand's and the result's element type. From 8 to 8 bits a table does it."""

KERNELS: tuple[KernelInfo, ...] = (
    QUANTIZE_F32_8,
    QUANTIZE_F32_S16,
    DEQUANTIZE_8_F32,
    DEQUANTIZE_S16_F32,
    DEQUANTIZE_S32_F32,
    LOOKUP_8_F32,
    *RESCALE.values(),
)
