"""Ops that take slices by indices: gather, gather_nd.

An index that the model holds must be in range. One that the network computes is limited to the range: the nearest
slice is taken. (TFLite-Micro stops with an error or reads what lies there, which a function without a result cannot.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule
from arenite.ir.types import TensorType
from arenite.ops.constraints import axis_in
from arenite.ops.spatial import steps_of
from arenite.ops.views import MOVER_TRAITS, results_moved, results_of, static_operand, unchanged


@dataclass(frozen=True)
class GatherAttrs(Attrs):
    """The dimension that is indexed, and how many leading dimensions indices and operand share."""

    axis: int = 0
    batch_dims: int = 0


@dataclass(frozen=True)
class Gathering:
    """Slices by index vectors: for each batch, each outer index and each vector, in this order, one slice.

    The slice starts `outer index * outer_step + sum of index * step` elements behind the batch's start, which is
    `outer * outer_step` behind the one before.

    Attributes:
        count: index vectors of each batch, `len(limits)` indices each.
        limits, steps: of each index of a vector: how many values it can have, and elements from one to the next.
        slice_nelem: elements in one slice.
        shape: of the result.
    """

    batches: int
    outer: int
    outer_step: int
    count: int
    limits: tuple[int, ...]
    steps: tuple[int, ...]
    slice_nelem: int
    shape: tuple[int, ...]


def _normal(attrs: GatherAttrs, rank: int, indices_rank: int) -> GatherAttrs:
    """Axis and batch_dims counted from the front."""
    axis = axis_in(attrs.axis, rank)
    batch = attrs.batch_dims + indices_rank if attrs.batch_dims < 0 else attrs.batch_dims
    if not 0 <= batch <= min(axis, indices_rank):
        raise OpError(
            f"batch_dims must be at most the axis ({axis}) and the dimensions of the indices ({indices_rank}), "
            f"found {attrs.batch_dims}"
        )
    return GatherAttrs(axis, batch)


def gather_plan(call: OpCall) -> Gathering:
    """How gather takes its slices.

    Raises:
        OpError: attributes and shapes do not fit, or a constant index is out of range.
    """
    assert isinstance(call.attrs, GatherAttrs)
    dims, indices = static_operand(call, 0).dims, static_operand(call, 1).dims
    attrs = _normal(call.attrs, len(dims), len(indices))
    axis, batch = attrs.axis, attrs.batch_dims
    if dims[:batch] != indices[:batch]:
        raise OpError(f"the first {batch} dimensions must be alike, found {list(dims)} and {list(indices)}")
    step = math.prod(dims[axis + 1 :])
    found = Gathering(
        batches=math.prod(dims[:batch]),
        outer=math.prod(dims[batch:axis]),
        outer_step=step * dims[axis],
        count=math.prod(indices[batch:]),
        limits=(dims[axis],),
        steps=(step,),
        slice_nelem=step,
        shape=(*dims[:axis], *indices[batch:], *dims[axis + 1 :]),
    )
    return _in_range(call, found)


def gather_nd_plan(call: OpCall) -> Gathering:
    """How gather_nd takes its slices.

    Raises:
        OpError: the shapes do not fit, or a constant index is out of range.
    """
    dims, indices = static_operand(call, 0).dims, static_operand(call, 1).dims
    if not indices or not 1 <= indices[-1] <= len(dims):
        raise OpError(
            f"the last dimension of the indices must be between 1 and the input's {len(dims)} dimensions, "
            f"found {list(indices)}"
        )
    depth = indices[-1]
    found = Gathering(
        batches=1,
        outer=1,
        outer_step=0,
        count=math.prod(indices[:-1]),
        limits=dims[:depth],
        steps=steps_of(dims)[:depth],
        slice_nelem=math.prod(dims[depth:]),
        shape=(*indices[:-1], *dims[depth:]),
    )
    return _in_range(call, found)


def _in_range(call: OpCall, plan: Gathering) -> Gathering:
    if plan.batches * plan.count and 0 in plan.limits:
        raise OpError(f"there is nothing to index in {call.operand(0)}")
    constant = call.constant(1)
    if constant is not None:
        vectors = constant.astype(np.int64).reshape(-1, len(plan.limits))
        wrong = vectors[((vectors < 0) | (vectors >= np.array(plan.limits))).any(axis=1)]
        if len(wrong):
            raise OpError(
                f"indices must be in [0, {list(plan.limits)}), found {wrong[0].tolist()} ({len(wrong)} are wrong)"
            )
    return plan


def gather_starts(plan: Gathering, indices: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Where each slice starts, in elements, in the result's order; indices are limited to their range."""
    vectors = indices.astype(np.int64).reshape(plan.batches, 1, plan.count, len(plan.limits))
    # The upper limit is applied last, so that an axis without elements gives -1 and not 0; there are no slices then.
    inside = np.minimum(np.maximum(vectors, 0), np.array(plan.limits) - 1)
    outer = np.arange(plan.batches * plan.outer, dtype=np.int64).reshape(plan.batches, plan.outer, 1) * plan.outer_step
    starts: npt.NDArray[np.int64] = (outer + (inside * np.array(plan.steps)).sum(axis=3)).reshape(-1)
    return starts


def _evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    plan = plan_of(call)
    (type_,) = results_of(call, (plan.shape,))
    x, starts = np.asarray(operands[0]).reshape(-1), gather_starts(plan, np.asarray(operands[1]))
    return (x[np.add.outer(starts, np.arange(plan.slice_nelem))].reshape(type_.dims),)


def plan_of(call: OpCall) -> Gathering:
    """How a gather or gather_nd takes its slices."""
    return gather_plan(call) if call.op == "gather" else gather_nd_plan(call)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return results_of(call, (plan_of(call).shape,))


def _canonical(node: Node) -> Attrs | None:
    """Axis and batch_dims counted from the front."""
    attrs, source, indices = node.attrs, node.operand(0).type, node.operand(1).type
    assert isinstance(attrs, GatherAttrs)
    if source.shape is None or indices.shape is None:
        return None
    batch = attrs.batch_dims % len(indices.shape) if attrs.batch_dims < 0 else attrs.batch_dims
    found = replace(attrs, axis=attrs.axis % len(source.shape), batch_dims=batch)
    return None if found == attrs else found


def _indices_are_integers(call: OpCall) -> bool | str:
    return call.operand(1).dtype in (DType.INT16, DType.INT32, DType.INT64) or f"{call.operand(1)}"


_CONSTRAINTS = (unchanged(0), Constraint("the indices are int16, int32 or int64", _indices_are_integers))

OPS: tuple[OpDef, ...] = (
    OpDef(
        name="gather",
        summary="Slices of the input along one dimension, by index; computed indices are limited to the range.",
        attrs=GatherAttrs,
        operands=(Operand("input"), Operand("indices")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer,
        evaluate_float=_evaluate,
        evaluate_quantized=_evaluate,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=_canonical,
        constraints=_CONSTRAINTS,
    ),
    OpDef(
        name="gather_nd",
        summary="Slices of the input by index vectors of its first dimensions; computed ones are limited to the range.",
        attrs=Attrs,
        operands=(Operand("input"), Operand("indices")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer,
        evaluate_float=_evaluate,
        evaluate_quantized=_evaluate,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=_CONSTRAINTS,
    ),
)
