"""C kernels that choose: between two tensors, or the greatest or least element."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

SELECT = KernelInfo(
    "arenite_select",
    "Rows of bytes of one operand or the other, as a condition says, in up to four dimensions.",
    (
        Field("sizes", length=4),
        Field("condition_strides", length=4),
        Field("x_strides", length=4),
        Field("y_strides", length=4),
        Field("row_nbytes"),
    ),
    (
        Argument("condition", "uint8_t", Role.INPUT),
        Argument("x", "uint8_t", Role.INPUT),
        Argument("y", "uint8_t", Role.INPUT),
        Argument("output", "uint8_t", Role.OUTPUT),
    ),
    ("arenite_bytes.h", "arenite_port.h"),
)
_SEARCH = (Field("outer"), Field("size"), Field("inner"))


def _search(suffix: str, ctype: str, *fields: Field) -> KernelInfo:
    return KernelInfo(
        f"arenite_arg_max_{suffix}",
        "The index of the first greatest or least element along one dimension.",
        (*_SEARCH, *fields, Field("output_nbytes")),
        (Argument("input", ctype, Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
        ("arenite_arg_max.h", "arenite_integers.h", "arenite_port.h"),
    )


ARG_MAX_S8 = _search("s8", "int8_t", Field("flip"))
ARG_MAX_INTEGER = _search("integer", "uint8_t", Field("flip"), Field("input_nbytes"), Field("input_signed"))
ARG_MAX_F32 = _search("f32", "float", Field("least"))

KERNELS: tuple[KernelInfo, ...] = (SELECT, ARG_MAX_S8, ARG_MAX_INTEGER, ARG_MAX_F32)
