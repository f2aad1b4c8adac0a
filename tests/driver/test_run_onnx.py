"""`run` on .onnx files: dynamic shapes, defaults, strings, several invocations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from arenite._base.errors import DataError, ModelError, UsageError
from arenite.driver.inspect import inspect_model
from arenite.driver.run import run_model
from formats.onnx.support import model_of

node = helper.make_node


def run(
    tmp_path: Path, model: Any, feeds: dict[str, Any], engine: Any = "interpreter", **interface: Any
) -> dict[str, Any]:
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "in.npz", **feeds)
    out = tmp_path / "out.npz"
    run_model(
        tmp_path / "m.onnx",
        tmp_path / "in.npz",
        out,
        engine=engine,
        target="cortex-m4",
        compiler=None,
        **interface,
    )
    with np.load(out, allow_pickle=False) as arrays:
        return dict(arrays)


def doubled() -> Any:
    return model_of([node("Add", ["a/b:0", "a/b:0"], ["y out"])], {"a/b:0": ["N", 2]}, ["y out"])


def test_names_and_dynamic_shapes(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert run(tmp_path, doubled(), {"a/b:0": x})["y out"].tolist() == (2 * x).tolist()
    assert run(tmp_path, doubled(), {"arr_0": x.astype(np.float64)})["y out"].dtype == np.float32


def test_one_more_axis_is_invocations_in_a_row(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    assert run(tmp_path, doubled(), {"a/b:0": x})["y out"].shape == (4, 3, 2)
    with pytest.raises(DataError, match=r"'a/b:0'.*shape \[3, 5\]"):
        run(tmp_path, doubled(), {"a/b:0": np.zeros((3, 5), np.float32)})


def test_defaults_may_be_left_out(tmp_path: Path) -> None:
    model = model_of([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"], {"w": np.ones(2, np.float32)})
    assert run(tmp_path, model, {"x": np.zeros(2, np.float32)})["y"].tolist() == [1, 1]
    assert run(tmp_path, model, {"x": np.zeros((3, 2), np.float32)})["y"].tolist() == [[1, 1]] * 3
    feeds = {"x": np.zeros(2, np.float32), "w": np.full(2, 7, np.float32)}
    assert run(tmp_path, model, feeds)["y"].tolist() == [7, 7]


def test_a_static_shape_refuses_others(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    found = run(tmp_path, doubled(), {"a/b:0": x}, input_shapes={"a/b:0": (3, 2)})
    assert found["y out"].tolist() == (2 * x).tolist()
    # What would be one invocation of any size is now two of this one.
    stacked = np.stack([x, x + 1])
    found = run(tmp_path, doubled(), {"a/b:0": stacked}, input_shapes={"a/b:0": (3, 2)})
    assert found["y out"].tolist() == (2 * stacked).tolist()
    with pytest.raises(DataError, match=r"'a/b:0'.*shape \[2, 2\]"):
        run(tmp_path, doubled(), {"a/b:0": x[:2]}, input_shapes={"a/b:0": (3, 2)})
    with pytest.raises(UsageError, match="did you mean a/b:0"):
        run(tmp_path, doubled(), {"a/b:0": x}, input_shapes={"a/b": (3, 2)})


def test_a_pinned_input_is_not_given(tmp_path: Path) -> None:
    model = model_of([node("Sub", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"])
    x = np.zeros(2, np.float32)
    assert run(tmp_path, model, {"x": x}, pins={"w": np.array(3)})["y"].tolist() == [-3, -3]
    assert run(tmp_path, model, {"arr_0": x}, pins={"x": np.array([5, 6])})["y"].tolist() == [5, 6]
    with pytest.raises(DataError, match="'w'"):
        run(tmp_path, model, {"x": x, "w": x}, pins={"w": np.array(3)})


def test_strings_go_in_and_out(tmp_path: Path) -> None:
    model = model_of([node("Identity", ["s"], ["t"])], {}, [])
    model.graph.input.append(helper.make_tensor_value_info("s", TensorProto.STRING, [2]))
    model.graph.output.append(helper.make_tensor_value_info("t", TensorProto.STRING, [2]))
    assert run(tmp_path, model, {"s": np.array(["ab", "é"])})["t"].tolist() == ["ab", "é"]


def test_sequences_are_refused_as_outputs(tmp_path: Path) -> None:
    model = model_of([node("SequenceConstruct", ["x"], ["s"])], {"x": [2]}, [])
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    model.graph.output.append(helper.make_value_info("s", sequence))
    with pytest.raises(DataError, match="'s' is no tensor"):
        run(tmp_path, model, {"x": np.zeros(2, np.float32)})
    assert not (tmp_path / "out.npz").exists()


def test_messages_begin_with_the_file(tmp_path: Path) -> None:
    model = doubled()
    model.graph.node[0].input[0] = "nowhere"
    with pytest.raises(ModelError, match=r"m\.onnx: node .*'nowhere'"):
        run(tmp_path, model, {})


def test_native_and_simulator_need_a_compiled_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is an ONNX model"):
        run(tmp_path, doubled(), {"a/b:0": np.zeros((1, 2), np.float32)}, "native")


def test_inspect(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(doubled().SerializeToString())
    found = inspect_model(tmp_path / "m.onnx")
    (problem,) = found.problems
    assert "is an ONNX model" in problem
    assert found.macs == 0  # an Add has none, whatever its shape
    assert "onnx.Add" in found.to_text(with_ir=True)
