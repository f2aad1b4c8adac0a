"""What is known of values before a model runs: element type, shape over named sizes, elements of small integer tensors.

Facts are computed forward, on demand, from operators' definitions. Types that the file declares for values inside
are not believed, since they do not bind anybody; those of the inputs are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from arenite._base.dtypes import DType
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpError, Registry
from arenite.ir.verifier import operand_problems
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import split_op
from arenite.passes.onnx.expr import Expr, expr_of, named
from arenite.passes.onnx.fact import Asked, Fact, Infer, of_array
from arenite.passes.onnx.inference import inferences

__all__ = ["Fact", "Facts", "all_graphs"]


class Facts:
    """Facts of the values of one graph and those nested in it.

    Rewriting keeps facts true, since what takes a value's place means the same.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        self._registry = registry
        self._opset = registry.opset("") if isinstance(registry, OnnxRegistry) else 1
        self._infer: Mapping[str, Infer] = inferences()
        self._known: dict[Value, Fact] = {}
        self._unknown_sizes = 0
        for value in graph.inputs:
            self._known[value] = _declared(value, with_shape=True)

    @property
    def opset(self) -> int:
        return self._opset

    def fresh(self) -> Expr:
        """The name of a size of which nothing is known."""
        self._unknown_sizes += 1
        return named(f"?f{self._unknown_sizes}")

    def state(self, value: Value, fact: Fact) -> None:
        """Say what is known of a value that no node computes, such as an input of a nested graph."""
        self._known[value] = fact

    def of(self, value: Value) -> Fact:
        """What is known of a value."""
        found = self._known.get(value)
        if found is not None:
            return found
        pending = [value]
        while pending:
            top = pending[-1]
            needed = [] if top in self._known else self._missing(top)
            if needed:
                pending.extend(needed)
                continue
            pending.pop()
            if top not in self._known:
                self._compute(top)
        return self._known[value]

    def _missing(self, value: Value) -> list[Value]:
        producer = value.producer
        if producer is None or value.is_constant:
            return []
        return [operand for operand in producer.present_operands if operand not in self._known]

    def _compute(self, value: Value) -> None:
        if value.constant is not None:
            self._known[value] = of_array(value.constant)
        elif value.producer is None:
            self._known[value] = _declared(value, with_shape=False)
        else:
            node = value.producer
            for result, fact in zip(node.results, self._infer_node(node), strict=True):
                self._known.setdefault(result, fact)

    def _infer_node(self, node: Node) -> Sequence[Fact]:
        declared = [_declared(value, with_shape=False) for value in node.results]
        if not node.op.startswith("onnx."):
            return declared
        domain, operator = split_op(node.op)
        infer = self._infer.get(f"{domain}::{operator}" if domain else operator)
        if infer is None or not isinstance(node.attrs, OnnxAttrs):
            return declared
        definition = self._registry.get(node.op)
        if definition is not None and any(operand_problems(node, definition)):
            # Files are looked at before they are refused.
            return declared
        operands = tuple(None if value is None else self._known[value] for value in node.operands)
        try:
            found = list(infer(Asked(node, self._opset, operands, self)))
        except OpError:
            return declared
        found += declared[len(found) :]
        # Of what has a negative size, nothing can be computed, whatever runs it.
        found = [replace(fact, shape=None, elements=None) if _is_negative(fact) else fact for fact in found]
        return [
            fact if fact.dtype is not None else replace(fact, dtype=known.dtype)
            for fact, known in zip(found, declared, strict=False)
        ]


def _is_negative(fact: Fact) -> bool:
    return any(isinstance(dim, int) and dim < 0 for dim in fact.shape or ())


def _declared(value: Value, *, with_shape: bool) -> Fact:
    dtype = None if value.type.dtype is DType.OPAQUE else value.type.dtype
    if value.type.shape is None or not with_shape:
        return Fact(dtype)
    return Fact(dtype, tuple(map(expr_of, value.type.shape)))


def all_graphs(graph: Graph) -> Iterable[Graph]:
    """A graph and all nested in it, outer ones first."""
    pending = [graph]
    for each in pending:
        yield each
        pending.extend(region for node in each.nodes for region in node.regions)
