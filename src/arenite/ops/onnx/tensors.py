"""Tensors between ONNX's messages and numpy. Messages may come from a stranger."""

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from onnx import SparseTensorProto, TensorProto

from arenite._base.dtypes import DType
from arenite.ir.graph import Array

Bytes = npt.NDArray[np.uint8]
ReadExternal = Callable[[TensorProto, int], Bytes]
"""Bytes of a tensor that is stored elsewhere; the integer is how many it needs. Raises TensorError."""

_ONNX_NAMES = {
    "FLOAT": DType.FLOAT32,
    "DOUBLE": DType.FLOAT64,
    **{dtype.name: dtype for dtype in DType if dtype not in (DType.FLOAT32, DType.FLOAT64, DType.OPAQUE)},
}
DTYPES: dict[int, DType] = {
    number: _ONNX_NAMES[name] for name, number in TensorProto.DataType.items() if name in _ONNX_NAMES
}
"""Our element type for each of ONNX's that we know."""
NUMBERS: dict[DType, int] = {dtype: number for number, dtype in DTYPES.items()}

_BITS = {
    DType.INT2: 2,
    DType.UINT2: 2,
    DType.INT4: 4,
    DType.UINT4: 4,
    DType.FLOAT4E2M1: 4,
    DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}
_TYPED_FIELDS: dict[DType, tuple[str, np.dtype[np.generic], int]] = {
    DType.FLOAT32: ("float_data", np.dtype(np.float32), 1),
    DType.COMPLEX64: ("float_data", np.dtype(np.float32), 2),
    DType.FLOAT64: ("double_data", np.dtype(np.float64), 1),
    DType.COMPLEX128: ("double_data", np.dtype(np.float64), 2),
    DType.INT64: ("int64_data", np.dtype(np.int64), 1),
    DType.UINT32: ("uint64_data", np.dtype(np.uint64), 1),
    DType.UINT64: ("uint64_data", np.dtype(np.uint64), 1),
}
MAX_DIM = 2**40
_SPLAT_NBYTES = 1024


class TensorError(ValueError):
    """A tensor is damaged: what was expected and what was found, without its name."""


