"""Copies of graphs: the same nodes and names, other objects. Constants' arrays are shared, being read-only."""

from collections.abc import Callable, Iterator

from arenite.ir.graph import Graph, Node, Value


def clone_graph(graph: Graph) -> Graph:
    """An independent copy, nested graphs included."""
    return _clone(graph, {})


def _clone(graph: Graph, twins: dict[Value, Value]) -> Graph:
    def twin(value: Value) -> Value:
        if value not in twins:
            twins[value] = Value(value.name, value.type, constant=value.constant, is_variable=value.is_variable)
        return twins[value]

    copy = Graph(graph.name)
    copy.inputs = [twin(value) for value in graph.inputs]
    for node in graph.nodes:
        operands = [None if value is None else twin(value) for value in node.operands]
        regions = tuple(_clone(region, twins) for region in node.regions)
        results = [twin(value) for value in node.results]
        copy._insert(Node(node.name, node.op, operands, results, node.attrs, node.origin, regions), None)
    copy.outputs = [twin(value) for value in graph.outputs]
    return copy


def clone_nested(
    graph: Graph, name_value: Callable[[str], str], name_node: Callable[[str], str], *, constants: bool
) -> Graph:
    """A copy of a nested graph, which reads the same values of the graphs around it.

    Args:
        graph: the nested graph.
        name_value: makes names for the copies of values.
        name_node: makes names for the copies of nodes.
        constants: whether it has constants of its own.
    """
    twins: dict[Value, Value] = {}
    if constants:
        for value in _constants(graph):
            twins[value] = Value(name_value(value.name), value.type, constant=value.constant)
    return _clone_nested(graph, twins, name_value, name_node)


def _constants(graph: Graph) -> Iterator[Value]:
    yield from graph.constants()
    for node in graph.nodes:
        for region in node.regions:
            yield from _constants(region)


def _clone_nested(
    graph: Graph, twins: dict[Value, Value], name_value: Callable[[str], str], name_node: Callable[[str], str]
) -> Graph:
    def own(value: Value) -> Value:
        twins[value] = Value(name_value(value.name), value.type)
        return twins[value]

    copy = Graph(graph.name)
    copy.inputs = [own(value) for value in graph.inputs]
    for node in graph.nodes:
        operands = [None if value is None else twins.get(value, value) for value in node.operands]
        regions = tuple(_clone_nested(region, twins, name_value, name_node) for region in node.regions)
        results = [own(value) for value in node.results]
        copy._insert(Node(name_node(node.name), node.op, operands, results, node.attrs, node.origin, regions), None)
    copy.outputs = [twins.get(value, value) for value in graph.outputs]
    return copy
