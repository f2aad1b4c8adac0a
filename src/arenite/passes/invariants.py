"""Named facts about graphs that passes require or establish, each with its test."""

from collections.abc import Callable
from dataclasses import dataclass

from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry
from arenite.passes.liveness import live_nodes


@dataclass(frozen=True)
class Invariant:
    """A fact about graphs.

    Attributes:
        name: kebab-case.
        text: what holds, as a sentence.
        problems: where it does not hold, a sentence each.
    """

    name: str
    text: str
    problems: Callable[[Graph, Registry], list[str]]


def _unknown_shapes(graph: Graph, registry: Registry) -> list[str]:
    return [f"%{value.name} is {value.type}" for value in graph.values() if not value.type.is_static]


def _float_nodes(graph: Graph, registry: Registry) -> list[str]:
    border = ("quantize", "dequantize")
    return [
        f"node '{node.name}' ({node.op}) works on {value.type.dtype}"
        for node in graph.nodes
        if node.op not in border
        for value in (*node.present_operands, *node.results)
        if value.type.dtype.is_float
    ]


def _dead_nodes(graph: Graph, registry: Registry) -> list[str]:
    live = live_nodes(graph, registry)
    return [f"nothing needs node '{node.name}' ({node.op})" for node in graph.nodes if node not in live]


SHAPES_KNOWN = Invariant("shapes-known", "Every shape is known.", _unknown_shapes)
QUANTIZED = Invariant("quantized", "Only quantize and dequantize nodes see floats.", _float_nodes)
NO_DEAD_NODES = Invariant("no-dead-nodes", "Every node serves an output or has a side effect.", _dead_nodes)

INVARIANTS = (SHAPES_KNOWN, QUANTIZED, NO_DEAD_NODES)
