"""C kernels that interpolate between pixels."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_PLACES = Argument("places", "int32_t", Role.CONSTANT)

RESIZE_BILINEAR_S8 = KernelInfo(
    "arenite_resize_bilinear_s8",
    "Each pixel interpolated between four, by a table of neighbours and fractions.",
    (Field("batch"), Field("image_nbytes"), Field("rows"), Field("columns"), Field("depth")),
    (Argument("input", "int8_t", Role.INPUT), _PLACES, Argument("output", "int8_t", Role.OUTPUT)),
)
RESIZE_BILINEAR_F32 = KernelInfo(
    "arenite_resize_bilinear_f32",
    "Each pixel interpolated between four, by tables of neighbours and fractions.",
    (Field("batch"), Field("image_nelem"), Field("rows"), Field("columns"), Field("depth")),
    (
        Argument("input", "float", Role.INPUT),
        _PLACES,
        Argument("fractions", "float", Role.CONSTANT),
        Argument("output", "float", Role.OUTPUT),
    ),
)

KERNELS: tuple[KernelInfo, ...] = (RESIZE_BILINEAR_S8, RESIZE_BILINEAR_F32)
