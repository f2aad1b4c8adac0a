"""Facts of elementwise operators, elements of small integer tensors included."""

from collections.abc import Callable, Sequence

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpError
from arenite.ops.onnx.tensors import DTYPES
from arenite.passes.onnx.expr import Expr, Poly, add, divide_exactly, floordiv, higher, lower, mul, sub
from arenite.passes.onnx.fact import MAX_ELEMENTS, Asked, Elements, Fact, Infer, Shape
from arenite.passes.onnx.shapes import broadcast

Scalar = Callable[..., Expr | None]


def same_type(asked: Asked) -> list[Fact]:
    """The first result is of operand 0's type, as the others are not known to be."""
    first = asked.operand(0)
    return [Fact(first.dtype, first.shape)]


def passed_on(asked: Asked) -> list[Fact]:
    """The first result is operand 0."""
    return [asked.operand(0)]


def _shapes(asked: Asked, first: int = 0) -> Shape | None:
    shapes = [asked.operand(index).shape for index in range(first, len(asked.operands)) if asked.has(index)]
    known = [shape for shape in shapes if shape is not None]
    return broadcast(asked, known) if len(known) == len(shapes) else None


def _exact(dtype: DType | None) -> bool:
    """Whether arithmetic on named sizes is that of the element type: sizes never wrap in it."""
    return dtype in (DType.INT64, DType.INT32)


def _wrapped(value: Expr | None, dtype: DType) -> Expr | None:
    """A number as the element type holds it; None for what does not fit into one that wraps."""
    if not isinstance(value, int) or dtype is DType.BOOL:
        return value
    low, high = dtype.limits
    return value if low <= value <= high else None


def elements_of(asked: Asked, shape: Shape | None, dtype: DType | None, function: Scalar) -> Elements | None:
    """The elements of a result, by a function of the operands' elements; None when not even one is known."""
    facts = [asked.operand(index) for index in range(len(asked.operands))]
    if shape is None or dtype is None or any(fact.elements is None or fact.dims is None for fact in facts):
        return None
    dims = tuple(dim for dim in shape if isinstance(dim, int))
    count = 1
    for dim in dims:
        count *= dim
    if len(dims) != len(shape) or count > MAX_ELEMENTS:
        return None
    columns = [_spread(fact, dims, count) for fact in facts]
    found = tuple(
        None if any(item is None for item in items) else _wrapped(function(*items), dtype)
        for items in zip(*columns, strict=True)
    )
    return found if any(item is not None for item in found) or not found else None


def _spread(fact: Fact, dims: tuple[int, ...], count: int) -> Sequence[Expr | None]:
    """A fact's elements, broadcast to a shape."""
    elements, own = fact.elements or (), fact.dims or ()
    if own == dims:
        return elements
    if len(elements) == 1:
        return elements * count
    padded = (1,) * (len(dims) - len(own)) + own
    strides, step = [0] * len(dims), 1
    for axis in reversed(range(len(dims))):
        strides[axis] = step if padded[axis] != 1 else 0
        step *= padded[axis]
    found = []
    for index in range(count):
        rest, offset = index, 0
        for axis in reversed(range(len(dims))):
            rest, at = divmod(rest, dims[axis])
            offset += at * strides[axis]
        found.append(elements[offset])
    return found


def arithmetic(function: Scalar | None) -> Infer:
    """Operands of one element type that broadcast; the function computes elements of int32 and int64."""

    def rule(asked: Asked) -> list[Fact]:
        shape, dtype = _shapes(asked), asked.operand(0).dtype
        elements = elements_of(asked, shape, dtype, function) if function is not None and _exact(dtype) else None
        return [Fact(dtype, shape, elements)]

    return rule


def comparison(function: Scalar | None) -> Infer:
    """Operands that broadcast; the results are booleans."""

    def rule(asked: Asked) -> list[Fact]:
        shape, dtype = _shapes(asked), asked.operand(0).dtype
        known = function is not None and (_exact(dtype) or dtype is DType.BOOL)
        return [
            Fact(DType.BOOL, shape, elements_of(asked, shape, DType.BOOL, function) if known and function else None)
        ]

    return rule


