"""Import of small files: what becomes of each part."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.formats.tflite import TfliteDetails, export_model, import_model, stored_names
from arenite.ir.attrs import Activation, Attrs, ForeignAttrs, Padding
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import Conv2dAttrs
from formats.tflite import small
from formats.tflite.small import (
    SCHEMA,
    buffer,
    code,
    conv_file,
    file,
    one_op,
    operator,
    problems,
    quantization,
    subgraph,
    tensor,
)


def details(model: Model) -> TfliteDetails:
    assert isinstance(model.details, TfliteDetails)
    return model.details


def test_a_convolution() -> None:
    data = conv_file()
    graph = import_model(data, "m").graph
    (node,) = graph.nodes
    assert (node.op, node.name, node.origin) == ("conv2d", "y", ("y",))
    assert node.attrs == Conv2dAttrs((3, 2), (1, 1), Padding.VALID, Activation.RELU6)
    scale = float(np.float32(0.1))
    assert graph.inputs[0].type == TensorType(DType.INT8, (1, 8, 8, 2), Quantization.per_tensor(scale, -3))
    weights = node.operand(1)
    assert weights.type.quantization == Quantization((0.5, 0.25, 0.125), (0, 0, 0), axis=0)
    assert weights.constant is not None
    assert weights.constant.tolist() == np.arange(6).reshape(3, 1, 1, 2).tolist()
    assert node.operands[2] is None
    assert list(graph.outputs) == [node.result]


def test_constants_are_read_only_views_of_the_file() -> None:
    data = conv_file()
    weights = next(import_model(data, "m").graph.nodes).operand(1).constant
    assert weights is not None
    assert np.shares_memory(weights, np.frombuffer(data, np.uint8))
    assert not weights.flags.writeable


def test_an_unknown_operator_is_kept() -> None:
    options = SCHEMA.record("LeakyReluOptions", alpha=0.5)
    data = one_op("HASHTABLE_LOOKUP", [tensor("x", (4,)), tensor("y", (4,))], [0], version=77, builtin_options=options)
    (node,) = import_model(data, "m").graph.nodes
    assert node.op == "tflite.HASHTABLE_LOOKUP"
    assert node.attrs == ForeignAttrs((("operator_version", 77), ("options", "LeakyReluOptions"), ("alpha", 0.5)))


def test_an_operator_newer_than_the_schema_is_kept() -> None:
    data = one_op(1234, [tensor("x", (4,)), tensor("y", (4,))], [0])
    model = import_model(data, "m")
    (node,) = model.graph.nodes
    assert node.op == "tflite.BUILTIN_1234"
    assert export_model(model) == export_model(import_model(export_model(model), "m"))


def test_a_custom_operator_is_kept_with_its_options() -> None:
    custom = np.frombuffer(b"\x01\xff\x00", np.uint8)
    tensors = [tensor("x", (4,)), tensor("y", (4,))]
    data = one_op("CUSTOM", tensors, [0], custom="My Op\n", custom_options=custom)
    (node,) = import_model(data, "m").graph.nodes
    assert node.op == r"tflite.custom.My_Op_n"
    assert isinstance(node.attrs, ForeignAttrs)
    assert node.attrs.as_mapping()["custom_code"] == b"My Op\n"
    assert node.attrs.as_mapping()["custom_options"] == b"\x01\xff\x00"


def test_intermediate_tensors_are_kept() -> None:
    tensors = [
        tensor("x", (4,)),
        tensor("cell", (7,), "INT16", quantization=quantization([0.5], [3])),
        tensor("y", (4,)),
    ]
    data = one_op("LSTM", tensors, [0], intermediates=np.array([1, -1], np.int32))
    model = import_model(data, "m")
    (node,) = model.graph.nodes
    assert isinstance(node.attrs, ForeignAttrs)
    cell = ("cell", DType.INT16, (7,), (0.5,), (3,), None)
    assert node.attrs.as_mapping()["intermediates"] == (cell, None)
    (again,) = import_model(export_model(model), "m").graph.nodes
    assert again.attrs == node.attrs


@pytest.mark.parametrize("option", [{"weights_format": 1}, {"quant_spec": np.array([1], np.uint8)}])
def test_an_option_that_our_op_cannot_express_keeps_the_operator_foreign(option: dict[str, Any]) -> None:
    tensors = [tensor("x", (1, 4), "FLOAT32"), tensor("w", (2, 4), "FLOAT32", buffer=1), tensor("y", (1, 2), "FLOAT32")]
    options = SCHEMA.record("FullyConnectedOptions", **option)
    data = one_op("FULLY_CONNECTED", tensors, [0, 1], [buffer(bytes(32))], builtin_options=options)
    model = import_model(data, "m")
    (node,) = model.graph.nodes
    assert node.op == "tflite.FULLY_CONNECTED"
    (name,) = option
    assert details(model).notes == (
        f"operator 0 (FULLY_CONNECTED) was kept as it is: Arenite does not have its {name}",
    )


def test_options_without_meaning_for_us_are_written_back() -> None:
    options = SCHEMA.record("AddOptions", pot_scale_int16=False, fused_activation_function=1)
    tensors = [tensor("x", (4,), "INT32"), tensor("y", (4,), "INT32")]
    model = import_model(one_op("ADD", tensors, [0, 0], version=2, builtin_options=options), "m")
    (facts,) = details(model).main.operators
    assert (facts.options, facts.version) == ((("pot_scale_int16", False),), 2)
    assert details(import_model(export_model(model), "m")).main.operators == (facts,)


def test_names_that_are_missing_empty_or_taken() -> None:
    names = ["x", "x", "", None, "x_1", "a\x1b[0m\n", b"\xff".decode("utf-8", "surrogateescape")]
    tensors = [tensor(name, (4,)) for name in names]
    indices = list(range(len(names)))
    model = import_model(file([subgraph(tensors, [], indices, indices[::-1])], []), "m")
    found = [value.name for value in model.graph.inputs]
    assert found == ["x", "x_2", "tensor", "tensor_1", "x_1", "a\\x1b[0m\\n", "\\xff"]
    assert stored_names(model)[0] == tuple(name or "" for name in names)
    assert stored_names(model)[1] == tuple(name or "" for name in names)[::-1]
    again = import_model(export_model(model), "m")
    assert [value.name for value in again.graph.inputs] == found
    assert stored_names(again) == stored_names(model)
    assert details(again) == details(model)


def test_everything_beside_the_graph_survives() -> None:
    shapes: dict[str, Any] = {"shape_signature": np.array([-1, 4], np.int32), "has_rank": True}
    first = tensor(
        "x", (1, 4), "FLOAT32", quantization=quantization([0.5], [1], min=np.array([-1], np.float32)), **shapes
    )
    graph = subgraph([first, tensor("y", (1, 4), "FLOAT32")], [operator(0, [0], [1])], [0], [1], "serving")
    other = subgraph([tensor("a", (2,))], [], [0], [0], None)
    entry = (
        SCHEMA.record("TensorMap", name="in", tensor_index=0),
        SCHEMA.record("TensorMap", name="out", tensor_index=1),
    )
    signature = SCHEMA.record(
        "SignatureDef", signature_key="predict", inputs=entry[:1], outputs=entry[1:], subgraph_index=0
    )
    metadata = SCHEMA.record("Metadata", name="min_runtime_version", buffer=1)
    data = file(
        [graph, other],
        [code("RELU")],
        [buffer(b"1.5.0"), buffer(b"old")],
        description="a \u00e9",
        signature_defs=(signature,),
        metadata=(metadata,),
        metadata_buffer=np.array([2], np.int32),
    )
    model = import_model(data, "m")
    found = details(model)
    assert found.description == "a \u00e9"
    assert found.metadata == (("min_runtime_version", b"1.5.0"),)
    assert found.metadata_buffers == (b"old",)
    assert [(s.key, s.inputs, s.outputs) for s in found.signatures] == [("predict", (("in", "x"),), (("out", "y"),))]
    assert [len(s.graph.inputs) for s in found.subgraphs] == [1]
    assert model.graph.inputs[0].type == TensorType(DType.FLOAT32, (1, 4))
    fact = found.main.tensors[0]
    assert (fact.shape_signature, fact.has_rank, fact.minimum) == ((-1, 4), True, (-1.0,))
    assert fact.idle_quantization == ((0.5,), (1,))
    assert found.notes == ("tensor 0 'x': dynamic dimensions were frozen to [1, 4]",)
    again = details(import_model(export_model(model), "m"))
    assert again.main == found.main
    assert (again.description, again.metadata, again.metadata_buffers) == (
        found.description,
        found.metadata,
        found.metadata_buffers,
    )
    assert again.signatures == found.signatures
    assert again.subgraphs[0].facts == found.subgraphs[0].facts


def test_buffers_behind_the_flatbuffer() -> None:
    tensors = [tensor("x", (1, 4), "FLOAT32"), tensor("b", (4,), "FLOAT32", buffer=1), tensor("y", (1, 4), "FLOAT32")]
    values = np.arange(4, dtype=np.float32)

    def build(offset: int) -> bytes:
        return one_op("ADD", tensors, [0, 1], [buffer(None, offset=offset, size=16)])

    inside = build(2)
    data = build(len(inside)) + values.tobytes()
    (node,) = import_model(data, "m").graph.nodes
    assert node.operand(1).constant is not None
    assert np.array_equal(node.operand(1).constant, values)  # type: ignore[arg-type]
    (problem,) = problems(data[:-1])
    assert problem == (f"tensor 1 'b': expected 16 bytes at byte {len(inside)}, but the file has {len(data) - 1} bytes")


def test_state() -> None:
    tensors = [tensor("x", (4,)), tensor("s", (4,), is_variable=True), tensor("y", (4,))]
    model = import_model(one_op("SVDF", tensors, [0, 1]), "m")
    (node,) = model.graph.nodes
    assert node.operand(1).is_variable
    assert not node.operand(1).is_constant
    (again,) = import_model(export_model(model), "m").graph.nodes
    assert again.operand(1).is_variable


@pytest.mark.parametrize(("dtype", "limits"), [("INT8", (-128, 127)), ("UINT8", (0, 255)), ("INT16", (-32768, 32767))])
def test_zero_points_at_the_limits(dtype: str, limits: tuple[int, int]) -> None:
    for point in limits:
        (value,) = import_model(small.relu(dtype=dtype, quantization=quantization([0.5], [point])), "m").graph.inputs
        assert value.type.quantization == Quantization.per_tensor(0.5, point)


@pytest.mark.parametrize("index", [0, 1])
def test_tensors_without_elements(index: int) -> None:
    tensors = [
        tensor("x", (0,), "FLOAT32", buffer=index),
        tensor("none", (0, 3), "INT32", buffer=index),
        tensor("y", (0,), "FLOAT32", buffer=index),
    ]
    model = import_model(one_op("TILE", tensors, [0, 1], [buffer(None)]), "m")
    (node,) = model.graph.nodes
    assert [value.is_constant for value in (*node.present_operands, node.result)] == [False, True, False]
    assert node.operand(1).type.dims == (0, 3)
    (again,) = import_model(export_model(model), "m").graph.nodes
    assert [value.is_constant for value in (*again.present_operands, again.result)] == [False, True, False]


def test_a_file_without_buffers() -> None:
    data = small.write_model(subgraphs=(subgraph([tensor("x", (2,)), tensor("n", (0,))], [], [0], [0, 1]),))
    assert [value.is_constant for value in import_model(data, "m").graph.outputs] == [False, True]


def test_int4_weights() -> None:
    tensors = [tensor("x", (1, 3)), tensor("w", (1, 3), "INT4", buffer=1), tensor("y", (1, 1))]
    options = SCHEMA.record("FullyConnectedOptions")
    data = one_op("FULLY_CONNECTED", tensors, [0, 1], [buffer(b"\xf8\x07")], builtin_options=options)
    model = import_model(data, "m")
    (node,) = model.graph.nodes
    assert node.operand(1).constant is not None
    assert node.operand(1).constant.astype(int).tolist() == [[-8, -1, 7]]  # type: ignore[union-attr]
    assert b"\xf8\x07" in export_model(model)


@pytest.mark.shared
def test_dead_operators_are_imported_and_orphans_are_not(shared: Path) -> None:
    data = (shared / "cases" / "cases" / "t36_dead_ops_and_orphan_buffers" / "model.tflite").read_bytes()
    model = import_model(data, "m")
    assert sorted(node.op for node in model.graph.nodes) == ["fully_connected", "logistic", "mul"]
    assert len(export_model(model)) < len(data) + 64


def test_attributes_without_options_are_defaults() -> None:
    (node,) = import_model(small.relu(), "m").graph.nodes
    assert node.attrs == Attrs()
