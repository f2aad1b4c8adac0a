"""Random one-op graphs of functions of one and two operands, comparisons and logic."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.types import Quantization
from arenite.ops.activation import UNIT_INT16
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.rectifiers import LeakyReluAttrs
from plain_cases import ALL_CODES, AnyArray, Plain, broadcast_shapes, codes_of, near, pool_cases, quantizations
from weighted_cases import ACTIVATIONS, float32, int8_arrays, scales, zero_points

_ONE_OF_TWO = st.sampled_from((frozenset[int](), frozenset({1})))


def symmetric(exponents: tuple[int, int] = (-16, -8)) -> st.SearchStrategy[Quantization]:
    """Quantizations as int16 tensors have them."""
    return st.builds(Quantization.per_tensor, scales(exponents))


def arrays(draw: st.DrawFn, shape: tuple[int, ...], dtype: DType) -> AnyArray:
    """Numbers of a type, its limits among them now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype is DType.FLOAT32:
        return rng.normal(0, 4, shape).astype(np.float32)
    low, high = dtype.limits
    reach = draw(st.sampled_from((3, 1000, 2 * high + 1)))
    drawn = rng.integers(-reach, reach, shape, endpoint=True, dtype=np.int64) if reach < 2**40 else None
    if drawn is None:
        drawn = rng.integers(low, high, shape, endpoint=True, dtype=np.int64)
    return np.clip(drawn, low, high).astype(dtype.numpy)


@st.composite
def unary_cases(draw: st.DrawFn, op: str) -> Plain:
    """All codes, of some quantization."""
    q = draw(quantizations((-12, 2)))
    attrs = LeakyReluAttrs(float32(draw(st.floats(0, 2)))) if op == "leaky_relu" else Attrs()
    result = draw(near(q.scale / 3 if op == "hard_swish" else q.scale))
    if op == "hard_swish":
        result = Quantization.per_tensor(max(result.scale, float32(q.scale / 120)), result.zero_point)
    return Plain(op, (ALL_CODES,), (q, result), DType.INT8, attrs=attrs)


@st.composite
def rsqrt_cases(draw: st.DrawFn) -> Plain:
    """All codes that TFLite-Micro takes."""
    q, result = draw(quantizations((-8, 0))), draw(quantizations((-8, 0)))
    return Plain("rsqrt", (ALL_CODES[:, q.zero_point + 128 :],), (q, result), DType.INT8)


@st.composite
def log_cases(draw: st.DrawFn) -> Plain:
    """All codes of positive numbers."""
    q = Quantization.per_tensor(draw(scales()), draw(st.integers(-128, 126)))
    return Plain("log", (ALL_CODES[:, q.zero_point + 129 :],), (q, draw(near(1 / 32))), DType.INT8)


