"""Ops on the spatial dimensions of a tensor: padv2, mirror_pad, space_to_batch_nd, batch_to_space_nd.

Where a result takes elements of its operand by fixed positions that add up over its dimensions, the positions of each
dimension are what both meaning and kernel are made of.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule
from arenite.ops.views import (
    MOVER_TRAITS,
    as_declared,
    infer_of,
    pairs_of,
    results_moved,
    static_operand,
    unchanged,
    whole_numbers,
    with_values,
)

Table = npt.NDArray[np.int64]
Positions = Callable[[OpCall], tuple[Table, ...]]
"""For each dimension of the result, what each index adds to the position in the flat operand, in elements."""


class MirrorPadMode(Enum):
    """Whether the elements at the border are repeated (SYMMETRIC) or not (REFLECT)."""

    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


@dataclass(frozen=True)
class MirrorPadAttrs(Attrs):
    """How the border is mirrored."""

    mode: MirrorPadMode = MirrorPadMode.REFLECT


def steps_of(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Elements from one index to the next, for each dimension."""
    return tuple(math.prod(dims[axis + 1 :]) for axis in range(len(dims)))


def taken(x: Array, tables: tuple[Table, ...]) -> Array:
    """The elements of `x` at positions that add up."""
    index = np.zeros((), np.int64)
    for table in tables:
        index = np.add.outer(index, table)
    return x.reshape(-1)[index]


def taking(
    name: str,
    summary: str,
    operands: tuple[Operand, ...],
    shape: Callable[[OpCall], tuple[int, ...]],
    positions: Positions,
    attrs: type[Attrs] = Attrs,
) -> OpDef:
    """An op whose result takes elements of operand 0 at positions that its other operands give."""
    others = tuple(range(1, len(operands)))
    infer = infer_of(lambda call: (shape(call),), *others)

    def evaluate(call: OpCall, given: Sequence[Array | None]) -> tuple[Array, ...]:
        whole = with_values(call, given)
        infer(whole)
        return as_declared(call, (taken(np.asarray(given[0]), positions(whole)),))

    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=operands,
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=infer,
        evaluate_float=evaluate,
        evaluate_quantized=evaluate,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=others),
        canonicalize=NotApplicable("its attributes have no simpler form"),
        constraints=(unchanged(0),),
    )


# padv2


def padded_amounts(call: OpCall) -> tuple[tuple[int, int], ...]:
    """Elements added before and after, for each dimension.

    Raises:
        OpError: the paddings are not constant, not [rank, 2], or negative.
    """
    return pairs_of(call, 1, "paddings", static_operand(call, 0).rank)


def _padded_shapes(call: OpCall) -> tuple[tuple[int, ...], ...]:
    if static_operand(call, 2).nelem != 1:
        raise OpError(f"the padding value must be one element, found {call.operand(2)}")
    pairs = zip(call.operand(0).dims, padded_amounts(call), strict=True)
    return (tuple(before + dim + after for dim, (before, after) in pairs),)


