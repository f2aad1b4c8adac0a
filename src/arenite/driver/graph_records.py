"""Graphs as plain records, and what became of each node of the model."""

from collections.abc import Mapping

from arenite._base.remarks import Remark, RemarkKind
from arenite.driver.build import Build
from arenite.ir.graph import Graph, Node
from arenite.report.result import GraphsRecord, NodeRecord


def graphs_record(build: Build) -> GraphsRecord:
    """Both graphs of a build."""
    after = _records(build.graph, {})
    alive = {(origin, node.op) for node in after for origin in node.origin}
    heirs = {origin: node for node in after for origin in node.origin}
    fates = {}
    for node in build.model.graph.nodes:
        if (node.name, node.op) not in alive:
            heir = heirs.get(node.name)
            fates[node.name] = _fate(node, build.remarks) if heir is None else f"fused into {heir.op} '{heir.name}'"
    return GraphsRecord(_records(build.model.graph, fates), after)


def _fate(node: Node, remarks: tuple[Remark, ...]) -> str:
    said = [r for r in remarks if r.kind is RemarkKind.PASSED and (r.subject == node.name or node.name in r.origin)]
    return f"{said[-1].pass_name}: {said[-1].text}" if said else "no node stands for it"


def _records(graph: Graph, fates: Mapping[str, str]) -> tuple[NodeRecord, ...]:
    place = {node: index for index, node in enumerate(graph.nodes)}
    records = []
    for node in graph.nodes:
        sources = [place[v.producer] for v in node.present_operands if v.producer in place]
        type_ = node.results[0].type if node.results else None
        shape = "x".join(map(str, type_.shape)) if type_ is not None and type_.shape is not None else ""
        label = f"{shape} {type_.dtype}" if type_ is not None else ""
        records.append(
            NodeRecord(node.name, node.op, label, tuple(dict.fromkeys(sources)), node.origin, fates.get(node.name, ""))
        )
    return tuple(records)
