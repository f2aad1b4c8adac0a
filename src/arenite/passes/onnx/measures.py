"""What a model costs: operators, nodes, weights, activations, multiply-accumulates."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import Registry
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import is_absent, op_name, split_op
from arenite.passes.onnx.compute import stored_nbytes
from arenite.passes.onnx.facts import Fact, Facts, all_graphs

_FREE_WORDS = """
Reshape Squeeze Unsqueeze Flatten Identity Dropout Shape Size Constant QuantizeLinear DequantizeLinear Cast If Loop
Scan"""
_FREE = frozenset(_FREE_WORDS.split())
"""Operators that a microcontroller does not run as a kernel: views, sizes, quantization that fuses, control flow."""


@dataclass(frozen=True)
class Measures:
    """Figures of one model; None where shapes are not known.

    Attributes:
        operators: how many kinds of operators it uses.
        nodes: nested ones included, and those of functions that are called, once.
        kernels: nodes that would each be a kernel call on a microcontroller.
        weights_nbytes: of constants as a file stores them.
        activations_nbytes: the most that values alive at once take, in the order of the nodes.
        macs: multiply-accumulates of one invocation.
    """

    operators: int
    nodes: int
    kernels: int
    weights_nbytes: int
    activations_nbytes: int | None
    macs: int | None


def measured(graph: Graph, registry: Registry) -> Measures:
    """Count what a graph takes."""
    facts = Facts(graph, registry)
    nodes = [node for each in all_graphs(graph) for node in each.nodes]
    constants = dict.fromkeys(value for each in all_graphs(graph) for value in each.constants())
    macs = [_macs(node, facts) for node in nodes]
    return Measures(
        operators=len({node.op for node in nodes}),
        nodes=len(nodes) + _in_functions(nodes, registry),
        kernels=sum(_is_kernel(node, facts) for node in nodes),
        weights_nbytes=sum(stored_nbytes(v.constant) for v in constants if v.constant is not None),
        activations_nbytes=peak_nbytes(graph, facts),
        macs=None if any(count is None for count in macs) else sum(count or 0 for count in macs),
    )


def _in_functions(nodes: Sequence[Node], registry: Registry) -> int:
    functions = registry.functions if isinstance(registry, OnnxRegistry) else {}
    live: set[str] = set()
    pending = [node.op for node in nodes] if functions else []
    while pending:
        op = pending.pop()
        if op in functions and op not in live:
            live.add(op)
            pending.extend(op_name(node.domain, node.op_type) for node in functions[op].node)
    return sum(node.op_type != "Constant" for op in live for node in functions[op].node)


def _is_kernel(node: Node, facts: Facts) -> bool:
    """Whether it works on data: not free, and not computing a few integers of a shape."""
    if split_op(node.op)[0] == "" and split_op(node.op)[1] in _FREE:
        return False
    fact = facts.of(node.results[0]) if node.results else Fact()
    return not (fact.elements is not None and fact.dtype is not None and not fact.dtype.is_float)


Peaks = tuple[int | None, ...]
"""Peaks of one graph: as its sizes are known, and with each of `TRIED` for those that are not."""

TRIED = (1, 64)


def peaks_of(graph: Graph, registry: Registry) -> Peaks:
    """The most bytes of values that are alive at once; None where sizes or types are not known."""
    facts = Facts(graph, registry)
    known = peak_nbytes(graph, facts)
    return (known, known, known) if known is not None else (None, *(peak_nbytes(graph, facts, n) for n in TRIED))


def peak_nbytes(graph: Graph, facts: Facts, size: int | None = None) -> int | None:
    """The most bytes of values that are alive at once, in the order of the nodes; constants are not counted.

    While a node runs a graph that it holds, what is alive in there counts too.

    Args:
        graph: of the onnx dialect.
        facts: of its values.
        size: what sizes are taken to be that are not known beforehand; None: then there is no answer.

    Returns:
        bytes; None where a size or a type is not known.
    """
    nodes = list(graph.nodes)
    last: dict[Value, int] = dict.fromkeys(graph.inputs, -1)
    for number, node in enumerate(nodes):
        last.update((value, number) for value in _reads(node) if value in last)
        last.update((value, number) for value in node.results if not is_absent(value))
    last.update((value, len(nodes)) for value in graph.outputs if value in last)
    sizes: dict[Value, int] = {}
    for value in last:
        nbytes = _nbytes(facts.of(value), size)
        if nbytes is None:
            return None
        sizes[value] = nbytes
    ends: list[list[Value]] = [[] for _ in range(len(nodes) + 1)]
    for value, number in last.items():
        ends[number].append(value)
    alive = peak = sum(sizes[value] for value in graph.inputs)
    for number, node in enumerate(nodes):
        inside = [peak_nbytes(region, facts, size) for region in node.regions]
        if None in inside:
            return None
        alive += sum(sizes[value] for value in node.results if value in sizes)
        peak = max(peak, alive + max((nbytes or 0 for nbytes in inside), default=0))
        alive -= sum(sizes[value] for value in ends[number])
    return peak


def _nbytes(fact: Fact, size: int | None) -> int | None:
    if fact.shape is None or fact.dtype is None:
        return None
    nelem = 1
    for dim in fact.shape:
        if isinstance(dim, int):
            nelem *= dim
        elif size is None:
            return None
        else:
            nelem *= max(0, sum(factor * size ** len(names) for names, factor in dim.terms))
    return nelem * fact.dtype.itemsize


def _reads(node: Node) -> Iterator[Value]:
    """What a node reads, in nested graphs too."""
    yield from node.present_operands
    for region in node.regions:
        for inner in region.nodes:
            yield from _reads(inner)
        yield from region.outputs


def _macs(node: Node, facts: Facts) -> int | None:
    """Multiply-accumulates of a node; 0 for operators that have none to speak of."""
    domain, operator = split_op(node.op)
    if domain or not isinstance(node.attrs, OnnxAttrs) or operator not in _COUNTED:
        return 0
    out = facts.of(node.results[0]).dims
    first, second = (
        None if (value := node.optional_operand(index)) is None else facts.of(value).dims
        for index in _COUNTED[operator]
    )
    if out is None or first is None or second is None:
        return None
    return _count(operator, node.attrs, out, first, second)


_COUNTED = {
    "Conv": (0, 1),
    "ConvInteger": (0, 1),
    "QLinearConv": (0, 3),
    "ConvTranspose": (0, 1),
    "MatMul": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearMatMul": (0, 3),
    "Gemm": (0, 1),
    "LSTM": (0, 1),
    "GRU": (0, 1),
    "RNN": (0, 1),
}
"""Operators with multiply-accumulates: which operands are data and weights."""


def _count(operator: str, attrs: OnnxAttrs, out: Sequence[int], data: Sequence[int], weight: Sequence[int]) -> int:
    if operator == "ConvTranspose":
        return math.prod(data) * math.prod(weight[1:])
    if "Conv" in operator:
        return math.prod(out) * math.prod(weight[1:])
    if operator == "Gemm":
        return math.prod(out) * data[0 if attrs.integer("transA", 0) else 1]
    if operator in ("LSTM", "GRU", "RNN"):
        hidden = attrs.integer("hidden_size", 1)
        return data[0] * data[1] * (math.prod(weight) + math.prod(weight[:2]) * hidden)
    return math.prod(out) * (data[-1] if data else 1)
