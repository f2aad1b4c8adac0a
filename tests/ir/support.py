"""A tiny dialect with ops that are simple enough to be seen right, and the facts of graphs as plain data."""

from arenite.ir.graph import Graph, Value
from arenite.ir.opdef import Registry
from arenite.ir.printer import attrs_text

REGISTRY = Registry()


def _value_facts(value: Value | None) -> object:
    if value is None:
        return None
    contents = None
    if value.constant is not None:
        contents = value.constant.tolist() if value.constant.dtype == object else value.constant.tobytes()
    return (value.name, value.type, value.is_variable, contents, len(value.uses), getattr(value.producer, "name", None))


def node_facts(graph: Graph) -> object:
    """Everything that a graph holds, by which two graphs are compared without the printer's graph walk."""
    nodes = [
        (
            node.name,
            node.op,
            [_value_facts(value) for value in node.operands],
            [_value_facts(value) for value in node.results],
            type(node.attrs),
            attrs_text(node.attrs),
            node.origin,
            [node_facts(region) for region in node.regions],
        )
        for node in graph.nodes
    ]
    return (graph.name, list(map(_value_facts, graph.inputs)), nodes, list(map(_value_facts, graph.outputs)))
