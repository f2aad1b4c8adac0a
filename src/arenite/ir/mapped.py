"""Arrays that view a mapped file."""

import mmap

import numpy as np

from arenite.ir.graph import Array


def mapping_of(array: Array) -> mmap.mmap | None:
    """The mapped file that an array views, if it does."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None


def drop_pages(array: Array) -> None:
    """Let the system forget what it read of a mapped file for this array; it is read again when it is needed.

    Does nothing for other arrays. Whoever walks over many gigabytes calls it piece by piece.
    """
    mapping = mapping_of(array)
    if mapping is None or not hasattr(mapping, "madvise") or not array.flags.c_contiguous:
        return
    start = array.__array_interface__["data"][0] - np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    first = start - start % mmap.PAGESIZE
    mapping.madvise(mmap.MADV_DONTNEED, first, start + array.nbytes - first)
