"""Ops that only move elements, each stated as numpy views of its data operand.

A view is what the op's results are, element for element, in order: for a transpose `x.transpose(...)`, for a tile `x`
with repeated dimensions of stride 0. The same views give results (copied), result shapes, and, by their strides, what
a kernel copies.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import (
    Canonicalize,
    Constraint,
    Cost,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    QuantizationRule,
    Trait,
)
from arenite.ir.types import TensorType
from arenite.ir.verifier import MAX_NBYTES
from arenite.ops.constraints import constant_ints

Views = Callable[[OpCall, Array], tuple[Array, ...]]
"""Views of the data operand, one per result; they may have other shapes than the results, of as many elements."""

Shapes = Callable[[OpCall], tuple[tuple[int, ...], ...]]
"""Shapes of the results. Raises OpError on a misfit."""

Part = slice | int | None
"""What is taken of one dimension; None is a new one."""

MOVER_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC})
MAX_RANK = 32
"""Dimensions that operands and results may have: half of what numpy can, since views take dimensions apart."""


def stand_in(tensor: TensorType) -> Array:
    """An array of a type's shape and strides without the memory: to take views of, not to read."""
    strides, step = [0] * tensor.rank, tensor.dtype.itemsize
    for axis in reversed(range(tensor.rank)):
        strides[axis], step = step, step * max(tensor.dims[axis], 1)
    return np.lib.stride_tricks.as_strided(np.empty(1, tensor.dtype.numpy), tensor.dims, strides)


def view_of(x: Array, *parts: Part) -> Array:
    """`x[parts]`, always as a view: where no dimension is left, numpy alone would give a copy of the element."""
    return x[(*parts, ...)]


def shapes_of(views: Views, data: int = 0) -> Shapes:
    """Shapes of results that have their views' shapes."""

    def shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
        return tuple(view.shape for view in views(call, stand_in(static_operand(call, data))))

    return shapes


def static_operand(call: OpCall, index: int) -> TensorType:
    """The type of an operand that must have a known shape of at most MAX_RANK dimensions.

    Raises:
        OpError: it has not.
    """
    operand = call.operand(index)
    if not operand.is_static:
        raise OpError(f"the shape of operand {index} must be known, found {operand}")
    if operand.rank > MAX_RANK:
        raise OpError(f"operand {index} can have at most {MAX_RANK} dimensions, found {operand.rank}")
    return operand


def results_of(call: OpCall, shapes: Sequence[tuple[int, ...]]) -> tuple[TensorType, ...]:
    """The results' types with these shapes: dtype and quantization stay as declared.

    Raises:
        OpError: a result is larger than a tensor can be, or has more dimensions.
    """
    types = []
    for shape, declared in zip(shapes, call.results, strict=True):
        # A dimension of 0 does not excuse the others: tables are made for each of them.
        nbytes = math.prod(max(dim, 1) for dim in shape) * declared.dtype.itemsize
        if nbytes > MAX_NBYTES:
            raise OpError(f"a result of shape {list(shape)} takes {nbytes} bytes; at most {MAX_NBYTES} are possible")
        if len(shape) > MAX_RANK:
            raise OpError(f"a result can have at most {MAX_RANK} dimensions, found {len(shape)}")
        types.append(TensorType(declared.dtype, shape, declared.quantization))
    return tuple(types)


def infer_of(shapes: Shapes, *fixed: int) -> Callable[[OpCall], tuple[TensorType, ...]]:
    """The `infer` facet of an op whose results have these shapes, once the operands `fixed` are constant.

    Before, their types are what they are declared to be, which must be known.
    """

    def infer(call: OpCall) -> tuple[TensorType, ...]:
        computed = [index for index in fixed if call.constant(index) is None]
        if not computed:
            return results_of(call, shapes(call))
        if not all(result.is_static for result in call.results):
            named = ", ".join(f"operand {index}" for index in computed)
            raise OpError(f"{named} must be constant, or the shapes of the results known")
        return call.results

    return infer


def with_values(call: OpCall, operands: Sequence[Array | None]) -> OpCall:
    """The call with all operands as constants: what an evaluation looks at."""
    return replace(call, constants=tuple(operands))


def as_declared(call: OpCall, results: tuple[Array, ...]) -> tuple[Array, ...]:
    """The results, if they have the shapes that are declared.

    Raises:
        OpError: they have others, which operands that the network computes can lead to.
    """
    for result, declared in zip(results, call.results, strict=True):
        if declared.is_static and declared.dims != result.shape:
            raise OpError(f"the result is declared {declared}, but has the shape {list(result.shape)}")
    return results


def evaluate_of(
    views: Views, shapes: Shapes, data: int = 0
) -> Callable[[OpCall, Sequence[Array | None]], tuple[Array, ...]]:
    """The `evaluate` facet of an op whose results are copies of these views of operand `data`."""

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        whole = with_values(call, operands)
        types, found = results_of(whole, shapes(whole)), views(whole, np.asarray(operands[data]))
        arrays = (np.ascontiguousarray(view).reshape(t.dims) for view, t in zip(found, types, strict=True))
        return as_declared(call, tuple(arrays))

    return evaluate


