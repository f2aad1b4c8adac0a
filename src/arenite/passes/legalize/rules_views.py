"""Operators that give the same elements other dimensions, or another order."""

import math
from collections.abc import Sequence

from arenite.ir.graph import Node
from arenite.passes.legalize.orders import Order, as_in_onnx, moved
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.reshaping import kept_order, reshaped_for
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
    if site.orders(result):
        # The rule of the node before gave it.
        return
    before, after = site.dims(data), site.dims(result)
    if math.prod(before) != math.prod(after):
        raise RefusedError(f"{list(before)} cannot become {list(after)}")
    wish = site.wishes.get(result)
    kept = {order: kept_order(order, before, after, wish) for order in site.orders(data)}
    found = [(order, after_it) for order, after_it in kept.items() if after_it is not None]
    if found:
        lying, result_order = min(found, key=lambda pair: pair[1] != wish)
    else:
        lying, result_order = _transposed_for(wish, before, after)
    core = site.reshaped(site.get(data, lying), moved(after, result_order), name=result.name)
    site.put(result, core, result_order)


def _transposed_for(wish: Order | None, before: Sequence[int], after: Sequence[int]) -> tuple[Order, Order]:
    """The orders of operand and result of a reshape that needs a transpose before it."""
    lying = None if wish is None else reshaped_for(wish, before, after)
    if wish is None or lying is None:
        return as_in_onnx(len(before)), as_in_onnx(len(after))
    return lying, wish


def same(site: Site, node: Node) -> None:
    """Identity: every form of the operand is one of the result."""
    data = node.operand(0)
    site.relabel(data, node.results[0], as_in_onnx(site.rank(data)))


RULES = (
    Rule("Transpose", _transpose, says="nothing: the order of the dimensions is kept in mind"),
    Rule("Reshape", _view, Flow.VIEW, "`reshape`"),
    Rule("Flatten", _view, Flow.VIEW, "`reshape`"),
    Rule("Squeeze", _view, Flow.VIEW, "`reshape`"),
    Rule("Unsqueeze", _view, Flow.VIEW, "`reshape`"),
    Rule("Identity", same, Flow.THROUGH, "nothing"),
)
