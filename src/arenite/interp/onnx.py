"""Runs graphs of the onnx dialect, control flow included."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError
from arenite.interp.inputs import Inputs, input_problems
from arenite.interp.interpreter import Trace
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.verifier import structure_problems, unsupported
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry, is_control_flow
from arenite.ops.onnx.engine import Engine
from arenite.ops.onnx.names import split_op
from arenite.ops.onnx.required import unfit_attributes

Content = Any
"""What a value holds: an array, a list (sequence), or None (an optional without content)."""

MAX_TRIPS = 10_000_000
"""How often all loops of one invocation may run together: whatever runs longer never ends."""

MAX_OUTPUT_NBYTES = 2**31
"""How many bytes an output may take."""

MAX_STACKED_NBYTES = 2**31
"""How many bytes the results of one loop's iterations may take together."""


class OnnxInterpreter:
    """Runs one graph. The graph must not change meanwhile.

    Args:
        graph: of the onnx dialect.
        registry: its operators, functions included.
        defaults: arrays of inputs that the caller may leave out, by name.

    Raises:
        ModelError: the graph is not sound, uses operators that nothing here knows, or lacks attributes that operators
            must have; with every problem of a kind.
    """

    def __init__(self, graph: Graph, registry: OnnxRegistry, defaults: Mapping[str, Array] | None = None) -> None:
        if problems := unknown_operators(graph, registry):
            raise ModelError(problems)
        if problems := structure_problems(graph):
            raise ModelError(problems)
        if problems := unfit_attributes(graph, registry):
            raise ModelError(problems)
        self.graph = graph
        self._engine = Engine(registry)
        self._registry = registry
        self._defaults = dict(defaults or {})
        self._last: dict[Node, list[Value]] = _last_readers(graph)
        self._trips = 0

    def reset(self) -> None:
        """ONNX graphs have no state between invocations."""

    def state(self) -> dict[str, Array]:
        """Nothing, for the same reason."""
        return {}

    def run(self, inputs: Inputs) -> list[Content]:
        """One invocation.

        Args:
            inputs: an array per graph input, in order or by name; those with defaults may be left out.

        Returns:
            The outputs, in the graph's order.

        Raises:
            DataError: inputs do not fit, with every problem.
            ModelError: a node cannot be evaluated.
        """
        return self._invoke(inputs, lambda value: False).outputs

    def trace(self, inputs: Inputs, keep: Callable[[Value], bool] = lambda value: True) -> Trace:
        """One invocation that also gives intermediate values of the outermost graph.

        Args:
            inputs: as for `run`.
            keep: which inputs and results to give; all of them by default.
        """
        return self._invoke(inputs, keep)

    def _invoke(self, inputs: Inputs, keep: Callable[[Value], bool]) -> Trace:
        live: dict[Value, Content] = {}
        kept: dict[str, Array] = {}
        self._trips = 0
        for value, content in zip(self.graph.inputs, self._checked(inputs), strict=True):
            live[value] = content
            if keep(value):
                kept[value.name] = content
        for node in self.graph.nodes:
            self._run_node(node, live)
            kept.update((value.name, live[value]) for value in node.results if keep(value))
            for value in self._last.get(node, ()):
                live.pop(value, None)
        outputs = [_own(value, _read(value, live)) for value in self.graph.outputs]
        return Trace(outputs, kept)

    def _checked(self, inputs: Inputs) -> list[Content]:
        graph = self.graph
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(graph.inputs):
                raise DataError(f"the model takes {len(graph.inputs)} inputs, found {len(inputs)}")
            inputs = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
        known = {value.name for value in graph.inputs}
        problems = [f"there is no input '{name}'" for name in inputs if name not in known]
        symbols: dict[str, int] = {}
        found: list[Content] = []
        for value in graph.inputs:
            content: Content = inputs.get(value.name, self._defaults.get(value.name))
            if value.name not in inputs and value.name not in self._defaults:
                problems.append(f"input '{value.name}' ({value.type}) is missing")
            elif value.type.dtype is not DType.OPAQUE:
                content = np.asarray(content)
                if content.dtype == np.float64 and value.type.dtype is DType.FLOAT32:
                    content = content.astype(np.float32)
                problems.extend(input_problems(value, content, symbols))
            found.append(content)
        if problems:
            raise DataError(problems)
        return found

    def _run_graph(self, graph: Graph, inputs: Sequence[Content], live: dict[Value, Content]) -> list[Content]:
        if len(inputs) != len(graph.inputs):
            raise OpError(f"graph '{graph.name}' takes {len(graph.inputs)} inputs, found {len(inputs)}")
        live.update(zip(graph.inputs, inputs, strict=True))
        for node in graph.nodes:
            self._run_node(node, live)
        return [_read(value, live) for value in graph.outputs]

    def _run_node(self, node: Node, live: dict[Value, Content]) -> None:
        operands = [None if value is None else _read(value, live) for value in node.operands]
        try:
            # NaN and infinity are values as others are; numpy would warn of them.
            with np.errstate(all="ignore"):
                results = self._results(node, operands, live)
        except OpError as error:
            raise ModelError(f"node '{node.name}' ({node.op}): {error}") from None
        except (ValueError, TypeError, IndexError, OverflowError, AttributeError, MemoryError) as error:
            # Only of nodes that run graphs: whatever their operands are.
            raise ModelError(f"node '{node.name}' ({node.op}): its operands do not fit it: {error}") from None
        if len(results) != len(node.results):
            raise ModelError(f"node '{node.name}' ({node.op}) gives {len(results)} results, not {len(node.results)}")
        live.update(zip(node.results, results, strict=True))

    def _results(self, node: Node, operands: list[Content], live: dict[Value, Content]) -> Sequence[Content]:
        if not is_control_flow(node):
            return self._engine.evaluate_node(node, operands)
        if not isinstance(node.attrs, OnnxAttrs):
            raise OpError("its attributes are not those of an ONNX node")
        operator = split_op(node.op)[1]
        if operator == "If":
            chosen = "then_branch" if _truth(operands[0], "cond") else "else_branch"
            return self._run_graph(node.regions[node.attrs.region(chosen)], [], live)
        body = node.regions[node.attrs.region("body")]
        if operator == "Loop":
            return self._loop(node, body, operands, live)
        if operator == "Scan":
            return self._scan(node, node.attrs, body, operands, live)
        return self._sequence_map(body, operands, live)

    def _loop(self, node: Node, body: Graph, operands: list[Content], live: dict[Value, Content]) -> list[Content]:
        trips = None if operands[0] is None else int(np.asarray(operands[0]).reshape(()))
        going = operands[1] is None or _truth(operands[1], "cond")
        carried = list(operands[2:])
        scanned: list[list[Content]] = [[] for _ in node.results[len(carried) :]]
        trip = stacked_nbytes = 0
        while going and (trips is None or trip < trips):
            self._trips += 1
            if self._trips > MAX_TRIPS:
                raise OpError(f"its loop, or all loops together, run more than {MAX_TRIPS:,} times")
            results = self._run_graph(body, [np.array(trip, np.int64), np.array(True), *carried], live)
            if len(results) != 1 + len(carried) + len(scanned):
                raise OpError(f"its body gives {len(results)} results, not {1 + len(carried) + len(scanned)}")
            going = _truth(results[0], "the body's first result")
            carried = results[1 : 1 + len(carried)]
            for rows, result in zip(scanned, results[1 + len(carried) :], strict=True):
                rows.append(result)
                # What an array object takes counts, too.
                stacked_nbytes += 128 + getattr(result, "nbytes", 0)
            if stacked_nbytes > MAX_STACKED_NBYTES:
                raise OpError(f"{trip + 1:,} iterations give more than {MAX_STACKED_NBYTES:,} bytes")
            trip += 1
        ends = body.outputs[1 + len(carried) :]
        return carried + [_stacked(rows, end) for rows, end in zip(scanned, ends, strict=False)]

    def _scan(
        self, node: Node, attrs: OnnxAttrs, body: Graph, operands: list[Content], live: dict[Value, Content]
    ) -> list[Content]:
        n_scanned = attrs.integer("num_scan_inputs")
        if not 1 <= n_scanned <= len(operands):
            raise OpError(f"num_scan_inputs is {n_scanned}, but there are {len(operands)} operands")
        if self._registry.opset("") < 9:
            return self._scan_batch(node, attrs, body, operands, live)
        state, sequences = operands[: len(operands) - n_scanned], operands[len(operands) - n_scanned :]
        in_axes = attrs.integers("scan_input_axes") or (0,) * n_scanned
        backwards = attrs.integers("scan_input_directions") or (0,) * n_scanned
        rows = [
            _unstacked(sequence, axis, bool(back))
            for sequence, axis, back in zip(sequences, in_axes, backwards, strict=True)
        ]
        if len({len(row) for row in rows}) != 1:
            raise OpError(f"its scanned operands have unlike lengths {[len(row) for row in rows]}")
        gathered: list[list[Content]] = [[] for _ in node.results[len(state) :]]
        for step in range(len(rows[0])):
            results = self._run_graph(body, [*state, *(row[step] for row in rows)], live)
            state = results[: len(state)]
            for column, result in zip(gathered, results[len(state) :], strict=True):
                column.append(result)
        out_axes = attrs.integers("scan_output_axes") or (0,) * len(gathered)
        out_back = attrs.integers("scan_output_directions") or (0,) * len(gathered)
        ends = body.outputs[len(state) :]
        stacks = [
            np.moveaxis(_stacked(column[::-1] if back else column, end), 0, axis)
            for column, end, axis, back in zip(gathered, ends, out_axes, out_back, strict=True)
        ]
        return state + stacks

    def _scan_batch(
        self, node: Node, attrs: OnnxAttrs, body: Graph, operands: list[Content], live: dict[Value, Content]
    ) -> list[Content]:
        """Scan as it was in opset 8: a first operand with lengths, and a batch dimension before all others."""
        lengths, arrays = operands[0], [np.asarray(operand) for operand in operands[1:]]
        n_states = len(arrays) - attrs.integer("num_scan_inputs")
        backwards = attrs.integers("directions") or (0,) * (len(arrays) - n_states)
        batches = []
        for batch in range(len(arrays[0])):
            state: list[Content] = [array[batch] for array in arrays[:n_states]]
            full = arrays[n_states].shape[1] if lengths is None else int(lengths[batch])
            rows = [
                _unstacked(array[batch][:full], 0, bool(back))
                for array, back in zip(arrays[n_states:], backwards, strict=True)
            ]
            gathered: list[list[Content]] = [[] for _ in node.results[n_states:]]
            for step in range(full):
                results = self._run_graph(body, [*state, *(row[step] for row in rows)], live)
                state = results[:n_states]
                for column, result in zip(gathered, results[n_states:], strict=True):
                    column.append(result)
            ends = body.outputs[n_states:]
            batches.append(state + [_stacked(column, end) for column, end in zip(gathered, ends, strict=True)])
        return [np.stack(results) for results in zip(*batches, strict=True)]

    def _sequence_map(self, body: Graph, operands: list[Content], live: dict[Value, Content]) -> list[Content]:
        length = len(operands[0])
        outputs: list[list[Content]] = [[] for _ in body.outputs]
        for index in range(length):
            items = [item[index] if isinstance(item, list) else item for item in operands]
            for column, result in zip(outputs, self._run_graph(body, items, live), strict=True):
                column.append(result)
        return outputs


