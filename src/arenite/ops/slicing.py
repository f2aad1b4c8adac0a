"""Ops that take parts of a tensor: slice, strided_slice, split, split_v, unpack."""

from dataclasses import dataclass

import numpy as np

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import OpCall, OpDef, Operand, OpError, signature_text
from arenite.ops.constraints import axis_in
from arenite.ops.views import MAX_RANK, Part, mover, view_of, whole_number, whole_numbers


@dataclass(frozen=True)
class StridedSliceAttrs(Attrs):
    """Bit i of a mask is about entry i of begin, end and strides.

    Attributes:
        begin_mask, end_mask: the entry is ignored: from the first, until the last element (for negative strides from
            the last, until the first).
        ellipsis_mask: the entry stands for all dimensions that no other entry is about; at most one bit.
        new_axis_mask: the entry makes a new dimension of 1, and is about none of the operand.
        shrink_axis_mask: the entry takes the one element at begin, and its dimension goes.
        offset: end counts from begin.
    """

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
    offset: bool = False


@dataclass(frozen=True)
class SplitAttrs(Attrs):
    """Attributes of split and split_v: how many results there are."""

    num_splits: int = 0


@dataclass(frozen=True)
class UnpackAttrs(Attrs):
    """Attributes of unpack: how many results there are, and the dimension that is taken apart."""

    num: int = 0
    axis: int = 0


def slice_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    begins = whole_numbers(call, 1, "begin", x.ndim)
    sizes = whole_numbers(call, 2, "size", x.ndim)
    if call.operand(1).dtype != call.operand(2).dtype:
        raise OpError(f"begin and size must have the same dtype, found {signature_text(call)}")
    parts = []
    for axis, (dim, begin, size) in enumerate(zip(x.shape, begins, sizes, strict=True)):
        length = dim - begin if size == -1 else size
        if not (0 <= begin <= dim and 0 <= length <= dim - begin):
            raise OpError(
                f"dimension {axis} has {dim} elements, of which begin {begin} and size {size} cannot be taken "
                "(a size of -1 takes all that are left)"
            )
        parts.append(slice(begin, begin + length))
    return (view_of(x, *parts),)


def _entries(attrs: StridedSliceAttrs, count: int, rank: int) -> list[tuple[int | None, int]]:
    """(entry, operand's dimension) in order: entry None takes a dimension whole, dimension -1 is a new axis."""
    bits = range(count)
    ellipses = [i for i in bits if attrs.ellipsis_mask >> i & 1]
    if len(ellipses) > 1:
        raise OpError(f"there can be one ellipsis, found {len(ellipses)} (mask {attrs.ellipsis_mask:#b})")
    new = [i for i in bits if attrs.new_axis_mask >> i & 1 and i not in ellipses]
    if len(new) > MAX_RANK:
        raise OpError(f"there can be at most {MAX_RANK} new axes, found {len(new)}")
    about = count - len(new) - len(ellipses)
    if about > rank:
        raise OpError(f"begin, end and strides are about {about} dimensions, found an operand with {rank}")
    found: list[tuple[int | None, int]] = []
    axis = 0
    for entry in bits:
        if entry in ellipses:
            found += [(None, axis + i) for i in range(rank - about)]
            axis += rank - about
        elif entry in new:
            found.append((entry, -1))
        else:
            found.append((entry, axis))
            axis += 1
    return found + [(None, i) for i in range(axis, rank)]


def _range(begin: int | None, end: int | None, stride: int, dim: int, *, relative: bool) -> slice:
    """The elements from begin until end, each None where masked, as TFLite clamps them (strided_slice_logic.h)."""
    low, high = (0, dim) if stride > 0 else (-1, dim - 1)

    def clamped(index: int) -> int:
        return min(max(index + dim if index < 0 else index, low), high)

    first = (low if stride > 0 else high) if begin is None else clamped(begin)
    last = (high if stride > 0 else low) if end is None else clamped(end + first if relative else end)
    return slice(first, None if last < 0 else last, stride) if (last - first) * stride > 0 else slice(0, 0)


def _part(attrs: StridedSliceAttrs, entry: int, begin: int, end: int, stride: int, dim: int) -> Part:
    masked = bool(attrs.begin_mask >> entry & 1)
    if not attrs.shrink_axis_mask >> entry & 1:
        if stride == 0:
            raise OpError(f"strides must not be 0, found one for entry {entry}")
        until = None if attrs.end_mask >> entry & 1 else end
        return _range(None if masked else begin, until, stride, dim, relative=attrs.offset)
    index = 0 if masked else begin
    if stride < 1 or not -dim <= index < dim:
        raise OpError(f"entry {entry} takes one element of {dim}, found index {index} and stride {stride}")
    return index


