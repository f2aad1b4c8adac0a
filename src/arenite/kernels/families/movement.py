"""C kernels that move bytes."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_ARGUMENTS = (Argument("input", "uint8_t", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT))
_HEADERS = ("arenite_bytes.h", "arenite_port.h")

COPY_ROWS = KernelInfo(
    "arenite_copy_rows",
    "Rows of bytes, each to its place in a longer row.",
    (Field("rows"), Field("row_nbytes"), Field("stride_nbytes")),
    _ARGUMENTS,
    _HEADERS,
)
PAD = KernelInfo(
    "arenite_pad",
    "A tensor with equal bytes around it, in up to four dimensions.",
    (
        Field("sizes", length=3),
        Field("row_nbytes"),
        Field("before_nbytes", length=4),
        Field("after_nbytes", length=4),
        Field("value"),
    ),
    _ARGUMENTS,
    _HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (COPY_ROWS, PAD)
