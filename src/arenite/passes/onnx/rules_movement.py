"""Rules that join movements of elements: Transpose of Transpose, Slice of Slice."""

from dataclasses import dataclass

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.numpy_movement import slice_bounds
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.rules import OUTPUT_NAME, REMOVED, Done, Rule, Site, attrs_of, dies_with

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


def _cuts(node: Node, site: Site) -> dict[int, Cut] | None:
    """By dimension, counted from the front; None when not all is known."""
    rank = site.fact(node.operand(0)).rank
    if rank is None:
        return None
    if site.opset < 10:
        attrs = attrs_of(node)
        starts, ends, axes, steps = attrs.integers("starts"), attrs.integers("ends"), attrs.integers("axes"), None
    else:
        present = [node.optional_operand(index) for index in range(1, 5)]
        lists = [None if value is None else site.fact(value).integers for value in present]
        if any(value is not None and found is None for value, found in zip(present, lists, strict=True)):
            return None
        starts, ends, axes, steps = lists
    if starts is None or ends is None:
        return None
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    found = zip(axes, starts, ends, steps, strict=True)
    return {axis % rank: Cut(start, end, step) for axis, start, end, step in found if -rank <= axis < rank}


def _joined(dim: Expr, first: Cut, second: Cut) -> Cut | None:
    """One cut for two, one after the other; None when that is not known."""
    if isinstance(dim, int):
        try:
            taken = range(dim)[slice_bounds(first.start, first.end, first.step, dim)]
            taken = taken[slice_bounds(second.start, second.end, second.step, len(taken))]
        except OpError:
            return None
        if not taken:
            return Cut(0, 0, 1)
        end = taken.stop if taken.step > 0 or taken.stop >= 0 else _BEGIN
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
    first, second = _cuts(inner, site), _cuts(node, site)
    source = inner.operand(0)
    shape = site.fact(source).shape
    if first is None or second is None or shape is None:
        return Mismatch(BOUNDS_UNKNOWN, {"inner": inner.name})
    cuts = dict(first)
    for axis, cut in second.items():
        joined = cut if axis not in first else _joined(shape[axis], first[axis], cut)
        if joined is None:
            return Mismatch(BOUNDS_UNKNOWN, {"inner": inner.name})
        cuts[axis] = joined
    _write(node, source, cuts, site)
    site.work.rewriter.add_origin(node, inner.origin)
    return Done(ONE_SLICE, {"inner": inner.name, "value": source.name})


def _write(node: Node, source: Value, cuts: dict[int, Cut], site: Site) -> None:
    """Let a Slice make these cuts."""
    axes = tuple(sorted(cuts))
    starts, ends = (tuple(getattr(cuts[axis], key) for axis in axes) for key in ("start", "end"))
    rewriter = site.work.rewriter
    rewriter.set_operand(node, 0, source)
    if site.opset < 10:
        attrs = attrs_of(node)
        for name, items in (("starts", starts), ("ends", ends), ("axes", axes)):
            attrs = attrs.with_value(name, items)
        rewriter.set_attrs(node, attrs)
        return
    steps = tuple(cuts[axis].step for axis in axes)
    lists = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    if len(node.operands) < 5:
        operands = [source, *(site.integers(f"{node.name}_{key}", items) for key, items in lists.items())]
        site.replace(node, node.op, operands, attrs_of(node))
        return
    for index, (key, items) in enumerate(lists.items(), 1):
        rewriter.set_operand(node, index, site.integers(f"{node.name}_{key}", items))


RULES = (
    Rule(
        frozenset({"Transpose"}), _transposes, (ONE_TRANSPOSE, NOT_OF_TRANSPOSE, READ_ELSEWHERE, REMOVED, OUTPUT_NAME)
    ),
    Rule(frozenset({"Slice"}), _slices, (ONE_SLICE, NOT_OF_SLICE, READ_ELSEWHERE, BOUNDS_UNKNOWN)),
)
