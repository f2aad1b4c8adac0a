"""Damaged and hostile files are refused with a sentence that says where; nothing is read outside the model's folder."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from arenite._base.errors import AreniteError, DataError, ModelError
from arenite.formats.onnx import export_model, import_model
from formats.onnx.support import imported, model_of
from formats.onnx.test_importer import conditional

node = helper.make_node


def refusal(model: ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        imported(model)
    return str(caught.value)


def with_tensor(**fields: Any) -> ModelProto:
    model = model_of([node("Add", ["x", "k"], ["y"], name="add")], {"x": [2, 3]}, ["y"])
    model.graph.initializer.append(TensorProto(name="k", **fields))
    return model


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data_type": 1, "dims": [2, 3], "raw_data": b"1234567"}, "'k': it has 7 bytes, needs 24"),
        ({"data_type": 1, "dims": [2, 3], "raw_data": bytes(28)}, "has 28 bytes, needs 24"),
        ({"data_type": 1, "dims": [2, 3], "float_data": [1.0]}, "float_data has 1 values, needs 6"),
        ({"data_type": 22, "dims": [3], "raw_data": b"1"}, "has 1 bytes, needs 2"),
        ({"data_type": 1, "dims": [-1], "raw_data": b""}, "a dimension is -1"),
        ({"data_type": 1, "dims": [2**50], "raw_data": b""}, "a dimension is 1125899906842624"),
        ({"data_type": 1, "dims": [2**30, 2**30], "raw_data": b""}, "larger than any tensor can be"),
        ({"data_type": 99, "dims": [1], "raw_data": b"1"}, "element type is 99"),
        ({"data_type": 8, "dims": [2], "string_data": [b"a"]}, "1 strings, needs 2"),
        ({"data_type": 8, "dims": [1], "raw_data": b"a"}, "string_data"),
        ({"data_type": 1, "dims": [1], "data_location": 1}, "load the model by its path"),
    ],
)
def test_tensors(fields: dict[str, Any], expected: str) -> None:
    message = refusal(with_tensor(**fields))
    assert expected in message
    assert "initialiser 'k'" in message


def test_names_of_attributes_must_be_text() -> None:
    model = model_of([node("Gemm", ["x", "x"], ["y"], name="g", alpha=2.0, gamma=3.0)], {"x": [2, 2]}, ["y"])
    data = model.SerializeToString().replace(b"gamma", b"g\xffmma")
    with pytest.raises(ModelError, match=r"node 'g' \(Gemm\): an attribute's name is not UTF-8 text"):
        import_model(data, "m")


def test_all_damaged_tensors_are_named_at_once() -> None:
    model = with_tensor(data_type=1, dims=[2], raw_data=b"")
    model.graph.initializer.append(TensorProto(name="other", data_type=1, dims=[2], raw_data=b""))
    message = refusal(model)
    assert "'k'" in message
    assert "'other'" in message


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"], name="r")], "cycle"),
        ([node("Add", ["a", "x"], ["a"], name="self")], "cycle"),
        ([node("Add", ["x", "nowhere"], ["a"], name="n")], "node 'n' (Add) reads 'nowhere'"),
        ([node("Relu", ["x"], ["a"], name="p"), node("Neg", ["x"], ["a"], name="q")], "node 'q' (Neg) computes 'a'"),
        ([node("Relu", ["x"], ["x"], name="p")], "computes 'x', and so does an input"),
        ([node("Relu", ["x"], ["other"])], "output 'a' is computed by no node"),
        ([node("Constant", [], ["a"], name="c")], "node 'c' (Constant)"),
        ([node("Constant", [], ["a"], name="c", value=3)], "'value'"),
    ],
)
def test_graphs(nodes: list[NodeProto], expected: str) -> None:
    assert expected in refusal(model_of(nodes, {"x": [2]}, ["a"]))


def test_a_cycle_through_a_nested_graph() -> None:
    branch = helper.make_graph(
        [node("Neg", ["late"], ["r"])], "b", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, [None])]
    )
    nodes = [
        node("If", ["cond"], ["a"], name="if", then_branch=branch, else_branch=branch),
        node("Relu", ["a"], ["late"], name="after"),
    ]
    model = model_of(nodes, {"x": [2]}, ["a"], {"cond": np.array(True)})
    message = refusal(model)
    assert "cycle" in message
    assert "'if'" in message
    assert "'after'" in message


def test_a_long_cycle_is_found_at_once() -> None:
    count = 20_000
    nodes = [node("Relu", [f"v{(i - 1) % count}"], [f"v{i}"]) for i in range(count)]
    model = model_of(nodes, {"x": [2]}, ["v0"]).SerializeToString()
    start = time.process_time()
    with pytest.raises(ModelError, match="cycle"):
        import_model(model, "m")
    assert time.process_time() - start < 3


def test_a_long_chain_backwards_is_put_in_order() -> None:
    count = 20_000
    nodes = [node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in reversed(range(count))]
    model = imported(model_of(nodes, {"v0": [2]}, [f"v{count}"]))
    assert next(model.graph.nodes).result.name == "v1"
    assert len(model.graph) == count


def nested(depth: int) -> ModelProto:
    nodes = [node("Identity", ["x"], ["y"])]
    for level in range(depth):
        graph = helper.make_graph(
            nodes, f"g{level}", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])]
        )
        nodes = [node("If", ["c"], ["y"], then_branch=graph, else_branch=graph if level == 0 else branch_of_one())]
    return model_of(nodes, {"x": [2]}, ["y"], {"c": np.array(True)})


def branch_of_one() -> Any:
    return helper.make_graph(
        [node("Identity", ["x"], ["y"])], "e", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])]
    )


def test_nesting_is_bounded() -> None:
    assert len(imported(nested(20)).graph) == 1
    with pytest.raises(ModelError, match=r"nest deeper|damaged"):
        imported(nested(30))


def test_functions_that_call_themselves() -> None:
    model = model_of([node("F", ["x"], ["y"], domain="d")], {"x": [2]}, ["y"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    for name, callee in (("F", "G"), ("G", "F")):
        body = [node(callee, ["a"], ["b"], domain="d")]
        model.functions.append(helper.make_function("d", name, ["a"], ["b"], body, opsets))
    assert "cycle" in refusal(model)


def test_functions_that_call_themselves_in_a_branch() -> None:
    model = model_of([node("F", ["x"], ["y"], domain="d")], {"x": [2]}, ["y"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    branch = helper.make_graph(
        [node("F", ["a"], ["r"], domain="d")], "b", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, [None])]
    )
    body = [node("If", ["a"], ["b"], then_branch=branch, else_branch=branch)]
    model.functions.append(helper.make_function("d", "F", ["a"], ["b"], body, opsets))
    assert "cycle" in refusal(model)


@pytest.mark.parametrize("text", [b"gamma", b"input0", b"output0", b"slope", b"Celu"])
def test_texts_of_functions_must_be_text(text: bytes) -> None:
    model = model_of([node("F", ["x"], ["y"], domain="d", gamma=2.0)], {"x": [2, 2]}, ["y"])
    body = [node("Celu", ["input0"], ["output0"], alpha=2.0)]
    body[0].attribute[0].ref_attr_name = "slope"
    opsets = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("d", "F", ["input0"], ["output0"], body, opsets, ["slope", "gamma"]))
    data = model.SerializeToString().replace(text, b"\xff" + text[1:])
    with pytest.raises(ModelError, match="is not UTF-8 text"):
        import_model(data, "m")


def test_names() -> None:
    model = model_of([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]))
    assert "two inputs are called 'x'" in refusal(model)
    model = model_of([node("Add", ["x", "k"], ["y"])], {"x": [2]}, ["y"], {"k": np.ones(2, np.float32)})
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(2, np.float32), "k"))
    assert "two initialisers are called 'k'" in refusal(model)


def test_an_opset_is_needed() -> None:
    model = model_of([node("Relu", ["x"], ["y"], name="r")], {"x": [2]}, ["y"])
    del model.opset_import[:]
    assert "'r'" in refusal(model)


@pytest.mark.parametrize("data", [b"", b"not a model", bytes(range(256)) * 20, b"\x08\x08"])
def test_other_files(data: bytes) -> None:
    with pytest.raises(ModelError, match="no ONNX file"):
        import_model(data, "m")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        import_model(tmp_path / "none.onnx", "m")


# Data beside the file


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("../secret.bin", "not a path inside"),
        ("/etc/passwd", "not a path inside"),
        ("sub/../../secret.bin", "not a path inside"),
        ("C:\\secret.bin", "not a path inside"),
        ("..\\secret.bin", "not a path inside"),
        ("", "not a path inside"),
        ("a\0b", "not a path inside"),
        ("link.bin", "leads out of"),
        ("folder/secret.bin", "leads out of"),
        (".", "not a path inside"),
        ("none.bin", "not beside"),
    ],
)
def test_locations(tmp_path: Path, location: str, expected: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "folder").symlink_to(tmp_path)
    with pytest.raises(ModelError, match=expected):
        import_model(external(folder, location=location), "m")


def external(folder: Path, **keys: str) -> Path:
    model = with_tensor(data_type=1, dims=[2, 3], data_location=1)
    for key, value in keys.items():
        model.graph.initializer[0].external_data.add(key=key, value=value)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"length": "20"}, "it has 20 bytes in 'w.bin', needs 24"),
        ({"offset": "10"}, r"its bytes \[10, 34\) are not in 'w.bin', which has 24"),
        ({"offset": "-1"}, "its offset is '-1'"),
        ({"offset": "9" * 30}, "its offset is"),
        ({"length": "x"}, "its length is 'x'"),
    ],
)
def test_offsets_and_lengths(tmp_path: Path, keys: dict[str, str], expected: str) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(24))
    with pytest.raises(ModelError, match=expected):
        import_model(external(tmp_path, location="w.bin", **keys), "m")


def test_a_pipe_is_no_data_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(ModelError, match="not beside"):
        import_model(external(tmp_path, location="w.bin"), "m")


# Whatever the bytes are

SEEDS = [
    conditional().SerializeToString(),
    model_of(
        [node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["y"])],
        {"x": ["N", 1, 4, 4]},
        ["y"],
        {"w": np.ones((1, 1, 3, 3), np.float32)},
    ).SerializeToString(),
]


@given(st.data())
def test_any_change_of_bytes_is_read_or_refused(data: st.DataObject) -> None:
    changed = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        if not changed:
            return
    try:
        model = import_model(bytes(changed), "m")
    except AreniteError:
        return
    once = export_model(model)
    assert export_model(import_model(once, "m")) == once
