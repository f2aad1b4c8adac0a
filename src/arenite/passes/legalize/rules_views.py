"""Operators that give the same elements other dimensions, or another order."""

import math
from collections.abc import Iterator, Sequence

from arenite.ir.graph import Node
from arenite.passes.legalize.orders import UNIT, Order, as_in_onnx, moved
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes


def _transpose(site: Site, node: Node) -> None:
    data = node.operand(0)
    rank = site.rank(data)
    perm = attributes(node).integers("perm")
    perm = tuple(reversed(range(rank))) if perm is None else perm
    if sorted(perm) != list(range(rank)):
        raise RefusedError(f"perm {list(perm)} is no order of {rank} dimensions")
    site.relabel(data, node.results[0], perm)


def _view(site: Site, node: Node) -> None:
    """Reshape, Flatten, Squeeze, Unsqueeze: whatever their shapes say, the result's dimensions are known."""
    data, result = node.operand(0), node.results[0]
    before, after = site.dims(data), site.dims(result)
    if math.prod(before) != math.prod(after):
        raise RefusedError(f"{list(before)} cannot become {list(after)}")
    for order in site.orders(data):
        if (kept := _order_after(order, before, after)) is not None:
            core = site.reshaped(site.get(data, order), moved(after, kept), name=result.name)
            site.put(result, core, kept)
            return
    core = site.reshaped(site.get(data), after, name=result.name)
    site.put(result, core, as_in_onnx(len(after)))


def _order_after(order: Order, before: Sequence[int], after: Sequence[int]) -> Order | None:
    """The order in which the result of a reshape lies when the tensor is reshaped, not transposed; None if it cannot.

    Dimensions that split or merge must lie side by side, in ONNX's order: the parts then lie where they lay.
    """
    if 0 in before:
        return None
    groups = tuple(_groups(before, after))
    home = {axis: number for number, (axes, _) in enumerate(groups) for axis in axes}
    sequence: list[int] = []
    for axis in order:
        if axis == UNIT or before[axis] == 1:
            continue
        if not sequence or sequence[-1] != home[axis]:
            sequence.append(home[axis])
    lying = [axis for axis in order if axis != UNIT and before[axis] != 1]
    asked = [axis for number in sequence for axis in groups[number][0] if before[axis] != 1]
    if lying != asked or len(set(sequence)) != len(sequence):
        return None
    kept = [axis for number in sequence for axis in groups[number][1] if after[axis] != 1]
    # Dimensions of size 1 move nothing, wherever they are: each goes before the one that it precedes.
    return _with_ones(kept, after)


def _groups(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions, those of size 1 left out, that hold as many elements on both sides."""
    left = [axis for axis, dim in enumerate(before) if dim != 1]
    right = [axis for axis, dim in enumerate(after) if dim != 1]
    while left or right:
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


def _with_ones(kept: list[int], dims: Sequence[int]) -> Order:
    if kept == sorted(kept):
        return as_in_onnx(len(dims))
    order = list(kept)
    for axis in range(len(dims)):
        if dims[axis] == 1:
            before = axis - 1
            order.insert(order.index(before) + 1 if before in order else 0, axis)
    return tuple(order)


def _same(site: Site, node: Node) -> None:
    """Identity: every form of the operand is one of the result."""
    data = node.operand(0)
    site.relabel(data, node.results[0], as_in_onnx(site.rank(data)))


RULES = (
    Rule("Transpose", _transpose),
    Rule("Reshape", _view),
    Rule("Flatten", _view),
    Rule("Squeeze", _view),
    Rule("Unsqueeze", _view),
    Rule("Identity", _same, Flow.THROUGH),
)
