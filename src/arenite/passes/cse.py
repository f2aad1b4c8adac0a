"""Common subexpression elimination: of nodes and constants that are the same, one stays."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.content import content_hash
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.mapped import drop_pages
from arenite.ir.opdef import Trait
from arenite.ir.printer import attrs_text
from arenite.ir.types import TensorType
from arenite.ops.onnx.names import is_onnx
from arenite.passes.base import Pass, Work
from arenite.passes.purity import why_impure

SAME_NODE = Reason("same-node", "{subject} computes what '{other}' does, so the latter took its place")
SAME_CONSTANT = Reason("same-constant", "%{subject} equals %{other} in type and contents, so the latter took its place")
BOTH_OUTPUTS = Reason(
    "both-outputs", "{subject} is the same as '{other}', but both are outputs of the graph, each with its name"
)
NOT_REPEATABLE = Reason(
    "not-repeatable", "{subject} looks like '{other}', but {op} is not pure and deterministic, or works on state"
)
RAISES_PEAK = Reason(
    "raises-peak", "{subject} computes what '{other}' does, but to keep that until here takes more memory at the peak"
)

_SAMPLES = 8


@dataclass(frozen=True)
class CommonSubexpressions(Pass):
    """Merges nodes with the same op, attributes, operands and types, and constants with the same type and bits.

    Candidates are the nodes and constants that look like an earlier one.

    Attributes:
        kept: names of nodes that stay, since it costs less memory to compute them again.
    """

    kept: frozenset[str] = frozenset()

    name: ClassVar[str] = "cse"
    summary: ClassVar[str] = "Lets one of several equal nodes or constants stand for all."
    reasons: ClassVar[tuple[Reason, ...]] = (
        SAME_NODE,
        SAME_CONSTANT,
        BOTH_OUTPUTS,
        NOT_REPEATABLE,
        RAISES_PEAK,
    )

    def apply(self, work: Work) -> None:
        _merge_constants(work)
        _merge_within(work, [], self.kept)


def _merge_within(work: Work, outer: list[dict[Hashable, Node]], kept: frozenset[str]) -> None:
    """Merge the nodes of a graph with earlier ones, and with those of the graphs around it."""
    own: dict[Hashable, Node] = {}
    scopes = [*outer, own]
    for node in work.graph.nodes:
        key = _key(node, work)
        twin = next((scope[key] for scope in scopes if key in scope), None)
        if twin is None:
            own[key] = node
        else:
            _merge_nodes(node, twin, work, kept)
        for region in work.inner_graphs(node):
            _merge_within(work.nested(region), scopes, kept)


def _constants(work: Work, graph: Graph) -> Iterator[Value]:
    yield from graph.constants()
    for node in graph.nodes:
        for region in work.inner_graphs(node):
            yield from _constants(work, region)


def _merge_constants(work: Work) -> None:
    by_type: dict[TensorType, list[Value]] = {}
    for value in dict.fromkeys(_constants(work, work.graph)):
        # What a nested graph gives must be its own; read elsewhere too, it would have to be copied there.
        given = any(graph is not work.graph for graph in value.output_of)
        if not given:
            by_type.setdefault(value.type, []).append(value)
    for values in by_type.values():
        first: dict[str, Value] = {}
        # Hashing reads every byte: only where there is something to compare with.
        for value in _look_alike(values):
            assert value.constant is not None
            twin = first.setdefault(content_hash(value.constant), value)
            if twin is value:
                continue
            candidate = work.consider(value)
            if work.rewriter.may_replace(value, twin):
                other = twin.name
                work.rewriter.replace_value(value, twin)
                candidate.passed(SAME_CONSTANT, other=other)
            else:
                candidate.missed(BOTH_OUTPUTS, other=twin.name)


def _bits(array: Array, place: int) -> bytes:
    return np.asarray(array[np.unravel_index(place, array.shape)]).tobytes()


def _look_alike(values: Sequence[Value]) -> list[Value]:
    """Those of some constants of one type that have the same few elements as another one."""
    groups: dict[Hashable, list[Value]] = {}
    for value in values if len(values) > 1 else ():
        array = value.constant
        assert array is not None
        places = range(0, array.size, max(1, array.size // _SAMPLES))
        sample = () if array.dtype == object else tuple(_bits(array, place) for place in places)
        groups.setdefault(sample, []).append(value)
        # Around each element that it reads of a mapped file, the system keeps many pages.
        drop_pages(array)
    alike = {value for group in groups.values() if len(group) > 1 for value in group}
    return [value for value in values if value in alike]


def _key(node: Node, work: Work) -> Hashable:
    """Equal for nodes that are the same. Attributes as text, which tells 0.0 from -0.0 and 1 from True."""
    operands = [id(value) for value in node.operands]
    if node.op in work.registry and work.registry[node.op].has(Trait.COMMUTATIVE):
        operands[:2] = sorted(operands[:2])
    # What a file declares of a result says nothing in the onnx dialect, where operands and attributes decide.
    declared = None if is_onnx(node.op) else tuple(value.type for value in node.results)
    return node.op, tuple(operands), attrs_text(node.attrs), declared, len(node.results)


def _merge_nodes(node: Node, twin: Node, work: Work, kept: frozenset[str]) -> None:
    candidate = work.consider(node)
    stateful = any(value.is_variable for value in node.present_operands)
    if stateful or node.regions or why_impure(node, work.registry) is not None:
        candidate.missed(NOT_REPEATABLE, other=twin.name, op=node.op)
    elif not work.rewriter.may_replace_all(node.results, twin.results):
        candidate.missed(BOTH_OUTPUTS, other=twin.name)
    elif node.name in kept:
        candidate.missed(RAISES_PEAK, other=twin.name)
    else:
        work.rewriter.replace(node, twin.results, carry_to=[twin])
        candidate.passed(SAME_NODE, other=twin.name)
