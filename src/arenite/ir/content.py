"""Identity of constants by their contents."""

import hashlib

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.ir.mapped import drop_pages

HASH_PREFIX = "sha256:"
SPLAT_NELEM = 64
"""From this size on, a computed array whose elements are all the same is kept as one."""
_PIECE_NBYTES = 1 << 24


def content_hash(array: Array) -> str:
    """`sha256:` and the digest over element type, shape and elements in C order.

    Equal hashes mean equal bits: 0.0 and -0.0 differ, and a NaN equals itself.
    """
    digest = hashlib.sha256(f"{DType.of(array.dtype)}{list(array.shape)}".encode())
    if array.dtype == object:
        for element in array.flat:
            data = element if isinstance(element, bytes) else str(element).encode("utf-8", "surrogatepass")
            digest.update(f"{type(element).__name__}:{len(data)}:".encode())
            digest.update(data)
    else:
        # Through uint8, since ml_dtypes' arrays have no buffer interface.
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(raw), _PIECE_NBYTES):
            piece = raw[start : start + _PIECE_NBYTES]
            digest.update(piece.data)
            drop_pages(piece)
    return HASH_PREFIX + digest.hexdigest()


def is_splat(array: Array) -> bool:
    """Whether an array of several elements stores one for all of them."""
    return array.size > 1 and all(
        stride == 0 for stride, dim in zip(array.strides, array.shape, strict=True) if dim > 1
    )


def is_same_throughout(array: Array) -> bool:
    """Whether all of several elements have the same bits; never so of objects."""
    if array.size < 2 or array.dtype == object:
        return False
    # A splat is not written out.
    if not any(array.strides):
        return True
    words = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((words == words[0]).all())


def compact(array: Array) -> Array:
    """The array's own copy, since a view keeps all of its base alive; one element when all have the same bits."""
    if is_splat(array):
        return np.broadcast_to(array.reshape(-1)[:1].copy().reshape(()), array.shape)
    if array.size >= SPLAT_NELEM and is_same_throughout(array):
        return np.broadcast_to(array.reshape(-1)[0].copy(), array.shape)
    return np.array(array, order="C")


def in_sequence(array: Array) -> Array:
    """The elements in sequence; a splat stays one element."""
    return np.ascontiguousarray(array) if any(array.strides) else array
