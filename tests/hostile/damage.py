"""Damaged copies of a .tflite file: truncated ones, and such with other bytes, most of them where the structure is."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from arenite.formats.tflite.file import TfliteFile

_LONG_NBYTES = 256
"""A buffer of fewer bytes is part of the structure: it may hold a shape, or axes."""

_WORDS = (
    0,
    1,
    2,
    3,
    4,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    0xFFFFFFFF,
    0x3F800000,
    0x7FC00000,
)


class Copies(Protocol):
    """All damaged copies of one file, by number: the same number is always the same copy."""

    @property
    def name(self) -> str: ...

    @property
    def data(self) -> bytes:
        """The file that they are copies of."""

    def copy(self, number: int) -> bytes: ...


@dataclass(frozen=True)
class Damaged:
    """Copies with other bytes, or truncated ones.

    Attributes:
        structure: offsets of the bytes that are not in long buffers.
    """

    name: str
    data: bytes
    structure: npt.NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "structure", _structure(self.data))

    def copy(self, number: int) -> bytes:
        rng = random.Random(f"{self.name} {number}")
        return _WAYS[number % len(_WAYS)](self, rng)

    def place(self, rng: random.Random) -> int:
        return int(self.structure[rng.randrange(self.structure.size)])


def _structure(data: bytes) -> npt.NDArray[np.int64]:
    file = TfliteFile(data)
    start = np.frombuffer(data, np.uint8).ctypes.data
    inside = np.ones(len(data), np.bool_)
    for record in file.model.records("buffers"):
        array = record.array("data")
        if array is not None and array.nbytes >= _LONG_NBYTES:
            begin = array.ctypes.data - start
            inside[begin : begin + array.nbytes] = False
    return np.flatnonzero(inside)


def _truncated(file: Damaged, rng: random.Random) -> bytes:
    return file.data[: rng.randrange(len(file.data))]


def _one_bit(file: Damaged, rng: random.Random) -> bytes:
    copy = bytearray(file.data)
    copy[file.place(rng)] ^= 1 << rng.randrange(8)
    return bytes(copy)


def _some_bytes(file: Damaged, rng: random.Random) -> bytes:
    copy = bytearray(file.data)
    for _ in range(rng.choice((1, 1, 2, 4, 8, 16))):
        copy[file.place(rng)] = rng.randrange(256)
    return bytes(copy)


def _words(file: Damaged, rng: random.Random) -> bytes:
    """Aligned words replaced by values at limits, or by other words of the file."""
    copy = bytearray(file.data)
    for _ in range(rng.randint(1, 3)):
        at, other = file.place(rng) & ~3, file.place(rng) & ~3
        word = rng.choice(_WORDS).to_bytes(4, "little") if rng.random() < 0.7 else file.data[other : other + 4]
        copy[at : at + 4] = word
    return bytes(copy[: len(file.data)])


def _anywhere(file: Damaged, rng: random.Random) -> bytes:
    copy = bytearray(file.data)
    for _ in range(rng.randint(1, 8)):
        copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
    return bytes(copy)


_WAYS: tuple[Callable[[Damaged, random.Random], bytes], ...] = (
    _truncated,
    _one_bit,
    _truncated,
    _some_bytes,
    _words,
    _truncated,
    _one_bit,
    _some_bytes,
    _words,
    _anywhere,
)