def _padv2(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    whole, x = with_values(call, operands), np.asarray(operands[0])
    dims = _infer_padv2(whole)[0].dims
    result = np.full(dims, np.asarray(operands[2]).reshape(()), x.dtype)
    pairs = zip(x.shape, padded_amounts(whole), strict=True)
    result[tuple(slice(before, before + dim) for dim, (before, _) in pairs)] = x
    return as_declared(call, (result,))


_infer_padv2 = infer_of(_padded_shapes, 1)


# mirror_pad


def _mirror_amounts(call: OpCall) -> tuple[tuple[int, int], ...]:
    assert isinstance(call.attrs, MirrorPadAttrs)
    dims = static_operand(call, 0).dims
    amounts = pairs_of(call, 1, "paddings", len(dims))
    for axis, (dim, pair) in enumerate(zip(dims, amounts, strict=True)):
        most = dim - 1 if call.attrs.mode is MirrorPadMode.REFLECT else dim
        if max(pair) > max(most, 0):
            raise OpError(
                f"dimension {axis} has {dim} elements, of which {call.attrs.mode.value} can mirror at most "
                f"{max(most, 0)}, found {list(pair)}"
            )
    return amounts


def _mirror_shape(call: OpCall) -> tuple[int, ...]:
    pairs = zip(static_operand(call, 0).dims, _mirror_amounts(call), strict=True)
    return tuple(before + dim + after for dim, (before, after) in pairs)


def mirror_positions(call: OpCall) -> tuple[Table, ...]:
    assert isinstance(call.attrs, MirrorPadAttrs)
    dims, skipped = call.operand(0).dims, int(call.attrs.mode is MirrorPadMode.REFLECT)
    tables = []
    for dim, step, (before, after) in zip(dims, steps_of(dims), _mirror_amounts(call), strict=True):
        index = np.arange(-before, dim + after, dtype=np.int64)
        index = np.where(index < 0, -index - 1 + skipped, index)
        tables.append(np.where(index >= dim, 2 * dim - 1 - skipped - index, index) * step)
    return tuple(tables)


# space_to_batch_nd, batch_to_space_nd


@dataclass(frozen=True)
class Blocks:
    """How spatial dimensions are cut into blocks.

    Attributes:
        shape: of the block, one number per spatial dimension.
        pairs: what is padded, or cropped, before and after each.
    """

    shape: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


def blocks_of(call: OpCall, name: str) -> Blocks:
    """The block and the paddings or crops (`name`) of an operand [batch, spatial..., channels].

    Raises:
        OpError: an operand is not so.
    """
    dims = static_operand(call, 0).dims
    if len(dims) not in (3, 4):
        raise OpError(f"the input must be [batch, height, width, channels] or [batch, length, channels], found {dims}")
    shape = whole_numbers(call, 1, "block_shape", len(dims) - 2, wide=False)
    if min(shape) < 1:
        raise OpError(f"block_shape (operand 1) must be at least 1, found {list(shape)}")
    return Blocks(shape, pairs_of(call, 2, name, len(dims) - 2, wide=False))


def _to_batch_shape(call: OpCall) -> tuple[int, ...]:
    blocks, dims = blocks_of(call, "paddings"), call.operand(0).dims
    padded = [before + dim + after for dim, (before, after) in zip(dims[1:-1], blocks.pairs, strict=True)]
    if any(size % block for size, block in zip(padded, blocks.shape, strict=True)):
        raise OpError(f"spatial dimensions must divide by the block {list(blocks.shape)}, found {padded} with padding")
    spatial = (size // block for size, block in zip(padded, blocks.shape, strict=True))
    return (dims[0] * math.prod(blocks.shape), *spatial, dims[-1])


def stored_zero(call: OpCall) -> int:
    """The stored value that stands for 0."""
    quantization = call.results[0].quantization
    return quantization.zero_point if quantization is not None and quantization.is_per_tensor else 0


_infer_to_batch = infer_of(lambda call: (_to_batch_shape(call),), 1, 2)


def _space_to_batch(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """Pads with the zero point. TFLite-Micro pads int8 with a stored 0, which is another number: its known fault."""
    whole, x = with_values(call, operands), np.asarray(operands[0])
    (result,), blocks = _infer_to_batch(whole), blocks_of(whole, "paddings")
    padded = np.pad(x, ((0, 0), *blocks.pairs, (0, 0)), constant_values=stored_zero(call))
    cut = [x.shape[0]]
    for size, block in zip(padded.shape[1:-1], blocks.shape, strict=True):
        cut += [size // block, block]
    count = len(blocks.shape)
    order = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), 2 * count + 1)
    return as_declared(call, (padded.reshape(*cut, x.shape[-1]).transpose(order).reshape(result.dims),))


def _to_space_shape(call: OpCall) -> tuple[int, ...]:
    blocks, dims = blocks_of(call, "crops"), call.operand(0).dims
    if dims[0] % math.prod(blocks.shape):
        raise OpError(f"the batch must divide by the block {list(blocks.shape)}, found {dims[0]}")
    whole = [dim * block for dim, block in zip(dims[1:-1], blocks.shape, strict=True)]
    spatial = [size - sum(pair) for size, pair in zip(whole, blocks.pairs, strict=True)]
    if min(spatial) < 0:
        raise OpError(f"crops {[list(p) for p in blocks.pairs]} take more than there is: {whole}")
    return (dims[0] // math.prod(blocks.shape), *spatial, dims[-1])


def batch_to_space_positions(call: OpCall) -> tuple[Table, ...]:
    blocks, dims, shape = blocks_of(call, "crops"), call.operand(0).dims, _to_space_shape(call)
    steps = steps_of(dims)
    tables = [np.arange(shape[0], dtype=np.int64) * steps[0]]
    for axis, (block, (before, _)) in enumerate(zip(blocks.shape, blocks.pairs, strict=True), 1):
        index = np.arange(shape[axis], dtype=np.int64) + before
        # One step in the block is as many images as the block's inner dimensions and the result's batch make.
        images = shape[0] * math.prod(blocks.shape[axis:])
        tables.append((index % block) * images * steps[0] + (index // block) * steps[axis])
    return (*tables, np.arange(dims[-1], dtype=np.int64))


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="padv2",
        summary="The input with a given value before and after, in each dimension.",
        attrs=Attrs,
        operands=(Operand("input"), Operand("paddings"), Operand("constant_values")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer_padv2,
        evaluate_float=_padv2,
        evaluate_quantized=_padv2,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=(unchanged(0, 2),),
    ),
    taking(
        "mirror_pad",
        "The input with its own elements mirrored before and after, in each dimension.",
        (Operand("input"), Operand("paddings")),
        _mirror_shape,
        mirror_positions,
        MirrorPadAttrs,
    ),
    OpDef(
        name="space_to_batch_nd",
        summary="The input, padded, with the pixels of each place in a block as an image of their own.",
        attrs=Attrs,
        operands=(Operand("input"), Operand("block_shape"), Operand("paddings")),
        result_names=("output",),
        traits=MOVER_TRAITS,
        infer=_infer_to_batch,
        evaluate_float=_space_to_batch,
        evaluate_quantized=_space_to_batch,
        cost=results_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(1, 2)),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=(unchanged(0),),
    ),
    taking(
        "batch_to_space_nd",
        "The images of a batch as the places of blocks in larger images, which are cropped.",
        (Operand("input"), Operand("block_shape"), Operand("crops")),
        _to_space_shape,
        batch_to_space_positions,
    ),
)

POSITIONS: dict[str, Positions] = {
    "mirror_pad": mirror_positions,
    "batch_to_space_nd": batch_to_space_positions,
}
"""Of each op: the positions that its result takes."""
