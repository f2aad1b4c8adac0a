"""QuantizeLinear, DequantizeLinear, Dropout; what is refused of quantized models."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from arenite.interp.interpreter import Interpreter
from arenite.ops import core_registry
from passes.legalize.moves import graph_of
from passes.legalize.spatial import node, numbers, one, refusal, run
from passes.legalize.support import model_of

RNG = np.random.default_rng(6)
STEPS: dict[str, Any] = {"s": np.float32(0.1), "z": np.int8(3)}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_there_and_back(dtype: Any) -> None:
    """Scales go along through what only moves."""
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("Transpose", "q", "t"),
        node("Reshape", "t shape", "r"),
        node("DequantizeLinear", "r s z"),
    ]
    constants: dict[str, Any] = {"s": np.float32(0.1), "z": dtype(3), "shape": np.array([2, 4])}
    ops = run(model_of(nodes, {"x": (np.float32, [2, 4])}, ["y"], constants))
    assert ops == ["quantize", "transpose", "reshape", "dequantize"]


def test_stored_numbers_are_given_as_they_are() -> None:
    assert run(one(node("QuantizeLinear", "x s z"), [3, 5], STEPS)) == ["quantize"]


def test_halves_are_rounded_away_from_zero() -> None:
    """The one difference: ONNX rounds them to even."""
    graph = graph_of(one(node("QuantizeLinear", "x s"), [4], {"s": np.float32(1)}))
    assert [op.op for op in graph.nodes] == ["quantize"]
    x = np.array([0.5, 1.5, 2.5, 2.4], np.float32)
    assert _interpreted(graph, x).tolist() == [1, 2, 3, 2]


def _interpreted(graph: Any, x: Any) -> Any:
    return np.asarray(Interpreter(graph, core_registry()).run([x])[0])


def test_other_steps_than_those_that_it_was_quantized_by() -> None:
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q other z")]
    model = model_of(nodes, {"x": (np.float32, [2, 4])}, ["y"], STEPS | {"other": np.float32(0.25)})
    assert run(model) == ["quantize", "cast", "sub", "mul"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_dequantized_channels_of_an_input(dtype: Any) -> None:
    constants = {"s": np.array([0.1, 0.2, 0.5], np.float32), "z": np.zeros(3, dtype)}
    assert run(one(node("DequantizeLinear", "x s z", axis=-2), [2, 3, 4], constants, dtype=dtype)) == ["cast", "mul"]


def test_comparisons_read_stored_numbers() -> None:
    """In the core dialect, comparing heeds scales."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node("Equal", "q k")]
    constants: dict[str, Any] = {"s": np.float32(0.001), "z": np.uint8(128), "k": np.uint8(130)}
    model = model_of(nodes, {"x": (np.float32, [6])}, ["y"], constants, opset=19)
    run(model, feeds={"x": np.array([0.0, 0.001, 0.002, 0.003, 0.0024, 1], np.float32)})


@pytest.mark.parametrize("axis", [0, None])
def test_weights_become_floats(axis: int | None) -> None:
    """Per channel, too; so do biases."""
    count = 4 if axis is not None else 1
    scales = RNG.uniform(0.01, 0.1, count).astype(np.float32)
    constants: dict[str, Any] = {
        "w": RNG.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8),
        "b": RNG.integers(-999, 999, 4).astype(np.int32),
        "s": scales if axis is not None else scales[0],
    }
    attrs = {} if axis is None else {"axis": axis}
    nodes = [node("DequantizeLinear", f"{each} s", f"{each}d", **attrs) for each in ("w", "b")]
    model = model_of([*nodes, node("Conv", "x wd bd")], {"x": (np.float32, [1, 3, 5, 5])}, ["y"], constants)
    assert run(model) == ["conv2d"]


def test_what_is_dequantized_may_be_an_output() -> None:
    nodes = [node("DequantizeLinear", "w s", "y"), node("Add", "x y", "z")]
    constants: dict[str, Any] = {"w": np.arange(6, dtype=np.uint8), "s": np.float32(0.5)}
    run(model_of(nodes, {"x": (np.float32, [6])}, ["z", "y"], constants))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"s": numbers(4) ** 2, "z": np.zeros(4, np.int8)}, "the scale must be one number, but has 4"),
        ({"s": np.float32(0)}, "the scale must be positive and finite"),
        ({"z": np.zeros(1, np.int8)}, "scale and zero point must have one shape, but have [] and [1]"),
    ],
)
def test_quantize_is_refused(changed: dict[str, Any], message: str) -> None:
    assert refusal(one(node("QuantizeLinear", "x s z", axis=1), [3, 4], STEPS | changed)) == message


def test_blocks_are_refused() -> None:
    constants = {"s": np.ones((2, 2), np.float32)}
    of = node("DequantizeLinear", "x s", axis=1, block_size=2)
    message = refusal(one(of, [2, 4], constants, opset=21, dtype=np.int8))
    assert message == "block_size must be 0: scales for blocks have no counterpart"


def test_quantized_operators_are_refused() -> None:
    inputs = {"x": (np.uint8, [2, 3]), "w": (np.uint8, [3, 2])}
    message = refusal(model_of([node("MatMulInteger", "x w")], inputs, ["y"]))
    assert message == (
        "the model is quantized: its integers follow other rules than a .tflite's; convert the float model that it was "
        "made of, and quantize the result"
    )


@pytest.mark.parametrize("opset", [7, 10, 12, 13, 22])
def test_dropout(opset: int) -> None:
    attrs = {"ratio": 0.5} if opset < 12 else {}
    constants = {} if opset < 12 else {"r": np.float32(0.5)}
    of = node("Dropout", "x" if opset < 12 else "x r", "d", **attrs)
    assert run(model_of([of, node("Relu", "d")], {"x": (np.float32, [2, 3])}, ["y"], constants, opset=opset)) == [
        "relu"
    ]


def test_dropout_that_drops() -> None:
    of = node("Dropout", "x r t")
    constants: dict[str, Any] = {"r": np.float32(0.5), "t": np.array(True)}
    assert refusal(one(of, [2, 3], constants)) == "training_mode must be false, but is true"
    with_mask = helper.make_node("Dropout", ["x"], ["y", "mask"])
    model = model_of([with_mask], {"x": (np.float32, [2, 3])}, ["y", "mask"])
    assert refusal(model) == "its result 'mask' is read, which has no counterpart"
