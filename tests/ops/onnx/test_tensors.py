"""Tensors against onnx's own helpers, in every element type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from arenite._base.dtypes import DType
from arenite.ir.attrs import TensorAttr
from arenite.ops.onnx.tensors import DTYPES, NUMBERS, TensorError, read_sparse, read_tensor, write_tensor

NUMERIC = sorted((dtype for dtype in NUMBERS if dtype is not DType.STRING), key=lambda dtype: dtype.value)


def sample(dtype: DType, nelem: int) -> np.ndarray:
    """Values that every element type can hold, and more where it can."""
    rng = np.random.default_rng(nelem)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, nelem).astype(bool)
    if dtype.is_integer:
        low, high = dtype.limits
        return np.array([int(v) for v in rng.uniform(low, high, nelem)]).astype(dtype.numpy)
    values = rng.choice([0.0, 0.5, 1.0, 2.0, 4.0] if dtype is not DType.FLOAT8E8M0 else [0.5, 1.0, 2.0, 4.0], nelem)
    return values.astype(dtype.numpy)


def test_every_element_type_of_onnx_is_known() -> None:
    assert set(DTYPES) == set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("nelem", [0, 1, 3, 8, 13])
def test_packed_data_is_read_and_written_as_onnx_does(dtype: DType, nelem: int) -> None:
    array = sample(dtype, nelem)
    proto = numpy_helper.from_array(array, "t")
    assert write_tensor(array, "t") == proto
    back = read_tensor(proto)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert not back.flags.writeable


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("nelem", [1, 3, 8])
def test_typed_data_is_read_as_onnx_does(dtype: DType, nelem: int) -> None:
    array = sample(dtype, nelem)
    proto = helper.make_tensor("t", NUMBERS[dtype], array.shape, array.tolist())
    assert not proto.HasField("raw_data")
    expected = numpy_helper.to_array(proto)
    back = read_tensor(proto)
    assert (back.dtype, back.shape, back.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def test_strings() -> None:
    array = np.array([["a", "é"], ["", "\udcff"]], object)
    proto = write_tensor(array)
    assert proto.string_data[3] == b"\xff"
    assert read_tensor(proto).tolist() == array.tolist()


def test_bools_of_other_bytes_are_true() -> None:
    proto = TensorProto(data_type=TensorProto.BOOL, dims=[3], raw_data=b"\x00\x02\x01")
    assert read_tensor(proto).tobytes() == b"\x00\x01\x01"


@given(st.lists(st.integers(0, 255), min_size=1, max_size=9), st.integers(0, 3))
def test_any_bits_of_a_float_survive(data: list[int], extra: int) -> None:
    raw = bytes(data * 8)
    proto = TensorProto(data_type=TensorProto.FLOAT, dims=[len(raw) // 4], raw_data=raw)
    assert write_tensor(read_tensor(proto)).raw_data == raw
    with pytest.raises(TensorError):
        read_tensor(TensorProto(data_type=TensorProto.FLOAT, dims=[len(raw) // 4 + 1 + extra], raw_data=raw))


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        (np.array([0, 5], np.int64), [[7, 0, 0], [0, 0, 8]]),
        (np.array([[0, 1], [1, 0]], np.int64), [[0, 7, 0], [8, 0, 0]]),
    ],
)
def test_sparse_tensors(indices: np.ndarray, expected: list[list[int]]) -> None:
    values = numpy_helper.from_array(np.array([7, 8], np.float32), "v")
    dense = read_sparse(helper.make_sparse_tensor(values, numpy_helper.from_array(indices), [2, 3]))
    assert dense.tolist() == expected


@pytest.mark.parametrize("indices", [[-1, 0], [0, 6], [[0, 3], [0, 0]], [[0], [1]], [0]])
def test_sparse_tensors_with_indices_outside(indices: list[int]) -> None:
    values = numpy_helper.from_array(np.array([7, 8], np.float32), "v")
    proto = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array(indices, np.int64)), [2, 3])
    with pytest.raises(TensorError):
        read_sparse(proto)


def test_a_sparse_tensor_does_not_become_huge() -> None:
    values = numpy_helper.from_array(np.zeros(1, np.float32), "v")
    proto = helper.make_sparse_tensor(values, numpy_helper.from_array(np.zeros(1, np.int64)), [2**18, 2**18])
    with pytest.raises(TensorError, match="at most"):
        read_sparse(proto)


def test_tensors_as_attributes_are_equal_when_their_bits_are() -> None:
    zero, minus = (TensorAttr(np.array([value], np.float32)) for value in (0.0, -0.0))
    assert zero == TensorAttr(np.zeros(1, np.float32))
    assert hash(zero) == hash(TensorAttr(np.zeros(1, np.float32)))
    assert zero != minus
    assert zero != TensorAttr(np.zeros((1, 1), np.float32))
    assert TensorAttr(np.array([np.nan])) == TensorAttr(np.array([np.nan]))
