"""C kernels of sums: of several values, and along a dimension."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

VALUES = ("a", "b", "c", "d", "e", "f", "g", "h")
"""The arguments of add_n: as many values as it takes."""

_ALONG = (Field("outer"), Field("size"), Field("inner"), Field("first"), Field("step"), Field("exclusive"))
_HEADERS = ("arenite_fixedpoint.h", "arenite_port.h")


def _values(ctype: str) -> tuple[Argument, ...]:
    inputs = (Argument(name, ctype, Role.INPUT, optional=index > 0) for index, name in enumerate(VALUES))
    return (*inputs, Argument("output", ctype, Role.OUTPUT))


CUMSUM_S8 = KernelInfo(
    "arenite_cumsum_s8",
    "The sum of all elements up to each one, along one dimension.",
    (*_ALONG, Field("source_zero_point"), Field("multiplier"), Field("shift"), Field("zero_point")),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
    _HEADERS,
)
CUMSUM_F32 = KernelInfo(
    "arenite_cumsum_f32",
    "The sum of all elements up to each one, along one dimension.",
    _ALONG,
    (Argument("input", "float", Role.INPUT), Argument("output", "float", Role.OUTPUT)),
)
ADD_N_S8 = KernelInfo(
    "arenite_add_n_s8",
    "The sum of up to eight values.",
    (Field("nelem"), Field("count"), Field("offset"), Field("multiplier"), Field("shift"), Field("zero_point")),
    _values("int8_t"),
    _HEADERS,
)
ADD_N_F32 = KernelInfo(
    "arenite_add_n_f32", "The sum of up to eight values.", (Field("nelem"), Field("count")), _values("float")
)

KERNELS: tuple[KernelInfo, ...] = (CUMSUM_S8, CUMSUM_F32, ADD_N_S8, ADD_N_F32)
