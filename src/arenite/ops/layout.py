"""Ops that give a tensor another layout: squeeze, expand_dims, transpose, pack, space_to_depth, depth_to_space."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import (
    Canonicalize,
    Constraint,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    QuantizationRule,
    Trait,
)
from arenite.ir.types import TensorType
from arenite.ops.constraints import axis_in
from arenite.ops.views import (
    MOVER_TRAITS,
    Shapes,
    as_declared,
    infer_of,
    mover,
    results_moved,
    results_of,
    stand_in,
    static_operand,
    unchanged,
    whole_number,
    whole_numbers,
    with_values,
)


@dataclass(frozen=True)
class SqueezeAttrs(Attrs):
    """The dimensions of 1 that go; none: all of them."""

    squeeze_dims: tuple[int, ...] | None = None


@dataclass(frozen=True)
class PackAttrs(Attrs):
    """How many values there are, and which dimension of the result counts them."""

    values_count: int = 0
    axis: int = 0


@dataclass(frozen=True)
class BlockAttrs(Attrs):
    """The side of the square block of space_to_depth and depth_to_space."""

    block_size: int = 0


def _squeezed(call: OpCall) -> tuple[tuple[int, ...], ...]:
    assert isinstance(call.attrs, SqueezeAttrs)
    dims = static_operand(call, 0).dims
    axes = {axis_in(axis, len(dims)) for axis in call.attrs.squeeze_dims or ()}
    if not axes:
        axes = {axis for axis, dim in enumerate(dims) if dim == 1}
    if any(dims[axis] != 1 for axis in axes):
        raise OpError(f"dimensions that are squeezed must be 1, found {sorted(axes)} of {list(dims)}")
    return (tuple(dim for axis, dim in enumerate(dims) if axis not in axes),)


def _canonical_squeeze(node: Node) -> Attrs | None:
    """The axes by name, counted from the front and ascending."""
    attrs, source = node.attrs, node.operand(0).type
    assert isinstance(attrs, SqueezeAttrs)
    if not source.is_static:
        return None
    axes = {axis % source.rank for axis in attrs.squeeze_dims or ()}
    axes = axes or {axis for axis, dim in enumerate(source.dims) if dim == 1}
    found = replace(attrs, squeeze_dims=tuple(sorted(axes)) or None)
    return None if found == attrs else found


def _expanded(call: OpCall) -> tuple[tuple[int, ...], ...]:
    dims = static_operand(call, 0).dims
    axis = axis_in(whole_number(call, 1, "axis"), len(dims) + 1)
    return ((*dims[:axis], 1, *dims[axis:]),)


def _reshaping(
    name: str,
    summary: str,
    shapes: Shapes,
    operands: tuple[Operand, ...],
    attrs: type[Attrs],
    canonicalize: Canonicalize | NotApplicable,
    *fixed: int,
) -> OpDef:
    def evaluate(call: OpCall, given: Sequence[Array | None]) -> tuple[Array, ...]:
        return as_declared(call, (np.asarray(given[0]).reshape(shapes(with_values(call, given))[0]),))

    inferred = infer_of(shapes, *fixed)

    def infer(call: OpCall) -> tuple[TensorType, ...]:
        # With operands that are only known when it runs, the result is as it is declared: it must fit all the same.
        (result,) = inferred(call)
        nelem = static_operand(call, 0).nelem
        if result.is_static and result.nelem != nelem:
            raise OpError(f"the result must have the operand's {nelem} elements, found {list(result.dims)}")
        return (result,)

    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=operands,
        result_names=("output",),
        traits=MOVER_TRAITS | {Trait.VIEW},
        infer=infer,
        evaluate_float=evaluate,
        evaluate_quantized=evaluate,
        cost=NotApplicable("the result is the operand's bytes"),
        quantization=QuantizationRule(same_scale=True, untouched=tuple(range(1, len(operands)))),
        canonicalize=canonicalize,
        constraints=(unchanged(0),),
    )


def transpose_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    perm = whole_numbers(call, 1, "perm", x.ndim, wide=False)
    if any(not -x.ndim <= axis < x.ndim for axis in perm) or len({axis % x.ndim for axis in perm}) != x.ndim:
        raise OpError(f"perm must name each of {x.ndim} dimensions once, found {list(perm)}")
    return (x.transpose([axis % x.ndim for axis in perm]),)


def pack_axis(call: OpCall) -> int:
    """The dimension of the result that counts the values, from the front.

    Raises:
        OpError: there is none such.
    """
    assert isinstance(call.attrs, PackAttrs)
    return axis_in(call.attrs.axis, static_operand(call, 0).rank + 1)


def _infer_pack(call: OpCall) -> tuple[TensorType, ...]:
    assert isinstance(call.attrs, PackAttrs)
    shapes = [static_operand(call, index).dims for index in range(len(call.operands))]
    if len(set(shapes)) > 1:
        raise OpError(f"all values must have the same shape, found {', '.join(str(list(s)) for s in shapes)}")
    if call.attrs.values_count != len(shapes):
        raise OpError(f"values_count is {call.attrs.values_count}, found {len(shapes)} values")
    axis = pack_axis(call)
    return results_of(call, ((*shapes[0][:axis], len(shapes), *shapes[0][axis:]),))


def _pack(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.stack([np.asarray(value) for value in operands], axis=pack_axis(call)),)


def _canonical_pack(node: Node) -> Attrs | None:
    """The axis counted from the front."""
    attrs, shape = node.attrs, node.result.type.shape
    assert isinstance(attrs, PackAttrs)
    return None if attrs.axis >= 0 or shape is None else replace(attrs, axis=attrs.axis % len(shape))


def _all_alike(call: OpCall) -> bool | str:
    result = call.results[0]
    for index, tensor in enumerate(call.operands):
        if tensor is None or (tensor.dtype, tensor.quantization) != (result.dtype, result.quantization):
            return f"operand {index} is {tensor}, the result {result}"
    return True


def _block(call: OpCall, x: Array) -> int:
    assert isinstance(call.attrs, BlockAttrs)
    block = call.attrs.block_size
    if x.ndim != 4:
        raise OpError(f"the input must be [batch, height, width, channels], found {list(x.shape)}")
    if block < 1:
        raise OpError(f"block_size must be at least 1, found {block}")
    return block


def space_to_depth_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    block = _block(call, x)
    batch, height, width, depth = x.shape
    if height % block or width % block:
        raise OpError(f"height and width must divide by block_size {block}, found {height}x{width}")
    blocks = x.reshape(batch, height // block, block, width // block, block, depth)
    return (blocks.transpose(0, 1, 3, 2, 4, 5),)


def depth_to_space_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    block = _block(call, x)
    batch, height, width, depth = x.shape
    if depth % (block * block):
        raise OpError(f"channels must divide by block_size {block} squared, found {depth}")
    blocks = x.reshape(batch, height, width, block, block, depth // block**2)
    return (blocks.transpose(0, 1, 3, 2, 4, 5),)


def _space_to_depth_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    (view,) = space_to_depth_views(call, stand_in(static_operand(call, 0)))
    return ((*view.shape[:3], math.prod(view.shape[3:])),)


def _depth_to_space_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    (view,) = depth_to_space_views(call, stand_in(static_operand(call, 0)))
    batch, height, down, width, across, depth = view.shape
    return ((batch, height * down, width * across, depth),)


OPS: tuple[OpDef, ...] = (
    _reshaping(
        "squeeze",
        "The input without dimensions of 1.",
        _squeezed,
        (Operand("input"),),
        SqueezeAttrs,
        _canonical_squeeze,
    ),
    _reshaping(
        "expand_dims",
        "The input with one more dimension of 1.",
        _expanded,
        (Operand("input"), Operand("axis")),
        Attrs,
        NotApplicable("it has no attributes"),
        1,
    ),
    mover(
        "transpose",
        "The input with its dimensions in another order: dimension i of the result is perm[i] of the input.",
        transpose_views,
        (Operand("input"), Operand("perm")),
    ),
    OpDef(
        name="pack",
        summary="Values of one shape side by side along a new dimension.",
        attrs=PackAttrs,
        operands=(Operand("values", variadic=True),),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer_pack,
        evaluate_float=_pack,
        evaluate_quantized=_pack,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True),
        canonicalize=_canonical_pack,
        constraints=(Constraint("all operands and the result have the same dtype, scale and zero point", _all_alike),),
    ),
    mover(
        "space_to_depth",
        "Each block of block_size x block_size pixels as one pixel, its channels behind each other, row by row.",
        space_to_depth_views,
        (Operand("input"),),
        attrs=BlockAttrs,
        shapes=_space_to_depth_shapes,
    ),
    mover(
        "depth_to_space",
        "Each pixel as a block of block_size x block_size pixels, taken from its channels row by row.",
        depth_to_space_views,
        (Operand("input"),),
        attrs=BlockAttrs,
        shapes=_depth_to_space_shapes,
    ),
)

VIEWS = {
    "transpose": (transpose_views, 0),
    "space_to_depth": (space_to_depth_views, 0),
    "depth_to_space": (depth_to_space_views, 0),
}
"""Of each op: its views, and the index of its data operand."""
