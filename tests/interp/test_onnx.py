"""Graphs of the onnx dialect, run: control flow, defaults, real models against onnxruntime."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper

from arenite._base.errors import DataError, ModelError
from arenite.formats.onnx import OnnxDetails, import_model, model_registry
from arenite.interp import interpreter_for
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.model import Model
from formats.onnx.support import imported, model_of
from formats.onnx.test_importer import conditional

node = helper.make_node
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def runner(model: Model) -> OnnxInterpreter:
    assert isinstance(model.details, OnnxDetails)
    return OnnxInterpreter(model.graph, model_registry(model), model.details.defaults)


def runtime(data: bytes, feeds: dict[str, Any]) -> list[Any]:
    module = pytest.importorskip("onnxruntime", reason="the oracle is onnxruntime")
    options = module.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(module.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feeds))


def agree(proto: ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """Our outputs, after comparing them with onnxruntime's."""
    found = runner(imported(proto)).run(feeds)
    for one, other in zip(found, runtime(proto.SerializeToString(), feeds), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.allclose(one, other, 1e-6, 1e-6)
    return found


def infos(*items: tuple[str, int, list[Any] | None]) -> list[Any]:
    return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in items]


def test_if_takes_one_branch() -> None:
    x = np.array([-1.0, 2.0], np.float32)
    proto = conditional()
    assert runner(imported(proto)).run({"x": x})[0].tolist() == [0, 2]
    proto.graph.node[2].attribute[0].t.raw_data = b"\0"
    found = runner(imported(proto)).run({"x": x})[0]
    assert np.allclose(found, np.maximum(x, 0) + np.exp(x))


def accumulating(condition: str = "going") -> GraphProto:
    """Adds the iteration's number and a captured value to what is carried; gives each step too."""
    nodes = [
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Add", ["sum", "f"], ["a"]),
        node("Add", ["a", "outer"], ["next"]),
        node("Identity", ["next"], ["step"]),
        node("ReduceMax", ["next"], ["top"], keepdims=0),
        node("Less", ["top", "limit"], ["small"]),
        node("Identity", [condition], ["on"]),
    ]
    inputs = infos(("i", INT64, []), ("going", BOOL, []), ("sum", FLOAT, [2]))
    return helper.make_graph(nodes, "body", inputs, infos(("on", BOOL, []), ("next", FLOAT, [2]), ("step", FLOAT, [2])))


def looping(trips: Any, condition: str = "going") -> ModelProto:
    nodes = [
        node("Relu", ["x"], ["outer"]),
        node("Loop", ["" if trips is None else "m", "start", "x"], ["end", "steps"], body=accumulating(condition)),
    ]
    constants = {"limit": np.array(20, np.float32), "start": np.array(True)}
    if trips is not None:
        constants["m"] = np.array(trips, np.int64)
    proto = model_of(nodes, {"x": [2]}, [], constants)
    proto.graph.output.extend(infos(("end", FLOAT, [2]), ("steps", FLOAT, [None, 2])))
    return proto


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_loops_of_so_many_trips(trips: int) -> None:
    _, steps = agree(looping(trips), {"x": np.array([1.0, -2.0], np.float32)})
    assert steps.shape == (trips, 2)


@pytest.mark.parametrize("trips", [None, 100])
def test_loops_until_a_condition(trips: int | None) -> None:
    _, steps = agree(looping(trips, "small"), {"x": np.array([1.0, -2.0], np.float32)})
    assert 1 < len(steps) < 20


@pytest.mark.parametrize("directions", [(0, 0), (1, 0), (0, 1)])
def test_scan(directions: tuple[int, int]) -> None:
    body_nodes = [node("Add", ["s", "row"], ["t"]), node("Mul", ["t", "k"], ["out"])]
    body = helper.make_graph(
        body_nodes, "b", infos(("s", FLOAT, [3]), ("row", FLOAT, [3])), infos(("t", FLOAT, [3]), ("out", FLOAT, [3]))
    )
    scan = node(
        "Scan",
        ["s0", "x"],
        ["last", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
        scan_input_directions=[directions[0]],
        scan_output_directions=[directions[1]],
    )
    proto = model_of([scan], {"s0": [3], "x": [3, 4]}, [], {"k": np.array(2, np.float32)})
    proto.graph.output.extend(infos(("last", FLOAT, [3]), ("all", FLOAT, [3, 4])))
    agree(proto, {"s0": np.ones(3, np.float32), "x": np.arange(12, dtype=np.float32).reshape(3, 4)})


def test_functions_of_the_model() -> None:
    proto = model_of([node("Twice", ["x"], ["y"], domain="d")], {"x": [2]}, ["y"])
    proto.opset_import.append(helper.make_opsetid("d", 1))
    body, opsets = [node("Add", ["p", "p"], ["q"])], [helper.make_opsetid("", 17)]
    proto.functions.append(helper.make_function("d", "Twice", ["p"], ["q"], body, opsets))
    assert agree(proto, {"x": np.array([1, 2], np.float32)})[0].tolist() == [2, 4]


def test_inputs_with_defaults_may_be_left_out() -> None:
    proto = model_of([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"], {"w": np.ones(2, np.float32)})
    run = runner(imported(proto)).run
    assert run({"x": np.zeros(2, np.float32)})[0].tolist() == [1, 1]
    assert run({"x": np.zeros(2, np.float32), "w": np.full(2, 5, np.float32)})[0].tolist() == [5, 5]


def test_traces_name_values() -> None:
    proto = model_of([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])], {"x": [2]}, ["y"])
    model = imported(proto)
    trace = interpreter_for(model.graph, model_registry(model)).trace({"x": np.array([-1, 2], np.float32)})
    assert {name: value.tolist() for name, value in trace.values.items()} == {"x": [-1, 2], "a": [0, 2], "y": [0, -2]}


def test_symbolic_dimensions_must_agree() -> None:
    run = runner(imported(model_of([node("Add", ["a", "b"], ["y"])], {"a": ["N"], "b": ["N"]}, ["y"]))).run
    assert len(run([np.ones(3, np.float32), np.ones(3, np.float32)])[0]) == 3
    with pytest.raises(DataError, match="'b'"):
        run([np.ones(3, np.float32), np.ones(1, np.float32)])
    with pytest.raises(DataError, match=r"'b'.*missing"):
        run({"a": np.ones(3, np.float32)})


def test_all_unknown_operators_are_named_at_once() -> None:
    nodes = [node("OpA", ["x"], ["a"], domain="q"), node("Relu", ["a"], ["b"]), node("OpB", ["b"], ["y"], domain="q")]
    with pytest.raises(ModelError) as caught:
        runner(imported(model_of(nodes, {"x": [2]}, ["y"])))
    assert "OpA" in str(caught.value)
    assert "OpB" in str(caught.value)


def test_a_node_that_cannot_be_computed_is_named() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], name="conv_bad")]
    model = imported(model_of(nodes, {"x": [1, 3, 5, 5]}, ["y"], {"w": np.ones((2, 4, 3, 3), np.float32)}))
    with pytest.raises(ModelError, match=r"'conv_bad'.*X has 3 channels.*wants 4"):
        runner(model).run([np.ones((1, 3, 5, 5), np.float32)])


