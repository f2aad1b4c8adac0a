"""What becomes of an order when a value is reshaped, and how few dimensions a transpose needs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arenite.passes.legalize.orders import UNIT, Order, as_in_onnx, channels_last, counting, without_units


def kept_order(order: Order, before: Sequence[int], after: Sequence[int], wish: Order | None = None) -> Order | None:
    """The order in which the result of a reshape lies when the tensor is reshaped, not transposed; None if it cannot.

    Dimensions that split or merge must lie side by side, in ONNX's order: the parts then lie where they lay.

    Args:
        order: of the operand.
        before: the dimensions of the operand, as ONNX has them.
        after: those of the result.
        wish: an order for the result that is taken where dimensions of size 1 leave the choice.
    """
    rank = len(after)
    if 0 in before:
        return wish or as_in_onnx(rank)
    groups = tuple(_groups(before, after))
    home = {axis: number for number, (axes, _) in enumerate(groups) for axis in axes}
    lying = counting(order, before)
    sequence = tuple(dict.fromkeys(home[axis] for axis in lying))
    if list(lying) != [axis for number in sequence for axis in groups[number][0]]:
        return None
    kept = tuple(axis for number in sequence for axis in groups[number][1])
    nice = (wish, as_in_onnx(rank), channels_last(rank) if rank > 1 else None)
    for known in nice:
        if known is not None and counting(known, after) == kept:
            return known
    return _with_ones(kept, after)


def _groups(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions, those of size 1 left out, that hold as many elements on both sides."""
    left = [axis for axis, dim in enumerate(before) if dim != 1]
    right = [axis for axis, dim in enumerate(after) if dim != 1]
    while left:
        ours, theirs = [left.pop(0)], [right.pop(0)]
        one, other = before[ours[0]], after[theirs[0]]
        while one != other:
            if one < other:
                ours.append(left.pop(0))
                one *= before[ours[-1]]
            else:
                theirs.append(right.pop(0))
                other *= after[theirs[-1]]
        yield ours, theirs


def _with_ones(kept: Sequence[int], dims: Sequence[int]) -> Order:
    """The order with the dimensions of size 1, which may be anywhere.

    Those that are in front in ONNX are in front, the others each before the one that follows in ONNX.
    """
    order = list(kept)
    leading = next((axis for axis, dim in enumerate(dims) if dim != 1), len(dims))
    for axis in reversed(range(leading, len(dims))):
        if dims[axis] == 1:
            order.insert(order.index(axis + 1) if axis + 1 in order else len(order), axis)
    return (*range(leading), *order)


@dataclass(frozen=True)
class Moving:
    """A transpose: the tensor is given the dimensions `dims`, which go in the order `perm`."""

    dims: tuple[int, ...]
    perm: tuple[int, ...]


MOST_SPREAD = 4
"""Transposes of more dimensions are given as few as they need: runtimes differ in how many they take."""


def how_to_move(known: Order, wanted: Order, dims: Sequence[int]) -> Moving:
    """How elements get from one order to another, in the dimensions that they have; `dims` are the ONNX value's."""
    lying, asked = without_units(known), without_units(wanted)
    return Moving(tuple(dims[axis] for axis in lying), tuple(lying.index(axis) for axis in asked))


def with_fewest(move: Moving) -> Moving:
    """The same with as few dimensions as it needs: what lies side by side before and after is moved as one."""
    asked = [axis for axis in move.perm if move.dims[axis] != 1]
    after = dict(pairwise(asked))
    runs: list[list[int]] = []
    for axis in sorted(asked):
        if runs and after.get(runs[-1][-1]) == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    starts = [run[0] for run in runs]
    sizes = tuple(math.prod([move.dims[axis] for axis in run]) for run in runs)
    return Moving(sizes, tuple(starts.index(axis) for axis in asked if axis in starts))


def reshaped_for(wish: Order, before: Sequence[int], after: Sequence[int]) -> Order | None:
    """The order that the operand of a reshape must lie in for its result to lie in `wish`; None if there is none."""
    return kept_order(wish, after, before)


def gathered(order: Order, axis: int, count: int) -> Order:
    """The order of what is left when one dimension of the ONNX value becomes `count` others, side by side."""
    found: list[int] = []
    for each in order:
        if each == axis:
            found.extend(range(axis, axis + count))
        else:
            found.append(each + count - 1 if each > axis else each)
    return tuple(found)


def widened(order: Order, missing: int) -> Order:
    """The order of a value that gets dimensions of size 1 in front."""
    return (*range(missing), *(axis if axis == UNIT else axis + missing for axis in order))