def strided_slice_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    assert isinstance(call.attrs, StridedSliceAttrs)
    begins = whole_numbers(call, 1, "begin", wide=False)
    ends = whole_numbers(call, 2, "end", len(begins), wide=False)
    strides = whole_numbers(call, 3, "strides", len(begins), wide=False)
    parts: list[Part] = []
    for entry, axis in _entries(call.attrs, len(begins), x.ndim):
        if entry is None:
            parts.append(slice(None))
        elif axis < 0:
            parts.append(None)
        else:
            parts.append(_part(call.attrs, entry, begins[entry], ends[entry], strides[entry], x.shape[axis]))
    return (view_of(x, *parts),)


def _pieces(x: Array, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
    found, start, before = list[Array](), 0, (slice(None),) * axis
    for size in sizes:
        found.append(view_of(x, *before, slice(start, start + size)))
        start += size
    return tuple(found)


def split_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    assert isinstance(call.attrs, SplitAttrs)
    axis, count = axis_in(whole_number(call, 0, "axis"), x.ndim), len(call.results)
    if call.attrs.num_splits != count:
        raise OpError(f"num_splits is {call.attrs.num_splits}, found {count} results")
    if x.shape[axis] % count:
        raise OpError(f"dimension {axis} must divide into {count} equal parts, found {x.shape[axis]} elements")
    return _pieces(x, axis, (x.shape[axis] // count,) * count)


def split_v_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    assert isinstance(call.attrs, SplitAttrs)
    count = len(call.results)
    sizes = list(whole_numbers(call, 1, "size_splits", count))
    axis = axis_in(whole_number(call, 2, "axis"), x.ndim)
    if call.attrs.num_splits != count:
        raise OpError(f"num_splits is {call.attrs.num_splits}, found {count} results")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    if min(sizes) < 0 or sum(sizes) != x.shape[axis]:
        raise OpError(
            f"the sizes must make up the {x.shape[axis]} elements of dimension {axis} (one may be -1: what is left), "
            f"found {list(whole_numbers(call, 1, 'size_splits'))}"
        )
    return _pieces(x, axis, tuple(sizes))


def unpack_views(call: OpCall, x: Array) -> tuple[Array, ...]:
    assert isinstance(call.attrs, UnpackAttrs)
    axis, count = axis_in(call.attrs.axis, x.ndim), len(call.results)
    if not count == call.attrs.num == x.shape[axis]:
        raise OpError(
            f"there must be a result for each of the {x.shape[axis]} elements of dimension {axis}, "
            f"found {count} (num is {call.attrs.num})"
        )
    moved = np.moveaxis(x, axis, 0)
    return tuple(view_of(moved, i) for i in range(count))


OPS: tuple[OpDef, ...] = (
    mover(
        "slice",
        "size elements of each dimension, from begin on; a size of -1 takes all that are left.",
        slice_views,
        (Operand("input"), Operand("begin"), Operand("size")),
    ),
    mover(
        "strided_slice",
        "Every stride-th element from begin until before end, in each dimension; see the attributes for the masks.",
        strided_slice_views,
        (Operand("input"), Operand("begin"), Operand("end"), Operand("strides")),
        attrs=StridedSliceAttrs,
    ),
    mover(
        "split",
        "The input cut into equal parts along one dimension.",
        split_views,
        (Operand("axis"), Operand("input")),
        attrs=SplitAttrs,
        data=1,
        variadic_results=True,
    ),
    mover(
        "split_v",
        "The input cut into parts of the given sizes along one dimension; one size may be -1, for what is left.",
        split_v_views,
        (Operand("input"), Operand("size_splits"), Operand("axis")),
        attrs=SplitAttrs,
        variadic_results=True,
    ),
    mover(
        "unpack",
        "The input taken apart along one dimension, which goes.",
        unpack_views,
        (Operand("input"),),
        attrs=UnpackAttrs,
        variadic_results=True,
    ),
)

VIEWS = {
    "slice": (slice_views, 0),
    "strided_slice": (strided_slice_views, 0),
    "split": (split_views, 1),
    "split_v": (split_v_views, 0),
    "unpack": (unpack_views, 0),
}
"""Of each op: its views, and the index of its data operand."""