@st.composite
def unary_int16_cases(draw: st.DrawFn, op: str) -> Plain:
    x = codes_of(DType.INT16, draw(st.integers(0, 99)))
    q = draw(symmetric())
    result = Quantization.per_tensor(float32(q.scale * draw(st.floats(0.1, 4))))
    if op == "leaky_relu":
        return Plain(op, (x,), (q, result), DType.INT16, LeakyReluAttrs(float32(draw(st.floats(0, 2)))))
    if op == "rsqrt":
        return Plain(op, (np.abs(x.astype(np.int32) // 2).astype(np.int16),), (q, draw(symmetric())), DType.INT16)
    if op == "relu6":
        # TFLite-Micro forgets to rescale.
        return Plain(op, (x,), (q, q), DType.INT16)
    return Plain(op, (x,), (q, result), DType.INT16)


@st.composite
def sigmoid_int16_cases(draw: st.DrawFn, op: str) -> Plain:
    """Powers of two and other scales, codes at and next to the points of the table."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    power = st.sampled_from((-13, -12, -11, -10)).map(lambda e: 2.0**e)
    q = Quantization.per_tensor(draw(st.one_of(power, scales((-16, 0)), st.floats(0.001, 2.6).map(float32))))
    edges = np.arange(-256, 257) * 512 // 3 + rng.integers(-1, 2, 513)
    x = np.concatenate([edges.clip(-32768, 32767), rng.integers(-32768, 32768, 500)]).astype(np.int16)
    return Plain(op, (x.reshape(1, -1),), (q, UNIT_INT16), DType.INT16)


@st.composite
def arithmetic_int16_cases(draw: st.DrawFn, op: str) -> Plain:
    data = tuple(arrays(draw, shape, DType.INT16) for shape in draw(broadcast_shapes()))
    a, b = draw(symmetric()), draw(symmetric())
    reach = a.scale * b.scale * 16384 if op == "mul" else max(a.scale, b.scale)
    result = Quantization.per_tensor(float32(reach * draw(st.floats(0.3, 3))))
    attrs = ArithmeticAttrs(draw(st.sampled_from(ACTIVATIONS)))
    return Plain(op, data, (a, b, result), DType.INT16, attrs, draw(_ONE_OF_TWO))


@st.composite
def prelu_cases(draw: st.DrawFn, dtype: DType = DType.INT8) -> Plain:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    alpha = tuple(1 if draw(st.booleans()) else dim for dim in shape)
    data = (arrays(draw, shape, dtype), int8_arrays(draw, alpha))
    small = dtype is DType.INT8
    q = draw(quantizations() if small else symmetric())
    result = draw(near(q.scale)) if small else Quantization.per_tensor(float32(q.scale * draw(st.floats(0.3, 3))))
    return Plain("prelu", data, (q, draw(quantizations()), result), dtype, constants=draw(_ONE_OF_TWO))


@st.composite
def extremum_cases(draw: st.DrawFn, op: str, dtype: DType = DType.INT8) -> Plain:
    data = tuple(arrays(draw, shape, dtype) for shape in draw(broadcast_shapes()))
    q = {DType.INT8: quantizations(), DType.INT16: symmetric()}.get(dtype)
    found = None if q is None else draw(q)
    return Plain(op, data, (found,) * 3, dtype, constants=draw(_ONE_OF_TWO))


@st.composite
def squared_difference_cases(draw: st.DrawFn, dtype: DType = DType.INT8) -> Plain:
    data = tuple(arrays(draw, shape, dtype) for shape in draw(broadcast_shapes()))
    if dtype is DType.INT8:
        a = draw(quantizations())
        b = draw(near(a.scale))
        result = draw(near(max(a.scale, b.scale) ** 2 * 100))
    else:
        a, b = draw(symmetric()), draw(symmetric())
        result = Quantization.per_tensor(float32(max(a.scale, b.scale) ** 2 * draw(st.floats(100, 1e5))))
    return Plain("squared_difference", data, (a, b, result), dtype)


@st.composite
def plain_int32_cases(draw: st.DrawFn, op: str) -> Plain:
    a, b = (arrays(draw, shape, DType.INT32) for shape in draw(broadcast_shapes()))
    # TFLite-Micro's ADD of int32 forgets the fused activation.
    activations = (Activation.NONE,) if op == "add" else ACTIVATIONS
    attrs = Attrs() if op == "squared_difference" else ArithmeticAttrs(draw(st.sampled_from(activations)))
    if op == "div":
        # x / 0 fails in TFLite-Micro, and -2**31 / -1 stops the process.
        b = np.where((b == 0) | (b == -1), 7, b).astype(np.int32)
    return Plain(op, (a, b), (None,) * 3, DType.INT32, attrs=attrs)


@st.composite
def power_cases(draw: st.DrawFn) -> Plain:
    """Without negative exponents, which fail in LiteRT."""
    base, exponent = (arrays(draw, shape, DType.INT32) for shape in draw(broadcast_shapes()))
    return Plain("pow", (base % 11 - 5, exponent & 7), (None,) * 3, DType.INT32)


@st.composite
def div_cases(draw: st.DrawFn) -> Plain:
    """Quotients that are not too small, which TFLite-Micro shifts out of their register, and no divisor 0."""
    a, b = (int8_arrays(draw, shape) for shape in draw(broadcast_shapes()))
    qa, qb = draw(quantizations()), draw(quantizations())
    # A factor of at least 2**7 leaves shifts of at most 31.
    scale = float32(qa.scale / qb.scale / draw(st.floats(130, 2**20)))
    result = Quantization.per_tensor(scale, draw(zero_points()))
    b = np.where(b == qb.zero_point, qb.zero_point + (1 if qb.zero_point < 127 else -1), b).astype(np.int8)
    return Plain("div", (a, b), (qa, qb, result), DType.INT8, ArithmeticAttrs(draw(st.sampled_from(ACTIVATIONS))))


@st.composite
def comparison_cases(draw: st.DrawFn, op: str, dtype: DType = DType.INT8) -> Plain:
    data = tuple(arrays(draw, shape, dtype) for shape in draw(broadcast_shapes()))
    quantized: tuple[Quantization | None, ...] = (None, None)
    if dtype is DType.INT8:
        first = draw(quantizations((-12, -2)))
        second = draw(near(first.scale))
        same = draw(st.booleans()) or second.scale >= 1
        quantized = (first, first if same else second)
    return Plain(op, data, (*quantized, None), DType.BOOL, constants=draw(_ONE_OF_TWO))


@st.composite
def logic_cases(draw: st.DrawFn, op: str) -> Plain:
    shapes: Any = draw(broadcast_shapes())
    data = tuple(arrays(draw, shape, DType.BOOL) for shape in shapes)
    if op == "logical_not":
        return Plain(op, data[:1], (None, None), DType.BOOL)
    return Plain(op, data, (None,) * 3, DType.BOOL)


@st.composite
def pool_int16_cases(draw: st.DrawFn, op: str) -> Plain:
    case = draw(pool_cases(op))
    q = draw(symmetric())
    return replace(
        case, data=(arrays(draw, case.data[0].shape, DType.INT16),), quantizations=(q, q), result_dtype=DType.INT16
    )


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

WHEEL_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    **{op: unary_cases(op) for op in ("abs", "leaky_relu", "elu", "hard_swish")},
    "rsqrt": rsqrt_cases(),
    **{f"{op}_int16": unary_int16_cases(op) for op in ("abs", "leaky_relu", "relu", "relu6", "rsqrt")},
    **{f"{op}_int16": sigmoid_int16_cases(op) for op in ("logistic", "tanh")},
    **{f"{op}_int16": arithmetic_int16_cases(op) for op in ("add", "sub", "mul")},
    **{f"{op}_int16": pool_int16_cases(op) for op in ("average_pool2d", "max_pool2d")},
    "prelu": prelu_cases(),
    "prelu_int16": prelu_cases(DType.INT16),
    **{
        f"{op}_{dtype}": extremum_cases(op, dtype)
        for op in ("minimum", "maximum")
        for dtype in (DType.INT8, DType.INT16, DType.INT32, DType.INT64)
    },
    "squared_difference": squared_difference_cases(),
    "squared_difference_int16": squared_difference_cases(DType.INT16),
    **{f"{op}_int32": plain_int32_cases(op) for op in ("add", "sub", "mul", "div", "squared_difference")},
    "div": div_cases(),
    **{
        f"{op}_{dtype}": comparison_cases(op, dtype)
        for op in COMPARISONS
        for dtype in (DType.INT8, DType.INT32, DType.INT64)
    },
    "equal_bool": comparison_cases("equal", DType.BOOL),
    "not_equal_bool": comparison_cases("not_equal", DType.BOOL),
    **{op: logic_cases(op) for op in ("logical_and", "logical_or", "logical_not")},
}
"""For each kind of node: cases that the wheel runs too."""

LITERT_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    "exp": unary_cases("exp"),
    "log": log_cases(),
    "relu_n1_to_1": unary_cases("relu_n1_to_1"),
    "relu_0_to_1": unary_cases("relu_0_to_1"),
    "pow_int32": power_cases(),
}
"""Cases that TFLite-Micro lacks: LiteRT's reference kernels decide."""
