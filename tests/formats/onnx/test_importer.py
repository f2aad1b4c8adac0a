"""What becomes of an .onnx file: values, nodes, attributes, regions."""

from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from arenite._base.dtypes import DType
from arenite.formats.onnx import OnnxDetails
from arenite.ir.types import TensorType
from arenite.ir.verifier import structure_problems
from arenite.ops.onnx.attrs import OnnxAttrs, ProtoAttr, RegionRef, TensorAttr
from arenite.ops.onnx.names import is_absent
from formats.onnx.support import imported, model_of

node = helper.make_node


def details_of(model: object) -> OnnxDetails:
    assert isinstance(model, OnnxDetails)
    return model


def test_one_operator_is_one_node_and_constants_are_none() -> None:
    weight = np.arange(4, dtype=np.float32)
    model = imported(
        model_of(
            [
                node("Constant", [], ["c"], value=numpy_helper.from_array(weight)),
                node("Add", ["x", "w"], ["a"], name="first"),
                node("Mul", ["a", "c"], ["y"], name="second"),
            ],
            {"x": ["N", 4]},
            ["y"],
            {"w": weight},
        )
    )
    assert [(n.name, n.op) for n in model.graph.nodes] == [("first", "onnx.Add"), ("second", "onnx.Mul")]
    assert [value.name for value in model.graph.constants()] == ["w", "c"]
    assert model.graph.inputs[0].type == TensorType(DType.FLOAT32, ("N", 4))
    assert model.format == "onnx"
    assert not structure_problems(model.graph)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"value_float": 0.1}, np.array(np.float32(0.1))),
        ({"value_floats": [1.5, 2.5]}, np.array([1.5, 2.5], np.float32)),
        ({"value_int": -7}, np.array(-7, np.int64)),
        ({"value_ints": [1, 2, 3]}, np.array([1, 2, 3], np.int64)),
        ({"value_string": "é"}, np.array("é", object)),
        ({"value_strings": ["a", "b"]}, np.array(["a", "b"], object)),
    ],
)
def test_every_form_of_a_constant(form: dict[str, Any], expected: np.ndarray) -> None:
    model = imported(model_of([node("Constant", [], ["y"], **form)], {}, ["y"]))
    array = model.graph.outputs[0].constant
    assert array is not None
    assert (array.dtype, array.shape, array.tolist()) == (expected.dtype, expected.shape, expected.tolist())


def test_an_initialiser_that_is_an_input_is_a_default_from_version_4_on() -> None:
    proto = model_of([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"], {"w": np.ones(2, np.float32)})
    new = imported(proto)
    assert [value.name for value in new.graph.inputs] == ["x", "w"]
    assert details_of(new.details).defaults["w"].tolist() == [1, 1]
    proto.ir_version = 3
    old = imported(proto)
    assert [value.name for value in old.graph.inputs] == ["x"]
    assert [value.name for value in old.graph.constants()] == ["w"]


def test_absent_operands_and_results() -> None:
    model = imported(
        model_of([node("LSTM", ["x", "w", "r", "", ""], ["", "h", "c"])], {"x": [], "w": [], "r": []}, ["h"])
    )
    (lstm,) = model.graph.nodes
    assert lstm.operands[3:] == (None, None)
    assert [is_absent(value) for value in lstm.results] == [True, False, False]


def test_attributes_keep_their_types() -> None:
    tensor = np.array([1, 2], np.int8)
    values: dict[str, Any] = {"f": 0.1, "i": 3, "s": "text", "fs": [1.0, 2.0], "ints": [1], "ss": ["a", "b"]}
    proto = node("Op", ["x"], ["y"], domain="a.b", t=numpy_helper.from_array(tensor), **values)
    proto.attribute.extend(
        [
            helper.make_attribute("bytes", b"\xff"),
            helper.make_attribute("none", [], attr_type=AttributeProto.FLOATS),
            helper.make_attribute("type", helper.make_tensor_type_proto(TensorProto.FLOAT, [1])),
        ]
    )
    (read,) = imported(model_of([proto], {"x": [1]}, ["y"])).graph.nodes
    attrs = read.attrs
    assert isinstance(attrs, OnnxAttrs)
    assert read.op == "onnx.a.b::Op"
    assert (attrs.number("f"), attrs.integer("i"), attrs.text("s")) == (float(np.float32(0.1)), 3, "text")
    assert (attrs.numbers("fs"), attrs.integers("ints"), attrs.texts("ss")) == ((1.0, 2.0), (1,), ("a", "b"))
    assert attrs.get("bytes") == b"\xff"
    assert attrs.numbers("none") == ()
    assert attrs.get("t") == TensorAttr(tensor)
    assert isinstance(attrs.get("type"), ProtoAttr)
    assert [name for name, _ in attrs.fields] == sorted(name for name, _ in attrs.fields)


def branch(name: str, nodes: list, output: str) -> object:  # type: ignore[type-arg]
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None])])


