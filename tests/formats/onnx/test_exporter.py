"""What an .onnx file says comes out again."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import convert_model_to_external_data

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError
from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.mapped import mapping_of
from arenite.ir.model import Model
from arenite.ir.parser import parse_graph
from arenite.ir.printer import print_graph
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from formats.onnx.support import differences, imported, model_of
from formats.onnx.test_importer import conditional

node = helper.make_node


def exported(model: Model) -> ModelProto:
    return onnx.load_from_string(export_model(model))


def test_everything_besides_the_graph_is_written_back() -> None:
    proto = model_of(
        [node("Relu", ["x"], ["a"], doc_string="why"), node("Neg", ["a"], ["y"])], {"x": ["N", None]}, ["y"]
    )
    proto.producer_name, proto.domain, proto.model_version, proto.doc_string = "me", "d", 3, "about"
    helper.set_model_props(proto, {"key": "value"})
    proto.graph.doc_string = "the graph"
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    proto.graph.input[0].doc_string = "the input"
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", 4]))
    annotation = proto.graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    function = helper.make_function(
        "f.d", "F", ["p"], ["q"], [node("Relu", ["p"], ["q"])], [helper.make_opsetid("", 17)]
    )
    proto.functions.append(function)
    proto.training_info.add()
    assert differences(proto, exported(imported(proto))) == ""


def test_the_same_model_gives_the_same_bytes() -> None:
    data = conditional().SerializeToString()
    assert export_model(import_model(data, "a")) == export_model(import_model(data, "b"))
    assert export_model(import_model(export_model(import_model(data, "a")), "a")) == export_model(
        import_model(data, "a")
    )


@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_initialisers_among_the_inputs(ir_version: int) -> None:
    proto = model_of(
        [node("Add", ["x", "w"], ["a"]), node("Add", ["a", "z"], ["y"])],
        {"w": [2], "x": [2], "z": [2]},
        ["y"],
        {"w": np.ones(2, np.float32), "z": np.zeros(2, np.float32)},
        ir_version=ir_version,
        opset=9,
    )
    back = exported(imported(proto))
    assert [info.name for info in back.graph.input] == ["w", "x", "z"]
    assert {tensor.name for tensor in back.graph.initializer} == {"w", "z"}
    onnx.checker.check_model(back)


def test_a_domain_without_an_opset_gets_version_1() -> None:
    back = exported(imported(model_of([node("Op", ["x"], ["y"], domain="a.b")], {"x": [2]}, ["y"])))
    assert {opset.domain: opset.version for opset in back.opset_import} == {"": 17, "a.b": 1}


def test_a_hidden_name_does_not_change_what_is_computed() -> None:
    proto = conditional()
    back = exported(imported(proto))
    onnx.checker.check_model(back)
    x = np.array([-1.0, 2.0], np.float32)
    from onnx.reference import ReferenceEvaluator

    one, other = (np.asarray(next(iter(ReferenceEvaluator(model).run(None, {"x": x})))) for model in (proto, back))
    assert np.array_equal(one, other)


def test_sparse_initialisers() -> None:
    proto = model_of([node("Add", ["x", "w"], ["y"])], {"x": [10]}, ["y"])
    values = numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 9], np.int64))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [10]))
    assert differences(proto, exported(imported(proto))) == ""


def test_a_nested_graph_that_gives_an_outer_value_gives_a_copy() -> None:
    model = imported(conditional())
    relu = next(model.graph.nodes)
    conditional_node = list(model.graph.nodes)[-1]
    assert isinstance(conditional_node.attrs, OnnxAttrs)
    region = conditional_node.regions[conditional_node.attrs.region("else_branch")]
    region.outputs = [relu.result]
    back = exported(model)
    (inner,) = (a.g for a in back.graph.node[-1].attribute if a.name == "else_branch")
    assert inner.node[-1].op_type == "Identity"
    assert inner.node[-1].output[0] == inner.output[0].name
    onnx.checker.check_model(back)


def test_names_that_a_pass_took_twice_are_told_apart() -> None:
    model = imported(conditional())
    conditional_node = list(model.graph.nodes)[-1]
    relu = next(model.graph.nodes)
    assert isinstance(conditional_node.attrs, OnnxAttrs)
    inner = next(conditional_node.regions[conditional_node.attrs.region("then_branch")].nodes)
    inner.result.name = relu.result.name
    back = exported(model)
    (then,) = (a.g for a in back.graph.node[-1].attribute if a.name == "then_branch")
    assert list(then.node[0].input) == ["a"]
    assert then.node[0].output[0] == then.node[1].input[0] != "a"


def test_text_and_copies_export_alike() -> None:
    model = imported(conditional())
    expected = export_model(model)
    printed = print_graph(model.graph)
    model.graph = parse_graph(printed.text, model_registry(model), printed.constants)
    assert export_model(model) == expected
    model.graph = clone_graph(model.graph)
    assert export_model(model) == expected


def test_a_model_made_from_nothing() -> None:
    builder = GraphBuilder("made")
    x = builder.input("x", TensorType(DType.FLOAT32, ("N", 2)))
    w = builder.constant("w", np.ones(2, np.float32))
    add = builder.node("onnx.Add", [x, w], [TensorType(DType.FLOAT32, ("N", 2))], OnnxAttrs())
    model = Model("made", builder.output(add.result), "onnx", imported(model_of([], {}, [])).details)
    onnx.checker.check_model(exported(model), full_check=True)


def test_only_the_onnx_dialect_is_written() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (2,)))
    relu = builder.node("relu", [x], [x.type], name="r")
    with pytest.raises(ModelError, match=r"'r' \(relu\)"):
        export_model(Model("m", builder.output(relu.result), "onnx"))


def test_a_constant_in_a_removed_nodes_place_is_written_once() -> None:
    model = imported(model_of([node("Relu", ["x"], ["a"]), node("Add", ["a", "a"], ["y"])], {"x": [2]}, ["y"]))
    relu, _ = model.graph.nodes
    rewriter = Rewriter(model.graph)
    rewriter.replace(relu, [rewriter.constant("folded", np.ones(2, np.float32))])
    back = exported(model)
    assert [tensor.name for tensor in back.graph.initializer] == ["folded"]
    assert list(back.graph.node[0].input) == ["folded", "folded"]


# Data beside the file


def external_model(folder: Path) -> Path:
    big, small = np.arange(4000, dtype=np.float32), np.ones(1, np.float32)
    nodes = [node("Add", ["x", "big"], ["a"]), node("Add", ["a", "small"], ["y"])]
    proto = model_of(nodes, {"x": [4000]}, ["y"], {"big": big, "small": small})
    convert_model_to_external_data(proto, location="weights.bin", size_threshold=100)
    onnx.save(proto, folder / "m.onnx")
    return folder / "m.onnx"


def test_external_data_is_mapped_and_written_beside(tmp_path: Path) -> None:
    model = import_model(external_model(tmp_path), "m")
    big = next(value for value in model.graph.constants() if value.name == "big").constant
    assert big is not None
    assert mapping_of(big) is not None
    (tmp_path / "out").mkdir()
    export_model(model, tmp_path / "out" / "o.onnx")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"o.onnx", "o.onnx.data"}
    loaded = onnx.load(tmp_path / "out" / "o.onnx")
    onnx.checker.check_model(str(tmp_path / "out" / "o.onnx"))
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded.graph.initializer}
    assert np.array_equal(arrays["big"], np.arange(4000, dtype=np.float32))
    assert arrays["small"].tolist() == [1]


def test_a_model_with_external_data_can_replace_itself(tmp_path: Path) -> None:
    path = external_model(tmp_path)
    export_model(import_model(path, "m"), path)
    again = import_model(path, "m")
    export_model(again, path)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    assert np.array_equal(tensors["big"], np.arange(4000, dtype=np.float32))


def test_bytes_alone_hold_the_data(tmp_path: Path) -> None:
    back = exported(import_model(external_model(tmp_path), "m"))
    assert all(tensor.data_location == TensorProto.DEFAULT for tensor in back.graph.initializer)


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    model = import_model(external_model(tmp_path), "m")
    target = tmp_path / "out"
    target.mkdir()
    (target / "o.onnx").mkdir()
    with pytest.raises(DataError, match=r"o\.onnx"):
        export_model(model, target / "o.onnx")
    assert {path.name for path in target.iterdir()} <= {"o.onnx", "o.onnx.data"}
    assert not list(target.glob(".*"))


@pytest.mark.slow
def test_large_external_data_stays_outside_memory(tmp_path: Path) -> None:
    each, count = 32 << 20, 5
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(each * 4 * count)
    nodes = [node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    proto = model_of(nodes, {"v0": [each]}, [f"v{count}"])
    for i in range(count):
        tensor = proto.graph.initializer.add(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[each], data_location=1)
        for key, value in (("location", "w.bin"), ("offset", str(i * each * 4)), ("length", str(each * 4))):
            tensor.external_data.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    code = (
        "import sys\n"
        "from arenite.formats.onnx import export_model, import_model\n"
        "export_model(import_model(sys.argv[1], 'm'), sys.argv[2])\n"
        # Not ru_maxrss: that counts the process which started this one.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "m.onnx"), str(tmp_path / "o.onnx")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert (tmp_path / "o.onnx.data").stat().st_size == each * 4 * count
    assert int(done.stdout) < 200 * 1024
