"""Nested loops over several arrays at once, with as few loops as their strides allow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Array


@dataclass(frozen=True)
class Loop:
    """One loop: how often, and how many bytes each array advances."""

    size: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, around the handling of one row of bytes."""

    loops: tuple[Loop, ...]
    row_nbytes: int

    def padded(self, count: int) -> tuple[Loop, ...]:
        """`count` loops: some that run once in front."""
        idle = Loop(1, (0,) * (len(self.loops[0].strides) if self.loops else 2))
        return (idle,) * (count - len(self.loops)) + self.loops

    @property
    def rows(self) -> int:
        return int(np.prod([loop.size for loop in self.loops], dtype=np.int64))


def nest_of(arrays: Sequence[Array], element_nbytes: int, held: Sequence[bool] | None = None) -> Nest:
    """The loops over the elements of arrays of one shape, in C order.

    Args:
        arrays: only their shapes and strides are looked at.
        element_nbytes: the bytes that are handled at once where nothing merges.
        held: the arrays that stay where they are along a row; by default none does.
    """
    held = held or [False] * len(arrays)
    loops: list[Loop] = []
    row = element_nbytes
    for axis in reversed(range(arrays[0].ndim)):
        size, strides = arrays[0].shape[axis], tuple(array.strides[axis] for array in arrays)
        if size == 1:
            continue
        if not loops and strides == tuple(0 if stays else row for stays in held):
            row *= size
        elif loops and strides == tuple(stride * loops[0].size for stride in loops[0].strides):
            loops[0] = replace(loops[0], size=loops[0].size * size)
        else:
            loops.insert(0, Loop(size, strides))
    return Nest(tuple(loops), row)


def start_of(view: Array, base: Array) -> int:
    """Bytes from the start of an array to the first element of a view of it."""
    start = int(view.__array_interface__["data"][0] - base.__array_interface__["data"][0])
    assert 0 <= start < max(base.nbytes, 1), "a copy instead of a view"
    return start


def places(sizes: Sequence[int], strides: Sequence[int], row_nbytes: int) -> npt.NDArray[np.int64]:
    """The bytes that loops walk over, in their order."""
    found = np.zeros((), np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        found = np.add.outer(found, np.arange(size, dtype=np.int64) * stride)
    walked: npt.NDArray[np.int64] = np.add.outer(found, np.arange(row_nbytes)).reshape(-1)
    return walked


def copy_instructions(rows: int, row_nbytes: int) -> float:
    """An estimate for copying rows of bytes: four at once, the rest one by one."""
    return rows * (10 + row_nbytes // 4 * 4 + row_nbytes % 4 * 4)
