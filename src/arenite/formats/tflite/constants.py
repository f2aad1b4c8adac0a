"""Bytes of a buffer to the array of a constant, and back."""

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType

# The element types that a .tflite file and the core dialect share; our members are named by TFLite's labels.
ELEMENT_TYPES = frozenset(
    {
        DType.FLOAT16,
        DType.BFLOAT16,
        DType.FLOAT32,
        DType.FLOAT64,
        DType.INT4,
        DType.INT8,
        DType.INT16,
        DType.INT32,
        DType.INT64,
        DType.UINT8,
        DType.UINT16,
        DType.UINT32,
        DType.UINT64,
        DType.BOOL,
        DType.STRING,
        DType.COMPLEX64,
        DType.COMPLEX128,
        DType.RESOURCE,
    }
)

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[np.generic]


def stored_nbytes(dtype: DType, nelem: int) -> int | None:
    """Bytes that a tensor takes in the file; None when its contents decide (strings)."""
    if dtype is DType.STRING:
        return None
    return (nelem + 1) // 2 if dtype is DType.INT4 else nelem * dtype.itemsize


def decode(data: Bytes, dtype: DType, nelem: int) -> Array:
    """The flat array; a view of `data` unless the file packs several elements in a byte.

    Raises:
        ValueError: the bytes do not hold `nelem` elements; the text says what was expected and what was found.
    """
    expected = stored_nbytes(dtype, nelem)
    if expected is None:
        return _decode_strings(data, nelem)
    if data.size != expected:
        raise ValueError(f"expected {expected} bytes of data for {nelem} elements of {dtype}, found {data.size}")
    if dtype is DType.INT4:
        return _unpack_int4(data, nelem)
    if dtype is DType.BOOL and data.size and int(data.max()) > 1:
        raise ValueError(f"expected only 0 and 1 as data of bool, found {int(data.max())}")
    view: Array = data.view(dtype.numpy)
    return view


def encode(array: Array, dtype: DType) -> Bytes:
    """The bytes that the file holds."""
    if dtype is DType.STRING:
        return _encode_strings(array)
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype is DType.INT4:
        return _pack_int4(flat)
    return flat.view(np.uint8)


def _unpack_int4(data: Bytes, nelem: int) -> Array:
    # The first element of a pair is in the low four bits.
    nibbles = np.empty(2 * data.size, np.int8)
    signed = data.view(np.int8)
    nibbles[0::2] = (signed << 4) >> 4
    nibbles[1::2] = signed >> 4
    return nibbles[:nelem].astype(DType.INT4.numpy)


def _pack_int4(flat: Array) -> Bytes:
    nibbles = flat.astype(np.int8).view(np.uint8) & np.uint8(0x0F)
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    packed: Bytes = nibbles[0::2] | (nibbles[1::2] << np.uint8(4))
    return packed


def _decode_strings(data: Bytes, nelem: int) -> Array:
    # int32 count, count + 1 ascending int32 offsets from the start, the characters.
    if nelem == 0 and data.size == 0:
        return np.empty(0, object)
    header_nbytes = 4 * (nelem + 2)
    if data.size < header_nbytes:
        raise ValueError(f"expected at least {header_nbytes} bytes of data for {nelem} strings, found {data.size}")
    numbers = data[:header_nbytes].view("<i4").astype(np.int64)
    offsets = numbers[1:]
    if numbers[0] != nelem or offsets[0] != header_nbytes or offsets[-1] > data.size or (np.diff(offsets) < 0).any():
        raise ValueError(f"expected {nelem} strings with ascending offsets within {data.size} bytes, found others")
    strings = np.empty(nelem, object)
    for index in range(nelem):
        strings[index] = data[offsets[index] : offsets[index + 1]].tobytes()
    return strings


def _encode_strings(array: Array) -> Bytes:
    strings = [bytes(item) for item in array.reshape(-1).tolist()]
    offsets = np.cumsum([4 * (len(strings) + 2), *map(len, strings)])
    header = np.array([len(strings), *offsets], "<i4").tobytes()
    return np.frombuffer(header + b"".join(strings), np.uint8)
