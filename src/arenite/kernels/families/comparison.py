"""C kernels of comparisons and logic with broadcasting in up to four dimensions."""

from arenite.kernels.families.pairs import BROADCAST
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_HEADERS = ("arenite_broadcast.h", "arenite_comparison.h", "arenite_port.h")
_OUTPUT = Argument("output", "uint8_t", Role.OUTPUT)
_BYTES = (Argument("a", "uint8_t", Role.INPUT), Argument("b", "uint8_t", Role.INPUT))

COMPARE_8 = KernelInfo(
    "arenite_compare_8",
    "Compares two bytes by what two tables of 256 say of them.",
    (*BROADCAST, Field("operation")),
    (
        *_BYTES,
        Argument("table_a", "uint16_t", Role.CONSTANT),
        Argument("table_b", "uint16_t", Role.CONSTANT),
        _OUTPUT,
    ),
    _HEADERS,
)


def _plain(bits: int) -> KernelInfo:
    return KernelInfo(
        f"arenite_compare_s{bits}",
        f"Compares two {bits}-bit elements.",
        (*BROADCAST, Field("operation")),
        (
            Argument("a", f"int{bits}_t", Role.INPUT),
            Argument("b", f"int{bits}_t", Role.INPUT),
            _OUTPUT,
        ),
        _HEADERS,
    )


COMPARE = {bits: _plain(bits) for bits in (32, 64)}
LOGICAL = KernelInfo(
    "arenite_logical",
    "Whether one or both of two truth values hold.",
    (*BROADCAST, Field("either")),
    (*_BYTES, _OUTPUT),
    ("arenite_broadcast.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (COMPARE_8, *COMPARE.values(), LOGICAL)
