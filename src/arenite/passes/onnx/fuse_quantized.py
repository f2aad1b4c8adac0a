"""Which values reach a quantization, where the least change of a number may move a result by a whole step."""

from arenite._base.remarks import Reason
from arenite.ir.graph import Graph, Node, Value
from arenite.passes.onnx.facts import all_graphs

FEEDS_QUANTIZATION = Reason(
    "feeds-quantization",
    "what '{layer}' gives is quantized later; rounded otherwise, it may become another step there",
)

_QUANTIZING = frozenset({"onnx.QuantizeLinear", "onnx.DynamicQuantizeLinear"})


def leads_to_quantization(graph: Graph) -> set[Value]:
    """The values of a graph and those nested in it from which what somebody quantizes is computed."""
    inside: dict[Graph, Node] = {}
    pending: list[Value] = []
    for each in all_graphs(graph):
        for node in each.nodes:
            inside.update(dict.fromkeys(node.regions, node))
            if node.op in _QUANTIZING:
                pending.append(node.operand(0))
                pending.extend(_given_to(each, inside))
    found: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        if value.producer is not None:
            pending.extend(_read_by(value.producer))
    return found


def _given_to(graph: Graph, inside: dict[Graph, Node]) -> list[Value]:
    """What the nodes around a nested graph pass into it."""
    found: list[Value] = []
    while graph in inside:
        holder = inside[graph]
        found.extend(holder.present_operands)
        assert holder.graph is not None
        graph = holder.graph
    return found


def _read_by(node: Node) -> list[Value]:
    found = list(node.present_operands)
    for region in node.regions:
        for each in all_graphs(region):
            found.extend(value for inner in each.nodes for value in inner.present_operands)
            found.extend(each.outputs)
    return found
