"""Which engine evaluates what, and what each says of nodes that it cannot evaluate."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from onnx import helper

from arenite.formats.onnx import model_registry
from arenite.ir.opdef import OpCall, OpError
from arenite.ops.onnx import engine as engine_module
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.engine import Engine, onnx_registry
from formats.onnx.support import imported, model_of

node = helper.make_node
RNG = np.random.default_rng(3)
X = RNG.standard_normal((1, 8, 24, 24)).astype(np.float32)
W = RNG.standard_normal((8, 8, 3, 3)).astype(np.float32)


def one(op: str, operands: list[Any], opset: int = 17, **attrs: Any) -> Any:
    (result,) = Engine(onnx_registry({"": opset})).evaluate(op, OnnxAttrs.of(**attrs), operands, (True,))
    return result


def test_heavy_operators_are_the_same_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = one("onnx.Conv", [X, W], pads=(1, 1, 1, 1))
    monkeypatch.setattr(engine_module, "has_onnxruntime", lambda: False)
    assert np.allclose(one("onnx.Conv", [X, W], pads=(1, 1, 1, 1)), fast, 1e-5, 1e-5)


def test_what_has_no_kernel_goes_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "has_onnxruntime", lambda: False)
    a = RNG.standard_normal((3, 4)).astype(np.float32)
    assert np.allclose(one("onnx.Einsum", [a, a], equation="ij,kj->ik"), a @ a.T, 1e-5, 1e-5)
    with pytest.raises(OpError, match=r"onnx\.reference cannot"):
        one("onnx.Einsum", [a], equation="ij,kj->ik")


def weights(gates: int) -> list[np.ndarray]:
    return [
        RNG.standard_normal(shape).astype(np.float32) for shape in ((5, 2, 3), (1, gates * 4, 3), (1, gates * 4, 4))
    ]


PLANE = X[:, :2, :4, :5]
BOXES = [np.array([[0, 0, 4, 4], [1, 1, 5, 3]], np.float32), np.array([0, 0])]
LENGTHS = [None, np.array([5, 3], np.int32)]


@pytest.mark.parametrize(
    ("op", "operands", "attrs", "opset"),
    [
        ("LSTM", [*weights(4), *LENGTHS], {"hidden_size": 4}, 17),
        ("GRU", [*weights(3), *LENGTHS], {"hidden_size": 4}, 17),
        ("RNN", [*weights(1), *LENGTHS], {"hidden_size": 4}, 17),
        ("LSTM", weights(4), {"hidden_size": 4, "clip": 0.2}, 17),
        ("LSTM", weights(4), {"hidden_size": 4, "input_forget": 1}, 17),
        ("LSTM", weights(4), {"hidden_size": 4, "activations": ("Sigmoid", "Relu", "Tanh")}, 17),
        ("LpNormalization", [PLANE], {"p": 1, "axis": 1}, 17),
        ("Hardmax", [PLANE], {}, 11),
        ("RoiAlign", [PLANE, *BOXES], {"output_height": 2, "output_width": 3}, 13),
    ],
)
def test_what_the_reference_gets_wrong_is_left_to_onnxruntime(
    monkeypatch: pytest.MonkeyPatch, op: str, operands: list[Any], attrs: dict[str, Any], opset: int
) -> None:
    pytest.importorskip("onnxruntime", reason="it is the oracle and the engine")
    given = {f"i{index}": value for index, value in enumerate(operands) if value is not None}
    names = ["" if value is None else f"i{index}" for index, value in enumerate(operands)]
    plain: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in attrs.items()}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    output = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph([node(op, names, ["y"], **plain)], "g", infos, [output])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    (expected,) = engine_module.whole_model(proto.SerializeToString())(given)
    assert np.allclose(one(f"onnx.{op}", operands, opset, **attrs), expected, 1e-6, 1e-6)
    monkeypatch.setattr(engine_module, "has_onnxruntime", lambda: False)
    with pytest.raises(OpError, match="computes something else"):
        one(f"onnx.{op}", operands, opset, **attrs)


def test_operators_of_onnxruntime() -> None:
    pytest.importorskip("onnxruntime", reason="these are its own operators")
    x = np.array([-1.0, 0.0, 2.0], np.float32)
    found = one("onnx.com.microsoft::QuickGelu", [x], alpha=1.0)
    assert np.allclose(found, x / (1 + np.exp(-x)), 1e-6, 1e-6)


def test_operators_that_nobody_has() -> None:
    with pytest.raises(OpError):
        one("onnx.a.b::Op", [X])


def test_registries_evaluate() -> None:
    model = imported(model_of([node("Add", ["x", "x"], ["y"])], {"x": [2]}, ["y"]))
    (add,) = model.graph.nodes
    definition = model_registry(model)["onnx.Add"]
    x = np.array([1, 2], np.float32)
    assert definition.evaluate(OpCall.of(add), [x, x])[0].tolist() == [2, 4]
    wide = x.astype(np.int16)
    assert definition.evaluate(OpCall.of(add), [wide, wide])[0].dtype == np.int16


def test_many_nodes_at_once_and_why_some_have_no_result() -> None:
    nodes = [
        node("Shape", ["c"], ["s"]),
        node("Gather", ["s", "i"], ["g"], name="outside"),
        node("Neg", ["g"], ["n"], name="after"),
        node("Mul", ["s", "s"], ["y"]),
    ]
    constants = {"c": np.zeros((2, 3), np.float32), "i": np.array([5])}
    model = imported(model_of(nodes, {}, ["y", "n"], constants))
    listed = list(model.graph.nodes)
    found, failed = Engine(model_registry(model)).evaluate_nodes(listed, {})
    assert {value.name: array.tolist() for value, array in found.items()} == {"s": [2, 3], "y": [4, 9]}
    assert {n.name for n in failed} == {"outside", "after"}
    assert "index 5 is outside" in failed[listed[1]]
    assert "has no value" in failed[listed[2]]


def test_scalars_are_arrays() -> None:
    found = one("onnx.Gather", [np.array([1, 2, 3]), np.array(1)], axis=0)
    assert isinstance(found, np.ndarray)
    assert found.shape == ()


def test_engines_are_loaded_when_needed() -> None:
    code = (
        "import sys, numpy as np\n"
        "from arenite.ops.onnx.engine import Engine, onnx_registry\n"
        "from arenite.ops.onnx.attrs import OnnxAttrs\n"
        "x = np.ones(2, np.float32)\n"
        "Engine(onnx_registry({'': 17})).evaluate('onnx.Add', OnnxAttrs(), [x, x], (True,))\n"
        "print(sorted({'onnxruntime', 'onnx.reference'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
