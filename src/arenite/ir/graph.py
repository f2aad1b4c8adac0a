"""Values, nodes and graphs.

A graph is a list of nodes in schedule order, in SSA form: each value has one producer (a node, the graph's inputs,
or nothing for a constant) and knows its uses. Only `ir.rewriter` and `ir.builder` change graphs; everything else
reads them.
"""

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from arenite.ir.attrs import Attrs
from arenite.ir.types import TensorType

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Use:
    """One reading of a value: `node.operands[index]`."""

    node: "Node"
    index: int


class Value:
    """A tensor in a graph, compared by identity.

    Attributes:
        name: unique within its graph.
        type: element type, shape and quantization.
        producer: the node that computes it; None for a graph input or a constant.
        constant: the read-only array of a constant, or what a variable holds at first; a splat is an array with
            strides of 0.
        is_variable: state, kept between invocations.
    """

    __slots__ = ("_output_of", "_uses", "constant", "is_variable", "name", "producer", "type")

    def __init__(
        self,
        name: str,
        type: TensorType,  # noqa: A002 - the field's standard term
        *,
        constant: Array | None = None,
        is_variable: bool = False,
    ) -> None:
        self.name = name
        self.type = type
        self.producer: Node | None = None
        self.constant = constant
        self.is_variable = is_variable
        self._uses: dict[Use, None] = {}
        self._output_of: dict[Graph, int] = {}
        if constant is not None:
            constant.flags.writeable = False

    @property
    def is_constant(self) -> bool:
        return self.constant is not None and not self.is_variable

    @property
    def uses(self) -> tuple[Use, ...]:
        """Every reading of this value by a node, in the order in which they came to be."""
        return tuple(self._uses)

    @property
    def output_of(self) -> "tuple[Graph, ...]":
        """The graphs that have this value among their outputs: a nested graph may give a value of one around it."""
        return tuple(self._output_of)

    @property
    def is_read(self) -> bool:
        """Whether a node reads this value or a graph gives it."""
        return bool(self._uses or self._output_of)

    def __repr__(self) -> str:
        return f"<Value %{self.name}: {self.type}>"


class Node:
    """One operation, compared by identity.

    Attributes:
        name: unique within its graph; what remarks and errors call it.
        op: name of its OpDef (`conv2d`; foreign dialects are qualified: `tflite.SVDF`).
        operands: values read; None where an optional operand is absent.
        results: values computed.
        attrs: the op's attribute dataclass.
        origin: names of the operators of the user's model that it stands for.
        regions: nested graphs (of If and Loop in the onnx dialect).
    """

    __slots__ = (
        "_next",
        "_operands",
        "_previous",
        "attrs",
        "graph",
        "name",
        "op",
        "origin",
        "regions",
        "results",
    )

    def __init__(
        self,
        name: str,
        op: str,
        operands: Sequence[Value | None],
        results: Sequence[Value],
        attrs: Attrs,
        origin: tuple[str, ...] = (),
        regions: tuple["Graph", ...] = (),
    ) -> None:
        self.name = name
        self.op = op
        self._operands = list(operands)
        self.results = tuple(results)
        self.attrs = attrs
        self.origin = origin
        self.regions = regions
        self.graph: Graph | None = None
        self._previous: Node | None = None
        self._next: Node | None = None

    @property
    def operands(self) -> tuple[Value | None, ...]:
        return tuple(self._operands)

    @property
    def present_operands(self) -> tuple[Value, ...]:
        """The operands that are there."""
        return tuple(value for value in self._operands if value is not None)

    def operand(self, index: int) -> Value:
        """The operand at `index`, which must be there.

        Raises:
            IndexError: it is absent.
        """
        value = self._operands[index] if index < len(self._operands) else None
        if value is None:
            raise IndexError(f"node '{self.name}' ({self.op}) has no operand {index}")
        return value

    def optional_operand(self, index: int) -> Value | None:
        return self._operands[index] if index < len(self._operands) else None

    @property
    def result(self) -> Value:
        """The only result.

        Raises:
            ValueError: there is not exactly one.
        """
        (value,) = self.results
        return value

    def __repr__(self) -> str:
        return f"<Node {self.name}: {self.op}>"


