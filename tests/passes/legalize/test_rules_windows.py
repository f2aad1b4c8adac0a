"""Convolutions and pools: whatever their attributes, channels last, and few operators."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.spatial import litert_agrees, node, numbers, one, refusal, run
from passes.legalize.support import model_of


def windows(draw: st.DrawFn, rank: int, *, dilated: bool, wide_pads: bool = False) -> tuple[dict[str, Any], list[int]]:
    """Attributes of windows, and sizes that at least one of them fits into."""
    kernel = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    attrs: dict[str, Any] = {"strides": draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))}
    auto = draw(st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto.startswith("SAME"):
        # onnxruntime refuses dilations where it is to find the padding, and padding that is less than none.
        dilated = False
        attrs["strides"] = [min(pair) for pair in zip(attrs["strides"], kernel, strict=True)]
    dilations = draw(st.lists(st.integers(1, 3 if dilated else 1), min_size=rank, max_size=rank))
    if dilated:
        attrs["dilations"] = dilations
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    if auto != "NOTSET":
        attrs["auto_pad"] = auto
    elif draw(st.booleans()):
        attrs["pads"] = [draw(st.integers(0, each - 1 + 2 * wide_pads)) for _ in range(2) for each in reach]
    sizes = [each + draw(st.integers(0, 5)) for each in reach]
    return {"kernel_shape": kernel, **attrs}, sizes


@st.composite
def convolutions(draw: st.DrawFn) -> onnx.ModelProto:
    attrs, sizes = windows(draw, draw(st.integers(1, 2)), dilated=True, wide_pads=True)
    group, taken, given_ = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    constants = {"w": numbers(group * given_, taken, *attrs["kernel_shape"]), "b": numbers(group * given_)}
    has_bias = draw(st.booleans())
    of = node("Conv", "x w b" if has_bias else "x w", group=group, **attrs)
    return one(
        of, [draw(st.integers(1, 2)), group * taken, *sizes], constants, opset=draw(st.sampled_from([7, 11, 22]))
    )


@given(convolutions())
def test_convolutions(model: onnx.ModelProto) -> None:
    ops = run(model)
    assert "transpose" not in ops
    assert [op for op in ops if op not in ("reshape", "pad")] in (["conv2d"], ["depthwise_conv2d"])


@st.composite
def pools(draw: st.DrawFn, operator: str) -> onnx.ModelProto:
    attrs, sizes = windows(draw, draw(st.integers(1, 2)), dilated=False)
    opset = draw(st.sampled_from([7, 10, 11, 12, 19, 22]))
    if opset >= 10 and "auto_pad" not in attrs:
        attrs["ceil_mode"] = draw(st.integers(0, 1))
    if operator == "AveragePool":
        attrs["count_include_pad"] = draw(st.integers(0, 1))
    return one(node(operator, "x", **attrs), [draw(st.integers(1, 2)), draw(st.integers(1, 3)), *sizes], opset=opset)


@given(pools("MaxPool"))
def test_max_pools(model: onnx.ModelProto) -> None:
    assert [op for op in run(model) if op != "reshape"] == ["max_pool2d"]


@given(pools("AveragePool"))
def test_average_pools(model: onnx.ModelProto) -> None:
    ops = [op for op in run(model) if op != "reshape"]
    assert ops in (["average_pool2d"], ["pad", "average_pool2d"], ["pad", "average_pool2d", "mul"])


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, ["average_pool2d"]),
        ({"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, ["average_pool2d"]),
        ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, ["pad", "average_pool2d"]),
        ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, ["pad", "average_pool2d", "mul"]),
    ],
)
def test_an_average_needs_no_more_operators_than_files_ask_for(attrs: dict[str, Any], expected: list[str]) -> None:
    assert run(one(node("AveragePool", "x", **attrs), [1, 2, 8, 8])) == expected


@given(st.sampled_from(["GlobalAveragePool", "GlobalMaxPool"]), st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_global_pools(operator: str, dims: list[int]) -> None:
    if len(dims) == 2:
        dims = [*dims, 3]
    op = {"GlobalAveragePool": "mean", "GlobalMaxPool": "reduce_max"}[operator]
    assert run(one(node(operator, "x"), dims)) == [op]


@pytest.mark.parametrize("rank", [1, 2])
def test_a_chain_stays_channels_last(rank: int) -> None:
    ones = [1] * rank
    nodes = [
        node("Conv", "x w b", "c", strides=[2] * rank, pads=[1] * (2 * rank)),
        node("Relu", "c", "r"),
        node("Conv", "r d", "e", group=4, pads=[1] * (2 * rank)),
        node("BatchNormalization", "e s b m v", "n"),
        node("MaxPool", "n", "p", kernel_shape=[2] * rank, strides=[2] * rank),
        node("ConvTranspose", "p t", "u", strides=[2] * rank),
        node("Pad", "u amounts", "q", mode="reflect"),
        node("InstanceNormalization", "q s b", "i"),
        node("Resize", "i - scales", "z"),
        node("AveragePool", "z", "a", kernel_shape=[3] * rank),
        node("GlobalAveragePool", "a", "g"),
        node("Flatten", "g", "y"),
    ]
    vectors = {name: numbers(4, seed=i) for i, name in enumerate("bsmv")}
    constants = {
        **vectors,
        "v": np.abs(vectors["v"]),
        "w": numbers(4, 3, *[3] * rank),
        "d": numbers(4, 1, *[3] * rank),
        "t": numbers(4, 4, *[2] * rank),
        "amounts": np.array([0, 0, *ones, 0, 0, *ones], np.int64),
        "scales": np.array([1, 1, *[2.0] * rank], np.float32),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 3, *[16] * rank])}, ["y"], constants)
    assert "transpose" not in run(model)


@pytest.mark.litert
@pytest.mark.parametrize("resolver", ["BUILTIN_REF", "AUTO"])
@pytest.mark.parametrize(
    ("of", "weights"),
    [
        (node("Conv", "x w", group=2, pads=[1, 0, 2, 1], strides=[2, 1]), (4, 2, 3, 2)),
        (node("Conv", "x w", group=4, pads=[5, 0, 2, 1], dilations=[2, 1]), (8, 1, 3, 2)),
        (node("Conv", "x w", auto_pad="SAME_LOWER", strides=[2, 2]), (5, 4, 3, 2)),
        (node("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 2, 0, 1], strides=[2, 3], ceil_mode=1), ()),
        (node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 2, 0, 1], strides=[2, 3], ceil_mode=1), ()),
        (node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), ()),
        (node("GlobalMaxPool", "x"), ()),
    ],
)
def test_litert_runs_it_alike(of: onnx.NodeProto, weights: tuple[int, ...], resolver: str) -> None:
    constants = {"w": numbers(*weights)} if weights else None
    litert_agrees(one(of, [1, 4, 7, 8], constants), resolver)


@pytest.mark.parametrize(
    ("of", "dims", "weights", "expected"),
    [
        (
            node("Conv", "x w"),
            [1, 2, 5, 5, 5],
            numbers(2, 2, 3, 3, 3),
            "the input must have 1 or 2 spatial dimensions, but is [1, 2, 5, 5, 5]",
        ),
        (
            node("Conv", "x w", pads=[0, 0, -1, 0]),
            [1, 2, 5, 5],
            numbers(2, 2, 3, 3),
            "pads must not be negative, but are [0, 0, -1, 0]",
        ),
        (
            node("Conv", "x w", kernel_shape=[2, 2]),
            [1, 2, 5, 5],
            numbers(2, 2, 3, 3),
            "kernel_shape [2, 2] must be that of the weights, [3, 3]",
        ),
        (
            node("Conv", "x w", group=2),
            [1, 2, 5, 5],
            numbers(3, 1, 3, 3),
            "the weights [3, 1, 3, 3] in 2 groups do not fit the 2 channels of the input",
        ),
        (
            node("Conv", "x w"),
            [1, 2, 5, 5],
            numbers(2, 2, 3, 3).astype(np.float64),
            "the weights must be float32, but are float64",
        ),
        (node("Conv", "x x"), [1, 2, 5, 5], numbers(1), "the weight tensor must be constant, but is computed"),
        (
            node("MaxPool", "x", kernel_shape=[2, 2], dilations=[1, 2]),
            [1, 2, 5, 5],
            None,
            "the elements of a window must be side by side, but have dilations [1, 2]",
        ),
        (
            node("MaxPool", "x", kernel_shape=[2, 2, 2]),
            [1, 2, 5, 5, 5],
            None,
            "the input must have 1 or 2 spatial dimensions, but is [1, 2, 5, 5, 5]",
        ),
        (
            node("MaxPool", "x", kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
            [1, 2, 5, 5],
            None,
            "padding must be at least 0 and less than what a window reaches over, 2, found (2, 0)",
        ),
        (
            node("MaxPool", "x", "y indices", kernel_shape=[2, 2]),
            [1, 2, 5, 5],
            None,
            "its result 'Indices' is read, which has no counterpart",
        ),
    ],
)
def test_what_has_no_counterpart(of: onnx.NodeProto, dims: list[int], weights: Any, expected: str) -> None:
    assert refusal(unchecked(of, dims, {} if weights is None else {"w": weights})) == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_max_pools_of_integers(dtype: npt.DTypeLike) -> None:
    of = node("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    assert run(one(of, [1, 2, 5, 5], dtype=dtype)) == ["cast", "max_pool2d", "cast"]


def test_pools_of_float64_have_no_counterpart() -> None:
    model = one(node("MaxPool", "x", kernel_shape=[2, 2]), [1, 2, 5, 5], dtype=np.float64)
    assert "float64" in refusal(model)


@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
def test_pools_of_norms_have_no_counterpart(operator: str) -> None:
    attrs: dict[str, Any] = {"kernel_shape": [2, 2]} if operator == "LpPool" else {}
    model = one(node(operator, "x", **attrs), [1, 2, 5, 5])
    assert refusal(model) == f"operator {operator} has no counterpart in a .tflite that Arenite knows: node 'y'"


def unchecked(of: onnx.NodeProto, dims: list[int], constants: dict[str, Any]) -> onnx.ModelProto:
    """A model that shape inference would not let pass."""
    from onnx import TensorProto, helper, numpy_helper

    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in of.output]
    graph = helper.make_graph(
        [of],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
