"""Ops that choose: select_v2 between two tensors, arg_max and arg_min among the elements along a dimension."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule
from arenite.ir.types import TensorType
from arenite.ops.constraints import axis_in
from arenite.ops.views import (
    MOVER_TRAITS,
    as_declared,
    infer_of,
    results_moved,
    results_of,
    static_operand,
    unchanged,
    whole_number,
    with_values,
)

Better = Callable[[Array, Array], Array]
"""Of each two elements, whether the first is to be preferred."""


@dataclass(frozen=True)
class ArgAttrs(Attrs):
    """The dtype of the result, as the file's options say; the result's type is what counts."""

    output_type: DType = DType.FLOAT32


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second, strict=True)
    found = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise OpError(f"shapes must broadcast, found {list(first)} and {list(second)}")
        found.append(b if a == 1 else a)
    return tuple(found)


def _infer_select(call: OpCall) -> tuple[TensorType, ...]:
    return results_of(call, (reduce(_broadcast, (static_operand(call, index).dims for index in range(3))),))


def _select(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    _infer_select(call)
    condition, x, y = (np.asarray(operand) for operand in operands)
    return (np.where(condition, x, y),)


def arg_axis(call: OpCall) -> int:
    """The dimension that is searched, counted from the front.

    Raises:
        OpError: there is none such, or it has no elements.
    """
    dims = static_operand(call, 0).dims
    axis = axis_in(whole_number(call, 1, "axis"), len(dims))
    if dims[axis] == 0:
        raise OpError(f"dimension {axis} has no elements to choose from")
    return axis


def _arg_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    axis, dims = arg_axis(call), call.operand(0).dims
    return ((*dims[:axis], *dims[axis + 1 :]),)


def first_of(x: Array, better: Better) -> npt.NDArray[np.int64]:
    """Along axis 0, the index of the first element that no later one is better than.

    One comparison after the other: what compares false to all, as NaN does, is neither replaced nor chosen.
    """
    best, index = x[0], np.zeros(x.shape[1:], np.int64)
    for i in range(1, len(x)):
        wins = better(x[i], best)
        best, index = np.where(wins, x[i], best), np.where(wins, i, index)
    return np.asarray(index)


def _arg(better: Better) -> Callable[[OpCall, Sequence[Array | None]], tuple[Array, ...]]:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        axis = arg_axis(with_values(call, operands))
        index = first_of(np.moveaxis(np.asarray(operands[0]), axis, 0), better)
        return as_declared(call, (index.astype(call.results[0].dtype.numpy),))

    return evaluate


def _canonical_arg(node: Node) -> Attrs | None:
    """The result's own dtype."""
    assert isinstance(node.attrs, ArgAttrs)
    dtype = node.result.type.dtype
    return None if node.attrs.output_type is dtype else replace(node.attrs, output_type=dtype)


def _condition_is_bool(call: OpCall) -> bool | str:
    return call.operand(0).dtype is DType.BOOL or f"{call.operand(0)}"


def _ordered(call: OpCall) -> bool | str:
    dtype = call.operand(0).dtype
    return dtype is DType.FLOAT32 or dtype is DType.BOOL or dtype.is_integer or f"{call.operand(0)}"


def _gives_indices(call: OpCall) -> bool | str:
    return call.results[0].dtype in (DType.INT32, DType.INT64) or f"{call.results[0]}"


def _comparisons(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _arg_op(name: str, which: str, better: Better) -> OpDef:
    evaluate = _arg(better)
    return OpDef(
        name=name,
        summary=f"The index of the first {which} element along one dimension, which goes.",
        attrs=ArgAttrs,
        operands=(Operand("input"), Operand("axis")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=infer_of(_arg_shapes, 1),
        evaluate_float=evaluate,
        evaluate_quantized=evaluate,
        cost=_comparisons,
        quantization=NotApplicable("the order of stored numbers is that of real ones, and the result is an index"),
        canonicalize=_canonical_arg,
        constraints=(
            Constraint("the input is float32, bool or of integers", _ordered),
            Constraint("the result is int32 or int64", _gives_indices),
        ),
    )


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="select_v2",
        summary="Elements of x (operand 1) where the condition (operand 0) holds, else of y (operand 2), broadcast.",
        attrs=Attrs,
        operands=(Operand("condition"), Operand("x"), Operand("y")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer_select,
        evaluate_float=_select,
        evaluate_quantized=_select,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(0,)),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=(unchanged(1, 2), Constraint("the condition is bool", _condition_is_bool)),
    ),
    _arg_op("arg_max", "greatest", np.greater),
    _arg_op("arg_min", "least", np.less),
)
