"""Elementwise operators by numpy. Integers wrap; a division of integers truncates; NaN goes through."""

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.ir.opdef import OpError
from arenite.ops.onnx.invocation import (
    Invocation,
    Kernel,
    Kernels,
    NotHereError,
    Numbers,
    broadcast,
    optional,
    required,
)
from arenite.ops.onnx.tensors import DTYPES

_ERF_NELEM = 1 << 14


def binary(function: Callable[..., object], *, result: type[np.generic] | None = None) -> Kernel:
    """A kernel of two operands of one dtype that broadcast; the result has that dtype unless given."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        a, b = required(operands, 0, "A"), required(operands, 1, "B")
        if a.dtype != b.dtype:
            raise OpError(f"operands have unlike element types {a.dtype} and {b.dtype}")
        broadcast(a, b)
        return np.asarray(function(a, b)).astype(a.dtype if result is None else result, copy=False)

    return kernel


def unary(function: Callable[..., object], *, result: type[np.generic] | None = None) -> Kernel:
    """A kernel of one operand; float16 and bfloat16 are computed in float32 and rounded once."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        x = required(operands, 0, "X")
        return np.asarray(function(widened(x))).astype(x.dtype if result is None else result, copy=False)

    return kernel


def with_attrs(function: Callable[..., object], **defaults: float) -> Kernel:
    """A kernel of one operand and attributes of type FLOAT."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        x = required(operands, 0, "X")
        values = {name: call.attrs.number(name, default) for name, default in defaults.items()}
        return np.asarray(function(widened(x), **values)).astype(x.dtype, copy=False)

    return kernel


def widened(x: Numbers) -> Numbers:
    """float32 in place of the shorter floats."""
    return x.astype(np.float32) if x.itemsize < 4 and DType.of(x.dtype).is_float else x


def folded(function: Callable[..., Numbers]) -> Kernel:
    """A kernel of any number of operands that broadcast."""

    def kernel(call: Invocation, operands: Sequence[Array | None]) -> Array:
        arrays = [required(operands, index, "data") for index in range(len(operands))]
        if not arrays:
            raise OpError("needs at least one operand")
        broadcast(*arrays)
        return np.asarray(reduce(function, arrays)).astype(arrays[0].dtype, copy=False)

    return kernel


def _divide(a: Numbers, b: Numbers) -> Numbers:
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    x, y = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    if (y == 0).any():
        raise OpError("an integer is divided by 0")
    quotient = np.floor_divide(x, y)
    # numpy rounds down, C and ONNX towards 0.
    remainder = np.subtract(x, np.multiply(quotient, y))
    return np.asarray(quotient + ((remainder != 0) & ((x < 0) != (y < 0))), x.dtype)


def _mod(call: Invocation, operands: Sequence[Array | None]) -> Array:
    a, b = required(operands, 0, "A"), required(operands, 1, "B")
    broadcast(a, b)
    if a.dtype.kind in "iu" and not np.asarray(b).all():
        raise OpError("an integer is divided by 0")
    if call.attrs.integer("fmod", 0):
        return np.fmod(a, b).astype(a.dtype, copy=False)
    if a.dtype.kind not in "iu":
        raise NotHereError
    return np.mod(a, b).astype(a.dtype, copy=False)


def _pow(call: Invocation, operands: Sequence[Array | None]) -> Array:
    a, b = required(operands, 0, "X"), required(operands, 1, "Y")
    broadcast(a, b)
    if a.dtype.kind in "iu" and (b.dtype.kind not in "iu" or (np.asarray(b) < 0).any()):
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    if a.dtype.kind in "iu":
        return np.asarray(np.power(a, b.astype(a.dtype)))
    return np.asarray(np.power(widened(a), b.astype(widened(a).dtype)).astype(a.dtype, copy=False))


def _mean(call: Invocation, operands: Sequence[Array | None]) -> Array:
    total = folded(np.add)(call, operands)
    assert isinstance(total, np.ndarray)
    return np.divide(total, np.asarray(len(operands), total.dtype)).astype(total.dtype, copy=False)


def _where(call: Invocation, operands: Sequence[Array | None]) -> Array:
    condition, a, b = (required(operands, index, name) for index, name in enumerate(("condition", "X", "Y")))
    broadcast(condition, a, b)
    if a.dtype != b.dtype:
        raise OpError(f"operands have unlike element types {a.dtype} and {b.dtype}")
    return np.where(condition.astype(bool, copy=False), a, b)


_OLD_BOUND = 3.4028234663852886e38
"""The default of the attributes of Clip before opset 11, of whatever element type."""


def _clip(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = required(operands, 0, "input")
    if call.opset < 11:
        low, high = (
            np.asarray(call.attrs.number(name), x.dtype) if call.attrs.has(name) else None for name in ("min", "max")
        )
    else:
        low, high = (optional(operands, index) for index in (1, 2))
    if x.dtype.kind not in "biu" and DType.of(x.dtype).is_float:
        # A bound that is not given is the largest finite number, so that no infinity goes through.
        limit = _OLD_BOUND if call.opset < 11 else math.inf
        largest = np.asarray(min(DType.of(x.dtype).largest, limit), x.dtype)
        low = np.negative(largest) if low is None else low
        high = largest if high is None else high
    for bound in (low, high):
        if bound is not None and np.size(bound) != 1:
            raise OpError(f"a bound must be a single number, found shape {list(np.shape(bound))}")
    y = x if low is None else np.maximum(x, np.reshape(low, ()))
    return np.asarray(y if high is None else np.minimum(y, np.reshape(high, ()))).astype(x.dtype, copy=False)


def _erf(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = required(operands, 0, "input")
    return erf(x)


def erf(x: Numbers) -> Numbers:
    """The error function, computed in double. Raises NotHereError for very many elements."""
    if x.size > _ERF_NELEM:
        raise NotHereError
    flat = [math.erf(value) for value in x.astype(np.float64).reshape(-1).tolist()]
    return np.array(flat, np.float64).reshape(x.shape).astype(x.dtype)


def _gelu(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = required(operands, 0, "X")
    wide = widened(x)
    if call.attrs.text("approximate", "none") == "tanh":
        inner = np.sqrt(2 / np.pi).astype(wide.dtype) * (wide + wide.dtype.type(0.044715) * wide**3)
        y = wide.dtype.type(0.5) * wide * (1 + np.tanh(inner))
    else:
        y = wide.dtype.type(0.5) * wide * (1 + erf(wide / np.sqrt(wide.dtype.type(2))))
    return np.asarray(y).astype(x.dtype, copy=False)


def _sigmoid(x: Numbers) -> object:
    # Each branch is exact where it is used: exp never overflows.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _prelu(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x, slope = required(operands, 0, "X"), required(operands, 1, "slope")
    if broadcast(x, slope) != x.shape:
        raise OpError(f"slope {list(slope.shape)} does not broadcast to {list(x.shape)}")
    return np.where(np.asarray(x) < 0, np.multiply(x, slope), x).astype(x.dtype, copy=False)


def _is_inf(call: Invocation, operands: Sequence[Array | None]) -> Array:
    x = widened(required(operands, 0, "X"))
    found = np.zeros(x.shape, bool)
    if call.attrs.integer("detect_positive", 1):
        found |= np.asarray(np.isposinf(x))
    if call.attrs.integer("detect_negative", 1):
        found |= np.asarray(np.isneginf(x))
    return found


def _shift(call: Invocation, operands: Sequence[Array | None]) -> Array:
    function = np.left_shift if call.attrs.text("direction") == "LEFT" else np.right_shift
    result = binary(function)(call, operands)
    assert isinstance(result, np.ndarray)
    return result


def _cast(call: Invocation, operands: Sequence[Array | None]) -> Array:
    dtype = DTYPES.get(call.attrs.integer("to"))
    if dtype is None:
        raise OpError(f"attribute 'to' is {call.attrs.integer('to')}, which is no element type")
    return cast(required(operands, 0, "input"), dtype)


def _cast_like(call: Invocation, operands: Sequence[Array | None]) -> Array:
    return cast(required(operands, 0, "input"), DType.of(required(operands, 1, "target_type").dtype))


_PLAIN = frozenset(
    {DType.BOOL, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64}
    | {dtype for dtype in DType if dtype.is_integer and dtype.itemsize * 8 == int(dtype.value.lstrip("uint"))}
)


def cast(x: Numbers, dtype: DType) -> Numbers:
    """An array in another element type: floats round to nearest even, lose their fraction as integers; integers wrap.

    Raises:
        NotHereError: strings, complex numbers, and floats or integers of less than a byte.
    """
    if not {DType.of(x.dtype), dtype} <= _PLAIN:
        raise NotHereError
    if x.dtype == dtype.numpy:
        return x
    if dtype is DType.BOOL:
        return np.asarray(widened(x) != 0)
    if DType.of(x.dtype).is_float and dtype.is_integer and dtype.itemsize < 8:
        return widened(x).astype(np.int64).astype(dtype.numpy)
    return x.astype(dtype.numpy)


KERNELS: Kernels = {
    "Abs": unary(np.abs),
    "Acos": unary(np.arccos),
    "Acosh": unary(np.arccosh),
    "Add": binary(np.add),
    "And": binary(np.logical_and, result=np.bool_),
    "Asin": unary(np.arcsin),
    "Asinh": unary(np.arcsinh),
    "Atan": unary(np.arctan),
    "Atanh": unary(np.arctanh),
    "BitShift": _shift,
    "BitwiseAnd": binary(np.bitwise_and),
    "BitwiseNot": unary(np.bitwise_not),
    "BitwiseOr": binary(np.bitwise_or),
    "BitwiseXor": binary(np.bitwise_xor),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": unary(np.ceil),
    "Clip": _clip,
    "Cos": unary(np.cos),
    "Cosh": unary(np.cosh),
    "Div": binary(_divide),
    "Elu": with_attrs(lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), alpha=1.0),
    "Equal": binary(np.equal, result=np.bool_),
    "Erf": _erf,
    "Exp": unary(np.exp),
    "Floor": unary(np.floor),
    "Gelu": _gelu,
    "Greater": binary(np.greater, result=np.bool_),
    "GreaterOrEqual": binary(np.greater_equal, result=np.bool_),
    "HardSigmoid": with_attrs(lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), alpha=0.2, beta=0.5),
    "HardSwish": unary(lambda x: x * np.clip(x / x.dtype.type(6) + x.dtype.type(0.5), 0, 1)),
    "Identity": lambda call, operands: required(operands, 0, "input"),
    "IsInf": _is_inf,
    "IsNaN": unary(np.isnan, result=np.bool_),
    "LeakyRelu": with_attrs(lambda x, alpha: np.where(x < 0, alpha * x, x), alpha=0.01),
    "Less": binary(np.less, result=np.bool_),
    "LessOrEqual": binary(np.less_equal, result=np.bool_),
    "Log": unary(np.log),
    "Max": folded(np.maximum),
    "Mean": _mean,
    "Min": folded(np.minimum),
    "Mod": _mod,
    "Mul": binary(np.multiply),
    "Neg": unary(np.negative),
    "Not": unary(np.logical_not, result=np.bool_),
    "Or": binary(np.logical_or, result=np.bool_),
    "PRelu": _prelu,
    "Pow": _pow,
    "Reciprocal": unary(lambda x: 1 / x),
    "Relu": unary(lambda x: np.maximum(x, x.dtype.type(0))),
    "Round": unary(np.rint),
    "Sigmoid": unary(_sigmoid),
    "Sign": unary(np.sign),
    "Sin": unary(np.sin),
    "Sinh": unary(np.sinh),
    "Softplus": unary(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    "Softsign": unary(lambda x: x / (1 + np.abs(x))),
    "Sqrt": unary(np.sqrt),
    "Sub": binary(np.subtract),
    "Sum": folded(np.add),
    "Tan": unary(np.tan),
    "Tanh": unary(np.tanh),
    "ThresholdedRelu": with_attrs(lambda x, alpha: np.where(x > alpha, x, 0), alpha=1.0),
    "Where": _where,
    "Xor": binary(np.logical_xor, result=np.bool_),
}
