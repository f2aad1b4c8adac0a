"""Ops that move elements, over an operand whose dimensions come in another order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpCall
from arenite.ir.pattern import Mismatch
from arenite.ops.movement import ConcatenationAttrs, concatenation_axis
from arenite.ops.slicing import StridedSliceAttrs
from arenite.passes.base import Work

AMOUNTS_COMPUTED = Reason("amounts-computed", "what {subject} pads or takes depends on %{value}, which is computed")
NOT_BY_DIMENSION = Reason("not-by-dimension", "{subject} does not say of each dimension what it takes of it")

Order = tuple[int, ...]
"""For each dimension of a transpose's result, the operand's."""


@dataclass(frozen=True)
class Reordered:
    """What a node is to be before the transpose that it reads: its attributes, and all operands that are no data."""

    attrs: Attrs
    operands: Mapping[int, Value]


def data_operands(node: Node) -> tuple[Value, ...]:
    """What a node moves, or computes with."""
    return node.present_operands[:1] if node.op in REORDER and node.op != "concatenation" else node.present_operands


def _concatenation(node: Node, order: Order, work: Work) -> Reordered | Mismatch:
    attrs = node.attrs
    assert isinstance(attrs, ConcatenationAttrs)
    return Reordered(replace(attrs, axis=order[concatenation_axis(OpCall.of(node))]), {})


def _pad(node: Node, order: Order, work: Work) -> Reordered | Mismatch:
    return _by_dimension(node, (1,), order, work)


def _padv2(node: Node, order: Order, work: Work) -> Reordered | Mismatch:
    found = _by_dimension(node, (1,), order, work)
    return found if isinstance(found, Mismatch) else Reordered(found.attrs, {**found.operands, 2: node.operand(2)})


def _slice(node: Node, order: Order, work: Work) -> Reordered | Mismatch:
    return _by_dimension(node, (1, 2), order, work)


def _strided_slice(node: Node, order: Order, work: Work) -> Reordered | Mismatch:
    attrs = node.attrs
    assert isinstance(attrs, StridedSliceAttrs)
    if attrs.ellipsis_mask or attrs.new_axis_mask or attrs.shrink_axis_mask:
        return Mismatch(NOT_BY_DIMENSION)
    moved = replace(attrs, begin_mask=_bits(attrs.begin_mask, order), end_mask=_bits(attrs.end_mask, order))
    found = _by_dimension(node, (1, 2, 3), order, work)
    return found if isinstance(found, Mismatch) else Reordered(moved, found.operands)


def _bits(mask: int, order: Order) -> int:
    return sum(1 << axis for position, axis in enumerate(order) if mask >> position & 1)


def _by_dimension(node: Node, indices: tuple[int, ...], order: Order, work: Work) -> Reordered | Mismatch:
    """With operands reordered that have an entry for each dimension."""
    operands = {}
    for index in indices:
        value = node.operand(index)
        if value.constant is None:
            return Mismatch(AMOUNTS_COMPUTED, {"value": value.name})
        array = np.asarray(value.constant)
        if array.shape[:1] != (len(order),):
            return Mismatch(NOT_BY_DIMENSION)
        moved = np.ascontiguousarray(array[np.argsort(order)])
        operands[index] = work.rewriter.constant(value.name, moved, value.type)
    return Reordered(node.attrs, operands)


REORDER: Mapping[str, Callable[[Node, Order, Work], Reordered | Mismatch]] = {
    "concatenation": _concatenation,
    "pad": _pad,
    "padv2": _padv2,
    "slice": _slice,
    "strided_slice": _strided_slice,
}
"""For each op that moves elements and can be reordered, how."""
