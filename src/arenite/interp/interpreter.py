"""Runs graphs by the ops' numpy references: the meaning that everything else is compared with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.interp.execute import execute
from arenite.interp.inputs import Inputs, checked_inputs
from arenite.interp.resources import Key, Resources
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import Registry, Trait
from arenite.ir.types import TensorType
from arenite.ir.verifier import check


@dataclass(frozen=True)
class Trace:
    """One invocation: the outputs in the graph's order, and values by name."""

    outputs: list[Array]
    values: dict[str, Array]


class Interpreter:
    """Runs one graph, keeping the state of its variables between invocations. The graph must not change meanwhile.

    An op that reads a variable, or takes the handle of a named state, gets the state as a writable array and changes
    it in place; every other operand is read-only. State starts as the variable's contents, else as TFLite starts it:
    the zero point of int8, 0 otherwise.

    Raises:
        ModelError: the graph is not sound, or uses ops that the registry lacks; with every problem.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        check(graph, registry)
        self.graph = graph
        self._registry = registry
        self._resources = Resources(graph, registry)
        self._last_readers = {graph: _last_readers(graph)}
        self._state: dict[Value, Array] = {}
        self._named: dict[Key, Array] = {}
        self._done: set[Node] = set()
        self.reset()

    def reset(self) -> None:
        """Put every variable back to its start."""
        self._state = {value: initial_state(value) for value in self.graph.values() if value.is_variable}
        self._named = self._resources.initial()
        self._done = set()

    @property
    def named_state(self) -> Mapping[Key, Array]:
        """What each named state holds, by container and shared name."""
        return self._named

    @property
    def state_types(self) -> Mapping[Key, TensorType]:
        """The type of each named state."""
        return self._resources.types

    @property
    def state_names(self) -> Mapping[Key, str]:
        """What each named state is called in `state`."""
        return self._resources.names

    def state(self) -> dict[str, Array]:
        """What every state holds now, by name: copies."""
        held = {value.name: array for value, array in self._state.items()}
        held |= {self.state_names[key]: array for key, array in self._named.items()}
        return {name: array.copy() for name, array in held.items()}

    def run(self, inputs: Inputs) -> list[Array]:
        """One invocation.

        Args:
            inputs: an array per graph input, in order or by name.

        Returns:
            The outputs, in the graph's order: copies, the caller's own.

        Raises:
            DataError: inputs do not fit, with every problem.
            ModelError: an op has no meaning on its dtypes.
        """
        return self._invoke(inputs, lambda value: False).outputs

    def trace(self, inputs: Inputs, keep: Callable[[Value], bool] = lambda value: True) -> Trace:
        """One invocation that also gives intermediate values.

        Args:
            inputs: as for `run`.
            keep: which inputs and results to give; all of them by default.

        Raises:
            as `run` does.
        """
        return self._invoke(inputs, keep)

    def run_once(self) -> None:
        """Run the regions that run at the first invocation only, unless they have run."""
        for node in self.graph.nodes:
            if self._registry[node.op].has(Trait.ONCE):
                self._start(node)

    def _invoke(self, inputs: Inputs, keep: Callable[[Value], bool]) -> Trace:
        live: dict[Value, Array] = {}
        kept: dict[str, Array] = {}

        def define(value: Value, array: Array) -> None:
            if keep(value):
                kept[value.name] = array.copy()

        for value, array in zip(self.graph.inputs, checked_inputs(self.graph, inputs), strict=True):
            if value in self._state:
                self._state[value] = np.array(array)
                continue
            define(value, array)
            if value in self._last_readers[self.graph]:
                live[value] = _read_only(array)
        self._run_nodes(self.graph, live, define)
        outputs = [self._read(value, live).copy() for value in self.graph.outputs]
        return Trace(outputs, kept)

    def _run_nodes(self, graph: Graph, live: dict[Value, Array], define: Callable[[Value, Array], None]) -> None:
        last_reader = self._last_readers[graph]
        for node in graph.nodes:
            definition = self._registry[node.op]
            if definition.has(Trait.HANDLE):
                continue
            if definition.has(Trait.ONCE):
                self._start(node)
                continue
            operands = [None if value is None else self._read(value, live) for value in node.operands]
            # NaN and infinity are values as others are; numpy would warn of them.
            with np.errstate(all="ignore"):
                results = execute(node, definition, operands)
            if any(value in self._state for value in node.present_operands):
                # The result may be a view of state that a later node changes.
                results = tuple(array.copy() for array in results)
            for value, array in zip(node.results, results, strict=True):
                define(value, array)
                if value in last_reader:
                    live[value] = _read_only(array)
            for value in node.present_operands:
                if last_reader[value] is node:
                    live.pop(value, None)

    def _start(self, node: Node) -> None:
        """Run the region of a node that does so once."""
        if node in self._done:
            return
        self._done.add(node)
        for region in node.regions:
            self._last_readers[region] = _last_readers(region)
            self._run_nodes(region, {}, lambda value, array: None)

    def _read(self, value: Value, live: dict[Value, Array]) -> Array:
        if value in self._state:
            return self._state[value]
        if value in self._resources.keys:
            return self._named[self._resources.keys[value]]
        return live[value] if value.constant is None else value.constant


def _last_readers(graph: Graph) -> dict[Value, Node | None]:
    """The last node that reads each value; None for a graph output, which is read at the end."""
    found: dict[Value, Node | None] = {}
    for node in graph.nodes:
        found.update((value, node) for value in node.present_operands)
    found.update((value, None) for value in graph.outputs)
    return found


def initial_state(value: Value) -> Array:
    """What a variable holds before the first invocation: its own contents, else as TFLite starts it."""
    if value.constant is not None:
        return np.array(value.constant)
    q = value.type.quantization
    start = q.zero_points[0] if q is not None and value.type.dtype is DType.INT8 else 0
    return np.full(value.type.dims, start, value.type.dtype.numpy)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
