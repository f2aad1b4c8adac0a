"""Ops that make a tensor of less: shape, fill, broadcast_to, tile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, NotApplicable, OpCall, OpDef, Operand, OpError, Trait
from arenite.ir.types import TensorType
from arenite.ops.views import (
    MOVER_TRAITS,
    broadcast_view,
    mover,
    results_of,
    stand_in,
    static_operand,
    whole_numbers,
)


@dataclass(frozen=True)
class ShapeAttrs(Attrs):
    """The dtype of the result, as the file's options say; the result's type is what counts."""

    out_type: DType = DType.FLOAT32


def _dims(call: OpCall, index: int, name: str) -> tuple[int, ...]:
    dims = whole_numbers(call, index, name)
    if any(dim < 0 for dim in dims):
        raise OpError(f"{name} (operand {index}) must not be negative, found {list(dims)}")
    # The size is refused before anything of that size is made.
    return results_of(call, (dims,))[0].dims


def _fill_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    if static_operand(call, 1).rank:
        raise OpError(f"the value must have no dimensions, found {call.operand(1)}")
    return (_dims(call, 0, "dims"),)


def fill_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    (shape,) = _fill_shapes(call)
    return (np.broadcast_to(x.reshape(()), shape),)


def _broadcast_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    shape = _dims(call, 1, "shape")
    broadcast_view(stand_in(static_operand(call, 0)), shape)
    return (shape,)


def broadcast_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    return (broadcast_view(x, _dims(call, 1, "shape")),)


def _tile_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    dims = static_operand(call, 0).dims
    multiples = whole_numbers(call, 1, "multiples", len(dims))
    if any(multiple < 0 for multiple in multiples):
        raise OpError(f"multiples must not be negative, found {list(multiples)}")
    shape = tuple(dim * multiple for dim, multiple in zip(dims, multiples, strict=True))
    return (results_of(call, (shape,))[0].dims,)


def tile_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    _tile_shapes(call)
    multiples = whole_numbers(call, 1, "multiples", x.ndim)
    between = x.reshape([size for dim in x.shape for size in (1, dim)])
    return (np.broadcast_to(between, [size for pair in zip(multiples, x.shape, strict=True) for size in pair]),)


def _infer_shape(call: OpCall) -> tuple[TensorType, ...]:
    return results_of(call, ((static_operand(call, 0).rank,),))


def _shape(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (shape_of(call),)


def shape_of(call: OpCall) -> Array:
    """The dimensions of the operand, as the result holds them."""
    return np.array(static_operand(call, 0).dims, call.results[0].dtype.numpy)


def _canonical_shape(node: Node) -> Attrs | None:
    """The result's own dtype."""
    assert isinstance(node.attrs, ShapeAttrs)
    dtype = node.result.type.dtype
    return None if node.attrs.out_type is dtype else replace(node.attrs, out_type=dtype)


def _gives_dimensions(call: OpCall) -> bool | str:
    return call.results[0].dtype in (DType.INT32, DType.INT64) or f"{call.results[0]}"


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="shape",
        summary="The dimensions of the input.",
        attrs=ShapeAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=MOVER_TRAITS | {Trait.OF_TYPES},
        infer=_infer_shape,
        evaluate_float=_shape,
        evaluate_quantized=_shape,
        cost=NotApplicable("it is known beforehand"),
        quantization=NotApplicable("it looks at no element"),
        canonicalize=_canonical_shape,
        constraints=(Constraint("the result is int32 or int64", _gives_dimensions),),
    ),
    mover(
        "fill",
        "A tensor of shape dims (operand 0) with the value (operand 1) everywhere.",
        fill_views,
        (Operand("dims"), Operand("value")),
        data=1,
        shapes=_fill_shapes,
    ),
    mover(
        "broadcast_to",
        "The input repeated along its dimensions of 1, and along new ones in front, to a shape.",
        broadcast_views,
        (Operand("input"), Operand("shape")),
        shapes=_broadcast_shapes,
    ),
    mover(
        "tile",
        "The input repeated as often as multiples says, in each dimension.",
        tile_views,
        (Operand("input"), Operand("multiples")),
        shapes=_tile_shapes,
    ),
)

VIEWS = {"fill": (fill_views, 1), "broadcast_to": (broadcast_views, 0), "tile": (tile_views, 0)}
"""Of each op: its views, and the index of its data operand."""
