"""Random one-op graphs of reductions, normalizations and products of matrices."""

from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.types import Quantization
from arenite.ops.activation import UNIT_INT16, SoftmaxAttrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.norm import LOG_PROBABILITY_INT8, UNIT_INT8
from arenite.ops.reduce import ReduceAttrs
from function_cases import arrays, symmetric
from plain_cases import Plain, near, quantizations
from weighted_cases import float32, int8_arrays

_AXES = frozenset({1})


@st.composite
def reduce_cases(draw: st.DrawFn, op: str, dtype: DType = DType.INT8) -> Plain:
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=5)))
    rank = len(shape)
    axes = np.array(draw(st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank)), np.int32)
    attrs = ReduceAttrs(draw(st.booleans()))
    nelem = int(np.prod([shape[axis] for axis in {int(axis) % rank for axis in axes}]))
    if dtype is DType.INT16:
        q = draw(symmetric())
        factor = draw(st.floats(0.5, 2)) * (nelem if op == "sum" else 1)
        result = Quantization.per_tensor(float32(q.scale * factor))
        return Plain(op, (arrays(draw, shape, dtype), axes), (q, None, result), dtype, attrs, _AXES)
    q = draw(quantizations())
    result = q if op.startswith("reduce") else draw(near(q.scale * nelem))
    return Plain(op, (int8_arrays(draw, shape), axes), (q, None, result), dtype, attrs, _AXES)


@st.composite
def row_cases(draw: st.DrawFn, op: str, result: Quantization) -> Plain:
    depth = draw(st.sampled_from((1, 2, 3, 10, 97, 511)))
    leading = draw(st.lists(st.integers(1, 3), max_size=3))
    return Plain(op, (int8_arrays(draw, (*leading, depth)),), (draw(quantizations((-12, 2))), result), DType.INT8)


@st.composite
def softmax_int16_cases(draw: st.DrawFn) -> Plain:
    depth = draw(st.sampled_from((1, 2, 3, 10, 97, 511)))
    leading = draw(st.lists(st.integers(1, 3), max_size=3))
    x = arrays(draw, (*leading, depth), DType.INT16)
    attrs = SoftmaxAttrs(draw(st.sampled_from((1.0, 1.0, 0.5, 3.0))))
    return Plain("softmax", (x,), (draw(symmetric((-16, -3))), UNIT_INT16), DType.INT16, attrs)


_BATCHES = (
    ((), ()),
    ((2,), (2,)),
    ((2,), (1,)),
    ((1,), (3,)),
    ((2,), ()),
    ((), (2,)),
    ((2, 1), (1, 3)),
    ((1, 3), (2, 3)),
    ((3,), (2, 3)),
    ((2, 2, 3), (2, 2, 3)),
    ((2, 1, 3), (1, 2, 1)),
)


@st.composite
def matmul_cases(draw: st.DrawFn, dtype: DType = DType.INT8) -> Plain:
    batch_x, batch_y = draw(st.sampled_from(_BATCHES))
    rows, depth, columns = draw(st.tuples(*[st.integers(1, 9)] * 3))
    attrs = BatchMatmulAttrs(draw(st.booleans()), draw(st.booleans()))
    x = (*batch_x, *((depth, rows) if attrs.adj_x else (rows, depth)))
    y = (*batch_y, *((columns, depth) if attrs.adj_y else (depth, columns)))
    data = (arrays(draw, x, dtype), arrays(draw, y, dtype))
    if dtype is DType.INT16:
        a, b = draw(symmetric()), draw(symmetric())
        result = Quantization.per_tensor(float32(a.scale * b.scale * depth * draw(st.floats(1000, 40000))))
    else:
        a, b = draw(quantizations()), draw(quantizations())
        result = draw(near(a.scale * b.scale * 60 * depth))
    constants = draw(st.sampled_from((frozenset[int](), frozenset({1}))))
    return Plain("batch_matmul", data, (a, b, result), dtype, attrs, constants)


WHEEL_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    **{op: reduce_cases(op) for op in ("sum", "reduce_max", "reduce_min")},
    **{f"{op}_int16": reduce_cases(op, DType.INT16) for op in ("mean", "sum")},
    "l2_normalization": row_cases("l2_normalization", UNIT_INT8),
    "log_softmax": row_cases("log_softmax", LOG_PROBABILITY_INT8),
    "softmax_int16": softmax_int16_cases(),
    "batch_matmul": matmul_cases(),
    "batch_matmul_int16": matmul_cases(DType.INT16),
}
"""For each kind of node: cases that the wheel runs too."""
