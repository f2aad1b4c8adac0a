"""Rules that join movements of elements: Transpose of Transpose, Slice of Slice, Split into single slices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Node
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.numpy_movement import slice_bounds
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.fact import Shape
from arenite.passes.onnx.rules import OUTPUT_NAME, REMOVED, Done, Rule, Site, attrs_of, dies_with
from arenite.passes.onnx.rules_views import VIEWS

ONE_TRANSPOSE = Reason("one-transpose", "{subject} and '{inner}' move dimensions to {perm} at once")
NOT_OF_TRANSPOSE = Reason("not-of-transpose", "{subject} reads %{value}, which comes from no Transpose")
ONE_SLICE = Reason("one-slice", "{subject} and '{inner}' became one Slice of %{value}")
NOT_OF_SLICE = Reason("not-of-slice", "{subject} reads %{value}, which comes from no Slice")
READ_ELSEWHERE = Reason("read-elsewhere", "%{value} is read elsewhere too, so nothing would go")
BOUNDS_UNKNOWN = Reason("bounds-unknown", "the bounds of {subject} or '{inner}' are not known well enough to join")

_END = 2**63 - 1
_BEGIN = -(2**63)


def _transposes(node: Node, site: Site) -> Done | Mismatch:
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != node.op:
        return Mismatch(NOT_OF_TRANSPOSE, {"value": middle.name})
    outer_perm, inner_perm = attrs_of(node).integers("perm"), attrs_of(inner).integers("perm")
    rank = len(outer_perm or inner_perm or ()) or site.fact(middle).rank
    if rank is None:
        return Mismatch(NOT_OF_TRANSPOSE, {"value": middle.name})
    backwards = tuple(reversed(range(rank)))
    first, second = inner_perm or backwards, outer_perm or backwards
    if sorted(first) != sorted(second) or sorted(first) != list(range(rank)):
        return Mismatch(NOT_OF_TRANSPOSE, {"value": middle.name})
    perm = tuple(first[axis] for axis in second)
    source = inner.operand(0)
    if perm == tuple(range(rank)):
        return site.remove(node, source, f"it undoes '{inner.name}'")
    if not dies_with(middle, node):
        return Mismatch(READ_ELSEWHERE, {"value": middle.name})
    site.work.rewriter.set_operand(node, 0, source)
    site.work.rewriter.set_attrs(node, attrs_of(node).with_value("perm", perm))
    site.work.rewriter.add_origin(node, inner.origin)
    return Done(ONE_TRANSPOSE, {"inner": inner.name, "perm": list(perm)})


@dataclass(frozen=True)
class Cut:
    """What a Slice takes of one dimension, in ONNX's terms."""

    start: int
    end: int
    step: int

    def slice(self, dim: int) -> slice:
        """The same for Python, of a dimension of this size."""
        return slice_bounds(self.start, self.end, self.step, dim)


def cuts_of(node: Node, site: Site) -> dict[int, Cut] | None:
    """By dimension, counted from the front; None when not all is known."""
    rank = site.fact(node.operand(0)).rank
    if rank is None:
        return None
    if site.opset < 10:
        attrs = attrs_of(node)
        starts, ends, axes, steps = attrs.integers("starts"), attrs.integers("ends"), attrs.integers("axes"), None
    else:
        present = [node.optional_operand(index) for index in range(1, 5)]
        lists = [site.fact(value).integers for value in present]
        if any(value is not None and found is None for value, found in zip(present, lists, strict=True)):
            return None
        starts, ends, axes, steps = lists
    if starts is None or ends is None:
        return None
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    if not set(axes) <= set(range(-rank, rank)):
        return None
    found = zip(axes, starts, ends, steps, strict=True)
    return {axis % rank: Cut(start, end, step) for axis, start, end, step in found}


