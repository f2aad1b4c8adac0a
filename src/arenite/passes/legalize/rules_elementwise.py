"""Functions of one element that the core dialect has, comparisons and logic, in whatever order their operands lie."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Node
from arenite.ops.cast import CastAttrs, converted
from arenite.passes.legalize.formulas import as_wide, cast, say, say_narrowed, say_result
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_views import same
from arenite.passes.legalize.site import Site, attributes

Apply = Callable[[Site, Node], None]


def _unary(op: str) -> Apply:
    """An op of the core dialect that takes the same operand."""

    def apply(site: Site, node: Node) -> None:
        core, order = site.lie(node.operand(0))
        site.give(node.results[0], op, [core], order=order)

    return apply


def _compared(op: str) -> Apply:
    """Integers of 8 and 16 bits are compared as int32: scales, which core comparisons heed, do not count in ONNX."""

    def apply(site: Site, node: Node) -> None:
        rank = site.rank(node.results[0])
        order = site.common_order(node.present_operands, rank)
        operands = [as_wide(site, site.broadcast(value, rank, order)) for value in node.present_operands]
        say_result(site, node, order, op, *operands)

    return apply


def _logic(op: str) -> Apply:
    def apply(site: Site, node: Node) -> None:
        rank = site.rank(node.results[0])
        order = site.common_order(node.present_operands, rank)
        say_result(site, node, order, op, *(site.broadcast(value, rank, order) for value in node.present_operands))

    return apply


def _magnitude(site: Site, node: Node) -> None:
    """The core's abs takes float32 alone: of integers it is max(x, 0 - x)."""
    core, order = site.lie(node.operand(0))
    if core.type.dtype is DType.FLOAT32:
        say_result(site, node, order, "abs", core)
        return
    wide = as_wide(site, core)
    say_narrowed(site, node, order, "maximum", wide, say(site, "sub", 0, wide))


def _negative(site: Site, node: Node) -> None:
    core, order = site.lie(node.operand(0))
    if core.type.dtype is DType.FLOAT32:
        say_result(site, node, order, "neg", core)
    else:
        say_narrowed(site, node, order, "sub", 0, as_wide(site, core))


def _sign(site: Site, node: Node) -> None:
    """(x > 0) - (x < 0), for which truth values become numbers."""
    core, order = site.lie(node.operand(0))
    wide, dtype = as_wide(site, core), site.dtype(node.results[0])
    counted = DType.FLOAT32 if dtype is DType.FLOAT32 else DType.INT32
    above, below = (cast(site, say(site, op, wide, 0, dtype=DType.BOOL), counted) for op in ("greater", "less"))
    if counted is dtype:
        say_result(site, node, order, "sub", above, below)
    else:
        say_result(site, node, order, "cast", say(site, "sub", above, below), attrs=CastAttrs(counted, dtype))


def _reciprocal(site: Site, node: Node) -> None:
    core, order = site.lie(node.operand(0))
    say_result(site, node, order, "div", 1.0, core)


def _tangent(site: Site, node: Node) -> None:
    core, order = site.lie(node.operand(0))
    say_result(site, node, order, "div", say(site, "sin", core), say(site, "cos", core))


def _is_nan(site: Site, node: Node) -> None:
    """What is no number is not equal to itself."""
    core, order = site.lie(node.operand(0))
    say_result(site, node, order, "not_equal", core, core)


def _is_infinite(site: Site, node: Node) -> None:
    core, order = site.lie(node.operand(0))
    attrs = attributes(node)
    positive, negative = (attrs.integer(f"detect_{which}", 1) for which in ("positive", "negative"))
    if not (positive or negative):
        raise RefusedError("one of detect_positive and detect_negative must be set")
    if positive and negative:
        core = say(site, "abs", core)
    say_result(site, node, order, "equal", core, np.inf if positive else -np.inf)


def _cast(site: Site, node: Node) -> None:
    """Floats lose their fraction, integers wrap around. Floats beyond an integer type's limits, of which ONNX says
    nothing, become these limits.
    """
    data, result = node.operand(0), node.results[0]
    dtype = site.dtype(result)
    core, order = site.lie(data)
    if site.dtype(data) is dtype:
        same(site, node)
        return
    if (array := site.constant(data)) is not None:
        site.fix(result, np.asarray(converted(array, dtype)))
        return
    say_result(site, node, order, "cast", core, attrs=CastAttrs(core.type.dtype, dtype))


_ALIKE = {
    "Sigmoid": "logistic",
    "Tanh": "tanh",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Sin": "sin",
    "Cos": "cos",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "HardSwish": "hard_swish",
    "Not": "logical_not",
}
_COMPARISONS = {
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
}
_LOGIC = {"And": "logical_and", "Or": "logical_or", "Xor": "not_equal"}
_CAST = "`cast`; floats beyond an integer type become its limits"

RULES = (
    *(Rule(operator, _unary(op), Flow.THROUGH, f"`{op}`") for operator, op in _ALIKE.items()),
    *(Rule(operator, _compared(op), Flow.THROUGH, f"`{op}`") for operator, op in _COMPARISONS.items()),
    *(Rule(operator, _logic(op), Flow.THROUGH, f"`{op}`") for operator, op in _LOGIC.items()),
    Rule("Abs", _magnitude, Flow.THROUGH, "`abs`; of integers `sub`, `maximum`"),
    Rule("Neg", _negative, Flow.THROUGH, "`neg`; of integers `sub`"),
    Rule("Sign", _sign, Flow.THROUGH, "the difference of two comparisons with 0"),
    Rule("Reciprocal", _reciprocal, Flow.THROUGH, "`div`"),
    Rule("Tan", _tangent, Flow.THROUGH, "`sin`, `cos`, `div`"),
    Rule("IsNaN", _is_nan, Flow.THROUGH, "`not_equal`, of the value and itself"),
    Rule("IsInf", _is_infinite, Flow.THROUGH, "`abs`, `equal`"),
    Rule("Cast", _cast, Flow.THROUGH, _CAST),
    Rule("CastLike", _cast, Flow.THROUGH, _CAST),
)