def conditional() -> ModelProto:
    """Both branches capture `a`; the first hides `hidden` of the graph around it."""
    then = branch("then", [node("Neg", ["a"], ["hidden"]), node("Abs", ["hidden"], ["r"])], "r")
    other = branch("other", [node("Add", ["a", "hidden"], ["r"])], "r")
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Exp", ["x"], ["hidden"]),
        node("Constant", [], ["cond"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["cond"], ["y"], then_branch=then, else_branch=other),
    ]
    return model_of(nodes, {"x": [2]}, ["y"])


def test_nested_graphs_read_values_around_them_directly() -> None:
    graph = imported(conditional()).graph
    relu, exp, conditional_node = graph.nodes
    attrs = conditional_node.attrs
    assert isinstance(attrs, OnnxAttrs)
    then, other = (conditional_node.regions[attrs.region(name)] for name in ("then_branch", "else_branch"))
    neg, absolute = then.nodes
    (add,) = other.nodes
    assert neg.operand(0) is relu.result
    assert add.operands == (relu.result, exp.result)
    assert absolute.operand(0) is neg.result
    assert {use.node for use in relu.result.uses} == {neg, add}
    assert neg.result.name != exp.result.name
    assert attrs.get("then_branch") == RegionRef(attrs.region("then_branch"))
    assert not structure_problems(graph)


def test_nodes_out_of_order_are_put_in_order() -> None:
    nodes = [node("Add", ["b", "a"], ["y"]), node("Relu", ["a"], ["b"]), node("Neg", ["x"], ["a"])]
    graph = imported(model_of(nodes, {"x": [2]}, ["y"])).graph
    assert [n.op for n in graph.nodes] == ["onnx.Neg", "onnx.Relu", "onnx.Add"]


def test_unknown_dimensions_are_never_equal() -> None:
    model = imported(model_of([node("Add", ["a", "b"], ["y"])], {"a": [None, "N"], "b": [-1, "N"]}, ["y"]))
    one, other = (value.type.shape for value in model.graph.inputs)
    assert one is not None
    assert other is not None
    assert one[1] == other[1] == "N"
    assert isinstance(one[0], str)
    assert isinstance(other[0], str)
    assert one[0] != other[0]


def test_sequences_strings_and_unknown_types() -> None:
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    proto = model_of([node("SequenceAt", ["s", "i"], ["y"])], {}, ["y"])
    proto.graph.input.append(helper.make_value_info("s", sequence))
    proto.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, []))
    proto.graph.input.append(helper.make_tensor_value_info("t", TensorProto.STRING, [2]))
    types = [value.type for value in imported(proto).graph.inputs]
    assert types == [TensorType(DType.OPAQUE, None), TensorType(DType.INT64, ()), TensorType(DType.STRING, (2,))]


def test_sparse_initialisers_stay_sparse() -> None:
    proto = model_of([node("Identity", ["w"], ["y"])], {}, ["y"])
    values = numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 9_999], np.int64))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [100, 100]))
    first, _ = imported(proto).graph.nodes
    assert first.op == "onnx.Constant"
    assert first.result.name == "w"
    assert first.result.type == TensorType(DType.FLOAT32, (100, 100))


def test_a_large_constant_of_one_element_is_a_splat() -> None:
    weight = np.full((64, 64), 0.5, np.float32)
    model = imported(model_of([node("Add", ["x", "w"], ["y"])], {"x": [64, 64]}, ["y"], {"w": weight}))
    (constant,) = model.graph.constants()
    assert constant.constant is not None
    assert constant.constant.strides == (0, 0)
    assert np.array_equal(constant.constant, weight)
    weight[3, 4] = np.nextafter(np.float32(0.5), np.float32(1))
    model = imported(model_of([node("Add", ["x", "w"], ["y"])], {"x": [64, 64]}, ["y"], {"w": weight}))
    (constant,) = model.graph.constants()
    assert constant.constant is not None
    assert np.array_equal(constant.constant, weight)


def test_names_of_nodes_are_unique_and_the_files_are_kept() -> None:
    nodes = [node("Relu", ["x"], ["a"], name="n"), node("Relu", ["a"], ["b"], name="n"), node("Relu", ["b"], ["y"])]
    model = imported(model_of(nodes, {"x": [2]}, ["y"]))
    names = [n.name for n in model.graph.nodes]
    assert len(set(names)) == 3
    facts = details_of(model.details).nodes
    assert [facts[name].stored_name if name in facts else name for name in names] == ["n", "n", ""]


def test_what_nothing_reads_is_counted() -> None:
    model = imported(model_of([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], {"w": np.zeros(5, np.float32)}))
    assert details_of(model.details).unused == {"w": 20}