def joined(dim: Expr, first: Cut, second: Cut) -> Cut | None:
    """One cut for two, one after the other; None when that is not known."""
    if isinstance(dim, int):
        try:
            taken = range(dim)[slice_bounds(first.start, first.end, first.step, dim)]
            taken = taken[slice_bounds(second.start, second.end, second.step, len(taken))]
        except OpError:
            return None
        if not taken:
            return Cut(0, 0, 1)
        if len(taken) == 1:
            # The product of both steps may be more than 64 bits hold, and nothing is stepped over.
            return Cut(taken.start, taken.start + 1, 1)
        end = taken.stop if taken.stop >= 0 else _BEGIN
        return Cut(taken.start, end, taken.step)
    plain = first.step == second.step == 1 and first.start >= 0 and second.start >= 0
    # With the first open to the end, what the second counts from its own end it counts from the tensor's.
    if not plain or first.end < 2**31 - 1:
        return None
    if second.end < 0:
        # A dimension shorter than the first start would change where the second one's end lies.
        return Cut(first.start + second.start, second.end, 1) if first.start == 0 else None
    end = second.end if second.end >= 2**31 - 1 else first.start + second.end
    return Cut(first.start + second.start, end, 1)


def _slices(node: Node, site: Site) -> Done | Mismatch:
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != node.op:
        return Mismatch(NOT_OF_SLICE, {"value": middle.name})
    if not dies_with(middle, node):
        return Mismatch(READ_ELSEWHERE, {"value": middle.name})
    first, second = cuts_of(inner, site), cuts_of(node, site)
    source = inner.operand(0)
    if first is None or second is None:
        return Mismatch(BOUNDS_UNKNOWN, {"inner": inner.name})
    # Cuts are of known dimensions.
    shape = site.fact(source).shape
    assert shape is not None
    cuts = dict(first)
    for axis, cut in second.items():
        both = cut if axis not in first else joined(shape[axis], first[axis], cut)
        if both is None:
            return Mismatch(BOUNDS_UNKNOWN, {"inner": inner.name})
        cuts[axis] = both
    _write(node, inner, cuts, site)
    return Done(ONE_SLICE, {"inner": inner.name, "value": source.name})


def _write(node: Node, inner: Node, cuts: dict[int, Cut], site: Site) -> None:
    """Let a Slice make these cuts of what another one is of."""
    source = inner.operand(0)
    axes = tuple(sorted(cuts))
    starts, ends = (tuple(getattr(cuts[axis], key) for axis in axes) for key in ("start", "end"))
    if site.opset < 10:
        attrs = OnnxAttrs.of(starts=starts, ends=ends, axes=axes)
        site.replace(node, node.op, [source], attrs, inner.origin)
        return
    steps = tuple(cuts[axis].step for axis in axes)
    lists = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    operands = [source, *(site.integers(f"{node.name}_{key}", items) for key, items in lists.items())]
    site.replace(node, node.op, operands, OnnxAttrs(), inner.origin)


# Transpose between views, and before a reduction

MOVED = Reason("one-transpose-of-views", "{subject} and '{inner}' with its views became one Transpose of %{value}")
NOT_ONES = Reason("not-ones", "the views around '{inner}' do more than to move dimensions of 1")
REDUCED = Reason("reduced-directly", "{subject} reduces %{value} along {axes}, without the Transpose between")
ORDER_MATTERS = Reason("order-matters", "what {subject} keeps would come in another order")
TAKEN = Reason("taken-one-by-one", "{subject} and the {count} Squeeze after it became as many Gather")
NOT_SINGLE = Reason("not-single", "{subject} does not give slices of 1 that are squeezed, each by one node")


def _view_of_transpose(node: Node, site: Site) -> Done | Mismatch:
    """View(Transpose(View(x))) where the views move dimensions of 1 only."""
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != "onnx.Transpose" or not dies_with(middle, node):
        return Mismatch(NOT_OF_TRANSPOSE, {"value": middle.name})
    before = inner.operand(0)
    view = before.producer
    if view is None or view.op not in _VIEW_OPS or not dies_with(before, inner):
        return Mismatch(NOT_ONES, {"inner": inner.name})
    source = view.operand(0)
    shapes = [site.fact(value).shape for value in (source, before, middle, node.result)]
    plan = _moved(shapes, attrs_of(inner).integers("perm"))
    if plan is None:
        return Mismatch(NOT_ONES, {"inner": inner.name})
    site.replace(node, "onnx.Transpose", [source], OnnxAttrs.of(perm=plan), (*inner.origin, *view.origin))
    return Done(MOVED, {"inner": inner.name, "value": source.name})


