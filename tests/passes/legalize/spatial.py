"""What tests of spatial operators share: a node and its constants become a model, which is run or refused."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import helper

from arenite._base.errors import ModelError
from arenite.formats.tflite import export_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.model import Model
from arenite.ops import core_registry
from oracle import run_litert, run_wheel
from passes.legalize.support import agree, legalized, made_up, model_of

Constants = Mapping[str, npt.ArrayLike]


def numbers(*dims: int, seed: int = 5) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 1, dims).astype(np.float32)


def node(operator: str, operands: str, results: str = "y", **attrs: Any) -> onnx.NodeProto:
    """`operands` and `results`: names with spaces between; `-` for one that is absent."""
    names = ["" if name == "-" else name for name in operands.split()]
    return helper.make_node(operator, names, results.split(), **attrs)


def one(
    of: onnx.NodeProto,
    dims: Sequence[int],
    constants: Constants | None = None,
    *,
    opset: int = 17,
    dtype: npt.DTypeLike = np.float32,
) -> onnx.ModelProto:
    """A model of one node that reads `x`."""
    return model_of([of], {"x": (dtype, dims)}, list(of.output), constants, opset=opset)


def run(model: onnx.ModelProto, **options: Any) -> list[str]:
    """`agree`, in a folder of its own."""
    with TemporaryDirectory() as folder:
        return agree(model, Path(folder), **options)


def refusal(model: onnx.ModelProto) -> str:
    """The one message of the model's refusal, without the node."""
    with TemporaryDirectory() as folder, pytest.raises(ModelError) as caught:
        legalized(model, Path(folder))
    (problem,) = caught.value.problems
    return problem.split("): ", 1)[-1]


def computed(model: onnx.ModelProto) -> npt.NDArray[Any]:
    """What the only output is, as ONNX has it, of inputs that are made up."""
    with TemporaryDirectory() as folder:
        found = legalized(model, Path(folder))
    feeds = made_up(model)
    arrays = [np.ascontiguousarray(feeds[each.name].transpose(each.order)) for each in found.inputs]
    (output,) = Interpreter(found.graph, core_registry()).run(arrays)
    (placement,) = found.outputs
    return np.asarray(output).transpose([placement.order.index(axis) for axis in range(len(placement.order))])


def litert_agrees(model: onnx.ModelProto, resolver: str) -> None:
    """Assert that LiteRT computes of the exported file what onnxruntime computes of the model."""
    _agrees(model, lambda data, arrays: run_litert(data, [arrays], resolver)[0])


def wheel_agrees(model: onnx.ModelProto) -> None:
    """Assert that TFLite-Micro does."""
    _agrees(model, lambda data, arrays: run_wheel(data, [arrays])[0])


def _agrees(model: onnx.ModelProto, execute: Callable[[bytes, list[npt.NDArray[Any]]], list[npt.NDArray[Any]]]) -> None:
    with TemporaryDirectory() as folder:
        found = legalized(model, Path(folder))
    feeds = made_up(model)
    arrays = [np.ascontiguousarray(feeds[each.name].transpose(each.order)) for each in found.inputs]
    ours = execute(export_model(Model("model", found.graph)), arrays)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for placement, output, expected in zip(found.outputs, ours, session.run(None, feeds), strict=True):
        reference = np.asarray(expected).transpose(placement.order)
        scale = max(1.0, float(np.abs(reference).max(initial=0)))
        np.testing.assert_allclose(output, reference, rtol=0, atol=1e-5 * scale)
