"""What is known of values before a model runs: element type, shape over named sizes, elements of small integer tensors.

Facts are computed forward, on demand, from operators' definitions. Types that the file declares for values inside
are not believed, since they do not bind anybody; those of the inputs are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import OpError, Registry
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import split_op
from arenite.passes.onnx.expr import Expr, dim_of, expr_of, named

MAX_ELEMENTS = 64
"""Tensors with more elements are known by type only."""

Shape = tuple[Expr, ...]
Elements = tuple[Expr | None, ...]


@dataclass(frozen=True)
class Fact:
    """What is known of one value.

    Attributes:
        dtype: element type; None when unknown, and for what is no tensor.
        shape: None when not even the rank is known.
        elements: of an integer or boolean tensor, in C order, None for each that is not known; None when none is.
    """

    dtype: DType | None = None
    shape: Shape | None = None
    elements: Elements | None = None

    @property
    def dims(self) -> tuple[int, ...] | None:
        """The shape when it is all numbers."""
        if self.shape is None:
            return None
        found = tuple(dim for dim in self.shape if isinstance(dim, int))
        return found if len(found) == len(self.shape) else None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def vector(self) -> Shape | None:
        """The elements when all are known, as numbers or expressions."""
        if self.elements is None:
            return None
        found = tuple(item for item in self.elements if item is not None)
        return found if len(found) == len(self.elements) else None

    @property
    def integers(self) -> tuple[int, ...] | None:
        """The elements when all are known numbers."""
        if self.elements is None:
            return None
        found = tuple(item for item in self.elements if isinstance(item, int))
        return found if len(found) == len(self.elements) else None

    @property
    def array(self) -> Array | None:
        """The tensor when all of it is known."""
        found, dims = self.integers, self.dims
        if found is None or dims is None or self.dtype is None:
            return None
        return np.array(found, np.int64).astype(self.dtype.numpy).reshape(dims)

    @property
    def type(self) -> TensorType:
        """As a type for a value."""
        shape = None if self.shape is None else tuple(map(dim_of, self.shape))
        return TensorType(self.dtype or DType.OPAQUE, shape)


NOTHING = Fact()


@dataclass(frozen=True)
class Asked:
    """A node whose results' facts are wanted, as inference sees it.

    Attributes:
        node: the node.
        opset: version of the default domain.
        operands: a fact for each operand; None where absent.
        facts: for values in nested graphs, and names for sizes that nothing is known of.
    """

    node: Node
    opset: int
    operands: tuple[Fact | None, ...]
    facts: "Facts"

    @property
    def attrs(self) -> OnnxAttrs:
        assert isinstance(self.node.attrs, OnnxAttrs)
        return self.node.attrs

    def operand(self, index: int) -> Fact:
        """What is known of an operand; nothing when it is absent."""
        found = self.operands[index] if index < len(self.operands) else None
        return NOTHING if found is None else found

    def has(self, index: int) -> bool:
        return index < len(self.operands) and self.operands[index] is not None

    def constant(self, index: int) -> Array | None:
        value = self.node.optional_operand(index)
        return None if value is None else value.constant

    def list_of(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """A list of integers that was an attribute before an opset and is an operand from it on.

        Raises:
            OpError: there is one, but it is not known.
        """
        if self.opset < since:
            return self.attrs.integers(name)
        if not self.has(index):
            return None
        found = self.operand(index).integers
        if found is None:
            raise OpError(f"'{name}' is not known")
        return found

    @cached_property
    def fresh(self) -> Callable[[], Expr]:
        return self.facts.fresh


Infer = Callable[[Asked], Sequence[Fact]]
"""Facts of a node's results. May raise OpError when too little is known: nothing is, then."""


class Facts:
    """Facts of the values of one graph and those nested in it.

    Rewriting keeps facts true, since what takes a value's place means the same.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        from arenite.passes.onnx.inference import inferences  # noqa: PLC0415 - it needs this module

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
        infer = self._infer.get(operator) if not domain else None
        if infer is None or not isinstance(node.attrs, OnnxAttrs):
            return declared
        operands = tuple(None if value is None else self._known[value] for value in node.operands)
        try:
            found = list(infer(Asked(node, self._opset, operands, self)))
        except OpError:
            return declared
        found += declared[len(found) :]
        return [
            fact if fact.dtype is not None else replace(fact, dtype=known.dtype)
            for fact, known in zip(found, declared, strict=False)
        ]


def _declared(value: Value, *, with_shape: bool) -> Fact:
    dtype = None if value.type.dtype is DType.OPAQUE else value.type.dtype
    if value.type.shape is None or not with_shape:
        return Fact(dtype)
    return Fact(dtype, tuple(map(expr_of, value.type.shape)))


def of_array(array: Array) -> Fact:
    """What a constant is known by."""
    dtype = DType.of(array.dtype)
    if (dtype.is_integer or dtype is DType.BOOL) and array.size <= MAX_ELEMENTS:
        return Fact(dtype, array.shape, tuple(int(item) for item in array.reshape(-1).tolist()))
    return Fact(dtype, array.shape)


def all_graphs(graph: Graph) -> Iterable[Graph]:
    """A graph and all nested in it, outer ones first."""
    pending = [graph]
    for each in pending:
        yield each
        pending.extend(region for node in each.nodes for region in node.regions)