def _moved(shapes: Sequence[Shape | None], perm: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The permutation of the source's dimensions that gives the last shape; None when there is none."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    source, before, middle, after = known
    if len(source) != len(after):
        return None
    order = perm if perm is not None else tuple(reversed(range(len(before))))
    large = [axis for axis, dim in enumerate(source) if dim != 1]
    viewed = [axis for axis, dim in enumerate(before) if dim != 1]
    if [source[axis] for axis in large] != [before[axis] for axis in viewed]:
        return None
    if [dim for dim in middle if dim != 1] != [dim for dim in after if dim != 1]:
        return None
    origin = dict(zip(viewed, large, strict=True))
    wanted = iter([origin[axis] for axis in order if axis in origin])
    ones = iter([axis for axis, dim in enumerate(source) if dim == 1])
    return tuple(next(ones) if dim == 1 else next(wanted) for dim in after)


def _reduce(node: Node, site: Site) -> Done | Mismatch:
    """ReduceMax(Transpose(x)), whose result does not depend on the order of what is reduced."""
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != "onnx.Transpose" or not dies_with(middle, node):
        return Mismatch(NOT_OF_TRANSPOSE, {"value": middle.name})
    rank = site.fact(middle).rank
    perm = attrs_of(inner).integers("perm")
    by_operand = site.opset >= 18
    given = site.fact(node.optional_operand(1)).integers if by_operand else attrs_of(node).integers("axes")
    if rank is None or not given or attrs_of(node).integer("keepdims", 1):
        return Mismatch(ORDER_MATTERS)
    order = perm if perm is not None else tuple(reversed(range(rank)))
    gone = {axis % rank for axis in given}
    kept = [order[axis] for axis in range(rank) if axis not in gone]
    if kept != sorted(kept):
        return Mismatch(ORDER_MATTERS)
    axes = tuple(sorted(order[axis] for axis in gone))
    source = inner.operand(0)
    rewriter = site.work.rewriter
    rewriter.set_operand(node, 0, source)
    if by_operand:
        rewriter.set_operand(node, 1, site.integers(f"{node.name}_axes", axes))
    else:
        rewriter.set_attrs(node, attrs_of(node).with_value("axes", axes))
    rewriter.add_origin(node, inner.origin)
    return Done(REDUCED, {"value": source.name, "axes": list(axes)})


def _split(node: Node, site: Site) -> Done | Mismatch:
    """Split into slices of 1, each squeezed: they are taken by index instead."""
    data = node.operand(0)
    rank = site.fact(data).rank
    axis = attrs_of(node).integer("axis", 0)
    if rank is None or len(node.results) < 2:
        return Mismatch(NOT_SINGLE)
    place = axis % rank
    squeezes = []
    for result in node.results:
        shape, uses = site.fact(result).shape, result.uses
        # What reads it as its axes or its shape squeezes another value.
        reader = uses[0].node if len(uses) == 1 and uses[0].index == 0 and not result.output_of else None
        if shape is None or shape[place] != 1 or reader is None or reader.graph is not node.graph:
            return Mismatch(NOT_SINGLE)
        after = site.fact(reader.results[0]).shape
        squeezed = reader.op in _VIEW_OPS and after == (*shape[:place], *shape[place + 1 :])
        if not squeezed:
            return Mismatch(NOT_SINGLE)
        squeezes.append(reader)
    for index, squeeze in enumerate(squeezes):
        number = site.work.rewriter.constant(f"{node.name}_index", np.array(index, np.int64))
        site.replace(squeeze, "onnx.Gather", [data, number], OnnxAttrs.of(axis=place), node.origin)
    site.work.rewriter.erase(node)
    return Done(TAKEN, {"count": len(squeezes)})


_VIEW_OPS = frozenset(f"onnx.{name}" for name in VIEWS)

RULES = (
    Rule(VIEWS, _view_of_transpose, (MOVED, NOT_ONES, NOT_OF_TRANSPOSE)),
    Rule(frozenset({"ReduceMax", "ReduceMin"}), _reduce, (REDUCED, NOT_OF_TRANSPOSE, ORDER_MATTERS)),
    Rule(frozenset({"Split"}), _split, (TAKEN, NOT_SINGLE)),
    Rule(
        frozenset({"Transpose"}), _transposes, (ONE_TRANSPOSE, NOT_OF_TRANSPOSE, READ_ELSEWHERE, REMOVED, OUTPUT_NAME)
    ),
    Rule(frozenset({"Slice"}), _slices, (ONE_SLICE, NOT_OF_SLICE, READ_ELSEWHERE, BOUNDS_UNKNOWN)),
)
