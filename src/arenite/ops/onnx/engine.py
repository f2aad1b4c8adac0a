"""Evaluates nodes: our numpy kernels where there is one, else `onnx.reference` and, when installed, onnxruntime.

Where an operator costs much, onnxruntime comes first. Both are loaded when they are first needed.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
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
from arenite.ops.onnx.tensors import NUMBERS
from arenite.ops.onnx.types import UNKNOWN

_HEAVY = frozenset(
    {"Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "QLinearConv", "ConvInteger", "DeformConv", "Resize"}
)
_HEAVY_NELEM = 1 << 12
_IR_VERSION = 10
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
        """The results of a node without nested graphs.

        Raises:
            OpError: operands misfit the operator, or no engine can evaluate it.
        """
        return self.evaluate(node.op, node.attrs, operands, tuple(not is_absent(value) for value in node.results))

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
        self, op: str, attrs: Attrs, operands: Sequence[Array | None], wanted: tuple[bool, ...]
    ) -> tuple[Array, ...]:
        """The results of an operator; an unwanted one is an empty array.

        Raises:
            OpError: operands misfit the operator, or no engine can evaluate it.
        """
        domain, operator = split_op(op)
        opset = self._registry.opset(domain)
        if not domain and opset < OLDEST_OPSET:
            raise OpError(f"opset {opset} is older than {OLDEST_OPSET}, the oldest that can be evaluated")
        given = attrs if isinstance(attrs, OnnxAttrs) else OnnxAttrs(getattr(attrs, "fields", ()))
        heavy = operator in _HEAVY and any(isinstance(v, np.ndarray) and v.size > _HEAVY_NELEM for v in operands)
        if heavy and has_onnxruntime():
            try:
                return self._by_onnxruntime(op, given, operands, wanted)
            except OpError:
                pass
        kernel = None if domain or op in self._registry.functions else self._table().get(operator)
        if kernel is not None:
            try:
                results = kernel(Invocation(given, opset, len(wanted)), operands)
                results = results if isinstance(results, tuple) else (results,)
                if len(results) == len(wanted):
                    return results
            except NotHereError:
                pass
        return self._by_others(op, given, operands, wanted)

    def _table(self) -> Kernels:
        if self._kernels is None:
            from arenite.ops.onnx.kernels import kernels  # noqa: PLC0415

            self._kernels = kernels()
        return self._kernels

    def _by_others(
        self, op: str, attrs: OnnxAttrs, operands: Sequence[Array | None], wanted: tuple[bool, ...]
    ) -> tuple[Array, ...]:
        engines = [self._by_reference, self._by_onnxruntime] if has_onnxruntime() else [self._by_reference]
        if split_op(op)[0] not in ("", "ai.onnx.ml") and op not in self._registry.functions:
            engines.reverse()
        problems = []
        for engine in engines:
            try:
                return engine(op, attrs, operands, wanted)
            except OpError as error:
                problems.append(str(error))
        raise OpError("; ".join(problems))

    # Other engines

    def _by_reference(
        self, op: str, attrs: OnnxAttrs, operands: Sequence[Array | None], wanted: tuple[bool, ...]
    ) -> tuple[Array, ...]:
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - heavy

        model, names = self._single(op, attrs, operands, wanted)
        feeds = {f"i{index}": value for index, value in enumerate(operands) if value is not None}
        try:
            results: Any = ReferenceEvaluator(model).run(names, feeds)
        except Exception as error:  # its operators raise whatever they like
            raise OpError(f"onnx.reference cannot: {_line(error)}") from None
        return _placed(results, wanted)

    def _by_onnxruntime(
        self, op: str, attrs: OnnxAttrs, operands: Sequence[Array | None], wanted: tuple[bool, ...]
    ) -> tuple[Array, ...]:
        key = (op, attrs, wanted, tuple(_kind(value) for value in operands))
        feeds = {f"i{index}": _plain(value) for index, value in enumerate(operands) if value is not None}
        try:
            session = self._sessions.get(key)
            if session is None:
                session = _session(self._single(op, attrs, operands, wanted)[0])
                if len(self._sessions) >= _MAX_SESSIONS:
                    self._sessions.clear()
                self._sessions[key] = session
            results = session.run(None, feeds)
        except Exception as error:  # it has a class for each kind of failure, and no common one
            raise OpError(f"onnxruntime cannot: {_line(error)}") from None
        return _placed(results, wanted)

    def _single(
        self, op: str, attrs: OnnxAttrs, operands: Sequence[Array | None], wanted: tuple[bool, ...]
    ) -> tuple[ModelProto, list[str]]:
        """A model of one node, and the names of the results that are wanted."""
        inputs = [None if value is None else Value(f"i{index}", UNKNOWN) for index, value in enumerate(operands)]
        outputs = [Value(f"o{i}" if want else f"{ABSENT_PREFIX}{i}", UNKNOWN) for i, want in enumerate(wanted)]
        node = Node("node", op, inputs, outputs, ForeignAttrs(attrs.fields))
        names = [f"o{index}" for index, want in enumerate(wanted) if want]
        graph = GraphProto(name="single", node=[write_node(node, lambda value: value.name, _no_region)])
        graph.input.extend(_info(f"i{i}", value) for i, value in enumerate(operands) if value is not None)
        graph.output.extend(ValueInfoProto(name=name) for name in names)
        model = ModelProto(ir_version=_IR_VERSION, graph=graph)
        domains = {split_op(op)[0]: 1, **self._registry.opsets}
        for domain, version in sorted(domains.items()):
            model.opset_import.add(domain=domain, version=version)
        if op in self._registry.functions:
            model.functions.extend(self._registry.functions.values())
        return model, names


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed."""
    return find_spec("onnxruntime") is not None


def _session(model: ModelProto) -> Any:
    import onnxruntime  # noqa: PLC0415 - heavy

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _no_region(graph: Graph) -> GraphProto:
    raise OpError("nested graphs are run by the interpreter")


def _kind(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.name, value.ndim
    return tuple(map(_kind, value)) if isinstance(value, list) else value is None


def _info(name: str, value: object) -> ValueInfoProto:
    info = ValueInfoProto(name=name)
    if isinstance(value, (np.ndarray, np.generic)):
        info.type.tensor_type.elem_type = NUMBERS[DType.of(value.dtype)]
        shape = info.type.tensor_type.shape
        shape.SetInParent()
        for _ in range(value.ndim):
            shape.dim.add()
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
    """Results as arrays where they are tensors; numpy's scalars are such."""
    return np.asarray(result) if isinstance(result, np.generic) else result


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