def _divide(a: Expr, b: Expr) -> Expr | None:
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if isinstance(a, Poly) and a.is_natural:
        return floordiv(a, b)
    # What divides exactly is the same however it is rounded.
    return divide_exactly(a, b) if isinstance(b, int) else None


def _mod(asked: Asked) -> list[Fact]:
    """The remainder has the sign of the divisor; with `fmod`, that of the dividend."""
    return list(arithmetic(_fmod if asked.attrs.integer("fmod", 0) else _floor_mod)(asked))


def _floor_mod(a: Expr, b: Expr) -> Expr | None:
    return a % b if isinstance(a, int) and isinstance(b, int) and b else None


def _fmod(a: Expr, b: Expr) -> Expr | None:
    if not (isinstance(a, int) and isinstance(b, int) and b):
        return None
    return abs(a) % abs(b) * (1 if a >= 0 else -1)


def _power(a: Expr, b: Expr) -> Expr | None:
    return int(a**b) if isinstance(a, int) and isinstance(b, int) and 0 <= b <= 64 else None


def _equal(a: Expr, b: Expr) -> Expr | None:
    difference = sub(a, b)
    if isinstance(difference, int):
        return int(difference == 0)
    # Sizes are not negative, so one more than a size is not 0.
    for candidate in (difference, mul(difference, -1)):
        if isinstance(candidate, Poly) and candidate.is_natural and any(not names for names, _ in candidate.terms):
            return 0
    return None


def _less(a: Expr, b: Expr) -> Expr | None:
    difference = sub(b, a)
    if isinstance(difference, int):
        return int(difference > 0)
    if isinstance(difference, Poly) and difference.is_natural and any(not names for names, _ in difference.terms):
        return 1
    opposite = mul(difference, -1)
    return 0 if isinstance(opposite, Poly) and opposite.is_natural else None


def _less_or_equal(a: Expr, b: Expr) -> Expr | None:
    found = _less(b, a)
    return None if found is None else int(not found)


def _where(asked: Asked) -> list[Fact]:
    shape, dtype = _shapes(asked), asked.operand(1).dtype
    if not _exact(dtype):
        return [Fact(dtype, shape)]
    condition, one, other = (asked.operand(index) for index in range(3))
    if condition.elements is None:
        return [Fact(dtype, shape)]
    known = [condition, *(fact if fact.elements is not None else _unknown(fact) for fact in (one, other))]
    if shape is None or any(fact.elements is None or fact.dims is None for fact in known):
        return [Fact(dtype, shape)]
    dims = tuple(dim for dim in shape if isinstance(dim, int))
    count = 1
    for dim in dims:
        count *= dim
    if len(dims) != len(shape) or count > MAX_ELEMENTS:
        return [Fact(dtype, shape)]
    columns = [_spread(fact, dims, count) for fact in known]
    found = tuple(
        (a if c else b) if isinstance(c, int) else (a if a == b else None) for c, a, b in zip(*columns, strict=True)
    )
    return [Fact(dtype, shape, found if any(item is not None for item in found) else None)]


def _unknown(fact: Fact) -> Fact:
    dims = fact.dims
    count = 1
    for dim in dims or ():
        count *= dim
    return Fact(fact.dtype, fact.shape, None if dims is None or count > MAX_ELEMENTS else (None,) * count)


def _cast(asked: Asked) -> list[Fact]:
    fact = asked.operand(0)
    dtype = DTYPES.get(asked.attrs.integer("to"))
    return [Fact(dtype, fact.shape, _recast(fact, dtype))]


def _cast_like(asked: Asked) -> list[Fact]:
    fact, dtype = asked.operand(0), asked.operand(1).dtype
    return [Fact(dtype, fact.shape, _recast(fact, dtype))]


def _recast(fact: Fact, dtype: DType | None) -> Elements | None:
    if fact.elements is None or dtype is None:
        return None
    if dtype is DType.BOOL:
        return tuple(int(item != 0) if isinstance(item, int) else None for item in fact.elements)
    return tuple(None if item is None else _wrapped(item, dtype) for item in fact.elements) if _exact(dtype) else None