def results_moved(call: OpCall) -> Cost:
    """The cost of writing each element of each result once."""
    return Cost(ops=sum(tensor.nelem for tensor in call.results))


def mover(
    name: str,
    summary: str,
    views: Views,
    operands: tuple[Operand, ...],
    *,
    attrs: type[Attrs] = Attrs,
    data: int = 0,
    shapes: Shapes | None = None,
    canonicalize: Canonicalize | None = None,
    variadic_results: bool = False,
) -> OpDef:
    """An op whose results are views of operand `data`, as its other operands say.

    The results have the shapes that `shapes` gives, else those of the views.
    """
    others = tuple(index for index in range(len(operands)) if index != data)
    found = shapes or shapes_of(views, data)
    evaluate = evaluate_of(views, found, data)
    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=operands,
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=infer_of(found, *others),
        evaluate_float=evaluate,
        evaluate_quantized=evaluate,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=others),
        canonicalize=canonicalize or NotApplicable("its attributes have no simpler form"),
        constraints=(unchanged(data),),
        variadic_results=variadic_results,
    )


def unchanged(*data: int) -> Constraint:
    """Results have the dtype, scale and zero point of the data operands."""

    def holds(call: OpCall) -> bool | str:
        first = call.operand(data[0])
        for tensor in (*(call.operand(index) for index in data[1:]), *call.results):
            if (tensor.dtype, tensor.quantization) != (first.dtype, first.quantization):
                return f"{first} and {tensor}"
        return True

    which = "operand" if len(data) == 1 else "operands"
    return Constraint(
        f"{which} {', '.join(map(str, data))} and the results have the same dtype, scale and zero point "
        "(put a quantize before it to change them)",
        holds,
    )


def constant_operands(definition: OpDef, *moving: int) -> Constraint:
    """For kernels: all operands but those in `moving` are part of the model, or were computed by folding."""
    names = [(index, operand.name) for index, operand in enumerate(definition.operands) if index not in moving]

    def holds(call: OpCall) -> bool | str:
        computed = [name for index, name in names if call.has(index) and call.constant(index) is None]
        return not computed or f"the network computes {', '.join(computed)}"

    listed = ", ".join(f"{name} (operand {index})" for index, name in names) or "no operand"
    return Constraint(f"what fixes the loops is constant: {listed}", holds)


def whole_numbers(
    call: OpCall, index: int, name: str, count: int | None = None, *, wide: bool = True
) -> tuple[int, ...]:
    """The elements of a constant list of integers, and how many they must be.

    Raises:
        OpError: it is computed, not of int32 or (if `wide`) int64, no vector, or of another length.
    """
    value = constant_ints(call, index, name, wide=wide)
    if value.ndim != 1:
        raise OpError(f"{name} (operand {index}) must be a list, found the shape {list(value.shape)}")
    if count is not None and value.size != count:
        raise OpError(f"{name} (operand {index}) must have {count} elements, found {value.size}")
    return tuple(int(element) for element in value)


def whole_number(call: OpCall, index: int, name: str, *, wide: bool = True) -> int:
    """The element of a constant integer, which may be a list of one.

    Raises:
        OpError: it is computed, not of int32 or (if `wide`) int64, or not one.
    """
    value = constant_ints(call, index, name, wide=wide)
    if value.ndim > 1 or value.size != 1:
        raise OpError(f"{name} (operand {index}) must be one number, found the shape {list(value.shape)}")
    return int(value.item())


def pairs_of(call: OpCall, index: int, name: str, count: int, *, wide: bool = True) -> tuple[tuple[int, int], ...]:
    """The (before, after) pairs of a constant operand [count, 2] of integers that are not negative.

    Raises:
        OpError: it is something else.
    """
    value = constant_ints(call, index, name, wide=wide)
    if value.shape != (count, 2) or (value.size and value.min() < 0):
        raise OpError(
            f"{name} (operand {index}) must be {count} pairs (before, after) of integers that are not negative, "
            f"found {value.tolist()}"
        )
    return tuple((int(before), int(after)) for before, after in value)


def broadcast_view(x: Array, shape: tuple[int, ...]) -> Array:
    """`x` broadcast to a shape, as a view.

    Raises:
        OpError: it does not broadcast to it.
    """
    fits = len(shape) >= x.ndim and all(
        dim in (1, wanted) for dim, wanted in zip(reversed(x.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise OpError(f"a shape {list(x.shape)} does not broadcast to {list(shape)}")
    return np.broadcast_to(x, shape)


def definition(definitions: Sequence[OpDef], name: str) -> OpDef:
    """The op of this name."""
    (found,) = (candidate for candidate in definitions if candidate.name == name)
    return found
