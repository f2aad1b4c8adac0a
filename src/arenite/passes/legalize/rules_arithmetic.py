"""Arithmetic of two operands or many, element by element, in whatever order they lie."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node, Value
from arenite.passes.legalize.formulas import as_wide, cast, say, say_narrowed, say_result
from arenite.passes.legalize.orders import Order
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_views import same
from arenite.passes.legalize.site import Site, attributes

_MANY = 3
"""From so many summands of one shape on, add_n is fewer nodes."""


def _operands(site: Site, node: Node) -> tuple[list[Value], Order]:
    """The operands side by side, integers of 8 and 16 bits as int32."""
    if len(node.present_operands) != len(node.operands):
        raise RefusedError("all operands must be there, but one is absent")
    rank = site.rank(node.results[0])
    order = site.common_order(node.present_operands, rank)
    return [as_wide(site, site.broadcast(value, rank, order)) for value in node.present_operands], order


def _binary(op: str) -> Callable[[Site, Node], None]:
    """ONNX's integers wrap around, and their quotients are cut off, as in the core dialect."""

    def apply(site: Site, node: Node) -> None:
        (a, b), order = _operands(site, node)
        say_narrowed(site, node, order, op, a, b)

    return apply


def _extreme(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        if len(node.operands) == 1:
            same(site, node)
            return
        operands, order = _operands(site, node)
        first = reduce(lambda a, b: say(site, op, a, b), operands[:-1])
        say_narrowed(site, node, order, op, first, operands[-1])

    return apply


def _sum(site: Site, node: Node) -> None:
    if len(node.operands) == 1:
        same(site, node)
        return
    operands, order = _operands(site, node)
    if _are_alike(operands):
        say_result(site, node, order, "add_n", *operands)
        return
    say_result(site, node, order, "add", _added(site, operands[:-1]), operands[-1])


def _mean(site: Site, node: Node) -> None:
    if len(node.operands) == 1:
        same(site, node)
        return
    operands, order = _operands(site, node)
    total = say(site, "add_n", *operands) if _are_alike(operands) else _added(site, operands)
    say_result(site, node, order, "mul", total, 1 / len(operands))


def _are_alike(operands: Sequence[Value]) -> bool:
    return len(operands) >= _MANY and len({value.type.shape for value in operands}) == 1


def _added(site: Site, operands: Sequence[Value]) -> Value:
    return reduce(lambda a, b: say(site, "add", a, b), operands)


def _power(site: Site, node: Node) -> None:
    """Powers with a name of their own, products, else pow. Exponents of another type become the base's."""
    data, exponent = node.operand(0), site.constant(node.operand(1))
    dtype = site.dtype(data)
    if dtype is DType.FLOAT32 and exponent is not None and exponent.size == 1:
        core, order = site.lie(data)
        if exponent.ndim <= site.rank(data) and _named_power(site, node, order, core, float(exponent.reshape(()))):
            return
    if dtype is DType.INT32 and exponent is not None and not _are_counts(exponent):
        raise RefusedError("the exponents of integers must be whole and not negative")
    if dtype is DType.INT32 and exponent is None and site.dtype(node.operand(1)) is DType.FLOAT32:
        raise RefusedError("the exponents of integers must be integers, but are computed floats")
    rank = site.rank(node.results[0])
    order = site.common_order(node.present_operands, rank)
    a, b = (site.broadcast(value, rank, order) for value in node.present_operands)
    say_result(site, node, order, "pow", a, cast(site, b, dtype))


def _are_counts(exponents: Array) -> bool:
    wide = exponents.astype(np.float64)
    return bool(np.all((wide >= 0) & (wide == np.trunc(wide))))


def _named_power(site: Site, node: Node, order: Order, x: Value, exponent: float) -> bool:
    if exponent == 1:
        same(site, node)
    elif exponent in (2, 0.5, -0.5):
        say_result(site, node, order, {2: "square", 0.5: "sqrt", -0.5: "rsqrt"}[exponent], x)
    elif exponent == -1:
        say_result(site, node, order, "div", 1.0, x)
    elif exponent == 3:
        say_result(site, node, order, "mul", say(site, "square", x), x)
    else:
        return False
    return True


def _remainder(site: Site, node: Node) -> None:
    """The difference a - a / b * b has the sign of a (fmod); where b has the other one, mod adds b once."""
    if site.dtype(node.results[0]) is DType.FLOAT32:
        raise RefusedError("the operands must be integers: remainders of floats have no exact counterpart")
    (a, b), order = _operands(site, node)
    quotient = say(site, "mul", say(site, "div", a, b), b)
    if attributes(node).integer("fmod", 0):
        say_narrowed(site, node, order, "sub", a, quotient)
        return
    rest = say(site, "sub", a, quotient)
    divisor = site.constant(node.operand(1))
    below = say(site, "less", rest, 0, dtype=DType.BOOL)
    if divisor is None or np.min(divisor.astype(np.int64), initial=0) < 0:
        other = say(site, "not_equal", below, say(site, "less", b, 0, dtype=DType.BOOL), dtype=DType.BOOL)
        below = say(site, "logical_and", other, say(site, "not_equal", rest, 0, dtype=DType.BOOL))
    chosen = say(site, "select_v2", below, say(site, "add", rest, b), rest, dtype=rest.type.dtype)
    wanted = site.dtype(node.results[0])
    site.put(node.results[0], cast(site, chosen, wanted), order)


RULES = (
    Rule("Add", _binary("add"), Flow.THROUGH, "`add`"),
    Rule("Sub", _binary("sub"), Flow.THROUGH, "`sub`"),
    Rule("Mul", _binary("mul"), Flow.THROUGH, "`mul`"),
    Rule("Div", _binary("div"), Flow.THROUGH, "`div`; of integers cut off"),
    Rule("Mod", _remainder, Flow.THROUGH, "`div`, `mul`, `sub`, of integers alone"),
    Rule(
        "Pow",
        _power,
        Flow.THROUGH,
        "`square`, `sqrt`, `rsqrt`, `div`, `mul` for the exponents that these are, else `pow`",
    ),
    Rule("Min", _extreme("minimum"), Flow.THROUGH, "`minimum`, of more than two in a row"),
    Rule("Max", _extreme("maximum"), Flow.THROUGH, "`maximum`, of more than two in a row"),
    Rule("Sum", _sum, Flow.THROUGH, "`add`, or `add_n` of more than two of one shape"),
    Rule("Mean", _mean, Flow.THROUGH, "as Sum, then `mul`"),
)
