"""Graphs as plain records, and what became of each node of the model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from arenite._base.dtypes import DType
from arenite._base.remarks import Remark, RemarkKind
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.types import TensorType
from arenite.report.result import GraphsRecord, NodeRecord


def graphs_record(before: Sequence[NodeRecord], after: Sequence[NodeRecord], remarks: Sequence[Remark]) -> GraphsRecord:
    """Both graphs, and of each node of the first that is not in the second, what became of it."""
    heirs: dict[str, NodeRecord] = {}
    for node in after:
        for origin in node.origin:
            if origin not in heirs or node.name == origin:
                heirs[origin] = node
    # A node is still there as one node of its op: of equal ones that became one, the others went.
    names = {node.name for node in before}
    successors = {heirs[n.name].name: n.name for n in reversed(before) if n.name in heirs and heirs[n.name].op == n.op}
    successors.update((name, name) for name in successors if name in names and heirs[name].name == name)
    said = _Said(remarks)
    with_fates = []
    for node in before:
        heir = heirs.get(node.name)
        stays = heir is not None and heir.op == node.op and successors.get(heir.name) == node.name
        with_fates.append(node if stays else _fated(node, heir, said.of(node.name) or said.of(node.inside)))
    return GraphsRecord(tuple(with_fates), tuple(after))


class _Said:
    """What passes changed, by the nodes that it is about."""

    def __init__(self, remarks: Sequence[Remark]) -> None:
        self._by_subject: dict[str, Remark] = {}
        self._by_origin: dict[str, Remark] = {}
        for remark in remarks:
            if remark.kind is RemarkKind.PASSED:
                self._by_subject[remark.subject] = remark
                for origin in remark.origin:
                    self._by_origin.setdefault(origin, remark)

    def of(self, name: str) -> Remark | None:
        """The last that names it, else the first about a node that stands for it."""
        return self._by_subject.get(name) or self._by_origin.get(name)


def _fated(node: NodeRecord, heir: NodeRecord | None, said: Remark | None) -> NodeRecord:
    why = f"{said.pass_name}: {said.text}" if said is not None else ""
    if heir is None:
        with_holder = f"it was inside '{node.inside}'; " if node.inside and said and said.subject == node.inside else ""
        fate = f"{with_holder}{why}" if why else "no node stands for it"
    else:
        verb = "became" if heir.origin == (node.name,) else "went into"
        fate = f"{verb} {heir.op.removeprefix('onnx.')} '{heir.name}'" + (f"; {why}" if why else "")
    return replace(node, fate=fate, reason=said.reason.slug if said is not None else "")


def node_records(
    graph: Graph, type_of: Callable[[Value], TensorType] = lambda value: value.type
) -> tuple[NodeRecord, ...]:
    """A record for each node in schedule order; those of nested graphs follow the node that holds them."""
    nodes = list(_all_nodes(graph, ""))
    place = {node: index for index, (node, _) in enumerate(nodes)}
    records = []
    for node, holder in nodes:
        sources = [place[v.producer] for v in node.present_operands if v.producer in place]
        label = _label(type_of(node.results[0])) if node.results else ""
        inputs = tuple(dict.fromkeys(sources))
        records.append(NodeRecord(node.name, node.op, label, inputs, node.origin, inside=holder))
    return tuple(records)


def _label(type_: TensorType) -> str:
    """A type in short; sizes that nobody named are question marks."""
    dims = [str(dim) if isinstance(dim, int) or not dim.startswith("?") else "?" for dim in type_.shape or ()]
    dtype = "" if type_.dtype is DType.OPAQUE else str(type_.dtype)
    return f"{'x'.join(dims)} {dtype}".strip()


def _all_nodes(graph: Graph, holder: str) -> Iterator[tuple[Node, str]]:
    """Every node, and the name of the one whose nested graph it is in."""
    for node in graph.nodes:
        yield node, holder
        for region in node.regions:
            yield from _all_nodes(region, node.name)
