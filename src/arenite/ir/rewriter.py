"""The one mutator of graphs. It keeps schedule order, uses and origin right."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.clone import clone_nested
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.names import NamePool
from arenite.ir.types import TensorType


class Rewriter:
    """Changes one graph; `nested` gives one for a graph inside it."""

    def __init__(self, graph: Graph, outer: "Rewriter | None" = None) -> None:
        self.graph = graph
        self._is_nested = outer is not None
        if outer is None:
            graphs = list(_all_graphs(graph))
            self._values = NamePool(value.name for each in graphs for value in each.values())
            self._nodes = NamePool(node.name for each in graphs for node in each.nodes)
            self._changes = [0]
        else:
            self._values, self._nodes, self._changes = outer._values, outer._nodes, outer._changes

    def nested(self, graph: Graph) -> "Rewriter":
        """A rewriter of a graph that a node of this one holds: names stay unique in all of them, changes add up."""
        return Rewriter(graph, self)

    @property
    def changed(self) -> int:
        """How many changes were made, in nested graphs too."""
        return self._changes[0]

    @changed.setter
    def changed(self, count: int) -> None:
        self._changes[0] = count

    def _count(self) -> None:
        self._changes[0] += 1

    def constant(self, name: str, array: Array, type: TensorType | None = None) -> Value:  # noqa: A002
        """A new constant value; `type` defaults to the array's own, unquantized."""
        array = np.asarray(array)
        declared = type or TensorType(DType.of(array.dtype), array.shape)
        return Value(self._values.unique(name), declared, constant=array)

    def variable(self, name: str, contents: Array, type: TensorType) -> Value:  # noqa: A002
        """A new variable that holds `contents` before the first invocation."""
        return Value(self._values.unique(name), type, constant=np.array(contents), is_variable=True)

    def insert(
        self,
        before: Node | None,
        op: str,
        operands: Sequence[Value | None],
        types: Sequence[TensorType],
        attrs: Attrs,
        *,
        name: str,
        origin: Iterable[str],
    ) -> Node:
        """A new node before another (None: at the end). Its results are named after it."""
        node_name = self._nodes.unique(name)
        results = [
            Value(self._values.unique(node_name if i == 0 else f"{node_name}_{i}"), t) for i, t in enumerate(types)
        ]
        node = Node(node_name, op, operands, results, attrs, tuple(dict.fromkeys(origin)))
        self.graph._insert(node, before)
        self._count()
        return node

    def set_operand(self, node: Node, index: int, value: Value | None) -> None:
        """Let a node read another value; `index` may be one past its last operand."""
        self.graph._set_operand(node, index, value)
        self._count()

    def drop_absent(self, node: Node, least: int) -> None:
        """Let a node have no operands at the end that are absent, except that it keeps the `least` first."""
        if len(node.operands) > least and node.operands[-1] is None:
            self.graph._drop_absent(node, least)
            self._count()

    def set_attrs(self, node: Node, attrs: Attrs) -> None:
        node.attrs = attrs
        self._count()

    def set_type(self, value: Value, type: TensorType) -> None:  # noqa: A002
        """Declare a value, which means the same as before, otherwise."""
        if value.type != type:
            value.type = type
            self._count()

    def add_origin(self, node: Node, origin: Iterable[str]) -> None:
        """Let `node` stand for these source operators too."""
        node.origin = tuple(dict.fromkeys((*node.origin, *origin)))

    def swap_names(self, one: Value, other: Value) -> None:
        """Exchange two values' names: what is called so keeps meaning the same when another value takes its place.

        Raises:
            ValueError: one of them is a graph input, whose name is the user's.
        """
        if one in self.graph.inputs or other in self.graph.inputs:
            raise ValueError(f"%{one.name} or %{other.name} is a graph input and keeps its name")
        one.name, other.name = other.name, one.name

    def may_replace(self, old: Value, new: Value) -> bool:
        """Whether `new` can take `old`'s place without changing a name that the user sees.

        It cannot when `old` is a graph output and `new` is a graph input or another output. A nested graph gives only
        what it computes itself, and constants.
        """
        return not any(
            new in graph.outputs or new.is_variable or _is_from_outside(new, graph) for graph in old.output_of
        )

    def may_replace_all(self, old: Sequence[Value], new: Sequence[Value]) -> bool:
        """Whether each of `new` can take the place of its one of `old`: several outputs cannot become one value."""
        given = [value for each, value in zip(old, new, strict=True) if each.output_of]
        return len(set(given)) == len(given) and all(map(self.may_replace, old, new))

    def replace_value(self, old: Value, new: Value, *, take_name: bool = False) -> None:
        """Let every reader of `old`, and the graph's outputs, read `new`. An output keeps its name and declared type.

        Args:
            old: the value to replace.
            new: a value of the same type and meaning.
            take_name: whether `new` is called as `old` was even if that is no output.

        Raises:
            ValueError: it cannot keep it (see `may_replace`).
        """
        if not self.may_replace(old, new):
            raise ValueError(f"output %{old.name} would lose its name to %{new.name}")
        if take_name or (old in self.graph.outputs and not self._is_nested):
            self.swap_names(old, new)
        if old.output_of and not new.is_constant and new.type.quantization is old.type.quantization is None:
            new.type = old.type
        for use in old.uses:
            self.graph._set_operand(use.node, use.index, new)
        for graph in old.output_of:
            for index, value in enumerate(graph.outputs):
                if value is old:
                    graph.outputs[index] = new
        self._count()

    def erase(self, node: Node) -> None:
        """Remove a node whose results nobody reads.

        Raises:
            ValueError: somebody does.
        """
        for value in node.results:
            if value.is_read:
                raise ValueError(f"cannot erase '{node.name}': its result %{value.name} is still read")
        self.graph._remove(node)
        for region in node.regions:
            _discard(region)
        self._count()

    def replace(
        self, node: Node, values: Sequence[Value], *, carry_to: Iterable[Node] = (), take_names: bool = False
    ) -> None:
        """Put `values` in the place of the node's results and erase it; `carry_to` inherit its origin."""
        for old, new in zip(node.results, values, strict=True):
            self.replace_value(old, new, take_name=take_names)
        for heir in carry_to:
            self.add_origin(heir, node.origin)
        self.erase(node)

    def copy_of(self, inner: Graph, *, constants: bool = False) -> Graph:
        """A copy of a nested graph, whose nodes and values have names of their own here.

        Args:
            inner: the graph; one that is from elsewhere reads nothing but its inputs and constants.
            constants: whether these get names of their own too, being from elsewhere.
        """
        return clone_nested(inner, self._values.unique, self._nodes.unique, constants=constants)

    def adopt(self, inner: Graph, before: Node) -> None:
        """Move all nodes of a nested graph into this one, before the node that holds it. Its outputs stay as they are.

        Values get other names where graphs beside the nested one use theirs too.
        """
        outermost = list(_all_graphs(self.graph))
        taken = Counter(name for each in outermost for name in {value.name for value in _own(each)})
        for node in list(inner.nodes):
            inner._remove(node)
            self.graph._insert(node, before)
            _renamed(node.results, taken, self._values)
        self._count()

    def drop_results(self, node: Node, indices: Sequence[int]) -> None:
        """Let a node give some results less, which nobody reads."""
        assert not any(node.results[index].is_read for index in indices)
        for index in indices:
            node.results[index].producer = None
        node.results = tuple(value for index, value in enumerate(node.results) if index not in indices)
        self._count()

    def move_before(self, node: Node, before: Node | None) -> None:
        """Change the schedule; the caller keeps producers before their readers."""
        results = node.results
        self.graph._remove(node)
        self.graph._insert(node, before)
        assert node.results is results
        self._count()


def _renamed(values: Iterable[Value], taken: "Counter[str]", pool: NamePool) -> None:
    for value in values:
        if taken[value.name] > 1:
            taken[value.name] -= 1
            value.name = pool.unique(value.name)


def _is_from_outside(value: Value, graph: Graph) -> bool:
    """Whether a graph's input or a value of a graph around it, and no constant."""
    if value.producer is not None:
        return value.producer.graph is not graph
    return not value.is_constant


def _discard(graph: Graph) -> None:
    """Take a nested graph apart, so that it reads no values of the graphs around it any more."""
    for node in graph.nodes:
        for region in node.regions:
            _discard(region)
        graph._remove(node)
    graph.outputs = []


def _own(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.results
        yield from (value for value in node.present_operands if value.is_constant)


def _all_graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes:
        for region in node.regions:
            yield from _all_graphs(region)
