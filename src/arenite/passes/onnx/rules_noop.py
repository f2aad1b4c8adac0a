"""Rules that remove nodes which give an operand unchanged, judged by what moves and not by equal shapes."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.names import split_op
from arenite.ops.onnx.tensors import NUMBERS
from arenite.passes.onnx.fact import Fact
from arenite.passes.onnx.rules import OUTPUT_NAME, REMOVED, Done, Rule, Site, attrs_of
from arenite.passes.purity import why_impure

SHAPE_CHANGES = Reason("shape-changes", "{subject} turns {before} into {after}, or is not known not to")
MOVES = Reason("moves-elements", "{subject} moves or drops elements")
CHANGES_TYPE = Reason("changes-type", "{subject} turns {before} into {after}")
DROPS = Reason("drops", "{subject} may drop elements: {why}")
MASK_READ = Reason("mask-read", "the mask of {subject} is read")
NOT_NEUTRAL = Reason("not-neutral", "no operand of {subject} is constant and leaves the other as it is, bit for bit")
SEVERAL = Reason("several-values", "{subject} has {count} operands")


def _shown(fact: Fact) -> str:
    return str(fact.type)


def _same_shape(node: Node, site: Site, index: int = 0) -> Mismatch | None:
    before, after = site.fact(node.operands[index]), site.fact(node.results[0])
    if before.shape is not None and before.shape == after.shape:
        return None
    return Mismatch(SHAPE_CHANGES, {"before": _shown(before), "after": _shown(after)})


def _identity(node: Node, site: Site) -> Done | Mismatch:
    return site.remove(node, node.operand(0), "it is an identity")


def _dropout(node: Node, site: Site) -> Done | Mismatch:
    if (why := why_impure(node, site.work.registry)) is not None:
        return Mismatch(DROPS, {"why": why})
    if len(node.results) > 1 and node.results[1].is_read:
        return Mismatch(MASK_READ)
    return site.remove(node, node.operand(0), "it drops nothing outside training")


def _view(node: Node, site: Site) -> Done | Mismatch:
    return _same_shape(node, site) or site.remove(node, node.operand(0), "the shape is that already")


def _cast(node: Node, site: Site) -> Done | Mismatch:
    before, after = site.fact(node.operand(0)), site.fact(node.result)
    if before.dtype is None or before.dtype is not after.dtype:
        return Mismatch(CHANGES_TYPE, {"before": before.dtype, "after": after.dtype})
    return site.remove(node, node.operand(0), f"it is {before.dtype} already")


def _pad(node: Node, site: Site) -> Done | Mismatch:
    given = attrs_of(node).integers("pads")
    pads = given if site.opset < 11 else site.fact(node.optional_operand(1)).integers
    if pads is None or any(pads):
        return Mismatch(MOVES)
    return site.remove(node, node.operand(0), "all its pads are 0")


def _slice(node: Node, site: Site) -> Done | Mismatch:
    if (refused := _same_shape(node, site)) is not None:
        return refused
    # Steps that are not known give no known shape.
    if any(step != 1 for step in site.fact(node.optional_operand(4)).integers or ()):
        return Mismatch(MOVES)
    return site.remove(node, node.operand(0), "it takes all elements in order")


def _transpose(node: Node, site: Site) -> Done | Mismatch:
    if (refused := _same_shape(node, site)) is not None:
        return refused
    shape = site.fact(node.operand(0)).shape
    assert shape is not None
    perm = attrs_of(node).integers("perm") or tuple(reversed(range(len(shape))))
    moved = [axis for axis in perm if shape[axis] != 1]
    if moved != sorted(moved):
        return Mismatch(MOVES)
    return site.remove(node, node.operand(0), "it moves dimensions of 1 only")


def _gather(node: Node, site: Site) -> Done | Mismatch:
    if (refused := _same_shape(node, site)) is not None:
        return refused
    indices = site.fact(node.operand(1)).integers
    if indices is None or indices != tuple(range(len(indices))):
        return Mismatch(MOVES)
    return site.remove(node, node.operand(0), "it takes all elements in order")


def _join(node: Node, site: Site) -> Done | Mismatch:
    if len(node.operands) != 1:
        return Mismatch(SEVERAL, {"count": len(node.operands)})
    return site.remove(node, node.operand(0), "it has one operand")


def _split(node: Node, site: Site) -> Done | Mismatch:
    if len(node.results) != 1:
        return Mismatch(MOVES)
    return _view(node, site)


def _pool(node: Node, site: Site) -> Done | Mismatch:
    if len(node.results) > 1 and node.results[1].is_read:
        return Mismatch(MOVES)
    attrs = attrs_of(node)
    ones = (attrs.integers(name) or (1,) for name in ("kernel_shape", "strides"))
    if any(size != 1 for sizes in ones for size in sizes) or any(attrs.integers("pads") or ()):
        return Mismatch(MOVES)
    return _view(node, site)


def _where(node: Node, site: Site) -> Done | Mismatch:
    condition = node.operand(0)
    if condition.constant is None:
        return Mismatch(NOT_NEUTRAL)
    chosen = condition.constant.reshape(-1)
    index = 1 if chosen.all() else 2 if not chosen.any() else None
    if index is None:
        return Mismatch(NOT_NEUTRAL)
    return _same_shape(node, site, index) or site.remove(node, node.operand(index), "its condition is constant")


# Elementwise: x + y where y changes nothing. x + 0.0 turns -0.0 into 0.0, and x * 0 is not 0 for NaN.

_Neutral = Callable[[np.generic], bool]


def _is(number: float) -> _Neutral:
    return lambda element: bool(element == number)


def _minus_zero(element: np.generic) -> bool:
    return bool(element == 0 and (element.dtype.kind in "iu" or np.signbit(element)))


def _plus_zero(element: np.generic) -> bool:
    return bool(element == 0 and not np.signbit(element))


_NEUTRAL: dict[str, tuple[_Neutral, bool]] = {
    "Add": (_minus_zero, True),
    "Sub": (_plus_zero, False),
    "Mul": (_is(1), True),
    "Div": (_is(1), False),
    "Pow": (_is(1), False),
    "And": (_is(1), True),
    "Or": (_is(0), True),
    "Xor": (_is(0), True),
    "BitwiseOr": (_is(0), True),
    "BitwiseXor": (_is(0), True),
    "BitShift": (_is(0), False),
}
"""By operator: which constant leaves the other operand as it is, and whether it may come first."""


def _elementwise(node: Node, site: Site) -> Done | Mismatch:
    test, either = _NEUTRAL[split_op(node.op)[1]]
    if not site.signed_zeros and split_op(node.op)[1] in ("Add", "Sub"):
        test = _is(0)
    for kept, other in ((0, 1), (1, 0)) if either else ((0, 1),):
        constant = node.operand(other).constant
        if constant is None or constant.size == 0 or constant.dtype.kind not in "biuf":
            continue
        first = constant.reshape(-1)[0]
        if not test(first) or not bool(np.all(constant == first)):
            continue
        if site.signed_zeros and not _same_zeros(constant):
            continue
        return _same_shape(node, site, kept) or site.remove(node, node.operand(kept), f"its other operand is {first}")
    return Mismatch(NOT_NEUTRAL)


def _same_zeros(constant: Array) -> bool:
    count = int(np.count_nonzero(np.signbit(constant)))
    return count in (0, constant.size)


# Pairs that undo each other

UNDONE = Reason("undone", "{subject} undoes what '{inner}' did, so its readers read %{value}")
NOT_UNDONE = Reason("not-undone", "{subject} reads %{value}, which comes from no {op}")
TYPE_SAID = Reason("type-known", "{subject} casts to {dtype}, whatever %{value} holds, so that is not read")
TYPE_UNKNOWN = Reason("type-unknown", "{subject} casts to the type of %{value}, which is not known")
SHORTER = Reason("shorter", "{subject} reads %{value} instead, since the {op} between makes no difference")


def _twice(node: Node, site: Site) -> Done | Mismatch:
    """Not(Not(x)) and Neg(Neg(x))."""
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != node.op:
        return Mismatch(NOT_UNDONE, {"value": middle.name, "op": split_op(node.op)[1]})
    source, name = inner.operand(0), inner.name
    outcome = site.remove(node, source, "twice is never")
    return outcome if isinstance(outcome, Mismatch) else Done(UNDONE, {"inner": name, "value": source.name})


_ORDER = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


def is_exact(before: DType | None, after: DType | None) -> bool:
    """Whether every value of one type is one of the other, so that it comes back unchanged."""
    if before is None or after is None:
        return False
    if before is DType.BOOL:
        return after is DType.BOOL or after.is_integer or after in _ORDER
    if before in _ORDER and after in _ORDER:
        return _ORDER.index(before) <= _ORDER.index(after)
    if before.is_integer and after.is_integer:
        (low, high), (least, most) = before.limits, after.limits
        return least <= low and high <= most
    if before.is_integer and after in _ORDER:
        bits = {DType.FLOAT16: 11, DType.FLOAT32: 24, DType.FLOAT64: 53}[after]
        return max(abs(limit) for limit in before.limits) <= 1 << bits
    return False


def _cast_of_cast(node: Node, site: Site) -> Done | Mismatch:
    """Cast(Cast(x)) where the first loses nothing."""
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != "onnx.Cast":
        return Mismatch(NOT_UNDONE, {"value": middle.name, "op": "Cast"})
    source = inner.operand(0)
    before, between, after = (site.fact(value).dtype for value in (source, middle, node.result))
    if not is_exact(before, between):
        return Mismatch(CHANGES_TYPE, {"before": before, "after": between})
    if before is after:
        outcome = site.remove(node, source, "the casts undo each other")
        return outcome if isinstance(outcome, Mismatch) else Done(UNDONE, {"inner": inner.name, "value": source.name})
    site.work.rewriter.set_operand(node, 0, source)
    site.work.rewriter.add_origin(node, inner.origin)
    return Done(SHORTER, {"value": source.name, "op": "Cast"})


def _cast_like(node: Node, site: Site) -> Done | Mismatch:
    """CastLike to a type that is known reads its second operand for nothing."""
    like = node.operand(1)
    dtype = site.fact(like).dtype
    if dtype is None:
        return Mismatch(TYPE_UNKNOWN, {"value": like.name})
    name, attrs = like.name, attrs_of(node).with_value("to", NUMBERS[dtype])
    site.replace(node, "onnx.Cast", [node.operand(0)], attrs)
    return Done(TYPE_SAID, {"dtype": dtype, "value": name})


def rule(operators: str, attempt: Callable[[Node, Site], Done | Mismatch], *reasons: Reason) -> Rule:
    return Rule(frozenset(operators.split()), attempt, (REMOVED, OUTPUT_NAME, *reasons))


RULES = (
    rule("Identity", _identity),
    rule("Dropout", _dropout, DROPS, MASK_READ),
    rule("Reshape Squeeze Unsqueeze Flatten Expand Tile", _view, SHAPE_CHANGES),
    rule("Cast CastLike", _cast, CHANGES_TYPE),
    rule("Cast", _cast_of_cast, CHANGES_TYPE, UNDONE, NOT_UNDONE, SHORTER),
    rule("CastLike", _cast_like, TYPE_SAID, TYPE_UNKNOWN),
    rule("Pad", _pad, MOVES),
    rule("Slice", _slice, MOVES, SHAPE_CHANGES),
    rule("Transpose", _transpose, MOVES, SHAPE_CHANGES),
    rule("Gather", _gather, MOVES, SHAPE_CHANGES),
    rule("Concat Sum Max Min Mean", _join, SEVERAL),
    rule("Split", _split, MOVES, SHAPE_CHANGES),
    rule("MaxPool", _pool, MOVES, SHAPE_CHANGES),
    rule("Where", _where, NOT_NEUTRAL, SHAPE_CHANGES),
    rule(" ".join(_NEUTRAL), _elementwise, NOT_NEUTRAL, SHAPE_CHANGES),
    rule("Not Neg", _twice, UNDONE, NOT_UNDONE),
)
