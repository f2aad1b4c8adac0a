"""Legalizes small ONNX models, and compares what they compute with onnxruntime, all its optimizations off."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from arenite._base.dtypes import DType
from arenite.formats.onnx import import_model, model_registry
from arenite.formats.tflite import export_model
from arenite.formats.tflite import import_model as import_tflite
from arenite.interp.interpreter import Interpreter
from arenite.ir.model import Model
from arenite.ops import core_registry
from arenite.passes.legalize import Legalized, Placement, legalize

Array = npt.NDArray[np.generic]


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[npt.DTypeLike, Sequence[int]]],
    outputs: Sequence[str],
    constants: Mapping[str, npt.ArrayLike] | None = None,
    *,
    opset: int = 17,
) -> onnx.ModelProto:
    """A model of one graph; types of the outputs are left to be inferred."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(dims))
            for name, (dtype, dims) in inputs.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()],
    )
    for value in graph.output:
        value.ClearField("type")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def legalized(model: onnx.ModelProto, folder: Path, *, keep: Sequence[str] = ()) -> Legalized:
    """The model's graph in the core dialect, as it comes, without optimization."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    imported = import_model(path, "model")
    return legalize(imported.graph, model_registry(imported), core_registry(), keep_layouts=frozenset(keep))


def agree(
    model: onnx.ModelProto,
    folder: Path,
    feeds: Mapping[str, Array] | None = None,
    *,
    keep: Sequence[str] = (),
    tolerance: float = 1e-5,
) -> list[str]:
    """Assert that the legalized graph, through a .tflite file and back, computes what the model does.

    Args:
        model: the ONNX model.
        folder: for files.
        feeds: inputs by name; normally distributed (small integers, coin flips) if None.
        keep: inputs and outputs that keep ONNX's layout.
        tolerance: of each output, as max|difference| / max(1, max|reference|).

    Returns:
        The ops of the graph in order.
    """
    feeds = made_up(model) if feeds is None else feeds
    found = legalized(model, folder, keep=keep)
    graph = import_tflite(export_model(Model("model", found.graph)), "model").graph
    session = onnxruntime.InferenceSession(model.SerializeToString(), _plain(), providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(feeds))
    arrays = [_laid(feeds[placement.name], placement) for placement in found.inputs]
    assert [value.name for value in graph.inputs] == [placement.name for placement in found.inputs]
    assert [value.name for value in graph.outputs] == [output.name for output in model.graph.output]
    for placement, ours, theirs in zip(
        found.outputs, Interpreter(graph, core_registry()).run(arrays), expected, strict=True
    ):
        _assert_close(np.asarray(ours), _laid(theirs, placement), tolerance, placement.name)
    return [node.op for node in found.graph.nodes]


def made_up(model: onnx.ModelProto, seed: int = 7) -> dict[str, Array]:
    """Inputs for a model of known shapes."""
    rng = np.random.default_rng(seed)
    feeds: dict[str, Array] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if dtype.kind == "f":
            feeds[value.name] = rng.normal(0, 1, dims).astype(dtype)
        else:
            low = 0 if dtype.kind in "bu" else -9
            feeds[value.name] = rng.integers(low, 2 if dtype.kind == "b" else 10, dims).astype(dtype)
    return feeds


def _laid(array: Array, placement: Placement) -> Array:
    laid = np.asarray(array).transpose(placement.order)
    return np.ascontiguousarray(laid).reshape(laid.shape)


def _assert_close(ours: Array, theirs: Array, tolerance: float, name: str) -> None:
    assert ours.shape == theirs.shape, f"{name} is {ours.shape}, not {theirs.shape}"
    assert DType.of(ours.dtype) is DType.of(theirs.dtype), f"{name} is of {ours.dtype}, not {theirs.dtype}"
    if theirs.dtype.kind != "f":
        assert np.array_equal(ours, theirs), name
        return
    reference: npt.NDArray[Any] = theirs
    scale = max(1.0, float(np.max(np.abs(reference), initial=0.0, where=np.isfinite(reference))))
    np.testing.assert_allclose(
        np.asarray(ours, reference.dtype), reference, rtol=0, atol=tolerance * scale, err_msg=name
    )


def _plain() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return options
