"""Random one-op graphs of the ops that gather, resize, choose, convert and sum (see moving_cases)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.types import Quantization
from arenite.ops.cast import CastAttrs
from arenite.ops.choice import ArgAttrs
from arenite.ops.gather import GatherAttrs
from arenite.ops.resize import ResizeAttrs
from arenite.ops.sums import CumsumAttrs
from moving_cases import INT, AnyArray, Cases, Moving, either, elements, ints, quantization_of, shapes
from plain_cases import near, quantizations

CHOICES = st.sampled_from((frozenset[int](), frozenset({1})))


def _indices(draw: st.DrawFn, shape: tuple[int, ...], limit: int) -> AnyArray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(0, limit, shape).astype(INT)


@st.composite
def gather_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (1, 4))
    axis = draw(st.integers(0, len(shape) - 1))
    batch = draw(st.integers(0, axis))
    indices = _indices(draw, (*shape[:batch], *shapes(draw, (0, 3), 4)), shape[axis])
    attrs = GatherAttrs(either(draw, axis, len(shape)), batch)
    data = (elements(draw, shape, dtype), indices)
    return Moving("gather", data, draw(CHOICES), attrs, quantization_of(draw, dtype))


@st.composite
def gather_nd_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (1, 4))
    depth = draw(st.integers(1, len(shape)))
    outer = shapes(draw, (1, 2), 4)
    indices = np.stack([_indices(draw, outer, shape[axis]) for axis in range(depth)], axis=-1)
    data = (elements(draw, shape, dtype), indices)
    return Moving("gather_nd", data, draw(CHOICES), quantization=quantization_of(draw, dtype))


@st.composite
def resize_cases(draw: st.DrawFn, op: str, dtype: DType) -> Moving:
    source = (draw(st.integers(1, 2)), draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 3)))
    size = ints(draw(st.integers(1, 12)), draw(st.integers(1, 12)))
    align = draw(st.booleans())
    # Both at once are refused by resize_bilinear.
    half = draw(st.booleans()) and not (align and op == "resize_bilinear")
    data = (elements(draw, source, dtype), size)
    return Moving(op, data, frozenset({1}), ResizeAttrs(align, half), quantization_of(draw, dtype))


@st.composite
def select_cases(draw: st.DrawFn, dtype: DType, largest_rank: int = 4) -> Moving:
    shape = shapes(draw, (0, largest_rank), 4)
    kinds = [shape] * 3
    if draw(st.booleans()):
        kinds = [tuple(1 if draw(st.booleans()) else dim for dim in shape) for _ in range(3)]
        kinds[draw(st.integers(0, 2))] = shape
        kinds = [kind if kind is shape else kind[draw(st.integers(0, len(kind))) :] for kind in kinds]
    types = (DType.BOOL, dtype, dtype)
    data = tuple(elements(draw, kind, type_) for kind, type_ in zip(kinds, types, strict=True))
    q = quantization_of(draw, dtype)
    return Moving("select_v2", data, draw(CHOICES), quantization=q, result_dtype=dtype)


@st.composite
def arg_cases(draw: st.DrawFn, op: str, dtype: DType, index: DType = DType.INT32) -> Moving:
    shape = shapes(draw, (1, 5))
    data = elements(draw, shape, dtype)
    # Few different values, so that several are the greatest.
    data = draw(st.sampled_from((data, data if dtype is DType.BOOL else np.sign(data))))
    axis = ints(either(draw, draw(st.integers(0, len(shape) - 1)), len(shape)))
    attrs, q = ArgAttrs(index), quantization_of(draw, dtype)
    return Moving(op, (data, axis), frozenset({1}), attrs, q, result_dtype=index)


@st.composite
def cast_cases(draw: st.DrawFn, source: DType, result: DType) -> Moving:
    """Floats within the range of the result, where it has one: beyond, C says nothing."""
    data = elements(draw, (1, draw(st.integers(1, 40))), source)
    if source is DType.FLOAT32 and result.is_integer:
        low, high = (max(-(2**24), result.limits[0]), min(2**24, result.limits[1]))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        data = rng.uniform(low, high, data.shape).astype(np.float32)
    return Moving("cast", (data,), attrs=CastAttrs(source, result), result_dtype=result)


@st.composite
def add_n_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape, count = shapes(draw, (0, 5)), draw(st.integers(2, 5))
    data = tuple(elements(draw, shape, dtype) for _ in range(count))
    return Moving("add_n", data, **_sum(draw, dtype, count))


@st.composite
def cumsum_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = list(shapes(draw, (1, 5)))
    axis = draw(st.integers(0, len(shape) - 1))
    # Long enough to leave 32 bits, now and then.
    shape[axis] = draw(st.sampled_from((1, 3, 5, 60)))
    data = (elements(draw, tuple(shape), dtype), ints(either(draw, axis, len(shape))))
    attrs = CumsumAttrs(draw(st.booleans()), draw(st.booleans()))
    return Moving("cumsum", data, frozenset({1}), attrs, **_sum(draw, dtype, 4))


def _sum(draw: st.DrawFn, dtype: DType, count: int) -> dict[str, Any]:
    if dtype is not DType.INT8:
        return {}
    q: Quantization = draw(quantizations())
    return {"quantization": q, "result_quantization": draw(near(q.scale * count))}


@st.composite
def padv2_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (0, 5))
    amounts = [(0, 0) if draw(st.booleans()) else draw(st.tuples(*[st.integers(0, 3)] * 2)) for _ in shape]
    data = (elements(draw, shape, dtype), np.array(amounts, INT).reshape(-1, 2), elements(draw, (1,), dtype))
    constants = draw(st.sampled_from((frozenset({1}), frozenset({1, 2}))))
    return Moving("padv2", data, constants, Attrs(), quantization_of(draw, dtype))


CHOOSERS: Mapping[str, Cases] = {
    "gather": gather_cases,
    "gather_nd": gather_nd_cases,
    "resize_nearest_neighbor": lambda dtype: resize_cases("resize_nearest_neighbor", dtype),
    "resize_bilinear": lambda dtype: resize_cases("resize_bilinear", dtype),
    "select_v2": select_cases,
    "arg_max": lambda dtype: arg_cases("arg_max", dtype),
    "arg_min": lambda dtype: arg_cases("arg_min", dtype),
    "add_n": add_n_cases,
    "cumsum": cumsum_cases,
    "padv2": padv2_cases,
}
