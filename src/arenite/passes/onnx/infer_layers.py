"""Facts of layers: convolution, pooling, products of matrices, reduction, normalisation, recurrence."""

from collections.abc import Callable

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpError
from arenite.passes.onnx.expr import Expr, Poly, add, floordiv, mul, sub
from arenite.passes.onnx.fact import Asked, Fact, Infer, Shape
from arenite.passes.onnx.infer_elementwise import same_type
from arenite.passes.onnx.shapes import broadcast, place, places, shape_of, unknown_dims


def _windows(asked: Asked, spatial: Shape, kernel: tuple[int, ...], *, ceil: bool = False) -> Shape:
    """Sizes of the result of a convolution or a pool along the spatial dimensions."""
    attrs, rank = asked.attrs, len(spatial)
    strides = attrs.integers("strides") or (1,) * rank
    dilations = attrs.integers("dilations") or (1,) * rank
    pads = attrs.integers("pads") or (0,) * (2 * rank)
    auto = attrs.text("auto_pad", "NOTSET")
    if (
        not len(strides) == len(dilations) == len(kernel) == rank
        or len(pads) != 2 * rank
        or min(strides, default=1) < 1
    ):
        raise OpError("strides, dilations, pads or the kernel do not fit")
    found: list[Expr] = []
    for axis, dim in enumerate(spatial):
        stride, reach = strides[axis], (kernel[axis] - 1) * dilations[axis] + 1
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            size = floordiv(add(dim, stride - 1), stride)
        else:
            padded = dim if auto == "VALID" else add(dim, pads[axis] + pads[axis + rank])
            size = _count(padded, reach, stride, ceil=ceil and isinstance(dim, int))
            if ceil and not isinstance(dim, int):
                size = None
            elif ceil and isinstance(size, int) and isinstance(dim, int) and auto == "NOTSET":
                # A last window that would start in the padding after the end is left out.
                size -= int((size - 1) * stride >= dim + pads[axis])
        found.append(asked.fresh() if size is None else size)
    return tuple(found)


