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

    def __str__(self) -> str:
        return self.value

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype that holds one element (int4 has one byte per element in memory)."""
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
}
_FROM_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items() if dtype is not DType.RESOURCE}
_FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64})
_INTEGERS = frozenset(dtype for dtype in DType if "int" in dtype.value)
