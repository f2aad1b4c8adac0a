"""C kernels of pools."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_FIELDS = tuple(
    Field(name)
    for name in (
        "batches",
        "input_height",
        "input_width",
        "channels",
        "output_height",
        "output_width",
        "filter_height",
        "filter_width",
        "stride_height",
        "stride_width",
        "pad_top",
        "pad_left",
        "low",
        "high",
    )
)
_ARGUMENTS = (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT))
_HEADERS = ("arenite_fixedpoint.h", "arenite_port.h")

AVERAGE_POOL_S8 = KernelInfo(
    "arenite_average_pool_s8",
    "Mean over each window of an NHWC tensor, halves away from zero.",
    _FIELDS,
    _ARGUMENTS,
    _HEADERS,
)
AVERAGE_POOL_U8 = KernelInfo(
    "arenite_average_pool_u8",
    "Mean over each window of an NHWC tensor of uint8, halves upwards.",
    _FIELDS,
    (Argument("input", "uint8_t", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)),
    (*_HEADERS, "arenite_average_pool_s8.h"),
)
MAX_POOL_S8 = KernelInfo(
    "arenite_max_pool_s8", "Largest cell of each window of an NHWC tensor.", _FIELDS, _ARGUMENTS, _HEADERS
)

KERNELS: tuple[KernelInfo, ...] = (AVERAGE_POOL_S8, AVERAGE_POOL_U8, MAX_POOL_S8)
