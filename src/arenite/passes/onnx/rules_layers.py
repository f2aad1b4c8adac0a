"""Rules for operands of layers that say what their absence says, and for views beside pads."""

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.names import split_op
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.fact import Shape
from arenite.passes.onnx.rules import Done, Rule, Site, attrs_of, dies_with
from arenite.passes.onnx.rules_views import VIEWS, reshape_to

ZERO_STATE = Reason("zero-state", "{subject} starts from %{value}, which is all 0, as without it")
STATE_GIVEN = Reason("state-given", "the start of {subject} is not given, or not known to be 0")
VIEW_FIRST = Reason("view-first", "{subject} became a view of %{value}, and '{pad}' pads that")
NOT_OF_PAD = Reason("not-of-pad", "{subject} reads %{value}, which comes from no Pad of a view that nobody else reads")
PADS_ONES = Reason("pads-ones", "{subject} does more than to add or remove dimensions of 1 that '{pad}' leaves alone")

_DEPTH = 8
_ONLY_MOVING = VIEWS | {"Slice", "Split", "Gather", "Transpose", "Expand", "Tile", "Identity"}


def _is_zero(value: Value | None, depth: int = _DEPTH) -> bool:
    """Whether all elements are 0.0, whatever the shape."""
    if value is None or depth == 0:
        return False
    if value.constant is not None:
        array = value.constant
        return array.dtype.kind == "f" and not np.any(array) and not np.any(np.signbit(array))
    node = value.producer
    if node is None or split_op(node.op)[0]:
        return False
    operator = split_op(node.op)[1]
    if operator == "ConstantOfShape":
        filled = attrs_of(node).tensor("value")
        return filled is None or (filled.dtype.kind == "f" and not filled.any() and not np.signbit(filled).any())
    if operator in (
        "Slice",
        "Split",
        "Gather",
        "Reshape",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Expand",
        "Tile",
        "Identity",
        "Flatten",
    ):
        return _is_zero(node.operand(0), depth - 1)
    return operator == "Concat" and all(_is_zero(each, depth - 1) for each in node.operands)


def _state(node: Node, site: Site) -> Done | Mismatch:
    for index in (5, 6):
        value = node.optional_operand(index)
        if value is not None and _is_zero(value):
            site.work.rewriter.set_operand(node, index, None)
            return Done(ZERO_STATE, {"value": value.name})
    return Mismatch(STATE_GIVEN)


def _view_of_pad(node: Node, site: Site) -> Done | Mismatch:
    """View(Pad(View(x))) becomes Pad(View(View(x))), so that the views meet."""
    middle = node.operand(0)
    pad = middle.producer
    source = None if pad is None or pad.op != "onnx.Pad" else pad.operand(0)
    inner = None if source is None else source.producer
    if pad is None or source is None or inner is None or inner.op not in {f"onnx.{name}" for name in VIEWS}:
        return Mismatch(NOT_OF_PAD, {"value": middle.name})
    if not dies_with(middle, node) or pad.graph is not node.graph:
        return Mismatch(NOT_OF_PAD, {"value": middle.name})
    before, after = site.fact(source).shape, site.fact(node.result).shape
    padded = site.fact(middle).shape
    pads = _pads(pad, site)
    plan = (
        None
        if before is None or after is None or padded is None or pads is None
        else _plan(before, padded, after, pads)
    )
    if plan is None:
        return Mismatch(PADS_ONES, {"pad": pad.name})
    shape, new_pads = plan
    wanted = reshape_to(before, shape)
    if wanted is None:
        return Mismatch(PADS_ONES, {"pad": pad.name})
    rewriter = site.work.rewriter
    view = rewriter.insert(
        pad,
        "onnx.Reshape",
        [source, site.integers(f"{node.name}_shape", wanted)],
        [TensorType(source.type.dtype, None)],
        OnnxAttrs(),
        name=f"{node.name}_view",
        origin=node.origin,
    )
    name, read = pad.name, source.name
    _pad_again(node, pad, view.result, new_pads, site)
    return Done(VIEW_FIRST, {"value": read, "pad": name})


def _pad_again(node: Node, pad: Node, view: Value, pads: tuple[int, ...], site: Site) -> None:
    """Put a Pad of the view in the place of the view of the Pad."""
    attrs = attrs_of(pad)
    operands: list[Value | None] = [view]
    if site.opset < 11:
        attrs = attrs.with_value("pads", pads)
    else:
        operands.append(site.integers(f"{pad.name}_pads", pads))
        if (fill := pad.optional_operand(2)) is not None:
            operands.append(fill)
    site.replace(node, pad.op, operands, attrs, pad.origin)
    site.work.rewriter.erase(pad)


def _pads(pad: Node, site: Site) -> tuple[int, ...] | None:
    if site.opset < 11:
        return attrs_of(pad).integers("pads")
    return None if pad.optional_operand(3) is not None else site.fact(pad.optional_operand(1)).integers


def _plan(before: Shape, padded: Shape, after: Shape, pads: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]] | None:
    """The shape to view the operand in, and the pads there; None when dimensions other than 1 do not stay."""
    rank = len(before)
    if len(pads) != 2 * rank or len(padded) != rank:
        return None
    kept = [axis for axis in range(rank) if padded[axis] != 1]
    if any(pads[axis] or pads[axis + rank] for axis in range(rank) if axis not in kept):
        return None
    places = [place for place, dim in enumerate(after) if dim != 1]
    if [padded[axis] for axis in kept] != [after[place] for place in places]:
        return None
    starts, ends = [0] * len(after), [0] * len(after)
    view: list[Expr] = [1] * len(after)
    for axis, place in zip(kept, places, strict=True):
        view[place] = before[axis]
        starts[place], ends[place] = pads[axis], pads[axis + rank]
    return tuple(view), (*starts, *ends)


RULES = (
    Rule(frozenset({"GRU", "LSTM", "RNN", "com.microsoft::DynamicQuantizeLSTM"}), _state, (ZERO_STATE, STATE_GIVEN)),
    Rule(VIEWS, _view_of_pad, (VIEW_FIRST, NOT_OF_PAD, PADS_ONES)),
)
