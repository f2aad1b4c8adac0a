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
ARG_MAX_S8 = KernelInfo(
    "arenite_arg_max_s8",
    "The index of the first greatest or least element along one dimension.",
    (Field("outer"), Field("size"), Field("inner"), Field("flip")),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int32_t", Role.OUTPUT)),
)
ARG_MAX_F32 = KernelInfo(
    "arenite_arg_max_f32",
    "The index of the first greatest or least element along one dimension.",
    (Field("outer"), Field("size"), Field("inner"), Field("least")),
    (Argument("input", "float", Role.INPUT), Argument("output", "int32_t", Role.OUTPUT)),
)

KERNELS: tuple[KernelInfo, ...] = (SELECT, ARG_MAX_S8, ARG_MAX_F32)
