"""Normalizations: exact to what float32 can say, in whatever order the operand lies."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.spatial import computed, litert_agrees, node, numbers, one, refusal, run
from passes.legalize.support import made_up, model_of

SIZES = st.integers(1, 5)


def statistics(channels: int) -> dict[str, Any]:
    return {
        "s": numbers(channels, seed=1),
        "b": numbers(channels, seed=2),
        "m": numbers(channels, seed=3),
        "v": np.abs(numbers(channels, seed=4)),
    }


@given(
    dims=st.lists(SIZES, min_size=2, max_size=5),
    opset=st.sampled_from([7, 9, 14, 15, 22]),
    epsilon=st.sampled_from([None, 1e-3, 0.5]),
)
def test_batch_normalization(dims: list[int], opset: int, epsilon: float | None) -> None:
    attrs: Any = {} if epsilon is None else {"epsilon": epsilon}
    of = node("BatchNormalization", "x s b m v", **attrs)
    assert run(one(of, dims, statistics(dims[1]), opset=opset)) == ["mul", "add"]


def test_a_batch_normalization_that_only_scales() -> None:
    constants = {**statistics(3), "b": np.zeros(3, np.float32), "m": np.zeros(3, np.float32)}
    assert run(one(node("BatchNormalization", "x s b m v"), [1, 3, 4], constants)) == ["mul"]
    idle = {**constants, "s": np.ones(3, np.float32), "v": np.ones(3, np.float32)}
    # An output is never an input itself.
    assert run(one(node("BatchNormalization", "x s b m v", epsilon=0.0), [1, 3, 4], idle)) == ["reshape"]


CORE = ["mean", "squared_difference", "mean", "add", "rsqrt", "sub"]


@given(dims=st.lists(SIZES, min_size=3, max_size=5), opset=st.sampled_from([7, 22]))
def test_instance_normalization(dims: list[int], opset: int) -> None:
    constants = statistics(dims[1])
    ops = run(one(node("InstanceNormalization", "x s b"), dims, constants, opset=opset), tolerance=1e-4)
    assert [op for op in ops if op != "reshape"] == [*CORE, "mul", "mul", "add"]


@given(
    groups=st.integers(1, 3),
    share=st.integers(1, 3),
    spatial=st.lists(SIZES, min_size=1, max_size=2),
    opset=st.sampled_from([18, 21]),
    last=st.booleans(),
)
def test_group_normalization(groups: int, share: int, spatial: list[int], opset: int, last: bool) -> None:
    channels = groups * share
    constants = {
        **statistics(channels if opset == 21 else groups),
        "w": numbers(channels, channels, *[1] * len(spatial)),
    }
    of = node("GroupNormalization", "t s b" if last else "x s b", num_groups=groups)
    # What a convolution gives has its channels last.
    nodes = [node("Conv", "x w", "t"), of] if last else [of]
    model = model_of(nodes, {"x": (np.float32, [2, channels, *spatial])}, ["y"], constants, opset=opset)
    ops = run(model, tolerance=1e-4)
    assert [op for op in ops if op not in ("reshape", "conv2d", "depthwise_conv2d")] == [*CORE, "mul", "mul", "add"]


@pytest.mark.parametrize("outputs", [["y"], ["y", "n"], ["y", "q"]])
def test_groups_as_pytorch_writes_them(outputs: list[str]) -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("Reshape", "c groups", "r"),
        node("InstanceNormalization", "r ones zeros", "n"),
        node("Reshape", "n whole", "q"),
        node("Mul", "q s", "m"),
        node("Add", "m b", "a"),
        node("Conv", "a w"),
    ]
    constants: dict[str, Any] = {
        "w": numbers(4, 4, 1, 1),
        "groups": np.array([0, 2, -1], np.int64),
        "whole": np.array([1, 4, 3, 5], np.int64),
        "ones": np.ones(2, np.float32),
        "zeros": np.zeros(2, np.float32),
        "s": numbers(4, 1, 1),
        "b": numbers(4, 1, 1, seed=6),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 4, 3, 5])}, outputs, constants)
    ops = run(model, tolerance=1e-4)
    if "n" in outputs:
        assert ops.count("transpose") == 2
    else:
        assert ops == ["conv2d", "reshape", *CORE, "mul", "reshape", "mul", "add", "conv2d"]


def test_groups_behind_a_shuffle_are_transposed_once() -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("Reshape", "c apart", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "t whole", "q"),
        node("Reshape", "q groups", "g"),
        node("InstanceNormalization", "g s b", "n"),
        node("Reshape", "n whole", "m"),
        node("Conv", "m w"),
    ]
    constants: dict[str, Any] = {
        "w": numbers(6, 6, 1, 1),
        "apart": np.array([1, 2, 3, 4, 5], np.int64),
        "whole": np.array([1, 6, 4, 5], np.int64),
        "groups": np.array([0, 3, -1], np.int64),
        "s": numbers(3),
        "b": numbers(3, seed=6),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 6, 4, 5])}, ["y"], constants)
    assert run(model, tolerance=1e-4).count("transpose") == 1


@st.composite
def layers(draw: st.DrawFn, operator: str, opset: int) -> onnx.ModelProto:
    dims = draw(st.lists(SIZES, min_size=1, max_size=4))
    axis = draw(st.integers(-len(dims), len(dims) - 1))
    over = dims[axis:]
    constants = {"s": numbers(*over), "b": numbers(*over, seed=2)}
    has_bias = operator == "LayerNormalization" and draw(st.booleans())
    of = node(operator, "t s b" if has_bias else "t s", axis=axis)
    perm = draw(st.permutations(range(len(dims))))
    given_ = [dims[perm.index(at)] for at in range(len(dims))]
    nodes = [node("Transpose", "x", "t", perm=list(perm)), of]
    return model_of(nodes, {"x": (np.float32, given_)}, ["y"], constants, opset=opset)


@given(layers("LayerNormalization", 17))
def test_layer_normalization(model: onnx.ModelProto) -> None:
    ops = run(model, tolerance=1e-4)
    assert [op for op in ops if op not in ("reshape", "transpose")][: len(CORE)] == CORE


@given(layers("RMSNormalization", 23))
def test_rms_normalization(model: onnx.ModelProto) -> None:
    ops = run(model, tolerance=1e-4)
    assert [op for op in ops if op not in ("reshape", "transpose")] == ["mul", "mean", "add", "rsqrt", "mul", "mul"]


def test_a_layer_normalization_gives_its_mean_and_deviation() -> None:
    of = node("LayerNormalization", "x s", "y mean deviation", axis=2)
    ops = run(one(of, [2, 3, 4], {"s": np.ones(4, np.float32)}), tolerance=1e-4)
    assert ops == [*CORE, "mul"]


def test_a_scale_that_is_computed() -> None:
    inputs: dict[str, Any] = {"x": (np.float32, [2, 3, 4]), "s": (np.float32, [3]), "b": (np.float32, [3])}
    model = model_of([node("InstanceNormalization", "x s b")], inputs, ["y"])
    assert [op for op in run(model, tolerance=1e-4) if op != "reshape"] == [*CORE, "mul", "mul", "add"]


@given(
    dims=st.tuples(st.integers(1, 2), st.integers(1, 9), SIZES, SIZES),
    size=st.sampled_from([1, 3, 5, 7]),
    beta=st.sampled_from([0.5, 0.75, 1.0, 0.6]),
    first=st.booleans(),
)
def test_lrn(dims: tuple[int, ...], size: int, beta: float, first: bool) -> None:
    of = node("LRN", "x" if first else "t", size=size, beta=beta, alpha=0.3, bias=1.5)
    nodes = [of] if first else [node("MaxPool", "x", "t", kernel_shape=[1, 1]), of]
    ops = run(model_of(nodes, {"x": (np.float32, dims)}, ["y"]))
    power = {0.5: ["rsqrt", "mul"], 0.75: ["rsqrt", "sqrt", "mul", "mul"], 1.0: ["div"], 0.6: ["pow", "div"]}[beta]
    assert [op for op in ops if op not in ("reshape", "max_pool2d")] == ["mul", "conv2d", *power]


@pytest.mark.parametrize("size", [2, 4, 12])
def test_an_lrn_over_an_even_number_of_channels(size: int) -> None:
    """onnxruntime has none; the standard sums from floor((size - 1) / 2) channels before to ceil(... / 2) behind."""
    model = one(node("LRN", "x", size=size, alpha=0.5), [2, 5, 3, 4])
    x = made_up(model)["x"].astype(np.float64)
    sums = np.zeros_like(x)
    for channel in range(5):
        begin, end = max(0, channel - (size - 1) // 2), min(5, channel + -(-(size - 1) // 2) + 1)
        sums[:, channel] = (x[:, begin:end] ** 2).sum(axis=1)
    expected = x / (1 + 0.5 / size * sums) ** 0.75
    np.testing.assert_allclose(computed(model), expected, rtol=0, atol=1e-6)


def test_between_convolutions_nothing_is_transposed() -> None:
    operators = [
        node("BatchNormalization", "c s b m v", "n"),
        node("InstanceNormalization", "n s b", "i"),
        node("LRN", "i", "l", size=3),
        node("LayerNormalization", "l k", "k1", axis=1),
    ]
    nodes = [node("Conv", "x w", "c"), *operators, node("Conv", "k1 w")]
    constants = {"w": numbers(4, 4, 1, 1), **statistics(4), "k": numbers(4, 3, 5)}
    model = model_of(nodes, {"x": (np.float32, [1, 4, 3, 5])}, ["y"], constants)
    assert "transpose" not in run(model, tolerance=1e-4)


def test_groups_of_a_convolution_are_not_transposed() -> None:
    nodes = [node("Conv", "x w", "c"), node("GroupNormalization", "c s b", num_groups=2)]
    constants = {"w": numbers(4, 4, 1, 1), **statistics(4)}
    model = model_of(nodes, {"x": (np.float32, [1, 4, 3, 5])}, ["y"], constants, opset=21)
    assert "transpose" not in run(model, tolerance=1e-4)


@pytest.mark.litert
@pytest.mark.parametrize(
    ("of", "opset"),
    [
        (node("BatchNormalization", "x s b m v"), 17),
        (node("InstanceNormalization", "x s b"), 17),
        (node("GroupNormalization", "x s b", num_groups=2), 21),
        (node("LRN", "x", size=3, alpha=0.3), 17),
        (node("LRN", "x", size=5, alpha=0.3, beta=0.6), 17),
    ],
)
def test_litert_runs_it_alike(of: onnx.NodeProto, opset: int) -> None:
    litert_agrees(one(of, [1, 4, 3, 5], statistics(4), opset=opset), "BUILTIN_REF")


@pytest.mark.parametrize(
    ("of", "opset", "expected"),
    [
        (
            node("BatchNormalization", "x s b m v", "y rm rv", training_mode=1),
            15,
            "its result 'running_mean' is read, which has no counterpart",
        ),
        (
            node("BatchNormalization", "x s b m v", spatial=0),
            7,
            "it must normalize channels as when it was trained: training_mode 0, spatial 1",
        ),
        (node("BatchNormalization", "x s b m negative"), 15, "input_var + epsilon must be positive"),
        (node("BatchNormalization", "x s b m computed"), 15, "operand 'input_var' must be constant, but is computed"),
        (
            node("LRN", "x", size=3, bias=-1.0),
            15,
            "the input must have channels and spatial dimensions, size and bias must be positive and alpha at least 0, "
            "but they are [1, 4, 3, 5], 3, -1 and 0.0001",
        ),
        (
            node("GroupNormalization", "x s b", num_groups=3),
            21,
            "the channels of [1, 4, 3, 5] must divide by num_groups 3",
        ),
        (
            node("GroupNormalization", "x s b", num_groups=2),
            18,
            "the scale must have one element for each of 2 groups, but is [4]",
        ),
        (
            node("LayerNormalization", "x s", stash_type=16),
            17,
            "stash_type must be 1: mean and variance are of float32",
        ),
    ],
)
def test_what_has_no_counterpart(of: onnx.NodeProto, opset: int, expected: str) -> None:
    constants = {**statistics(4), "negative": np.array([1, 1, 1, -1], np.float32)}
    inputs: dict[str, Any] = {"x": (np.float32, [1, 4, 3, 5]), "computed": (np.float32, [4])}
    assert refusal(model_of([of], inputs, list(of.output), constants, opset=opset)) == expected
