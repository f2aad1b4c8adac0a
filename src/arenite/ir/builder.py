"""Makes graphs from nothing: for importers, examples and tests."""

from collections.abc import Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.names import NamePool
from arenite.ir.types import Quantization, TensorType


class GraphBuilder:
    """Appends to one graph.

    Names that are taken get a number behind them; the graph is complete once its outputs are set.
    """

    def __init__(self, name: str = "main") -> None:
        self.graph = Graph(name)
        self._values = NamePool()
        self._nodes = NamePool()
        self._reserved: set[str] = set()

    def input(self, name: str, type: TensorType) -> Value:  # noqa: A002
        value = Value(self._values.unique(name), type)
        self.graph.inputs.append(value)
        return value

    def constant(self, name: str, array: Array, quantization: Quantization | None = None) -> Value:
        """A constant of the array's dtype and shape."""
        array = np.asarray(array)
        type_ = TensorType(DType.of(array.dtype), array.shape, quantization)
        return Value(self._values.unique(name), type_, constant=array)

    def variable(self, name: str, type: TensorType) -> Value:  # noqa: A002
        """State that nodes read and write, kept between invocations."""
        return Value(self._values.unique(name), type, is_variable=True)

    def node(
        self,
        op: str,
        operands: Sequence[Value | None],
        types: Sequence[TensorType],
        attrs: Attrs | None = None,
        *,
        name: str = "",
        result_names: Sequence[str] = (),
        origin: Sequence[str] | None = None,
        regions: Sequence[Graph] = (),
    ) -> Node:
        """Append a node. Its name defaults to its first result's, its origin to its own name."""
        wishes = [result_names[i] if i < len(result_names) else (name or op) for i in range(len(types))]
        results = [Value(self._values.unique(wish), t) for wish, t in zip(wishes, types, strict=True)]
        node_name = self._nodes.unique(name or (results[0].name if results else op))
        origins = tuple(origin) if origin is not None else (node_name,)
        node = Node(node_name, op, operands, results, attrs if attrs is not None else Attrs(), origins, tuple(regions))
        self.graph._insert(node, None)
        return node

    def reserve(self, name: str) -> None:
        """Keep a name for a value that exists later: `claim` gives it."""
        if self._values.unique(name) != name:
            raise ValueError(f"the name '{name}' is taken")
        self._reserved.add(name)

    def claim(self, value: Value, name: str) -> None:
        """Give a value a name that was reserved, once."""
        self._reserved.remove(name)
        value.name = name

    def output(self, *values: Value) -> Graph:
        """Add outputs; the graph, for when this is the last call."""
        self.graph.outputs.extend(values)
        return self.graph
