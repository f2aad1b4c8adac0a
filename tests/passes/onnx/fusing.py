"""Small ONNX models through one pass, before and after compared by onnxruntime without optimisations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented  # noqa: A004

from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.passes.base import Context, Pass
from arenite.passes.differential import max_error
from arenite.passes.onnx.presets import run_rounds
from passes.support import verdicts

RNG = np.random.default_rng(5)


def reseed(seed: int) -> None:
    """Start over, so that what is drawn depends on the seed alone."""
    RNG.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def rand(*shape: int, dtype: Any = np.float32, low: float = -1.0, high: float = 1.0) -> Any:
    return RNG.uniform(low, high, shape).astype(dtype)


class Net:
    """Collects nodes and constants of a model; every method that adds a node gives the name of its result."""

    def __init__(self, opset: int = 17, ir_version: int = 8, dtype: Any = np.float32) -> None:
        self.opset, self.ir_version = opset, ir_version
        self.dtype = np.dtype(dtype)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    @property
    def elem_type(self) -> int:
        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    def input(self, name: str, shape: Sequence[int | str] | None, dtype: Any = None) -> str:
        elem = self.elem_type if dtype is None else int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
        self.inputs.append(helper.make_tensor_value_info(name, elem, shape))
        return name

    def constant(self, array: Any, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, operands: Sequence[Any], result: str = "", **attrs: Any) -> str:
        """A node; operands that are no names become constants, None is absent."""
        names = [o if isinstance(o, str) else "" if o is None else self.constant(o) for o in operands]
        result = result or f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [result], name=f"n_{result}", **attrs))
        return result

    def norm(self, data: str, channels: int, result: str = "", **changes: Any) -> str:
        """A BatchNormalization with parameters that are not special."""
        parameters = {
            "scale": rand(channels, low=0.5, high=2, dtype=self.dtype),
            "bias": rand(channels, dtype=self.dtype),
            "mean": rand(channels, dtype=self.dtype),
            "var": rand(channels, low=0.2, high=2, dtype=self.dtype),
        }
        attrs = {name: value for name, value in changes.items() if name not in parameters}
        operands = [data, *({**parameters, **changes}[name] for name in parameters)]
        return self.node("BatchNormalization", operands, result, **attrs)

    def model(self, *outputs: str) -> onnx.ModelProto:
        infos = []
        for name in outputs:
            info = helper.make_tensor_value_info(name, self.elem_type, None)
            infos.append(info)
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version)
        return onnx.shape_inference.infer_shapes(model)


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Outputs by onnxruntime, or by onnx.reference where it lacks an element type."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except NotImplemented:
        return list(ReferenceEvaluator(model).run(None, dict(feeds)))
    return list(session.run(None, dict(feeds)))


def made_up(model: onnx.ModelProto, *, scale: float = 1.0, size: int = 3) -> dict[str, Any]:
    """Inputs; named dimensions are `size`."""
    feeds = {}
    for info in model.graph.input:
        dims = [dim.dim_value or size for dim in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        array = RNG.integers(-128, 128, dims) if dtype.kind in "iu" else RNG.standard_normal(dims) * scale
        feeds[info.name] = np.asarray(array).astype(dtype)
    return feeds


def _declare_ranks(model: onnx.ModelProto) -> None:
    """Give outputs whose shape ONNX does not infer their rank, which the checker wants."""
    unknown = [info for info in model.graph.output if not info.type.tensor_type.HasField("shape")]
    if not unknown:
        return
    shapes = dict(zip([info.name for info in model.graph.output], run(model, made_up(model)), strict=True))
    for info in unknown:
        for _ in shapes[info.name].shape:
            info.type.tensor_type.shape.dim.add()


class Outcome:
    """What a pass made of a model.

    Attributes:
        said: verdicts by node.
        model: the result.
        error: max|difference| / max|reference| of the worst output.
    """

    def __init__(
        self, model: onnx.ModelProto, spec: Pass, *, tolerance: float | None = None, scale: float = 1.0
    ) -> None:
        _declare_ranks(model)
        onnx.checker.check_model(model)
        imported = import_model(model.SerializeToString(), "net")
        registry = model_registry(imported)
        self.said = verdicts(spec, imported.graph, registry)
        self.model = onnx.load_from_string(export_model(imported))
        onnx.checker.check_model(self.model)
        feeds = made_up(model, scale=scale)
        before, after = run(model, feeds), run(self.model, feeds)
        for old, new in zip(before, after, strict=True):
            assert (old.dtype, old.shape) == (new.dtype, new.shape)
        self.error = max(max_error(old, new) for old, new in zip(before, after, strict=True))
        assert self.error <= (1e-5 if tolerance is None else tolerance), self.error
        again = run_rounds(imported.graph, [spec], registry)
        assert len(again.rows) == 1, "a second run changes something"

    @property
    def ops(self) -> list[str]:
        return [node.op_type for node in self.model.graph.node]

    def weight(self, place: int = 0, operand: int = 1) -> Any:
        """A constant operand of a node of the result."""
        name = self.model.graph.node[place].input[operand]
        return numpy_helper.to_array(next(c for c in self.model.graph.initializer if c.name == name))

    @property
    def weights_nbytes(self) -> int:
        return sum(numpy_helper.to_array(c).nbytes for c in self.model.graph.initializer)

    def of(self, result: str) -> str:
        """The verdict on the node that gave a result."""
        (verdict,) = self.said[f"n_{result}"]
        return verdict


def said(spec: Pass, model: onnx.ModelProto, result: str) -> list[str]:
    """Verdicts on the node that gives a result, in models that cannot be run."""
    imported = import_model(model.SerializeToString(), "net")
    remarks = spec.run(imported.graph, Context(model_registry(imported))).remarks
    return [f"{r.kind.value} {r.reason.slug}" for r in remarks if r.subject == f"n_{result}"]
