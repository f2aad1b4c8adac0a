"""Which nodes a graph needs: those that its outputs depend on, and those with side effects."""

from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import Registry, Trait


def must_stay(node: Node, registry: Registry) -> bool:
    """Whether a node does more than compute its results: a side effect, a change of state, or an op not known here."""
    definition = registry.get(node.op)
    return (
        definition is None
        or definition.has(Trait.SIDE_EFFECT)
        or not definition.has(Trait.PURE)
        or any(value.is_variable for value in node.present_operands)
        or any(must_stay(inner, registry) for region in node.regions for inner in region.nodes)
    )


def live_nodes(graph: Graph, registry: Registry, *, effects: bool = True) -> set[Node]:
    """Every node that an output depends on and, with `effects`, that must stay or serves one that must."""
    pending = [value.producer for value in graph.outputs]
    if effects:
        pending.extend(node for node in graph.nodes if must_stay(node, registry))
    live: set[Node] = set()
    while pending:
        node = pending.pop()
        if node is None or node in live:
            continue
        live.add(node)
        pending.extend(value.producer for value in _read_by(node))
    return live


def _read_by(node: Node) -> list[Value]:
    """What a node reads, in nested graphs too."""
    read = list(node.present_operands)
    for region in node.regions:
        read.extend(region.outputs)
        for inner in region.nodes:
            read.extend(_read_by(inner))
    return read