def test_a_loop_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.interp.onnx.MAX_TRIPS", 50)
    with pytest.raises(ModelError, match="more than 50 times"):
        runner(imported(looping(None))).run({"x": np.zeros(2, np.float32)})


def test_loops_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.interp.onnx.MAX_TRIPS", 11)
    ran = runner(imported(looping(5)))
    for _ in range(3):
        ran.run({"x": np.zeros(2, np.float32)})
    model = looping(3)
    inner = model.graph.node.pop()
    nodes = [inner, node("Identity", ["again"], ["on"])]
    body = helper.make_graph(nodes, "outer", infos(("j", INT64, []), ("again", BOOL, [])), infos(("on", BOOL, [])))
    model.graph.node.append(node("Loop", ["m", ""], [], body=body))
    del model.graph.output[:]
    model.graph.output.extend(infos(("outer", FLOAT, [2])))
    with pytest.raises(ModelError, match="more than 11 times"):
        runner(imported(model)).run({"x": np.zeros(2, np.float32)})


def test_what_loops_stack_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.interp.onnx.MAX_STACKED_NBYTES", 1000)
    with pytest.raises(ModelError, match=r"8 iterations give more than 1,000 bytes"):
        runner(imported(looping(50))).run({"x": np.zeros(2, np.float32)})


def test_an_output_that_repeats_without_end_is_refused() -> None:
    nodes = [node("Expand", ["x", "wide"], ["y"])]
    model = imported(model_of(nodes, {"x": [1]}, ["y"], {"wide": np.array([2**40], np.int64)}))
    with pytest.raises(ModelError, match=r"output 'y' is float32\[1099511627776\]: 4,398,046,511,104 bytes"):
        runner(model).run([np.ones(1, np.float32)])


# Real models

SHARED = Path(__file__).resolve().parents[3] / "shared"
PATHS = sorted((*SHARED.glob("models/onnx/*.onnx"), *SHARED.glob("models/exported/*.onnx")))

# What is compared is max|difference| / max|reference|. Floats are summed in another order than onnxruntime does.
TOLERANCE = 2e-5
ROUNDED = {
    "bilstm_tashkeel_int8": 0.05,  # activations are rounded to 8 bits at run time: a last bit becomes a whole step
    "slovorez": 0.003,  # float16: a step is 2**-11
}
NOT_RUN = {"finn_residual_testcase"}  # operators of FINN, which nothing here has


def _runs() -> list[Any]:
    """Each model with the inputs that its hints say, and in its other shape where they say one."""
    path = SHARED / "models" / "inputs.json"
    hints = json.loads(path.read_text()) if path.exists() else {}
    runs = [pytest.param(path, False, id=path.stem) for path in PATHS if path.stem not in NOT_RUN]
    other = [path for path in PATHS if any("shape2" in hint for hint in hints.get(path.name, {}).values())]
    return runs + [pytest.param(path, True, id=f"{path.stem}-other-shape") for path in other]


@pytest.mark.shared
@pytest.mark.parametrize(("path", "second"), _runs())
def test_real_models_against_onnxruntime(path: Path, second: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SHARED / "check"))
    import common  # type: ignore[import-not-found, unused-ignore]

    hints = json.loads((SHARED / "models" / "inputs.json").read_text()).get(path.name, {})
    feeds = common.onnx_inputs(path.name, onnx.load(path), hints, 0, second)
    found = runner(import_model(path, path.stem)).run(feeds)
    for one, other in zip(found, runtime(path.read_bytes(), feeds), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        a, b = one.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(b)
        assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
        if finite.any():
            scale = max(float(np.abs(b[finite]).max()), 1e-9)
            assert np.abs(a[finite] - b[finite]).max() / scale <= ROUNDED.get(path.stem, TOLERANCE)
    sys.modules.pop("common", None)
