"""One-op graphs in TFLite's first quantization, uint8: int8 cases, 128 higher."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import function_cases
import norm_cases
from arenite._base.dtypes import DType
from arenite.ir.types import Quantization
from plain_cases import AnyArray, Plain, arithmetic_cases, mean_cases, pool_cases, softmax_cases, unary_cases


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
        result_dtype=DType.UINT8 if case.result_dtype is DType.INT8 else case.result_dtype,
    )


def with_exact_multiplier(case: Plain) -> Plain:
    """The MUL case with scales whose multiplier a·b/result float32 holds exactly.

    LiteRT computes that multiplier in float32 on uint8 and in double on int8; where both are the same number, so are
    the results: factors of 12 significant bits each, and a power of two for the result.
    """

    def narrow(quantization: Quantization | None, bits: int) -> Quantization | None:
        if quantization is None:
            return None
        mantissa, exponent = math.frexp(quantization.scale)
        scale = math.ldexp(math.ceil(mantissa * (1 << bits)), exponent - bits)
        return Quantization.per_tensor(scale, quantization.zero_point)

    *factors, result = case.quantizations
    return replace(case, quantizations=(*(narrow(factor, 12) for factor in factors), narrow(result, 0)))


UNSIGNED_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    "average_pool2d": pool_cases("average_pool2d").map(unsigned),
    "max_pool2d": pool_cases("max_pool2d").map(unsigned),
    "add": arithmetic_cases("add").map(unsigned),
    "sub": arithmetic_cases("sub").map(unsigned),
    "mul": arithmetic_cases("mul").map(unsigned).map(with_exact_multiplier),
    "softmax": softmax_cases().map(unsigned),
    **{op: unary_cases(op).map(unsigned) for op in ("relu", "relu6", "logistic", "tanh")},
    **{
        op: function_cases.unary_cases(op).map(unsigned)
        for op in ("relu_n1_to_1", "relu_0_to_1", "leaky_relu", "hard_swish")
    },
    "prelu": function_cases.prelu_cases().map(unsigned),
    **{op: function_cases.extremum_cases(op).map(unsigned) for op in ("minimum", "maximum")},
    **{op: function_cases.comparison_cases(op).map(unsigned) for op in ("equal", "greater_equal")},
    "mean": mean_cases().map(unsigned),
    **{op: norm_cases.WHEEL_CASES[op].map(unsigned) for op in ("log_softmax", "sum", "reduce_max", "reduce_min")},
}
