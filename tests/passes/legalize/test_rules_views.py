"""Transpose, Reshape and their like: nothing is moved that need not be."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import DTYPES, FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import legalized, model_of

RNG = np.random.default_rng(5)
Node = onnx.NodeProto


def conv(source: str, weights: str, result: str, **attrs: Any) -> Node:
    return helper.make_node("Conv", [source, weights], [result], **attrs)


def reshape(source: str, shape: str, result: str) -> Node:
    return helper.make_node("Reshape", [source, shape], [result])


def transpose(source: str, perm: list[int], result: str) -> Node:
    return helper.make_node("Transpose", [source], [result], perm=perm)


def weights(*dims: int) -> Any:
    return RNG.normal(0, 1, dims).astype(np.float32)


def test_a_channel_shuffle_is_one_transpose() -> None:
    nodes = [
        conv("x", "w", "a"),
        reshape("a", "grouped", "b"),
        transpose("b", [0, 2, 1, 3, 4], "c"),
        reshape("c", "whole", "d"),
        conv("d", "v", "y"),
    ]
    constants = {
        "w": weights(6, 3, 1, 1),
        "v": weights(4, 6, 1, 1),
        "grouped": np.array([2, 3, 2, 5, 7], np.int64),
        "whole": np.array([2, 6, 5, 7], np.int64),
    }
    model = model_of(nodes, {"x": (np.float32, [2, 3, 5, 7])}, ["y"], constants)
    assert ops_of(model) == ["conv2d", "reshape", "transpose", "reshape", "conv2d"]


@pytest.mark.parametrize("last", ["Gemm", "MatMul"])
@pytest.mark.parametrize("middle", ["Flatten", "Reshape"])
def test_a_flatten_transposes_and_reshapes_before_a_dense_layer(last: str, middle: str) -> None:
    flat = reshape("a", "rows", "b") if middle == "Reshape" else helper.make_node("Flatten", ["a"], ["b"])
    nodes = [conv("x", "w", "a"), flat, helper.make_node(last, ["b", "v"], ["y"])]
    constants = {"w": weights(4, 3, 1, 1), "v": weights(48, 5), "rows": np.array([0, -1], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [2, 3, 4, 3])}, ["y"], constants)
    assert ops_of(model) == ["conv2d", "transpose", "reshape", "fully_connected"]


@pytest.mark.parametrize("dims", [[1, 3, 1, 1], [2, 3, 1, 1]])
def test_a_flatten_of_one_pixel_transposes_nothing(dims: list[int]) -> None:
    nodes = [
        conv("x", "w", "a"),
        helper.make_node("Flatten", ["a"], ["b"]),
        helper.make_node("Gemm", ["b", "v"], ["y"]),
    ]
    model = model_of(nodes, {"x": (np.float32, dims)}, ["y"], {"w": weights(4, 3, 1, 1), "v": weights(4, 5)})
    assert ops_of(model) == ["conv2d", "reshape", "fully_connected"]


def test_detection_heads_that_transpose_themselves_need_no_transpose() -> None:
    """Boxes of several layers, each [anchors, 4], behind each other."""
    nodes, pieces = [], []
    for index, size in enumerate((4, 2)):
        nodes += [
            conv("x", "w", f"a{index}", strides=[4 // size * 2] * 2),
            transpose(f"a{index}", [0, 2, 3, 1], f"b{index}"),
            reshape(f"b{index}", "boxes", f"c{index}"),
        ]
        pieces.append(f"c{index}")
    nodes.append(helper.make_node("Concat", pieces, ["y"], axis=1))
    constants = {"w": weights(12, 3, 1, 1), "boxes": np.array([1, -1, 4], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [1, 3, 8, 8])}, ["y"], constants)
    assert ops_of(model) == ["conv2d", "reshape", "conv2d", "reshape", "concatenation"]


def test_a_detection_head_of_anchors_needs_no_transpose() -> None:
    """(N, anchors * values, H, W) to (N, anchors, values, H, W) to (N, H, W, anchors, values)."""
    nodes = [conv("x", "w", "a"), reshape("a", "apart", "b"), transpose("b", [0, 3, 4, 1, 2], "y")]
    constants = {"w": weights(12, 3, 1, 1), "apart": np.array([1, 3, 4, 5, 6], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [1, 3, 5, 6])}, ["y"], constants)
    assert ops_of(model) == ["conv2d", "reshape"]


@pytest.mark.parametrize(("batch", "transposes"), [(1, 0), (2, 1)])
def test_a_head_of_sequences_is_transposed_only_for_its_batch(batch: int, transposes: int) -> None:
    nodes = [
        conv("x", "w", "a"),
        helper.make_node("Squeeze", ["a", "two"], ["b"]),
        transpose("b", [2, 0, 1], "y"),
    ]
    constants = {"w": weights(5, 3, 4, 1), "two": np.array([2], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [batch, 3, 4, 9])}, ["y"], constants)
    assert ops_of(model).count("transpose") == transposes


def test_attention_over_pixels_needs_no_transpose() -> None:
    nodes = [
        conv("x", "w", "a"),
        reshape("a", "pixels", "b"),
        transpose("b", [0, 2, 1], "c"),
        helper.make_node("MatMul", ["c", "v"], ["y"]),
    ]
    constants = {"w": weights(4, 3, 1, 1), "pixels": np.array([0, 0, -1], np.int64), "v": weights(4, 5)}
    model = model_of(nodes, {"x": (np.float32, [2, 3, 4, 3])}, ["y"], constants)
    assert "transpose" not in ops_of(model)


def test_an_input_of_rows_is_wished_channels_last_through_a_reshape(tmp_path: Path) -> None:
    nodes = [reshape("x", "image", "a"), conv("a", "w", "y")]
    constants = {"w": weights(4, 3, 1, 1), "image": np.array([0, 3, 4, 5], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [2, 3, 20])}, ["y"], constants)
    assert ops_of(model) == ["reshape", "conv2d"]
    assert legalized(model, tmp_path).inputs[0].order == (0, 2, 1)


def test_squeezed_and_excited_channels_are_not_transposed() -> None:
    nodes = [
        conv("x", "w", "a"),
        helper.make_node("GlobalAveragePool", ["a"], ["b"]),
        helper.make_node("Flatten", ["b"], ["c"]),
        helper.make_node("Gemm", ["c", "v"], ["d"]),
        helper.make_node("Sigmoid", ["d"], ["e"]),
        helper.make_node("Unsqueeze", ["e", "axes"], ["f"]),
        helper.make_node("Mul", ["a", "f"], ["y"]),
    ]
    constants = {"w": weights(4, 3, 1, 1), "v": weights(4, 4), "axes": np.array([2, 3], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [2, 3, 4, 3])}, ["y"], constants)
    ops = ops_of(model)
    assert "transpose" not in ops
    assert ops.count("reshape") <= 2


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    atoms = draw(st.lists(st.sampled_from([1, 2, 2, 3, 3, 5]), min_size=1, max_size=6))

    def merged() -> tuple[int, ...]:
        found = [atoms[0]]
        for atom in atoms[1:]:
            if len(found) < 5 and draw(st.booleans()):
                found.append(atom)
            else:
                found[-1] *= atom
        return (*found, 1) if draw(st.booleans()) else tuple(found)

    return merged(), merged()


@FEW
@given(reshapes(), DTYPES, st.data())
def test_reshape(before_after: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any, data: Any) -> None:
    before, after = before_after
    perm, last = data.draw(permuted(len(before))), data.draw(permuted(len(after)))
    keep = data.draw(st.sampled_from([[], ["x"], ["y"], ["x", "y"]]))
    nodes = [
        helper.make_node("Reshape", ["t", "shape"], ["r"], allowzero=1),
        helper.make_node("Transpose", ["r"], ["y"], perm=list(last)),
    ]
    constants = {"shape": np.array(after, np.int64)}
    ops = ops_of(after_transpose(nodes, before, perm, constants=constants, dtype=dtype), keep=keep)
    assert ops.count("transpose") <= 2
    if perm == tuple(sorted(perm)) and last == tuple(sorted(last)):
        assert "transpose" not in ops


@FEW
@given(shapes(1, 5), st.sampled_from([7, 9, 11, 13, 17]), st.data())
def test_flatten(dims: tuple[int, ...], opset: int, data: Any) -> None:
    axis = data.draw(st.integers(-len(dims) if opset >= 11 else 0, len(dims)))
    nodes = [helper.make_node("Flatten", ["t"], ["y"], axis=axis)]
    ops_of(after_transpose(nodes, dims, data.draw(permuted(len(dims))), opset=opset))


@FEW
@given(shapes(1, 4), st.sampled_from([7, 11, 13, 17]), st.data())
def test_squeeze_and_unsqueeze(dims: tuple[int, ...], opset: int, data: Any) -> None:
    least = -(len(dims) + 2) if opset >= 11 else 0
    axes = data.draw(
        st.lists(st.integers(least, len(dims) + 1), min_size=2, max_size=2, unique_by=lambda a: a % (len(dims) + 2))
    )
    ones = [axis - (len(dims) if opset >= 11 and data.draw(st.booleans()) else 0) for axis in range(len(dims))]
    ones = [axis for axis in ones if dims[axis] == 1]
    constants = {}
    if opset < 13:
        named: list[tuple[list[str], dict[str, Any]]] = [
            ([], {"axes": axes}),
            ([], {"axes": ones} if ones else {}),
        ]
    else:
        constants = {"axes": np.array(axes, np.int64)} | ({"ones": np.array(ones, np.int64)} if ones else {})
        named = [(["axes"], {}), (["ones"] if ones else [], {})]
    nodes = [
        helper.make_node("Unsqueeze", ["t", *named[0][0]], ["u"], **named[0][1]),
        helper.make_node("Squeeze", ["t", *named[1][0]], ["s"], **named[1][1]),
        helper.make_node("Identity", ["u"], ["y"]),
    ]
    perm = data.draw(permuted(len(dims)))
    ops_of(after_transpose(nodes, dims, perm, ["y", "s"], constants, opset=opset))


def test_many_dimensions_are_moved_as_few(tmp_path: Path) -> None:
    """Windows of an image: of six dimensions four are moved."""
    nodes = [
        reshape("x", "apart", "a"),
        transpose("a", [0, 1, 3, 2, 4, 5], "b"),
        reshape("b", "windows", "y"),
    ]
    constants = {"apart": np.array([2, 3, 2, 3, 2, 5]), "windows": np.array([18, 4, 5])}
    model = model_of(nodes, {"x": (np.float32, [2, 6, 6, 5])}, ["y"], constants)
    assert ops_of(model) == ["reshape", "transpose", "reshape"]
    (moved,) = [node for node in legalized(model, tmp_path).graph.nodes if node.op == "transpose"]
    assert moved.operand(0).type.dims == (6, 2, 3, 10)


@FEW
@given(shapes(1, 4), st.data())
def test_what_is_read_in_several_orders_is_transposed_once_for_each(dims: tuple[int, ...], data: Any) -> None:
    perms = [data.draw(permuted(len(dims))) for _ in range(3)]
    nodes, outputs = [], []
    for index, perm in enumerate(perms):
        nodes += [transpose("x", list(perm), f"t{index}"), reshape(f"t{index}", "flat", f"y{index}")]
        outputs.append(f"y{index}")
    model = model_of(nodes, {"x": (np.float32, dims)}, outputs, {"flat": np.array([-1], np.int64)})
    x = np.arange(math.prod(dims)).reshape(dims)
    sequences = {x.transpose(perm).tobytes() for perm in perms} - {x.tobytes()}
    assert ops_of(model).count("transpose") == len(sequences)


@FEW
@given(shapes(2, 5), st.data())
def test_a_constant_is_stored_in_each_order_that_it_is_read_in(dims: tuple[int, ...], data: Any) -> None:
    perms = [data.draw(permuted(len(dims))) for _ in range(2)]
    inputs = {
        f"x{i}": (np.float32, [dims[perm.index(axis)] for axis in range(len(dims))]) for i, perm in enumerate(perms)
    }
    nodes = []
    for index, perm in enumerate(perms):
        nodes += [
            transpose(f"x{index}", list(perm), f"t{index}"),
            helper.make_node("Add", [f"t{index}", "c"], [f"a{index}"]),
            transpose(f"a{index}", [perm.index(axis) for axis in range(len(dims))], f"y{index}"),
        ]
    constants = {"c": RNG.normal(0, 1, dims).astype(np.float32)}
    assert ops_of(model_of(nodes, inputs, ["y0", "y1"], constants)).count("transpose") == 0


def test_a_shape_that_depends_on_data_is_refused() -> None:
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"])]
    model = model_of(nodes, {"x": (np.float32, [4, 2]), "s": (np.int64, [2])}, ["y"])
    assert_refused(model, "node 'y' (Reshape): the shape of 'y' must be known, but it depends on data")
