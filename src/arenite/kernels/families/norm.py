"""C kernels of normalizations, and of products of matrices."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

L2_NORMALIZATION_S8 = KernelInfo(
    "arenite_l2_normalization_s8",
    "Each row, divided by its Euclidean norm.",
    (Field("rows"), Field("depth"), Field("zero_point")),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
    ("arenite_fixedpoint.h", "arenite_inverse_sqrt.h", "arenite_saturate.h", "arenite_port.h"),
)
LOG_SOFTMAX_S8 = KernelInfo(
    "arenite_log_softmax_s8",
    "Logarithm of the softmax of rows, by a table of 256 exponentials.",
    (
        Field("rows"),
        Field("depth"),
        Field("multiplier"),
        Field("shift"),
        Field("radius"),
        Field("back_multiplier"),
        Field("back_shift"),
    ),
    (
        Argument("input", "int8_t", Role.INPUT),
        Argument("exponentials", "int32_t", Role.CONSTANT),
        Argument("output", "int8_t", Role.OUTPUT),
    ),
    ("arenite_fixedpoint.h", "arenite_logarithm.h", "arenite_reciprocal.h", "arenite_saturate.h", "arenite_port.h"),
)
SOFTMAX_S16 = KernelInfo(
    "arenite_softmax_s16",
    "Softmax of 16-bit rows, exponentials and reciprocal by tables of 513 points.",
    (Field("rows"), Field("depth"), Field("multiplier"), Field("shift")),
    (
        Argument("input", "int16_t", Role.INPUT),
        Argument("exponentials", "int16_t", Role.CONSTANT),
        Argument("reciprocals", "int16_t", Role.CONSTANT),
        Argument("output", "int16_t", Role.OUTPUT),
    ),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)
_SHAPE = (
    Field("batch", length=3),
    Field("batch_strides_x", length=3),
    Field("batch_strides_y", length=3),
    Field("rows"),
    Field("depth"),
    Field("columns"),
    Field("row_stride"),
    Field("depth_stride_x"),
    Field("depth_stride_y"),
    Field("column_stride"),
)


def _arguments(ctype: str) -> tuple[Argument, ...]:
    return (
        Argument("x", ctype, Role.INPUT),
        Argument("y", ctype, Role.INPUT),
        Argument("output", ctype, Role.OUTPUT),
    )


BATCH_MATMUL_S8 = KernelInfo(
    "arenite_batch_matmul_s8",
    "Products of 8-bit matrices.",
    (
        *_SHAPE,
        Field("zero_point_x"),
        Field("zero_point_y"),
        Field("multiplier"),
        Field("shift"),
        Field("zero_point"),
    ),
    _arguments("int8_t"),
    ("arenite_fixedpoint.h", "arenite_port.h"),
)
BATCH_MATMUL_S16 = KernelInfo(
    "arenite_batch_matmul_s16",
    "Products of 16-bit matrices, summed in 64 bits.",
    (*_SHAPE, Field("multiplier"), Field("right")),
    _arguments("int16_t"),
)

KERNELS: tuple[KernelInfo, ...] = (
    L2_NORMALIZATION_S8,
    LOG_SOFTMAX_S8,
    SOFTMAX_S16,
    BATCH_MATMUL_S8,
    BATCH_MATMUL_S16,
)