class Outputs(MutableSequence[Value]):
    """The outputs of a graph: a list whose values know that they are in it."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph
        self._values: list[Value] = []

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Value) and self._graph in value._output_of

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        return self._values[index]

    @overload
    def __setitem__(self, index: int, value: Value) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Value]) -> None: ...
    def __setitem__(self, index: int | slice, value: Value | Iterable[Value]) -> None:
        if isinstance(index, int):
            assert isinstance(value, Value)
            self._count(self._values[index], -1)
            self._values[index] = value
            self._count(value, 1)
        else:
            assert not isinstance(value, Value)
            added = list(value)
            for old in self._values[index]:
                self._count(old, -1)
            self._values[index] = added
            for new in added:
                self._count(new, 1)

    def __delitem__(self, index: int | slice) -> None:
        gone = self._values[index]
        for value in [gone] if isinstance(gone, Value) else gone:
            self._count(value, -1)
        del self._values[index]

    def insert(self, index: int, value: Value) -> None:
        self._values.insert(index, value)
        self._count(value, 1)

    def _count(self, value: Value, change: int) -> None:
        total = value._output_of.get(self._graph, 0) + change
        if total:
            value._output_of[self._graph] = total
        else:
            del value._output_of[self._graph]


class Graph:
    """A network: inputs, nodes in schedule order, outputs, constants.

    Attributes:
        name: shown in text form.
        inputs: what the caller gives, in order.
        outputs: what the caller gets, in order; a value may occur twice, and may be an input or a constant.
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self._outputs = Outputs(self)
        self._first: Node | None = None
        self._last: Node | None = None
        self._count = 0

    @property
    def outputs(self) -> Outputs:
        return self._outputs

    @outputs.setter
    def outputs(self, values: Iterable[Value]) -> None:
        self._outputs[:] = values

    @property
    def nodes(self) -> Iterator[Node]:
        """Nodes in schedule order. Any node may be removed, and new ones put anywhere, on the way."""
        node = self._first
        while node is not None:
            yield node
            node = node._next
            # A removed node still points onwards, at last to one that is here.
            while node is not None and node.graph is not self:
                node = node._next

    @property
    def all_nodes(self) -> "Iterator[Node]":
        """Nodes in schedule order, each followed by those of the graphs that it holds."""
        for node in self.nodes:
            yield node
            for region in node.regions:
                yield from region.all_nodes

    def __len__(self) -> int:
        return self._count

    def constants(self) -> tuple[Value, ...]:
        """Every constant that a node or an output reads, once each, in order of first use."""
        found: dict[Value, None] = {}
        for node in self.nodes:
            found.update((value, None) for value in node.present_operands if value.is_constant)
        found.update((value, None) for value in self.outputs if value.is_constant)
        return tuple(found)

    def values(self) -> tuple[Value, ...]:
        """Every value of the graph, once each: inputs, then constants and results in order of use."""
        found: dict[Value, None] = dict.fromkeys(self.inputs)
        for node in self.nodes:
            found.update(dict.fromkeys(node.present_operands))
            found.update(dict.fromkeys(node.results))
        found.update(dict.fromkeys(self.outputs))
        return tuple(found)

    # The two primitives that everything in ir.rewriter and ir.builder is made of.

    def _insert(self, node: Node, before: Node | None) -> None:
        if node.graph is not None:
            raise ValueError(f"{node!r} is in a graph already")
        previous = self._last if before is None else before._previous
        node._previous, node._next, node.graph = previous, before, self
        if previous is None:
            self._first = node
        else:
            previous._next = node
        if before is None:
            self._last = node
        else:
            before._previous = node
        self._count += 1
        for index, value in enumerate(node._operands):
            if value is not None:
                value._uses[Use(node, index)] = None
        for value in node.results:
            value.producer = node

    def _remove(self, node: Node) -> None:
        if node.graph is not self:
            raise ValueError(f"{node!r} is not in graph '{self.name}'")
        if node._previous is None:
            self._first = node._next
        else:
            node._previous._next = node._next
        if node._next is None:
            self._last = node._previous
        else:
            node._next._previous = node._previous
        self._count -= 1
        node.graph = None
        for index, value in enumerate(node._operands):
            if value is not None:
                del value._uses[Use(node, index)]
        for value in node.results:
            value.producer = None

    def _drop_absent(self, node: Node, least: int) -> None:
        while len(node._operands) > least and node._operands[-1] is None:
            node._operands.pop()

    def _set_operand(self, node: Node, index: int, value: Value | None) -> None:
        if index == len(node._operands):
            node._operands.append(None)
        old = node._operands[index]
        if old is not None:
            del old._uses[Use(node, index)]
        node._operands[index] = value
        if value is not None:
            value._uses[Use(node, index)] = None
