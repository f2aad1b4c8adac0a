"""Bytes of buffers and the arrays they stand for."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from arenite._base.dtypes import DType
from arenite.formats.tflite.constants import ELEMENT_TYPES, decode, encode, stored_nbytes

_PLAIN = sorted(ELEMENT_TYPES - {DType.INT4, DType.STRING, DType.BOOL}, key=str)


def as_bytes(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


@given(st.data())
@pytest.mark.parametrize("dtype", _PLAIN)
def test_plain_data_is_a_view_and_comes_back(dtype: DType, data: st.DataObject) -> None:
    nelem = data.draw(st.integers(0, 6))
    raw = data.draw(st.binary(min_size=nelem * dtype.itemsize, max_size=nelem * dtype.itemsize))
    array = decode(as_bytes(raw), dtype, nelem)
    assert array.dtype == dtype.numpy
    assert array.tobytes() == raw
    assert encode(array, dtype).tobytes() == raw
    assert stored_nbytes(dtype, nelem) == len(raw)


@pytest.mark.parametrize("dtype", sorted(ELEMENT_TYPES - {DType.STRING}, key=str))
def test_a_size_that_does_not_fit(dtype: DType) -> None:
    size = stored_nbytes(dtype, 5)
    assert size is not None
    for wrong in (size - 1, size + 1):
        with pytest.raises(ValueError, match=f"expected {size} bytes of data for 5 elements of {dtype}, found {wrong}"):
            decode(as_bytes(bytes(wrong)), dtype, 5)


@given(st.lists(st.integers(-8, 7), max_size=9))
def test_int4_packs_the_first_of_two_low(values: list[int]) -> None:
    # By hand, without numpy: element 2i is in the low, 2i + 1 in the high four bits of byte i.
    padded = values + [0] * (len(values) % 2)
    expected = bytes((low & 15) | (high & 15) << 4 for low, high in zip(padded[::2], padded[1::2], strict=True))
    array = np.array(values, np.int8).astype(ml_dtypes.int4)
    assert encode(array, DType.INT4).tobytes() == expected
    assert decode(as_bytes(expected), DType.INT4, len(values)).astype(int).tolist() == values


def test_bool_holds_only_0_and_1() -> None:
    assert decode(as_bytes(b"\0\1"), DType.BOOL, 2).tolist() == [False, True]
    with pytest.raises(ValueError, match="found 2"):
        decode(as_bytes(b"\0\2"), DType.BOOL, 2)


@given(st.lists(st.binary(max_size=5), max_size=4))
def test_strings(strings: list[bytes]) -> None:
    array = np.empty(len(strings), object)
    array[:] = strings
    data = encode(array, DType.STRING)
    assert int(data[:4].view("<i4")[0]) == len(strings)
    assert decode(data, DType.STRING, len(strings)).tolist() == strings


@given(hnp.arrays(np.uint8, st.integers(0, 40), elements=st.integers(0, 32)), st.integers(0, 4))
def test_any_bytes_as_strings_are_read_or_refused(data: np.ndarray[tuple[int], np.dtype[np.uint8]], nelem: int) -> None:
    try:
        found = decode(data, DType.STRING, nelem)
    except ValueError as error:
        assert "strings" in str(error)  # noqa: PT017 - both ends are right
    else:
        assert found.size == nelem
        assert sum(map(len, found.tolist())) <= data.size


def test_a_splat_is_written_in_full() -> None:
    splat = np.broadcast_to(np.float32(1.5), (2, 3))
    assert encode(splat, DType.FLOAT32).view("<f4").tolist() == [1.5] * 6
