"""One-op graphs in TFLite's first quantization, uint8: int8 cases, 128 higher."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.types import Quantization
from plain_cases import AnyArray, Plain, arithmetic_cases, pool_cases, softmax_cases


def unsigned(case: Plain) -> Plain:
    """The case with codes and zero points 128 higher."""

    def higher(quantization: Quantization | None) -> Quantization | None:
        if quantization is None:
            return None
        return Quantization.per_tensor(quantization.scale, quantization.zero_point + 128)

    def stored(array: AnyArray) -> AnyArray:
        return (array.astype(np.int16) + 128).astype(np.uint8) if array.dtype == np.int8 else array

    return replace(
        case,
        data=tuple(map(stored, case.data)),
        quantizations=tuple(map(higher, case.quantizations)),
        result_dtype=DType.UINT8,
    )


UNSIGNED_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    "average_pool2d": pool_cases("average_pool2d").map(unsigned),
    "max_pool2d": pool_cases("max_pool2d").map(unsigned),
    "add": arithmetic_cases("add").map(unsigned),
    "sub": arithmetic_cases("sub").map(unsigned),
    "mul": arithmetic_cases("mul").map(unsigned),
    "softmax": softmax_cases().map(unsigned),
}
