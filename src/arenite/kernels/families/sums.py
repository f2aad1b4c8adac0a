"""C kernels of sums: of several values, and along a dimension."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

VALUES = ("a", "b", "c", "d", "e", "f", "g", "h")
"""The arguments of add_n: as many values as it takes."""

_ALONG = (Field("outer"), Field("size"), Field("inner"), Field("first"), Field("step"), Field("exclusive"))
_CUMSUM = ("arenite_cumsum.h", "arenite_port.h")
_ADD_N = ("arenite_add_n.h", "arenite_port.h")


def _values(ctype: str) -> tuple[Argument, ...]:
    inputs = (Argument(name, ctype, Role.INPUT, optional=index > 0) for index, name in enumerate(VALUES))
    return (*inputs, Argument("output", ctype, Role.OUTPUT))


CUMSUM_S8 = KernelInfo(
    "arenite_cumsum_s8",
    "The sum of all elements up to each one, along one dimension.",
    (*_ALONG, Field("source_zero_point"), Field("multiplier"), Field("shift"), Field("zero_point")),
    (Argument("input", "int8_t", Role.INPUT), Argument("output", "int8_t", Role.OUTPUT)),
    ("arenite_fixedpoint.h", *_CUMSUM),
)


def _cumsum(suffix: str, ctype: str) -> KernelInfo:
    return KernelInfo(
        f"arenite_cumsum_{suffix}",
        "The sum of all elements up to each one, along one dimension.",
        _ALONG,
        (Argument("input", ctype, Role.INPUT), Argument("output", ctype, Role.OUTPUT)),
        _CUMSUM,
    )


CUMSUM_S32 = _cumsum("s32", "int32_t")
CUMSUM_F32 = _cumsum("f32", "float")
ADD_N_S8 = KernelInfo(
    "arenite_add_n_s8",
    "The sum of up to eight values.",
    (Field("nelem"), Field("count"), Field("offset"), Field("multiplier"), Field("shift"), Field("zero_point")),
    _values("int8_t"),
    ("arenite_fixedpoint.h", *_ADD_N),
)


def _add_n(suffix: str, ctype: str) -> KernelInfo:
    fields = (Field("nelem"), Field("count"))
    return KernelInfo(f"arenite_add_n_{suffix}", "The sum of up to eight values.", fields, _values(ctype), _ADD_N)


ADD_N_S32 = _add_n("s32", "int32_t")
ADD_N_F32 = _add_n("f32", "float")

KERNELS: tuple[KernelInfo, ...] = (CUMSUM_S8, CUMSUM_S32, CUMSUM_F32, ADD_N_S8, ADD_N_S32, ADD_N_F32)
