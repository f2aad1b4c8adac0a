"""The TRANSPOSE and PAD operators that a converted model has, and who needs them."""

from collections.abc import Collection, Iterator

from arenite._base.text import first_of, short_name
from arenite.driver.convert_result import Extra, Heirs
from arenite.ir.graph import Graph, Node

_MOST_NAMED = 3
_PADS = ("pad", "padv2", "mirror_pad")


class Extras:
    """Finds them in a core graph.

    Args:
        graph: as it is written into the file.
        original: the onnx graph that it was made from, with the inputs that are left.
    """

    def __init__(self, graph: Graph, original: Graph) -> None:
        self._graph = graph
        self._original = original
        self._operators = {node.name: node.op.removeprefix("onnx.") for node in _computing(original)}
        self._places = {name: place for place, name in enumerate(self._operators)}

    def transposes(self) -> tuple[Extra, ...]:
        """Every transpose, and who needs it."""
        return tuple(self._extra(node, self._why_moved(node)) for node in self._graph.nodes if node.op == "transpose")

    def pads(self) -> tuple[Extra, ...]:
        """Every pad, and who needs it."""
        return tuple(self._extra(node, self._why_padded(node)) for node in self._graph.nodes if node.op in _PADS)

    def heirs(self) -> tuple[Heirs, ...]:
        """What became of each node of the onnx graph."""
        heirs: dict[str, list[str]] = {}
        for node in self._graph.nodes:
            for name in node.origin:
                heirs.setdefault(name, []).extend(value.name for value in node.results)
        return tuple(
            Heirs(node.name, node.op.removeprefix("onnx."), tuple(heirs.get(node.name, ())))
            for node in self._original.nodes
        )

    def _extra(self, node: Node, reason: str) -> Extra:
        return Extra(node.name, node.results[0].type.dims, reason)

    def _why_moved(self, node: Node) -> str:
        readers, source = self._readers(node), self._source(node)
        if source == f"what {readers} computes":
            return f"between parts of {readers}"
        return f"since {readers} needs {source} in another order"

    def _why_padded(self, node: Node) -> str:
        own = [name for name in self._known(node) if self._operators[name] == "Pad"]
        if own:
            return f"the model's own '{short_name(own[0])}' (Pad)"
        return f"since {self._readers(node)} pads {self._source(node)} as no operator of a .tflite does"

    def _readers(self, node: Node) -> str:
        readers = list(dict.fromkeys(self._all_readers(node)))
        return first_of(readers, _MOST_NAMED)

    def _all_readers(self, node: Node) -> Iterator[str]:
        for value in node.results:
            for use in value.uses:
                # What reads is the first of the nodes that became one.
                yield self._called(use.node, 0)
            if value in self._graph.outputs:
                yield f"output '{short_name(value.name)}'"

    def _source(self, node: Node) -> str:
        """What it is made of: of a node that became several operators, the part before those that read the result."""
        value = node.operand(0)
        while value.producer is not None and value.producer.op == "transpose":
            value = value.producer.operand(0)
        if value in self._graph.inputs:
            return f"input '{short_name(value.name)}'"
        if value.producer is None:
            return "a constant"
        reading = {name for result in node.results for use in result.uses for name in self._known(use.node)}
        return f"what {self._called(value.producer, -1, reading)} computes"

    def _called(self, node: Node, which: int, without: Collection[str] = ()) -> str:
        """A node of the core graph by one of those of the onnx model that it stands for, in the model's order."""
        known = [name for name in self._known(node) if name not in without] or self._known(node)
        if not known:
            return f"'{short_name(node.name)}' ({node.op})"
        return f"'{short_name(known[which])}' ({self._operators[known[which]]})"

    def _known(self, node: Node) -> list[str]:
        return sorted((name for name in node.origin if name in self._places), key=self._places.__getitem__)


def _computing(graph: Graph) -> Iterator[Node]:
    """The nodes that depend on an input: the others became constants, which pad and move nothing."""
    known = set(graph.inputs)
    for node in graph.nodes:
        if node.regions or known.intersection(node.present_operands):
            known.update(node.results)
            yield node
