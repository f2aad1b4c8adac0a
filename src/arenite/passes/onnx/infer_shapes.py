"""Facts of operators that compute shapes, and of those that move elements by them."""

from arenite._base.dtypes import DType
from arenite.ir.graph import Graph
from arenite.ir.opdef import OpError
from arenite.ops.onnx.numpy_movement import slice_bounds
from arenite.passes.onnx.expr import Expr, Poly, add, divide_exactly, is_natural, lower, mul, product, sub
from arenite.passes.onnx.fact import MAX_ELEMENTS, NOTHING, Asked, Elements, Fact, Infer, Shape
from arenite.passes.onnx.shapes import length_of, place, places, shape_of, unknown_dims, with_dim

END = 2**31 - 1
"""A bound of Slice from here on means the end, as exporters write it."""


def _shape(asked: Asked) -> list[Fact]:
    shape = shape_of(asked.operand(0))
    rank = len(shape)
    start, end = asked.attrs.integer("start", 0), asked.attrs.integer("end", rank)
    window = shape[min(max(start + rank if start < 0 else start, 0), rank) : max(end + rank if end < 0 else end, 0)]
    return [Fact(DType.INT64, (len(window),), window)]


def _size(asked: Asked) -> list[Fact]:
    shape = asked.operand(0).shape
    return [Fact(DType.INT64, (), None if shape is None else (product(shape),))]


def _gather(asked: Asked) -> list[Fact]:
    data, indices = asked.operand(0), asked.operand(1)
    shape, where = shape_of(data), shape_of(indices)
    axis = place(asked.attrs.integer("axis", 0), len(shape))
    result = (*shape[:axis], *where, *shape[axis + 1 :])
    elements: Elements | None = None
    found = indices.integers
    if data.elements is not None and len(shape) == 1 and found is not None:
        length = len(data.elements)
        if all(-length <= index < length for index in found):
            elements = tuple(data.elements[index] for index in found)
    return [Fact(data.dtype, result, elements)]


def _concat(asked: Asked) -> list[Fact]:
    facts = [asked.operand(index) for index in range(len(asked.operands))]
    shapes = [shape_of(fact) for fact in facts]
    rank = len(shapes[0])
    axis = place(asked.attrs.integer("axis", 1 if asked.opset < 4 else None), rank)
    if any(len(shape) != rank for shape in shapes):
        raise OpError("ranks differ")
    total: Expr = 0
    for shape in shapes:
        total = add(total, shape[axis])
    # Where they differ elsewhere, a number is known better than a name.
    result = tuple(
        total if at == axis else min((shape[at] for shape in shapes), key=lambda dim: isinstance(dim, Poly))
        for at in range(rank)
    )
    elements: Elements | None = None
    if rank == 1 and isinstance(total, int) and total <= MAX_ELEMENTS:
        joined: list[Expr | None] = []
        for fact, shape in zip(facts, shapes, strict=True):
            assert isinstance(shape[0], int)
            joined.extend((None,) * shape[0] if fact.elements is None else fact.elements)
        elements = tuple(joined) if any(item is not None for item in joined) or not joined else None
    return [Fact(facts[0].dtype, result, elements)]


def _reshape(asked: Asked) -> list[Fact]:
    data, wanted = asked.operand(0), asked.operand(1)
    if wanted.elements is None:
        rank = length_of(wanted)
        return [Fact(data.dtype, unknown_dims(asked, rank) if isinstance(rank, int) else None)]
    keep_zero = asked.attrs.integer("allowzero", 0) == 1
    dims: list[Expr | None] = []
    own = data.shape or ()
    for index, item in enumerate(wanted.elements):
        copied = item == 0 and not keep_zero
        dims.append((own[index] if index < len(own) else None) if copied else item)
    known = tuple(asked.fresh() if dim is None else dim for dim in dims)
    if -1 in known:
        rest = tuple(dim for dim in known if dim != -1)
        inferred = None if None in dims or data.shape is None else _quotient(data.shape, rest)
        known = tuple((asked.fresh() if inferred is None else inferred) if dim == -1 else dim for dim in known)
    if any(not is_natural(dim) for dim in known):
        known = tuple(dim if is_natural(dim) else asked.fresh() for dim in known)
    return [Fact(data.dtype, known, data.elements)]


