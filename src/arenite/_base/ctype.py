"""C's element types: what numpy calls them, and which holds which of ours."""

import numpy as np

from arenite._base.dtypes import DType

NUMPY_OF_CTYPE: dict[str, np.dtype[np.generic]] = {
    "int8_t": np.dtype(np.int8),
    "uint8_t": np.dtype(np.uint8),
    "int16_t": np.dtype(np.int16),
    "uint16_t": np.dtype(np.uint16),
    "int32_t": np.dtype(np.int32),
    "uint32_t": np.dtype(np.uint32),
    "int64_t": np.dtype(np.int64),
    "uint64_t": np.dtype(np.uint64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
_CTYPE_OF_NUMPY = {numpy: ctype for ctype, numpy in NUMPY_OF_CTYPE.items()}


def ctype_of(dtype: DType) -> str | None:
    """The C type of one element; None where C has none (half floats, 4 bits, text). A bool is one `uint8_t`."""
    return "uint8_t" if dtype is DType.BOOL else _CTYPE_OF_NUMPY.get(dtype.numpy)


def ctype_of_numpy(dtype: np.dtype[np.generic]) -> str:
    """The C type of one element.

    Raises:
        KeyError: there is none.
    """
    return "uint8_t" if dtype == np.dtype(np.bool_) else _CTYPE_OF_NUMPY[dtype]