def _count(padded: Expr, reach: int, stride: int, *, ceil: bool) -> Expr | None:
    rest = sub(padded, reach)
    if isinstance(rest, int):
        return max((rest + (stride - 1 if ceil else 0)) // stride + 1, 0)
    if stride == 1:
        return add(rest, 1) if isinstance(add(rest, 1), Poly) else None
    size = floordiv(rest, stride)
    return None if size is None else add(size, 1)


def _conv(first_weight: int, dtype: DType | None = None) -> Infer:
    def rule(asked: Asked) -> list[Fact]:
        data = asked.operand(0)
        shape, weight = shape_of(data), asked.operand(first_weight).shape
        if weight is None or len(weight) != len(shape) or len(shape) < 3:
            return [Fact(dtype or data.dtype, unknown_dims(asked, len(shape)))]
        kernel = asked.attrs.integers("kernel_shape") or tuple(d for d in weight[2:] if isinstance(d, int))
        return [Fact(dtype or data.dtype, (shape[0], weight[0], *_windows(asked, shape[2:], kernel)))]

    return rule


def _qlinear_conv(asked: Asked) -> list[Fact]:
    (fact,) = _conv(3)(asked)
    return [Fact(asked.operand(7).dtype, fact.shape)]


def _conv_transpose(asked: Asked) -> list[Fact]:
    data, weight = asked.operand(0), asked.operand(1).shape
    shape, attrs = shape_of(data), asked.attrs
    rank = len(shape) - 2
    given, auto = attrs.integers("output_shape"), attrs.text("auto_pad", "NOTSET")
    if weight is None or len(weight) != len(shape):
        return [Fact(data.dtype, unknown_dims(asked, len(shape)))]
    channels = mul(weight[1], attrs.integer("group", 1))
    if given is not None:
        if len(given) < rank or not rank:
            raise OpError("output_shape does not fit")
        return [Fact(data.dtype, (shape[0], channels, *given[-rank:]))]
    kernel = attrs.integers("kernel_shape") or tuple(d for d in weight[2:] if isinstance(d, int))
    strides, dilations = (attrs.integers(name) or (1,) * rank for name in ("strides", "dilations"))
    pads, extra = attrs.integers("pads") or (0,) * (2 * rank), attrs.integers("output_padding") or (0,) * rank
    if not len(kernel) == len(strides) == len(dilations) == len(extra) == rank or len(pads) != 2 * rank:
        raise OpError("strides, dilations, pads or the kernel do not fit")
    sizes: list[Expr] = []
    for axis, dim in enumerate(shape[2:]):
        grown = (kernel[axis] - 1) * dilations[axis] + 1 + extra[axis]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            # Where that is more than the elements that are spread, runtimes do not agree.
            sizes.append(mul(dim, strides[axis]) if grown >= strides[axis] else asked.fresh())
            continue
        cut = pads[axis] + pads[axis + rank] if auto != "VALID" else 0
        sizes.append(add(mul(sub(dim, 1), strides[axis]), grown - cut))
    return [Fact(data.dtype, (shape[0], channels, *sizes))]


def _pool(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    kernel = asked.attrs.integers("kernel_shape") or ()
    ceil = asked.attrs.integer("ceil_mode", 0) == 1
    result = (*shape[:2], *_windows(asked, shape[2:], kernel, ceil=ceil))
    return [Fact(data.dtype, result), Fact(DType.INT64, result)]


def _global_pool(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    return [Fact(data.dtype, (*shape[:2], *(1,) * (len(shape) - 2)))]


def _product(a: Shape, b: Shape, asked: Asked) -> Shape:
    """The shape of numpy.matmul's result."""
    if not a or not b:
        raise OpError("a scalar has no product of matrices")
    one, other = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    result = (*broadcast(asked, [one[:-2], other[:-2]]), one[-2], other[-1])
    if len(a) == 1:
        result = (*result[:-2], result[-1])
    return result[:-1] if len(b) == 1 else result


def _matmul(first: int, second: int, dtype: Callable[[Asked], DType | None]) -> Infer:
    def rule(asked: Asked) -> list[Fact]:
        a, b = shape_of(asked.operand(first)), shape_of(asked.operand(second))
        return [Fact(dtype(asked), _product(a, b, asked))]

    return rule


def _gemm(asked: Asked) -> list[Fact]:
    a, b = shape_of(asked.operand(0)), shape_of(asked.operand(1))
    if len(a) != 2 or len(b) != 2:
        raise OpError("needs matrices")
    rows, columns = a[1 if asked.attrs.integer("transA", 0) else 0], b[0 if asked.attrs.integer("transB", 0) else 1]
    return [Fact(asked.operand(0).dtype, (rows, columns))]


_AXES_SINCE = {"ReduceSum": 13}


def _reduced(asked: Asked, dtype: DType | None) -> list[Fact]:
    shape = shape_of(asked.operand(0))
    operator = asked.node.op.removeprefix("onnx.")
    axes = asked.list_of("axes", 1, _AXES_SINCE.get(operator, 18))
    keep = asked.attrs.integer("keepdims", 1)
    if not axes and asked.attrs.integer("noop_with_empty_axes", 0):
        return [Fact(dtype, shape)]
    gone = places(axes, len(shape)) if axes else tuple(range(len(shape)))
    if keep:
        return [Fact(dtype, tuple(1 if axis in gone else dim for axis, dim in enumerate(shape)))]
    return [Fact(dtype, tuple(dim for axis, dim in enumerate(shape) if axis not in gone))]


def _reduce(asked: Asked) -> list[Fact]:
    return _reduced(asked, asked.operand(0).dtype)


def _arg(asked: Asked) -> list[Fact]:
    shape = shape_of(asked.operand(0))
    axis = place(asked.attrs.integer("axis", 0), len(shape))
    kept = (1,) if asked.attrs.integer("keepdims", 1) else ()
    return [Fact(DType.INT64, (*shape[:axis], *kept, *shape[axis + 1 :]))]


def _layer_normalization(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axis = place(asked.attrs.integer("axis", -1), len(shape))
    means = (*shape[:axis], *(1,) * (len(shape) - axis))
    return [Fact(data.dtype, shape), Fact(DType.FLOAT32, means), Fact(DType.FLOAT32, means)]


def _recurrent(asked: Asked) -> list[Fact]:
    data, weight, again = asked.operand(0), asked.operand(1), asked.operand(2)
    shape, of_weight = shape_of(data), shape_of(weight)
    if len(shape) != 3 or len(of_weight) != 3:
        raise OpError("the input must be a batch of sequences, and its weights have three dimensions")
    hidden = asked.attrs.integer("hidden_size", -1)
    size: Expr = hidden
    if hidden <= 0:
        size = again.shape[2] if again.shape is not None and len(again.shape) == 3 else asked.fresh()
    directions = of_weight[0]
    if asked.attrs.integer("layout", 0):
        last = Fact(data.dtype, (shape[0], directions, size))
        return [Fact(data.dtype, (shape[0], shape[1], directions, size)), last, last]
    last = Fact(data.dtype, (directions, shape[1], size))
    return [Fact(data.dtype, (shape[0], directions, shape[1], size)), last, last]


_REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"""

RULES: dict[str, Infer] = {
    "Conv": _conv(1),
    "ConvInteger": _conv(1, DType.INT32),
    "QLinearConv": _qlinear_conv,
    "ConvTranspose": _conv_transpose,
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), _pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global_pool),
    "MatMul": _matmul(0, 1, lambda asked: asked.operand(0).dtype),
    "MatMulInteger": _matmul(0, 1, lambda asked: DType.INT32),
    "QLinearMatMul": _matmul(0, 3, lambda asked: asked.operand(7).dtype),
    "Gemm": _gemm,
    **dict.fromkeys(_REDUCTIONS.split(), _reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg),
    "BatchNormalization": same_type,
    "LayerNormalization": _layer_normalization,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
}
