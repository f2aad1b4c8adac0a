"""Concat, Split and CumSum, of values that lie in any order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import DTYPES, FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import model_of

RNG = np.random.default_rng(6)


@FEW
@given(shapes(1, 4), DTYPES, st.sampled_from([7, 11, 13, 17]), st.data())
def test_concat(dims: tuple[int, ...], dtype: Any, opset: int, data: Any) -> None:
    axis = data.draw(st.integers(-len(dims) if opset >= 11 else 0, len(dims) - 1))
    perm = data.draw(permuted(len(dims)))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    values, constants = ["t"], {}
    for index, size in enumerate(sizes):
        part = list(dims)
        part[axis] = size
        constants[f"c{index}"] = RNG.integers(0, 2, part).astype(dtype)
        values.append(f"c{index}")
    back = [perm.index(i) for i in range(len(dims))]
    nodes = [
        helper.make_node("Concat", data.draw(st.permutations(values)), ["c"], axis=axis),
        helper.make_node("Transpose", ["c"], ["y"], perm=back),
    ]
    ops = ops_of(after_transpose(nodes, dims, perm, constants=constants, dtype=dtype, opset=opset))
    assert set(ops) <= ({"concatenation"} if any(sizes) else {"reshape"})


def test_values_are_joined_in_the_order_in_which_most_of_them_lie() -> None:
    """Two convolutions and a small value in ONNX's order."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Reshape", ["z", "image"], ["b"]),
        helper.make_node("Concat", ["b", "a", "k"], ["c"], axis=1),
        helper.make_node("Conv", ["c", "v"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "w": RNG.normal(0, 1, (4, 3, 1, 1)).astype(np.float32),
        "v": RNG.normal(0, 1, (2, 8, 1, 1)).astype(np.float32),
        "k": RNG.normal(0, 1, (1, 2, 4, 5)).astype(np.float32),
        "image": np.array([1, 2, 4, 5], np.int64),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 3, 4, 5]), "z": (np.float32, [40])}, ["y"], constants)
    assert sorted(ops_of(model)) == ["concatenation", "conv2d", "conv2d", "reshape", "transpose"]


@FEW
@given(shapes(1, 4), DTYPES, st.sampled_from([7, 11, 13, 17, 18]), st.data())
def test_split(dims: tuple[int, ...], dtype: Any, opset: int, data: Any) -> None:
    axis = data.draw(st.integers(-len(dims) if opset >= 11 else 0, len(dims) - 1))
    size = dims[axis]
    cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=2)))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    names = [f"p{index}" for index in range(len(sizes))]
    perm = data.draw(permuted(len(dims)))
    constants: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    operands = ["t"]
    if opset >= 13:
        constants["sizes"] = np.array(sizes, np.int64)
        operands.append("sizes")
    else:
        attrs["split"] = sizes
    back = [perm.index(i) for i in range(len(dims))]
    read = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    nodes = [helper.make_node("Split", operands, names, axis=axis, **attrs)]
    nodes += [helper.make_node("Transpose", [name], [f"{name}_y"], perm=back) for name in read]
    outputs = [f"{name}_y" for name in read]
    ops = ops_of(after_transpose(nodes, dims, perm, outputs, constants, dtype=dtype, opset=opset))
    part = sizes[names.index(read[0])]
    expected = "split" if len(set(sizes)) == 1 else "split_v"
    assert ops == [("reshape" if part == size else "slice") if len(read) == 1 else expected]


@pytest.mark.parametrize(("opset", "attrs"), [(11, {}), (13, {}), (18, {"num_outputs": 3})])
@pytest.mark.parametrize("size", [6, 8])
def test_equal_parts(opset: int, attrs: dict[str, Any], size: int) -> None:
    if size == 8 and opset < 18:
        return  # only from then on the last part may be smaller
    nodes = [helper.make_node("Split", ["x"], ["a", "b", "c"], axis=1, **attrs)]
    model = model_of(nodes, {"x": (np.float32, [2, size])}, ["a", "b", "c"], opset=opset)
    assert ops_of(model) == ["split" if size == 6 else "split_v"]


@FEW
@given(shapes(1, 4), st.sampled_from([np.float32, np.int32, np.int64]), st.booleans(), st.booleans(), st.data())
def test_running_sums(dims: tuple[int, ...], dtype: Any, exclusive: bool, reverse: bool, data: Any) -> None:
    axis, perm = data.draw(st.integers(-len(dims), len(dims) - 1)), data.draw(permuted(len(dims)))
    nodes = [
        helper.make_node("CumSum", ["t", "axis"], ["s"], exclusive=int(exclusive), reverse=int(reverse)),
        helper.make_node("Transpose", ["s"], ["y"], perm=[perm.index(i) for i in range(len(dims))]),
    ]
    ops = ops_of(after_transpose(nodes, dims, perm, constants={"axis": np.array(axis, np.int64)}, dtype=dtype))
    assert ops == ["cumsum"]


def test_refusals() -> None:
    nodes = [helper.make_node("CumSum", ["x", "a"], ["y"])]
    model = model_of(nodes, {"x": (np.float32, [4, 2]), "a": (np.int64, [])}, ["y"])
    assert_refused(model, "node 'y' (CumSum): axis must be constant, but is computed")
    nodes = [helper.make_node("Split", ["x", "s"], ["y", "z"])]
    model = model_of(nodes, {"x": (np.float32, [4, 2]), "s": (np.int64, [2])}, ["y", "z"])
    assert_refused(model, "node 'y' (Split): split must be constant, but is computed")
    nodes = [helper.make_node("CumSum", ["x", "a"], ["y"])]
    model = model_of(nodes, {"x": (np.float32, [4, 2])}, ["y"], {"a": np.array(3, np.int64)})
    assert_refused(model, "node 'y' (CumSum): axis must be in [-2, 1] for 2 dimensions, found 3")