def unknown_operators(graph: Graph, registry: OnnxRegistry) -> list[str]:
    """One message about every operator that nothing here knows, or none."""
    text = unsupported(graph, registry, listing=False)
    return [] if text is None else [text]


def _truth(content: Content, name: str) -> bool:
    if not isinstance(content, (np.ndarray, np.generic)) or content.size != 1:
        raise OpError(f"{name} must be one bool, found {getattr(content, 'shape', type(content).__name__)}")
    return bool(np.asarray(content).reshape(()))


def _read(value: Value, live: dict[Value, Content]) -> Content:
    return live[value] if value.constant is None else value.constant


def _own(value: Value, content: Content) -> Content:
    """An output's own array: what repeats without taking memory takes it here."""
    if not isinstance(content, (np.ndarray, np.generic)):
        return content
    if content.nbytes > MAX_OUTPUT_NBYTES:
        raise ModelError(
            f"output '{value.name}' is {content.dtype}{list(content.shape)}: {content.nbytes:,} bytes, more than the "
            f"{MAX_OUTPUT_NBYTES:,} that are given"
        )
    return np.array(content)


def _stacked(rows: list[Content], end: Value) -> Content:
    """Results of each iteration along a new first axis; without any, an empty array as the body declares."""
    if rows:
        return np.stack([np.asarray(row) for row in rows])
    dims = () if end.type.shape is None else tuple(dim if isinstance(dim, int) else 0 for dim in end.type.shape)
    dtype = np.dtype(np.float32) if end.type.dtype is DType.OPAQUE else end.type.dtype.numpy
    return np.zeros((0, *dims), dtype)


def _unstacked(sequence: Content, axis: int, backwards: bool) -> list[Content]:
    array = np.asarray(sequence)
    if not -array.ndim <= axis < array.ndim:
        raise OpError(f"its scanned operand {list(array.shape)} has no dimension {axis}")
    rows = list(np.moveaxis(array, axis, 0))
    return rows[::-1] if backwards else rows


def _last_readers(graph: Graph) -> dict[Node, list[Value]]:
    """What no later node, nor an output, reads any more, by the node that reads it last."""
    last: dict[Value, Node] = {}

    def visit(inner: Graph, top: Node) -> None:
        last.update((value, top) for value in inner.outputs)
        for node in inner.nodes:
            last.update((value, top) for value in node.present_operands)
            for region in node.regions:
                visit(region, top)

    for node in graph.nodes:
        last.update((value, node) for value in node.results)
        last.update((value, node) for value in node.present_operands)
        for region in node.regions:
            visit(region, node)
    kept = set(graph.outputs)
    found: dict[Node, list[Value]] = {}
    for value, node in last.items():
        if value not in kept:
            found.setdefault(node, []).append(value)
    return found
