"""Functions that work element by element, in whatever order their operands lie."""

from collections.abc import Callable

from arenite.ir.graph import Node
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site


def _unary(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        core, order = site.lie(node.operand(0))
        site.give(node.results[0], op, [core], order=order)

    return apply


def _binary(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        rank = site.rank(node.results[0])
        order = site.common_order(node.present_operands, rank)
        operands = [site.broadcast(value, rank, order) for value in node.present_operands]
        site.give(node.results[0], op, operands, order=order)

    return apply


def _clip(site: Site, node: Node) -> None:
    data, order = site.lie(node.operand(0))
    low, high = (site.constant(node.optional_operand(index)) for index in (1, 2))
    if low is not None and high is not None and (float(low), float(high)) == (0.0, 6.0):
        site.give(node.results[0], "relu6", [data], order=order)
        return
    steps = []
    if node.optional_operand(1) is not None:
        steps.append(("maximum", node.operand(1)))
    if node.optional_operand(2) is not None:
        steps.append(("minimum", node.operand(2)))
    for op, bound in steps[:-1]:
        (data,) = site.emit(op, [data, site.get(bound)])
    if steps:
        site.give(node.results[0], steps[-1][0], [data, site.get(steps[-1][1])], order=order)
    else:
        site.put(node.results[0], data, order)


RULES = (
    Rule("Relu", _unary("relu"), Flow.THROUGH),
    Rule("Sigmoid", _unary("logistic"), Flow.THROUGH),
    Rule("Tanh", _unary("tanh"), Flow.THROUGH),
    Rule("Add", _binary("add"), Flow.THROUGH),
    Rule("Sub", _binary("sub"), Flow.THROUGH),
    Rule("Mul", _binary("mul"), Flow.THROUGH),
    Rule("Div", _binary("div"), Flow.THROUGH),
    Rule("Clip", _clip, Flow.THROUGH),
)
