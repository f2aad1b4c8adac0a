"""Numbers as C literals that give back exactly the same number."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

_PER_LINE = {1: 24, 2: 16, 4: 10, 8: 6}


def float_literal(value: float, ctype: str = "float") -> str:
    """The shortest decimal literal of a float (with its `f`) or double; hexadecimal ones are no C++ before 2017."""
    number = np.float32(value) if ctype == "float" else np.float64(value)
    suffix = "f" if ctype == "float" else ""
    if math.isnan(number):
        return f"(0.0{suffix} / 0.0{suffix})"
    if math.isinf(number):
        return f"({'-' if number < 0 else ''}1.0{suffix} / 0.0{suffix})"
    text = str(number)
    return f"{text if '.' in text or 'e' in text else text + '.0'}{suffix}"


def int_literal(value: int, ctype: str = "int32_t") -> str:
    """A literal whose type can hold the value on every target."""
    if ctype == "int64_t":
        # The smallest integer has no literal: its digits alone are too large.
        return f"(-{2**63 - 1}LL - 1)" if value == -(2**63) else f"{value}LL"
    if ctype == "uint64_t":
        return f"{value}ULL"
    if ctype == "uint32_t":
        return f"{value}u"
    return f"(-{2**31 - 1} - 1)" if value == -(2**31) else str(value)


def literal(value: float, ctype: str) -> str:
    """A scalar of a C type."""
    if ctype in ("float", "double"):
        return float_literal(value, ctype)
    return int_literal(int(value), ctype)


def array_lines(data: npt.NDArray[np.generic], ctype: str) -> Iterator[str]:
    """The initialiser of a flat array, many values a line; an array of zeros is one `0`."""
    if data.size == 0 or (not data.any() and not _has_negative_zero(data)):
        yield "0"
        return
    texts = list(_texts(data, ctype))
    per_line = _PER_LINE[data.itemsize]
    for start in range(0, len(texts), per_line):
        yield ",".join(texts[start : start + per_line]) + ","


def _has_negative_zero(data: npt.NDArray[np.generic]) -> bool:
    return data.dtype.kind == "f" and bool(np.signbit(data.astype(np.float64)).any())


def _texts(data: npt.NDArray[np.generic], ctype: str) -> Iterable[str]:
    # Most of a network is 8-bit weights: each byte has one text, made once.
    if data.itemsize == 1 and data.dtype.kind in "uib":
        low = -128 if data.dtype.kind == "i" else 0
        texts = [str(value) for value in range(low, low + 256)]
        return map(texts.__getitem__, (data.astype(np.int16) - low).tolist())
    if data.dtype.kind in "ui" and data.itemsize == 2:
        return map(str, data.tolist())
    if data.dtype.kind == "f" and np.isfinite(data.astype(np.float64)).all():
        return map(str, data) if ctype == "double" else (f"{number!s}f" for number in data)
    return (literal(value, ctype) for value in data.tolist())
