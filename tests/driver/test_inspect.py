"""What `inspect` counts, and that its answer stays short."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from arenite._base.dtypes import DType
from arenite.driver.inspect import Inspection, inspect_model
from arenite.formats.tflite import export_model
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import Conv2dAttrs


def _float(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def _conv(builder: GraphBuilder, x: Value, weight: Value, out: TensorType) -> Value:
    return builder.node("conv2d", [x, weight], [out], Conv2dAttrs(), name="conv").result


def _inspected(builder: GraphBuilder, result: Value, folder: Path) -> Inspection:
    path = folder / "m.tflite"
    path.write_bytes(export_model(Model("m", builder.output(result))))
    return inspect_model(path)


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_macs_of_floats_are_known_with_quantized_weights_too(dtype: type[np.generic], tmp_path: Path) -> None:
    b = GraphBuilder()
    quantization = Quantization.per_tensor(0.5) if dtype is np.int8 else None
    weight = b.constant("w", np.ones((5, 3, 3, 2), dtype), quantization)
    found = _inspected(b, _conv(b, b.input("x", _float(1, 8, 6, 2)), weight, _float(1, 6, 4, 5)), tmp_path)
    # Of each of 6 * 4 * 5 outputs, 3 * 3 * 2 taps.
    assert found.macs == 6 * 4 * 5 * 3 * 3 * 2
    assert "every result is float32: activations are not quantized" in found.to_text()


def test_macs_of_hybrid_nodes_that_misfit_are_unknown(tmp_path: Path) -> None:
    b = GraphBuilder()
    weight = b.constant("w", np.ones((5, 3, 3, 2), np.int8), Quantization.per_tensor(0.5))
    found = _inspected(b, _conv(b, b.input("x", _float(1, 8, 6, 2)), weight, _float(1, 7, 4, 5)), tmp_path)
    assert found.macs is None
    assert "MACs       unknown" in found.to_text()


def _onnx(nodes: list[onnx.NodeProto], shape: list[int | str], folder: Path) -> Inspection:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3, 4], [1.0] * 12)
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    path = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return inspect_model(path)


def test_types_that_a_file_does_not_say_are_counted(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Shape", ["a"], ["s"]),
        helper.make_node("Reshape", ["a", "s"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    found = _onnx(nodes, [2, 3], tmp_path)
    assert found.floats == 3
    assert found.macs == 2 * 3 * 4
    assert "  floats     3 of 4 results are float32\n" in found.to_text()


def test_one_is_told_in_the_singular_and_open_shapes_as_the_cause(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.INT64),
        helper.make_node("Cast", ["a"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "w"], ["unused"]),
    ]
    text = _onnx(nodes[:2], ["n", 3], tmp_path).to_text()
    assert "  floats     1 of 2 results is float32\n" in text
    assert "(onnx): 2 nodes\n" in text
    assert "  MACs       unknown: shapes are dynamic\n" in _onnx(nodes, ["n", 3], tmp_path).to_text()


def test_thousands_of_inputs_and_problems_stay_within_a_screen(tmp_path: Path) -> None:
    b = GraphBuilder()
    x = b.constant("c", np.ones((1, 4), np.float32))
    for index in range(50):
        x = b.node(f"tflite.T{index}", [x, b.input(f"x{index}", _float(1, 4))], [_float(1, 4)], name=f"n{index}").result
    found = Inspection(Model("m", b.output(x)), (("op", 50),), 0, None, 50, 50, (), ("note",) * 50, ("problem",) * 50)
    lines = found.to_text().splitlines()
    assert len(lines) < 40
    assert "             and 44 more, which --json lists" in lines


def test_nested_graphs_count(tmp_path: Path) -> None:
    weight = helper.make_tensor("k", TensorProto.FLOAT, [2, 3], [1.0] * 6)
    inner = helper.make_tensor_value_info("i", TensorProto.FLOAT, None)
    body = helper.make_graph([helper.make_node("Add", ["x", "k"], ["i"])], "body", [], [inner], [weight])
    nodes = [
        helper.make_node("Cast", ["x"], ["sure"], to=TensorProto.BOOL),
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
        helper.make_node("Cast", ["least"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]
    found = _onnx(nodes, [2, 3], tmp_path)
    assert dict(found.histogram)["onnx.Add"] == 2
    assert found.weights_nbytes == 4 * 2 * 6  # of both branches; no node reads the other one
    assert found.floats == 4
    text = found.to_text()
    assert "(onnx): 4 nodes and 2 in nested graphs\n" in text
    assert "  floats     4 of 6 results are float32\n" in text


def test_results_of_unknown_types_are_not_taken_for_others(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Odd", ["a"], ["b"], domain="strange"),
        helper.make_node("Shape", ["a"], ["y"]),
    ]
    text = _onnx(nodes, [2, 3], tmp_path).to_text()
    assert "  floats     1 of 2 results whose type is known (3 in all) is float32\n" in text