def _clip(asked: Asked) -> list[Fact]:
    first = asked.operand(0)
    return [Fact(first.dtype, first.shape)]


def _random(asked: Asked) -> list[Fact]:
    dtype = DTYPES.get(asked.attrs.integer("dtype", 1))
    shape = asked.attrs.integers("shape")
    return [Fact(dtype, None if shape is None else tuple(shape))]


def _like(asked: Asked) -> list[Fact]:
    first = asked.operand(0)
    number = asked.attrs.get("dtype")
    dtype = DTYPES.get(number) if isinstance(number, int) else first.dtype
    return [Fact(dtype, first.shape)]


def _dropout(asked: Asked) -> list[Fact]:
    first = asked.operand(0)
    mask = DType.BOOL if asked.opset >= 10 else first.dtype
    return [Fact(first.dtype, first.shape), Fact(mask, first.shape)]


def _quantize(asked: Asked) -> list[Fact]:
    first = asked.operand(0)
    number = asked.attrs.get("output_dtype")
    if asked.has(2):
        dtype = asked.operand(2).dtype
    else:
        dtype = DTYPES.get(number) if isinstance(number, int) and number else DType.UINT8
    return [Fact(dtype, first.shape)]


def _dequantize(asked: Asked) -> list[Fact]:
    number = asked.attrs.get("output_dtype")
    dtype = DTYPES.get(number) if isinstance(number, int) and number else asked.operand(1).dtype
    return [Fact(dtype, asked.operand(0).shape)]


def _dynamic_quantize(asked: Asked) -> list[Fact]:
    return [Fact(DType.UINT8, asked.operand(0).shape), Fact(DType.FLOAT32, ()), Fact(DType.UINT8, ())]


def _prelu(asked: Asked) -> list[Fact]:
    if asked.operand(0).shape is None:
        raise OpError("the rank is not known")
    return same_type(asked)


_UNARY = """
Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish
LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh
ThresholdedRelu Hardmax LogSoftmax LpNormalization LRN MeanVarianceNormalization Softmax CumSum Trilu ReverseSequence
GroupNormalization InstanceNormalization RMSNormalization ScatterElements ScatterND Scatter"""

RULES: dict[str, Infer] = {
    **dict.fromkeys(_UNARY.split(), same_type),
    "Abs": arithmetic(lambda a: abs(a) if isinstance(a, int) else a if a.is_natural else None),
    "Neg": arithmetic(lambda a: mul(a, -1)),
    "Add": arithmetic(add),
    "Sub": arithmetic(sub),
    "Mul": arithmetic(mul),
    "Div": arithmetic(_divide),
    "Mod": _mod,
    "Pow": arithmetic(_power),
    "Min": arithmetic(lambda *items: _all(lower, items)),
    "Max": arithmetic(lambda *items: _all(higher, items)),
    "Sum": arithmetic(lambda *items: _all(add, items)),
    **dict.fromkeys(("Mean", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"), arithmetic(None)),
    "Equal": comparison(_equal),
    "Less": comparison(_less),
    "Greater": comparison(lambda a, b: _less(b, a)),
    "LessOrEqual": comparison(_less_or_equal),
    "GreaterOrEqual": comparison(lambda a, b: _less_or_equal(b, a)),
    "And": comparison(lambda a, b: a & b if isinstance(a, int) and isinstance(b, int) else None),
    "Or": comparison(lambda a, b: a | b if isinstance(a, int) and isinstance(b, int) else None),
    "Xor": comparison(lambda a, b: a ^ b if isinstance(a, int) and isinstance(b, int) else None),
    "Not": comparison(lambda a: 1 - a if isinstance(a, int) else None),
    "IsNaN": comparison(None),
    "IsInf": comparison(None),
    "Where": _where,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "PRelu": _prelu,
    "Identity": passed_on,
    "Dropout": _dropout,
    "RandomNormal": _random,
    "RandomUniform": _random,
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike", "Bernoulli", "EyeLike"), _like),
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic_quantize,
}


def _all(function: Callable[[Expr, Expr], Expr | None], items: Sequence[Expr]) -> Expr | None:
    found: Expr | None = items[0]
    for item in items[1:]:
        found = None if found is None else function(found, item)
    return found
