"""Element types, one word for each, the same in every layer."""

from enum import Enum

import ml_dtypes
import numpy as np


class DType(Enum):
    """An element type. The value is its name in text IR, reports and error messages."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"
    STRING = "string"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    RESOURCE = "resource"  # TFLite's handle of a variable
    INT2 = "int2"  # from here on: in the onnx dialect only
    UINT2 = "uint2"
    UINT4 = "uint4"
    FLOAT4E2M1 = "float4e2m1"
    FLOAT6E2M3 = "float6e2m3"
    FLOAT6E3M2 = "float6e3m2"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E4M3FNUZ = "float8e4m3fnuz"
    FLOAT8E5M2 = "float8e5m2"
    FLOAT8E5M2FNUZ = "float8e5m2fnuz"
    FLOAT8E8M0 = "float8e8m0"
    OPAQUE = "opaque"  # not known, or no tensor: a sequence, an optional, a map

    def __str__(self) -> str:
        return self.value

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype that holds one element (int4 and the like: one byte per element in memory)."""
        return _NUMPY[self]

    @property
    def itemsize(self) -> int:
        """Bytes per element in memory."""
        return int(self.numpy.itemsize)

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer type (bool is not)."""
        return self in _INTEGERS

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type.

        Raises:
            ValueError: this is not an integer type.
        """
        if not self.is_integer:
            raise ValueError(f"{self} has no integer limits")
        bits = int(self.value.lstrip("uint"))
        return (0, 2**bits - 1) if self.value.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @property
    def unit_roundoff(self) -> float:
        """How far rounding to a float type moves a number, relative to it."""
        return float(ml_dtypes.finfo(self.numpy).eps) / 2  # type: ignore[no-untyped-call]

    @property
    def smallest_normal(self) -> float:
        """The smallest number that a float type holds at full precision."""
        return float(ml_dtypes.finfo(self.numpy).tiny)  # type: ignore[no-untyped-call]

    @property
    def largest(self) -> float:
        """The largest finite number of a float dtype."""
        return float(ml_dtypes.finfo(self.numpy).max)  # type: ignore[no-untyped-call]

    @staticmethod
    def of(dtype: np.dtype[np.generic] | type[np.generic]) -> "DType":
        """The element type that a numpy dtype stands for.

        Raises:
            ValueError: numpy has it, Arenite does not.
        """
        found = _FROM_NUMPY.get(np.dtype(dtype))
        if found is None:
            raise ValueError(f"no element type for numpy's {np.dtype(dtype)}")
        return found


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.FLOAT16: np.dtype(np.float16),
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DType.FLOAT32: np.dtype(np.float32),
    DType.FLOAT64: np.dtype(np.float64),
    DType.INT4: np.dtype(ml_dtypes.int4),
    DType.INT8: np.dtype(np.int8),
    DType.INT16: np.dtype(np.int16),
    DType.INT32: np.dtype(np.int32),
    DType.INT64: np.dtype(np.int64),
    DType.UINT8: np.dtype(np.uint8),
    DType.UINT16: np.dtype(np.uint16),
    DType.UINT32: np.dtype(np.uint32),
    DType.UINT64: np.dtype(np.uint64),
    DType.BOOL: np.dtype(np.bool_),
    DType.STRING: np.dtype(object),
    DType.COMPLEX64: np.dtype(np.complex64),
    DType.COMPLEX128: np.dtype(np.complex128),
    DType.RESOURCE: np.dtype(np.int32),
    DType.INT2: np.dtype(ml_dtypes.int2),
    DType.UINT2: np.dtype(ml_dtypes.uint2),
    DType.UINT4: np.dtype(ml_dtypes.uint4),
    DType.FLOAT4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.FLOAT6E2M3: np.dtype(ml_dtypes.float6_e2m3fn),
    DType.FLOAT6E3M2: np.dtype(ml_dtypes.float6_e3m2fn),
    DType.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    DType.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    DType.FLOAT8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.OPAQUE: np.dtype(object),
}
_FROM_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items() if dtype not in (DType.RESOURCE, DType.OPAQUE)}
_FLOATS = frozenset(dtype for dtype in DType if "float" in dtype.value)
_INTEGERS = frozenset(dtype for dtype in DType if "int" in dtype.value)
