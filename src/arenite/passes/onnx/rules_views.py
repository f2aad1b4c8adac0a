"""Rules for views: chains of Reshape, Squeeze, Unsqueeze and Flatten, and computed shapes that constants can say."""

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.names import split_op
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.fact import Fact, Shape
from arenite.passes.onnx.rules import OUTPUT_NAME, REMOVED, Done, Rule, Site, attrs_of, dies_with

MERGED = Reason("one-view", "{subject} reads %{value} and gives {shape} at once, without '{inner}' between")
NOT_OF_VIEW = Reason("not-of-view", "{subject} reads %{value}, which comes from no view")
READ_ELSEWHERE = Reason("read-elsewhere", "%{value} is read elsewhere too, so nothing would go")
SHAPE_UNKNOWN = Reason("shape-unknown", "{subject} gives {shape} from {before}, which no constant can say")
SHAPE_SAID = Reason("constant-shape", "the shape that {subject} gives is said by the constant {shape}")
SHAPE_CONSTANT = Reason("shape-is-constant", "the shape that {subject} gives is a constant already")
PLAIN = Reason("plain-view", "{subject} moves dimensions of 1 only: it became a Reshape to {shape}")
MOVES = Reason("moves-elements", "{subject} moves elements")

VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})


def reshape_to(before: Shape | None, after: Shape | None) -> tuple[int, ...] | None:
    """What Reshape must be told to turn one shape into another: 0 keeps a dimension, -1 is what is left."""
    if after is None or any(dim == 0 for dim in after):
        return None
    found: list[int] = []
    for index, dim in enumerate(after):
        if isinstance(dim, int):
            found.append(dim)
        elif before is not None and index < len(before) and before[index] == dim:
            found.append(0)
        else:
            found.append(-1)
    return tuple(found) if found.count(-1) <= 1 else None


def _is_view(value: Value) -> Node | None:
    node = value.producer
    if node is None:
        return None
    domain, operator = split_op(node.op)
    return node if not domain and operator in VIEWS else None


def _view_of_view(node: Node, site: Site) -> Done | Mismatch:
    middle = node.operand(0)
    inner = _is_view(middle)
    if inner is None:
        return Mismatch(NOT_OF_VIEW, {"value": middle.name})
    source = inner.operand(0)
    before, after = site.fact(source), site.fact(node.result)
    if before.shape is not None and before.shape == after.shape:
        return site.remove(node, source, "the views undo each other")
    if not dies_with(middle, node):
        return Mismatch(READ_ELSEWHERE, {"value": middle.name})
    wanted = reshape_to(before.shape, after.shape)
    name, shown = inner.name, str(after.type)
    if wanted is None:
        if node.op != "onnx.Reshape" or not _reads_alike(node, site):
            return Mismatch(SHAPE_UNKNOWN, {"shape": shown, "before": str(before.type)})
        site.work.rewriter.set_operand(node, 0, source)
        site.work.rewriter.add_origin(node, inner.origin)
    else:
        shape = site.integers(f"{node.name}_shape", wanted)
        site.replace(node, "onnx.Reshape", [source, shape], OnnxAttrs(), inner.origin)
    return Done(MERGED, {"value": source.name, "inner": name, "shape": shown})


def _reads_alike(node: Node, site: Site) -> bool:
    """Whether a Reshape means the same whatever shape its operand has: it copies no dimension."""
    elements = site.fact(node.operand(1)).elements
    return elements is not None and all(item is not None and item != 0 for item in elements)


def _computed_shape(node: Node, site: Site) -> Done | Mismatch:
    """Reshape by a computed shape that a constant can say."""
    shape = node.operand(1)
    if shape.is_constant:
        return Mismatch(SHAPE_CONSTANT)
    before, after = site.fact(node.operand(0)), site.fact(node.result)
    keep_zero = attrs_of(node).integer("allowzero", 0) == 1
    wanted = reshape_to(before.shape, after.shape)
    if wanted is None or (keep_zero and 0 in wanted):
        return Mismatch(SHAPE_UNKNOWN, {"shape": str(after.type), "before": str(before.type)})
    site.work.rewriter.set_operand(node, 1, site.integers(f"{node.name}_shape", wanted))
    return Done(SHAPE_SAID, {"shape": list(wanted)})


def _expand(node: Node, site: Site) -> Done | Mismatch:
    """Expand by a computed shape that a constant can say: 1 leaves a dimension as it is."""
    shape = node.operand(1)
    if shape.is_constant:
        return Mismatch(SHAPE_CONSTANT)
    before, after = site.fact(node.operand(0)), site.fact(node.result)
    wanted = _expand_to(before, after)
    if wanted is None:
        return Mismatch(SHAPE_UNKNOWN, {"shape": str(after.type), "before": str(before.type)})
    site.work.rewriter.set_operand(node, 1, site.integers(f"{node.name}_shape", wanted))
    return Done(SHAPE_SAID, {"shape": list(wanted)})


def _expand_to(before: Fact, after: Fact) -> tuple[int, ...] | None:
    if after.shape is None:
        return None
    # Without the operand's rank the result's would not be known either.
    assert before.shape is not None
    own: Shape = (1,) * (len(after.shape) - len(before.shape)) + before.shape
    found = [_expanded(a, b) for a, b in zip(own, after.shape, strict=True)]
    known = tuple(dim for dim in found if dim is not None)
    return known if len(known) == len(found) else None


def _expanded(own: Expr, wanted: Expr) -> int | None:
    if own == wanted:
        return 1
    return wanted if isinstance(wanted, int) and own == 1 else None


def _transpose(node: Node, site: Site) -> Done | Mismatch:
    """A Transpose that moves dimensions of 1 only, as a Reshape."""
    before, after = site.fact(node.operand(0)), site.fact(node.result)
    if before.shape is None:
        return Mismatch(MOVES)
    perm = attrs_of(node).integers("perm") or tuple(reversed(range(len(before.shape))))
    moved = [axis for axis in perm if before.shape[axis] != 1]
    wanted = reshape_to(before.shape, after.shape)
    if moved != sorted(moved) or wanted is None:
        return Mismatch(MOVES)
    shown = str(after.type)
    shape = site.integers(f"{node.name}_shape", wanted)
    site.replace(node, "onnx.Reshape", [node.operand(0), shape], OnnxAttrs())
    return Done(PLAIN, {"shape": shown})


RULES = (
    Rule(
        VIEWS,
        _view_of_view,
        (MERGED, NOT_OF_VIEW, READ_ELSEWHERE, SHAPE_UNKNOWN, REMOVED, OUTPUT_NAME),
    ),
    Rule(frozenset({"Reshape"}), _computed_shape, (SHAPE_CONSTANT, SHAPE_UNKNOWN, SHAPE_SAID)),
    Rule(frozenset({"Expand"}), _expand, (SHAPE_CONSTANT, SHAPE_UNKNOWN, SHAPE_SAID)),
    Rule(frozenset({"Transpose"}), _transpose, (PLAIN, MOVES)),
)