def _quotient(shape: Shape, rest: Shape) -> Expr | None:
    """What -1 stands for: equal dimensions cancel before the rest is divided."""
    above, below = list(shape), list(rest)
    for dim in rest:
        if dim in above and dim != 0:
            above.remove(dim)
            below.remove(dim)
    return divide_exactly(product(above), product(below))


def _squeeze(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axes = asked.list_of("axes", 1, 13)
    if axes is None:
        if any(isinstance(dim, Poly) for dim in shape):
            return [Fact(data.dtype, None, data.elements)]
        return [Fact(data.dtype, tuple(dim for dim in shape if dim != 1), data.elements)]
    gone = places(axes, len(shape))
    return [Fact(data.dtype, tuple(dim for axis, dim in enumerate(shape) if axis not in gone), data.elements)]


def _unsqueeze(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axes = asked.list_of("axes", 1, 13)
    if axes is None:
        raise OpError("axes are missing")
    rank = len(shape) + len(axes)
    new, dims = places(axes, rank), iter(shape)
    if len(set(new)) != len(new):
        raise OpError("axes name a dimension twice")
    return [Fact(data.dtype, tuple(1 if axis in new else next(dims) for axis in range(rank)), data.elements)]


def _flatten(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axis = asked.attrs.integer("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise OpError("there is no such axis")
    return [Fact(data.dtype, (product(shape[:axis]), product(shape[axis:])), data.elements)]


def _expand(asked: Asked) -> list[Fact]:
    data, wanted = asked.operand(0), asked.operand(1)
    shape = shape_of(data)
    if wanted.elements is None:
        rank = length_of(wanted)
        unknown = unknown_dims(asked, max(rank, len(shape))) if isinstance(rank, int) else None
        return [Fact(data.dtype, unknown)]
    rank = max(len(wanted.elements), len(shape))
    one = (1,) * (rank - len(shape)) + shape
    other: Elements = (1,) * (rank - len(wanted.elements)) + wanted.elements
    dims = tuple(_expanded(asked, a, b) for a, b in zip(one, other, strict=True))
    filled = data.elements if dims == shape else None
    count = product(dims)
    if filled is None and data.elements is not None and len(data.elements) == 1 and isinstance(count, int):
        filled = data.elements * count if count <= MAX_ELEMENTS else None
    return [Fact(data.dtype, dims, filled)]


def _expanded(asked: Asked, own: Expr, wanted: Expr | None) -> Expr:
    if wanted in (own, 1) or (isinstance(own, int) and own != 1):
        return own
    if own == 1 and wanted is not None:
        return wanted
    return wanted if isinstance(wanted, int) and wanted != 1 else asked.fresh()


def _constant_of_shape(asked: Asked) -> list[Fact]:
    value = asked.attrs.tensor("value")
    if value is not None and value.size != 1:
        raise OpError("the value must be one number")
    dtype = DType.FLOAT32 if value is None else DType.of(value.dtype)
    wanted = asked.operand(0)
    if wanted.elements is None:
        rank = length_of(wanted)
        return [Fact(dtype, unknown_dims(asked, rank) if isinstance(rank, int) else None)]
    dims = tuple(asked.fresh() if item is None else item for item in wanted.elements)
    count = product(dims)
    elements: Elements | None = None
    if isinstance(count, int) and 0 <= count <= MAX_ELEMENTS and (dtype.is_integer or dtype is DType.BOOL):
        assert value is not None
        elements = (int(value.reshape(()).item()),) * count
    return [Fact(dtype, dims, elements)]


def _range(asked: Asked) -> list[Fact]:
    start, limit, delta = (asked.operand(index) for index in range(3))
    dtype = start.dtype
    bounds = [fact.elements[0] if fact.elements else None for fact in (start, limit, delta)]
    first, last, step = bounds
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int) and step:
        count = max(-((first - last) // step), 0)
        small = count <= MAX_ELEMENTS and dtype is not None and dtype.is_integer
        return [Fact(dtype, (count,), tuple(first + step * index for index in range(count)) if small else None)]
    if first is not None and last is not None and step == 1:
        length = sub(last, first)
        if is_natural(length):
            return [Fact(dtype, (length,))]
    return [Fact(dtype, (asked.fresh(),))]


def _slice(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    if asked.opset < 10:
        starts: Elements | None = asked.attrs.integers("starts")
        ends: Elements | None = asked.attrs.integers("ends")
        axes, steps = asked.attrs.integers("axes"), None
    else:
        starts, ends = asked.operand(1).elements, asked.operand(2).elements
        axes, steps = asked.list_of("axes", 3, 10), asked.list_of("steps", 4, 10)
    count = next((len(items) for items in (starts, ends, axes, steps) if items is not None), None)
    if count is None:
        return [Fact(data.dtype, unknown_dims(asked, len(shape)))]
    starts, ends = starts or (None,) * count, ends or (None,) * count
    where = places(axes if axes is not None else range(count), len(shape))
    strides = steps or (1,) * count
    if not len(starts) == len(ends) == len(where) == len(strides) == count:
        raise OpError("starts, ends, axes and steps are not as many")
    result, elements = shape, data.elements
    for axis, start, end, step in zip(where, starts, ends, strides, strict=True):
        dim = sliced(shape[axis], start, end, step)
        result = with_dim(result, axis, asked.fresh() if dim is None else dim)
        if elements is not None and len(shape) == 1 and isinstance(start, int) and isinstance(end, int):
            elements = elements[slice_bounds(start, end, step, len(elements))]
        elsewhere = dim != shape[axis] or step < 0
        if (len(shape) != 1 and elsewhere) or (not (isinstance(start, int) and isinstance(end, int)) and elsewhere):
            elements = None
    return [Fact(data.dtype, result, elements)]


def sliced(dim: Expr, start: Expr | None, end: Expr | None, step: int) -> Expr | None:
    """How many elements of a dimension a slice takes; None when that is not seen."""
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(dim)[slice_bounds(start, end, step, dim)])
    if step != 1 or start is None or end is None:
        return None
    first = _clamped(start, dim)
    last = _clamped(end, dim)
    if first is None or last is None:
        return None
    length = sub(last, first)
    if is_natural(length):
        return length
    negated = mul(length, -1)
    return 0 if is_natural(negated) else None


def _clamped(bound: Expr, dim: Expr) -> Expr | None:
    """Where a bound of a slice lies: from the end if negative, then between 0 and the dimension."""
    if isinstance(bound, int) and bound >= END:
        return dim
    if isinstance(bound, int) and bound <= -END:
        return 0
    if isinstance(bound, int) and bound < 0:
        found = add(dim, bound)
        # A dimension may be smaller than the bound, which would clamp it.
        return found if is_natural(found) else None
    return lower(bound, dim) if is_natural(bound) else None


def _if(asked: Asked) -> list[Fact]:
    regions = asked.node.regions
    if not regions or any(len(region.outputs) != len(asked.node.results) for region in regions):
        raise OpError("the branches have unlike outputs")
    return [
        _common(asked, [_given(asked, region, index) for region in regions]) for index in range(len(regions[0].outputs))
    ]


def _given(asked: Asked, region: Graph, index: int) -> Fact:
    return asked.facts.of(region.outputs[index])


def _common(asked: Asked, facts: list[Fact]) -> Fact:
    """What holds of every branch."""
    first = facts[0]
    if any(fact.dtype is not first.dtype for fact in facts):
        return NOTHING
    if any(fact.shape is None or len(fact.shape) != len(first.shape or ()) for fact in facts) or first.shape is None:
        return Fact(first.dtype)
    columns = zip(*(shape_of(fact) for fact in facts), strict=True)
    shape = tuple(dims[0] if all(dim == dims[0] for dim in dims) else asked.fresh() for dims in columns)
    return Fact(first.dtype, shape)


RULES: dict[str, Infer] = {
    "Shape": _shape,
    "Size": _size,
    "Gather": _gather,
    "Concat": _concat,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Flatten": _flatten,
    "Expand": _expand,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Slice": _slice,
    "If": _if,
}
