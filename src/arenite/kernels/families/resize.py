"""C kernels that interpolate between pixels."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_FIELDS = (Field("batch"), Field("image_nelem"), Field("rows"), Field("columns"), Field("depth"))
_HEADERS = ("arenite_port.h", "arenite_resize_bilinear.h")


def _resize(suffix: str, ctype: str, *tables: Argument) -> KernelInfo:
    return KernelInfo(
        f"arenite_resize_bilinear_{suffix}",
        "Each pixel interpolated between four, by tables of neighbours and fractions.",
        _FIELDS,
        (Argument("input", ctype, Role.INPUT), *tables, Argument("output", ctype, Role.OUTPUT)),
        _HEADERS,
    )


_PLACES = Argument("places", "int32_t", Role.CONSTANT)
_FRACTIONS = Argument("fractions", "float", Role.CONSTANT)

RESIZE_BILINEAR_S8 = _resize("s8", "int8_t", _PLACES)
RESIZE_BILINEAR_S16 = _resize("s16", "int16_t", _PLACES)
RESIZE_BILINEAR_U8 = _resize("u8", "uint8_t", _PLACES, _FRACTIONS)
RESIZE_BILINEAR_F32 = _resize("f32", "float", _PLACES, _FRACTIONS)

KERNELS: tuple[KernelInfo, ...] = (RESIZE_BILINEAR_S8, RESIZE_BILINEAR_S16, RESIZE_BILINEAR_U8, RESIZE_BILINEAR_F32)
