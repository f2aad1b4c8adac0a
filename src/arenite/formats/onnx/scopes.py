"""Which graph of a model holds each constant, and what each value is called in the file."""

from collections.abc import Iterator

from arenite.formats.onnx.details import GraphFacts, OnnxDetails
from arenite.ir.graph import Graph, Value

_NO_FACTS = GraphFacts("")


class Scopes:
    """The graphs of a model: which is inside which, which constants each holds, and names.

    A constant belongs to the graph that it was read from if that is around all its readers, else to the innermost one
    that is. Names are unique within a graph and all around it.

    Attributes:
        constants: every constant, once, in order of first use.
    """

    def __init__(self, graph: Graph, details: OnnxDetails) -> None:
        self._details = details
        self._outer: dict[Graph, Graph | None] = {}
        self._held: dict[Graph, list[Value]] = {}
        self._names: dict[Value, str] = {}
        homes: dict[Value, Graph] = {}
        self._visit(graph, None, homes)
        self.constants = tuple(homes)
        for value, home in homes.items():
            self._held[self._first_home(value, home)].append(value)
        self._name(graph, set())

    def held(self, graph: Graph) -> list[Value]:
        """The constants that a graph holds."""
        return self._held[graph]

    def outer(self, graph: Graph) -> Graph | None:
        return self._outer[graph]

    def name(self, value: Value) -> str:
        return self._names.get(value, value.name)

    def facts(self, graph: Graph) -> GraphFacts:
        return self._details.graphs.get(graph.name, _NO_FACTS)

    def _visit(self, graph: Graph, outer: Graph | None, homes: dict[Value, Graph]) -> None:
        self._outer[graph] = outer
        self._held[graph] = []
        for node in graph.nodes:
            for value in node.present_operands:
                self._read(value, graph, homes)
            for region in node.regions:
                self._visit(region, graph, homes)
        for value in graph.outputs:
            self._read(value, graph, homes)

    def _read(self, value: Value, graph: Graph, homes: dict[Value, Graph]) -> None:
        if value.is_constant:
            home = homes.get(value)
            if home is not graph:
                homes[value] = graph if home is None else self._common(home, graph)

    def _around(self, graph: Graph) -> Iterator[Graph]:
        current: Graph | None = graph
        while current is not None:
            yield current
            current = self._outer[current]

    def _common(self, one: Graph, other: Graph) -> Graph:
        around = set(self._around(one))
        return next(graph for graph in self._around(other) if graph in around)

    def _first_home(self, value: Value, home: Graph) -> Graph:
        for graph in self._around(home):
            facts = self.facts(graph)
            if value.name in facts.initializers or value.name in facts.constant_nodes:
                return graph
        return home

    def _name(self, graph: Graph, taken: set[str]) -> None:
        own = [*graph.inputs, *self._held[graph]]
        own.extend(value for node in graph.nodes for value in node.results)
        is_main = self._outer[graph] is None
        kept = {value.name for value in (*graph.inputs, *graph.outputs)} if is_main else set()
        names = taken | kept
        outputs = {*graph.inputs, *graph.outputs} if is_main else set()
        for value in own:
            if value in outputs:
                continue
            name, number = value.name, 1
            while name in names:
                name = f"{value.name}_{number}"
                number += 1
            names.add(name)
            if name != value.name:
                self._names[value] = name
        for node in graph.nodes:
            for region in node.regions:
                self._name(region, names)
