"""Copies of state: whether whoever reads one could as well read the state itself."""

from collections.abc import Callable
from itertools import dropwhile, islice

from arenite.ir.graph import Node, Value
from arenite.ir.opdef import Registry, Trait


def could_read_in_place(node: Node, registry: Registry, is_same: Callable[[Node], bool] = lambda node: False) -> bool:
    """Whether state is still what it was at `node` wherever the copy that the node takes is read.

    Args:
        node: takes a copy (`Trait.SNAPSHOT`) of its operand 0.
        registry: the ops; one that is not there may change what it reads.
        is_same: whether a node's result is the same bytes as its operand 0, and is read where that is.
    """
    state, copies = node.operand(0), {node.result}
    if not state.is_variable or node.graph is None:
        return False
    last, changes = 0, []
    after = dropwhile(lambda other: other is not node, node.graph.nodes)
    for position, other in enumerate(islice(after, 1, None), 1):
        if not copies.isdisjoint(other.present_operands):
            last = position
            if is_same(other):
                copies.add(other.result)
        if _changes(other, state, registry):
            changes.append(position)
    return not any(value.output_of for value in copies) and all(last < position for position in changes)


def _changes(node: Node, state: Value, registry: Registry) -> bool:
    definition = registry.get(node.op)
    if definition is None:
        return state in node.present_operands
    return not definition.has(Trait.SNAPSHOT) and any(node.optional_operand(i) is state for i in definition.state)
