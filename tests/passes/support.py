"""Runs one pass under every instrument, and what it said."""

from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry
from arenite.passes.base import Pass
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline


def verdicts(spec: Pass, graph: Graph, registry: Registry) -> dict[str, list[str]]:
    """What the pass said of each subject, as `kind reason`. Every instrument watches."""
    result = run_pipeline(graph, [spec], registry, instruments=all_checks())
    found: dict[str, list[str]] = {}
    for remark in result.remarks:
        assert "{" not in remark.text
        if remark.pass_name != spec.name:
            continue
        found.setdefault(remark.subject, []).append(f"{remark.kind.value} {remark.reason.slug}")
    return found


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]
