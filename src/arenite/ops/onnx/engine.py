"""Evaluates nodes: our numpy kernels where there is one, else `onnx.reference` and, when installed, onnxruntime.

Where an operator costs much, onnxruntime comes first. Both are loaded when they are first needed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, ValueInfoProto

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, ForeignAttrs
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import OpCall, OpError
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OLDEST_OPSET, OnnxRegistry
from arenite.ops.onnx.invocation import Invocation, Kernels, NotHereError
from arenite.ops.onnx.names import ABSENT_PREFIX, is_absent, split_op
from arenite.ops.onnx.protos import write_node
from arenite.ops.onnx.tensors import NUMBERS, write_tensor
from arenite.ops.onnx.types import UNKNOWN, write_type
from arenite.ops.onnx.watched import watched

_HEAVY = frozenset(
    {"Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "QLinearConv", "ConvInteger", "DeformConv", "Resize"}
)
_HEAVY_NELEM = 1 << 12
_NOT_IMPLEMENTED = "No registered implementation"
"""What onnx.reference says of an operator that it lacks."""
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_OVERLOOKED = frozenset({"activations", "activation_alpha", "activation_beta", "clip", "input_forget"})
"""Attributes of recurrent layers that onnx.reference does not look at; nor does it at the lengths of sequences."""
_SAME_IN_REFERENCE_SINCE = {"Hardmax": 13, "RoiAlign": 16}
"""By operator: the first version that onnx.reference computes; it takes older ones for that."""
_IR_VERSION = 10
_MISFITS = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError)
"""What numpy raises on operands that its functions cannot take."""
_MAX_SESSIONS = 64


def onnx_registry(
    opsets: Mapping[str, int], *, functions: Sequence[FunctionProto] = (), pure: Sequence[str] = ()
) -> OnnxRegistry:
    """ONNX's operators in some opsets, able to evaluate.

    Args:
        opsets: version by domain.
        functions: that the model defines.
        pure: names of ops that are declared pure.
    """
    engines: dict[int, Engine] = {}

    def evaluator(registry: OnnxRegistry, name: str) -> Callable[[OpCall, Sequence[Array | None]], tuple[Array, ...]]:
        engine = engines.setdefault(id(registry), Engine(registry))
        return lambda call, operands: engine.evaluate(name, call.attrs, operands, (True,) * len(call.results))

    return OnnxRegistry(opsets, functions=functions, pure=pure, evaluator=evaluator)


class Engine:
    """Evaluates nodes of one model's opsets. A value is an array, a list (sequence) or None (empty optional)."""

    def __init__(self, registry: OnnxRegistry) -> None:
        self._registry = registry
        self._kernels: Kernels | None = None
        self._sessions: dict[object, Any] = {}

    def evaluate_node(self, node: Node, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        """The results of a node without nested graphs; of a custom operator, by the function that was given for it.

        Raises:
            OpError: operands misfit the operator, or no engine can evaluate it.
        """
        definition = self._registry.get(node.op)
        if definition is not None and definition.fold is not None:
            return tuple(definition.fold(OpCall.of(node), operands))
        wanted = tuple(not is_absent(value) for value in node.results)
        return self.evaluate(node.op, node.attrs, operands, wanted, node.regions)

    def evaluate_nodes(
        self, nodes: Sequence[Node], values: Mapping[Value, Array]
    ) -> tuple[dict[Value, Array], dict[Node, str]]:
        """The results of many nodes, in schedule order, and why some have none.

        Args:
            nodes: without nested graphs.
            values: what they read besides constants and each other's results.
        """
        found = dict(values)
        failed: dict[Node, str] = {}
        for node in nodes:
            operands: list[Array | None] = []
            for value in node.operands:
                array = None if value is None else found.get(value, value.constant)
                if value is not None and array is None:
                    failed[node] = f"%{value.name} has no value"
                operands.append(array)
            if node in failed:
                continue
            try:
                with np.errstate(all="ignore"):
                    results = self.evaluate_node(node, operands)
            except OpError as error:
                failed[node] = str(error)
                continue
            found.update(zip(node.results, results, strict=True))
        return {value: array for value, array in found.items() if value not in values}, failed

    def evaluate(
        self,
        op: str,
        attrs: Attrs,
        operands: Sequence[Array | None],
        wanted: tuple[bool, ...],
        regions: tuple[Graph, ...] = (),
    ) -> tuple[Array, ...]:
        """The results of an operator; an unwanted one is an empty array.

        Raises:
            OpError: operands misfit the operator, or no engine can evaluate it.
        """
        given = attrs if isinstance(attrs, OnnxAttrs) else OnnxAttrs(getattr(attrs, "fields", ()))
        task = _Task(op, given, tuple(operands), wanted, regions)
        domain, operator = split_op(op)
        opset = self._registry.opset(domain)
        if not domain and opset < OLDEST_OPSET and not self._is_unchanged(op):
            raise OpError(f"opset {opset} is older than {OLDEST_OPSET}, the oldest that can be evaluated")
        if task.is_heavy and has_onnxruntime():
            with suppress(OpError):
                return self._by_onnxruntime(task)
        kernel = None if domain or op in self._registry.functions else self._table().get(operator)
        if kernel is not None:
            try:
                results = kernel(Invocation(given, opset, len(wanted)), operands)
                results = results if isinstance(results, tuple) else (results,)
                if len(results) == len(wanted):
                    return tuple(_array(result) for result in results)
            except NotHereError:
                pass
            except MemoryError:
                raise OpError("the results take more memory than there is") from None
            except _MISFITS as error:
                raise OpError(f"its operands do not fit it: {_line(error)}") from None
        return self._by_others(task)

    def _is_unchanged(self, op: str) -> bool:
        """Whether an operator of an old opset is still the same in the oldest that can be evaluated."""
        old, new = self._registry.schema(op), OnnxRegistry({"": OLDEST_OPSET}).schema(op)
        return old is not None and new is not None and old.since_version == new.since_version

    def _table(self) -> Kernels:
        if self._kernels is None:
            from arenite.ops.onnx.kernels import kernels  # noqa: PLC0415

            self._kernels = kernels()
        return self._kernels

    def _by_others(self, task: "_Task") -> tuple[Array, ...]:
        """By onnx.reference what it has, else by onnxruntime, which a damaged node can make crash."""
        if split_op(task.op)[0] == "com.microsoft" and task.op not in self._registry.functions and has_onnxruntime():
            return self._by_onnxruntime(task)
        if task.reference_errs(self._registry.opset("")):
            if not has_onnxruntime():
                raise OpError("onnx.reference computes something else, and onnxruntime is not installed")
            return self._by_onnxruntime(task)
        try:
            return self._by_reference(task)
        except OpError as error:
            if _NOT_IMPLEMENTED in str(error) and has_onnxruntime():
                return self._by_onnxruntime(task)
            raise

    # Other engines

    def _by_reference(self, task: "_Task") -> tuple[Array, ...]:
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - heavy

        model, names = self._single(task)
        try:
            results: Any = ReferenceEvaluator(model).run(names, task.feeds())
        except Exception as error:  # its operators raise whatever they like
            raise OpError(f"onnx.reference cannot: {_line(error)}") from None
        return _placed(results, task.wanted)

    def _by_onnxruntime(self, task: "_Task") -> tuple[Array, ...]:
        key = task.key()
        try:
            session = self._sessions.get(key)
            if session is None:
                session = _session(self._single(task)[0].SerializeToString())
                if len(self._sessions) >= _MAX_SESSIONS:
                    self._sessions.clear()
                self._sessions[key] = session
            results = session.run(None, {name: _plain(value) for name, value in task.feeds().items()})
        except Exception as error:  # it has a class for each kind of failure, and no common one
            raise OpError(f"onnxruntime cannot: {_line(error)}") from None
        return _placed(results, task.wanted)

    def _single(self, task: "_Task") -> tuple[ModelProto, list[str]]:
        """A model of one node, and the names of the results that are wanted."""
        inputs = [None if value is None else Value(f"i{index}", UNKNOWN) for index, value in enumerate(task.operands)]
        outputs = [Value(f"o{i}" if want else f"{ABSENT_PREFIX}{i}", UNKNOWN) for i, want in enumerate(task.wanted)]
        node = Node("node", task.op, inputs, outputs, ForeignAttrs(task.attrs.fields), regions=task.regions)
        names = [f"o{index}" for index, want in enumerate(task.wanted) if want]
        graph = GraphProto(name="single", node=[write_node(node, lambda value: value.name, _write_region)])
        graph.input.extend(_info(f"i{i}", value) for i, value in enumerate(task.operands) if value is not None)
        graph.output.extend(ValueInfoProto(name=name) for name in names)
        model = ModelProto(ir_version=_IR_VERSION, graph=graph)
        domains = {split_op(task.op)[0]: 1, **self._registry.opsets}
        for domain, version in sorted(domains.items()):
            model.opset_import.add(domain=domain, version=version)
        if task.op in self._registry.functions:
            model.functions.extend(self._registry.declared)
        return model, names


@dataclass(frozen=True)
class _Task:
    """One evaluation of an operator, as other engines need it."""

    op: str
    attrs: OnnxAttrs
    operands: tuple[Array | None, ...]
    wanted: tuple[bool, ...]
    regions: tuple[Graph, ...]

    @property
    def is_heavy(self) -> bool:
        sizes = [value.size for value in self.operands if isinstance(value, np.ndarray)]
        return split_op(self.op)[1] in _HEAVY and max(sizes, default=0) > _HEAVY_NELEM

    def reference_errs(self, opset: int) -> bool:
        """Whether onnx.reference, without a word, computes something else than the operator's definition says."""
        domain, operator = split_op(self.op)
        if domain:
            return False
        if operator in _RECURRENT:
            has_lengths = len(self.operands) > 4 and self.operands[4] is not None
            return has_lengths or any(name in _OVERLOOKED for name, _ in self.attrs.fields)
        if opset < _SAME_IN_REFERENCE_SINCE.get(operator, 0):
            return True
        # It adds up the elements, not their magnitudes.
        return operator == "LpNormalization" and self.attrs.integer("p", 2) == 1

    def feeds(self) -> dict[str, Any]:
        return {f"i{index}": value for index, value in enumerate(self.operands) if value is not None}

    def key(self) -> object:
        """Equal for tasks that the same session can do."""
        return self.op, self.attrs, self.wanted, tuple(_kind(value) for value in self.operands), self.regions


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed."""
    return find_spec("onnxruntime") is not None


def _session(model: bytes | str) -> Any:
    import onnxruntime  # noqa: PLC0415 - heavy

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Its fallback would only try the same again, and print that it does.
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def whole_model(model: bytes | Path) -> Callable[[Mapping[str, Array]], list[Array]]:
    """A function that runs a model by onnxruntime, nothing optimised: outputs from inputs by name.

    Raises:
        OpError: onnxruntime is not installed or does not take the model; from the function, it cannot run it.
    """
    if not has_onnxruntime():
        raise OpError("onnxruntime is not installed")
    try:
        session = _session(model if isinstance(model, bytes) else str(model))
    except Exception as error:  # it has a class for each kind of failure, and no common one
        raise OpError(f"onnxruntime does not take it: {_line(error)}") from None
    from onnxruntime import RunOptions  # noqa: PLC0415 - heavy

    known = {item.name for item in (*session.get_inputs(), *session.get_overridable_initializers())}

    def run(inputs: Mapping[str, Array]) -> list[Array]:
        feeds = {name: _plain(array) for name, array in inputs.items() if name in known}
        try:
            return list(watched(lambda options: session.run(None, feeds, options), RunOptions()))
        except Exception as error:
            raise OpError(f"onnxruntime cannot run it: {_line(error)}") from None

    return run


def _write_region(graph: Graph) -> GraphProto:
    """The message of a nested graph that reads nothing of the graphs around it but constants."""
    proto = GraphProto(name=graph.name)
    proto.node.extend(write_node(node, lambda value: value.name, _write_region) for node in graph.nodes)
    for value in graph.constants():
        assert value.constant is not None
        proto.initializer.append(write_tensor(value.constant, value.name))
    for values, infos in ((graph.inputs, proto.input), (graph.outputs, proto.output)):
        for value in values:
            info = infos.add(name=value.name)
            if (type_ := write_type(value.type)) is not None:
                info.type.CopyFrom(type_)
    return proto


def _kind(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.name, value.shape
    return tuple(map(_kind, value)) if isinstance(value, list) else value is None


def _info(name: str, value: object) -> ValueInfoProto:
    info = ValueInfoProto(name=name)
    if isinstance(value, (np.ndarray, np.generic)):
        info.type.tensor_type.elem_type = NUMBERS[DType.of(value.dtype)]
        shape = info.type.tensor_type.shape
        shape.SetInParent()
        for size in value.shape:
            shape.dim.add(dim_value=size)
    elif isinstance(value, list):
        tensor = info.type.sequence_type.elem_type.tensor_type
        tensor.elem_type = NUMBERS[DType.of(value[0].dtype)] if value and isinstance(value[0], np.ndarray) else 1
    return info


def _plain(value: object) -> object:
    """What onnxruntime takes: it wants arrays, in C order, and str in arrays of strings."""
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) and value.ndim else value


def _placed(results: Sequence[Any], wanted: tuple[bool, ...]) -> tuple[Array, ...]:
    found = iter(results)
    return tuple(_array(next(found)) if want else np.empty(0, np.float32) for want in wanted)


def _array(result: Any) -> Any:
    """Results as arrays where they are tensors: numpy's scalars are such, and its own strings are objects here."""
    if isinstance(result, (np.ndarray, np.generic)):
        return np.asarray(result, object if result.dtype.kind in "US" else None)
    return result


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
