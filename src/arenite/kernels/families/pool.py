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
_HEADERS = ("arenite_fixedpoint.h", "arenite_pool.h", "arenite_port.h")


def _pool(suffix: str, ctype: str, summary: str) -> KernelInfo:
    arguments = (Argument("input", ctype, Role.INPUT), Argument("output", ctype, Role.OUTPUT))
    return KernelInfo(f"arenite_{suffix}", summary, _FIELDS, arguments, _HEADERS)


_MEAN = "Mean over each window of an NHWC tensor, halves away from zero."
_LARGEST = "Largest cell of each window of an NHWC tensor."

AVERAGE_POOL_S8 = _pool("average_pool_s8", "int8_t", _MEAN)
AVERAGE_POOL_S16 = _pool("average_pool_s16", "int16_t", _MEAN)
AVERAGE_POOL_U8 = _pool("average_pool_u8", "uint8_t", "Mean over each window of an NHWC tensor, halves upwards.")
MAX_POOL_S8 = _pool("max_pool_s8", "int8_t", _LARGEST)
MAX_POOL_S16 = _pool("max_pool_s16", "int16_t", _LARGEST)

KERNELS: tuple[KernelInfo, ...] = (AVERAGE_POOL_S8, AVERAGE_POOL_S16, AVERAGE_POOL_U8, MAX_POOL_S8, MAX_POOL_S16)
