"""Which values share bytes: views of one another, and results that take over the buffer of a dead operand."""

from collections.abc import Sequence

from arenite._base.errors import SelfCheckError
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import Registry, Trait
from arenite.ir.snapshots import could_read_in_place
from arenite.lower.kernel import OperandRef
from arenite.lower.steps import Step


def is_view(node: Node, registry: Registry) -> bool:
    """Whether a node makes no call: its result's bytes are its operand's."""
    definition = registry.get(node.op)
    if definition is None:
        return False
    if definition.has(Trait.SNAPSHOT):
        return could_read_in_place(node, registry, lambda other: registry[other.op].has(Trait.VIEW))
    return definition.has(Trait.VIEW)


class Aliases:
    """Where the bytes of each value are.

    The *root* of a value is what it is a view of, through chains of views. The *host* of a root is the value whose
    buffer holds it: itself, or the operand that it was computed in place of.
    """

    def __init__(self, graph: Graph, registry: Registry, steps: Sequence[Step]) -> None:
        self._roots = _roots(graph, registry)
        self._hosts: dict[Value, Value] = {}
        self._kept = {self.root(value) for value in graph.outputs}
        self._last_use = _last_uses(self._roots, steps)
        for index, step in enumerate(steps):
            self._place_in_place(index, step)

    def root(self, value: Value) -> Value:
        return self._roots.get(value, value)

    def host(self, value: Value) -> Value:
        """The value whose buffer holds the bytes of `value`."""
        root = self.root(value)
        return self._hosts.get(root, root)

    def _place_in_place(self, index: int, step: Step) -> None:
        if not step.only or len(step.node.results) != 1:
            return
        result = step.node.result
        for operand_index in step.choice.kernel.in_place:
            operand = step.node.optional_operand(operand_index)
            if operand is not None and self._may_take_over(index, step, self.root(operand), result):
                self._hosts[result] = self.host(operand)
                return

    def _may_take_over(self, index: int, step: Step, operand: Value, result: Value) -> bool:
        """Whether the bytes of `operand` are free for `result` while the call runs."""
        if operand.is_constant or operand.is_variable or operand in self._kept:
            return False
        if operand.type.nbytes != result.type.nbytes or self._last_use.get(operand) != index:
            return False
        # The same bytes may come in through another operand, which the kernel must bear as well.
        return all(
            ref.index in step.choice.kernel.in_place and ref.offset_nbytes == 0
            for _, ref in step.accesses
            if isinstance(ref, OperandRef) and self.root(step.value_of(ref)) is operand
        )


def _roots(graph: Graph, registry: Registry) -> dict[Value, Value]:
    roots: dict[Value, Value] = {}
    for node in graph.nodes:
        if not is_view(node, registry):
            continue
        source, result = node.operand(0), node.result
        if source.type.nbytes != result.type.nbytes:
            raise SelfCheckError(
                f"node '{node.name}' ({node.op}) is a view, but turns {source.type.nbytes} bytes into "
                f"{result.type.nbytes}"
            )
        roots[result] = roots.get(source, source)
    return roots


def _last_uses(roots: dict[Value, Value], steps: Sequence[Step]) -> dict[Value, int]:
    found: dict[Value, int] = {}
    for index, step in enumerate(steps):
        for _, ref in step.accesses:
            value = step.value_of(ref)
            found[roots.get(value, value)] = index
    return found