def stored_nbytes(dtype: DType, nelem: int) -> int:
    """Bytes that `nelem` elements take in a file, where small ones are packed."""
    bits = _BITS.get(dtype)
    return nelem * dtype.itemsize if bits is None else -(-nelem * bits // 8)


def checked_dims(dims: Sequence[int]) -> tuple[int, ...]:
    """The shape, when numpy can have such an array.

    Raises:
        TensorError: a dimension is negative or absurd.
    """
    shape = tuple(dims)
    bad = [dim for dim in shape if not 0 <= dim <= MAX_DIM]
    if bad:
        raise TensorError(f"a dimension is {bad[0]} in its shape {list(shape)}; between 0 and {MAX_DIM} are possible")
    if len(shape) > 64 or math.prod(dim for dim in shape if dim) > MAX_DIM:
        raise TensorError(f"its shape {list(shape)} is larger than any tensor can be")
    return shape


def read_tensor(proto: TensorProto, external: ReadExternal | None = None) -> Array:
    """The array of a tensor, read-only: a view of the message's bytes or of the external file where possible.

    Args:
        proto: the message.
        external: gives the bytes of a tensor that is stored elsewhere.

    Raises:
        TensorError: the element type is unknown, the shape absurd, or there are more or fewer data than it says.
    """
    dtype = DTYPES.get(proto.data_type)
    if dtype is None:
        raise TensorError(f"its element type is {proto.data_type}, which is none that ONNX defines")
    shape = checked_dims(proto.dims)
    nelem = math.prod(shape)
    if proto.data_location == TensorProto.EXTERNAL:
        if dtype is DType.STRING:
            raise TensorError("strings cannot be stored outside the file")
        needed = stored_nbytes(dtype, nelem)
        if external is None:
            raise TensorError("its data is in another file; load the model by its path")
        array = _from_bytes(external(proto, needed), dtype, nelem).reshape(shape)
    elif proto.HasField("raw_data") and (nelem or not _has_typed(proto)):
        array = _splat_or_self(_from_raw(proto, dtype, nelem).reshape(shape))
    else:
        array = _splat_or_self(_from_typed(proto, dtype, nelem).reshape(shape))
    array.flags.writeable = False
    return array


def _has_typed(proto: TensorProto) -> bool:
    return bool(proto.float_data or proto.int32_data or proto.int64_data or proto.double_data or proto.uint64_data)


def _from_raw(proto: TensorProto, dtype: DType, nelem: int) -> Array:
    if dtype is DType.STRING:
        raise TensorError("strings must be in string_data, not in raw_data")
    raw = proto.raw_data
    needed = stored_nbytes(dtype, nelem)
    if len(raw) != needed:
        raise TensorError(f"it has {len(raw)} bytes, needs {needed} ({dtype}{list(proto.dims)})")
    return _from_bytes(np.frombuffer(raw, np.uint8), dtype, nelem)


def _from_bytes(raw: Bytes, dtype: DType, nelem: int) -> Array:
    bits = _BITS.get(dtype)
    if bits is not None:
        return _widened(_unpack(raw, bits, nelem), dtype, bits)
    if dtype is DType.BOOL:
        return raw != 0 if raw.size and raw.max() > 1 else raw.view(np.bool_)
    array = raw.view(dtype.numpy) if raw.size else np.empty(0, dtype.numpy)
    return array if sys.byteorder == "little" else array.byteswap()


def _unpack(raw: Bytes, bits: int, nelem: int) -> Bytes:
    """The elements, one per byte, of a little-endian stream of bits."""
    flat = np.unpackbits(raw, bitorder="little")[: nelem * bits].reshape(nelem, bits)
    padded = np.zeros((nelem, 8), np.uint8)
    padded[:, :bits] = flat
    return np.packbits(padded, axis=1, bitorder="little").reshape(nelem)


def _widened(codes: Bytes, dtype: DType, bits: int) -> Array:
    if not dtype.is_integer:
        return codes.view(dtype.numpy)
    if dtype.limits[0] < 0:
        signed = codes.view(np.int8) << np.int8(8 - bits) >> np.int8(8 - bits)
        return signed.astype(dtype.numpy)
    return codes.astype(dtype.numpy)


def _from_typed(proto: TensorProto, dtype: DType, nelem: int) -> Array:
    if dtype is DType.STRING:
        if len(proto.string_data) != nelem:
            raise TensorError(f"it has {len(proto.string_data)} strings, needs {nelem}")
        strings = np.empty(nelem, object)
        strings[:] = [item.decode("utf-8", "surrogateescape") for item in proto.string_data]
        return strings
    name, stored, per_element = _TYPED_FIELDS.get(dtype, ("int32_data", np.dtype(np.int32), 1))
    values = getattr(proto, name)
    bits = _BITS.get(dtype)
    needed = stored_nbytes(dtype, nelem) if bits in (2, 4) else nelem * per_element
    if len(values) != needed:
        raise TensorError(f"its {name} has {len(values)} values, needs {needed} ({dtype}{list(proto.dims)})")
    array: Array = np.fromiter(values, stored, len(values))
    if per_element == 2 or dtype in (DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.UINT64, DType.INT32):
        return array.view(dtype.numpy)
    if bits == 6:
        return array.astype(np.uint8).view(dtype.numpy)
    if bits is not None:
        return _from_bytes(array.astype(np.uint8), dtype, nelem)
    if dtype is DType.BOOL:
        return array.astype(np.bool_)
    if dtype.is_integer:
        return array.astype(dtype.numpy)
    return array.astype({1: np.uint8, 2: np.uint16}[dtype.itemsize]).view(dtype.numpy)


def _splat_or_self(array: Array) -> Array:
    """The array, or a splat when all elements have the same bits."""
    if array.nbytes < _SPLAT_NBYTES or array.dtype == object:
        return array
    flat = array.reshape(-1)
    codes = flat.view(f"u{flat.itemsize}") if flat.itemsize <= 8 else flat.view(np.uint64)
    step = flat.itemsize // codes.itemsize
    if step != 1 or codes[0] != codes[-1] or codes[0] != codes[codes.size // 2] or not (codes == codes[0]).all():
        return array
    return np.broadcast_to(flat[0].copy(), array.shape)


def write_tensor(array: Array, name: str = "") -> TensorProto:
    """The message of an array, with its data in `raw_data` (strings: `string_data`)."""
    dtype = DType.of(array.dtype)
    proto = TensorProto(dims=array.shape, data_type=NUMBERS[dtype])
    if name:
        proto.name = name
    if dtype is DType.STRING:
        proto.string_data.extend(string_bytes(item) for item in array.flat)
    else:
        proto.raw_data = raw_bytes(array)
    return proto


def string_bytes(item: object) -> bytes:
    return item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape")


def raw_bytes(array: Array) -> bytes:
    """The elements as a file stores them: little-endian, small ones packed."""
    dtype = DType.of(array.dtype)
    bits = _BITS.get(dtype)
    if bits is None:
        return (array if sys.byteorder == "little" else array.byteswap()).tobytes()
    if dtype.is_integer:
        codes = array.astype(np.int8 if dtype.limits[0] < 0 else np.uint8).reshape(-1).view(np.uint8)
    else:
        codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    split = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return np.packbits(split.reshape(-1), bitorder="little").tobytes()


def read_sparse(proto: SparseTensorProto, *, limit_nbytes: int = 2**30) -> Array:
    """The dense array of a sparse tensor.

    Raises:
        TensorError: it is damaged, or takes more than `limit_nbytes`.
    """
    shape = checked_dims(proto.dims)
    values, stored = read_tensor(proto.values), read_tensor(proto.indices)
    nelem = math.prod(shape)
    if nelem * values.itemsize > limit_nbytes:
        raise TensorError(f"it takes {nelem * values.itemsize} bytes when dense; at most {limit_nbytes} are possible")
    if values.ndim != 1 or stored.dtype != np.int64:
        raise TensorError(f"it needs a list of values and int64 indices, found {values.shape} and {stored.dtype}")
    indices = stored.astype(np.int64)
    if indices.ndim == 1 and indices.shape == values.shape:
        flat = indices
    elif indices.shape == (len(values), len(shape)):
        if ((indices < 0) | (indices >= np.array(shape, np.int64))).any():
            raise TensorError(f"an index is outside its shape {list(shape)}")
        flat = np.ravel_multi_index(tuple(indices.T), shape) if len(values) else indices.reshape(-1)
    else:
        raise TensorError(f"{len(values)} values have indices of shape {list(indices.shape)}")
    if ((flat < 0) | (flat >= nelem)).any():
        raise TensorError(f"an index is outside its {nelem} elements")
    dense = np.zeros(nelem, values.dtype)
    dense[flat] = values
    return dense.reshape(shape)
