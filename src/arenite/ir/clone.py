"""Copies of graphs: the same nodes and names, other objects. Constants' arrays are shared, being read-only."""

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
