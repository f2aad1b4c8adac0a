"""Layouts: whole networks become channel-last, and nothing is transposed that need not be."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from passes.legalize.support import agree, legalized, model_of

RNG = np.random.default_rng(3)


def _net(last: str = "GlobalAveragePool") -> list[onnx.NodeProto]:
    return [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "d"], ["e"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["e", "k"], ["f"]),
        helper.make_node(last, ["f"], ["y"]),
    ]


CONSTANTS = {
    "w": RNG.normal(0, 1, (4, 3, 3, 3)).astype(np.float32),
    "b": RNG.normal(0, 1, 4).astype(np.float32),
    "d": RNG.normal(0, 1, (4, 1, 3, 3)).astype(np.float32),
    "k": RNG.normal(0, 1, (1, 4, 1, 1)).astype(np.float32),
}


def test_a_plain_network_has_no_transpose(tmp_path: Path) -> None:
    model = model_of(_net(), {"x": (np.float32, [1, 3, 8, 12])}, ["y"], CONSTANTS)
    assert agree(model, tmp_path) == ["conv2d", "relu", "depthwise_conv2d", "add", "mean"]


@pytest.mark.parametrize(("keep", "transposes"), [((), 0), (("x",), 1), (("y",), 1), (("x", "y"), 2)])
def test_inputs_and_outputs_keep_their_layout_when_asked(
    tmp_path: Path, keep: tuple[str, ...], transposes: int
) -> None:
    model = model_of(_net("Sigmoid"), {"x": (np.float32, [1, 3, 8, 12])}, ["y"], CONSTANTS)
    ops = agree(model, tmp_path, keep=keep)
    assert ops.count("transpose") == transposes
    placed = legalized(model, tmp_path, keep=keep)
    assert placed.inputs[0].is_as_in_onnx == ("x" in keep)
    assert placed.outputs[0].is_as_in_onnx == ("y" in keep)


def test_what_is_given_as_it_comes_and_what_is_given_twice(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Transpose", ["r"], ["t"])]
    model = model_of(nodes, {"x": (np.float32, [2, 3])}, ["x", "r", "t", "r"])
    assert agree(model, tmp_path) == ["relu", "transpose"]


def test_halves_of_a_channel_shuffle_stay_channels_last(tmp_path: Path) -> None:
    """The first half goes on as it is and is asked for in no order; the second is convolved."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Reshape", ["c", "split"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["t", "joined"], ["s"]),
        helper.make_node("Split", ["s"], ["one", "two"], axis=1),
        helper.make_node("Conv", ["two", "d"], ["e"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["one", "e"], ["y"], axis=1),
    ]
    constants = {
        "w": RNG.normal(0, 1, (8, 3, 1, 1)).astype(np.float32),
        "d": CONSTANTS["d"],
        "split": np.array([1, 2, 4, 6, 5]),
        "joined": np.array([1, 8, 6, 5]),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 3, 6, 5])}, ["y"], constants)
    shuffle = ["reshape", "transpose", "reshape"]
    assert agree(model, tmp_path) == ["conv2d", *shuffle, "split", "depthwise_conv2d", "concatenation"]


def test_what_is_transposed_for_a_softmax_over_rows_goes_out_as_it_is(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Softmax", ["c"], ["s"], axis=3),
        helper.make_node("MatMul", ["s", "m"], ["y"]),
    ]
    constants = {"w": CONSTANTS["w"], "m": RNG.normal(0, 1, (4, 2)).astype(np.float32)}
    model = model_of(nodes, {"x": (np.float32, [1, 3, 5, 6])}, ["y", "s"], constants)
    assert agree(model, tmp_path).count("transpose") == 1
