"""Expand and Tile of values that lie in any order, and what follows from shapes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import DTYPES, FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import model_of


@FEW
@given(shapes(1, 4), DTYPES, st.data())
def test_expand(dims: tuple[int, ...], dtype: Any, data: Any) -> None:
    rank, perm = len(dims), data.draw(permuted(len(dims)))
    more = data.draw(st.lists(st.integers(1, 3), max_size=2))
    wanted = [*more, *(data.draw(st.sampled_from([1, 4 if dim == 1 else dim])) for dim in dims)]
    wanted = wanted[data.draw(st.integers(0, len(wanted) - 1)) if not more else 0 :]
    nodes = [helper.make_node("Expand", ["t", "s"], ["e"])]
    if len(wanted) <= rank:
        nodes.append(helper.make_node("Transpose", ["e"], ["y"], perm=[perm.index(axis) for axis in range(rank)]))
    else:
        nodes.append(helper.make_node("Identity", ["e"], ["y"]))
    ops = ops_of(after_transpose(nodes, dims, perm, constants={"s": np.array(wanted, np.int64)}, dtype=dtype))
    assert ops.count("broadcast_to") <= 1
    if len(wanted) <= rank:
        assert "transpose" not in ops


@FEW
@given(shapes(1, 4), DTYPES, st.data())
def test_tile(dims: tuple[int, ...], dtype: Any, data: Any) -> None:
    perm, repeats = data.draw(permuted(len(dims))), [data.draw(st.integers(0, 3)) for _ in dims]
    nodes = [
        helper.make_node("Tile", ["t", "r"], ["e"]),
        helper.make_node("Transpose", ["e"], ["y"], perm=[perm.index(axis) for axis in range(len(dims))]),
    ]
    ops = ops_of(after_transpose(nodes, dims, perm, constants={"r": np.array(repeats, np.int64)}, dtype=dtype))
    assert len(ops) == 1
    assert ops[0] in ("tile", "broadcast_to", "reshape")


def test_what_is_expanded_before_a_convolution_is_expanded_channels_last() -> None:
    nodes = [helper.make_node("Expand", ["x", "s"], ["a"]), helper.make_node("Conv", ["a", "w"], ["y"])]
    constants = {"s": np.array([2, 3, 4, 5]), "w": np.ones((4, 3, 1, 1), np.float32)}
    assert ops_of(model_of(nodes, {"x": (np.float32, [3, 1, 1])}, ["y"], constants)) == [
        "reshape",
        "broadcast_to",
        "conv2d",
    ]


def test_what_follows_from_shapes_is_constant() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Shape", ["x"], ["last"], start=-1),
        helper.make_node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", 1, [1], [3.0])),
        helper.make_node("EyeLike", ["m"], ["e"], k=-1),
        helper.make_node("Size", ["x"], ["n"]),
        helper.make_node("Add", ["x", "c"], ["y"]),
        helper.make_node("Mul", ["m", "e"], ["z"]),
        helper.make_node("Concat", ["s", "last"], ["both"], axis=0),
        helper.make_node("Reshape", ["n", "one"], ["r"]),
        helper.make_node("Concat", ["r", "both"], ["all"], axis=0),
        helper.make_node("Gather", ["k", "last"], ["g"]),
    ]
    inputs = {"x": (np.float32, [2, 3, 4]), "m": (np.float32, [3, 4]), "k": (np.float32, [6])}
    model = model_of(nodes, inputs, ["y", "z", "g", "all"], {"one": np.array([1])})
    assert ops_of(model) == ["add", "mul", "concatenation", "concatenation", "slice"]


@pytest.mark.parametrize(("op", "role"), [("Expand", "shape"), ("Tile", "repeats"), ("ConstantOfShape", "the shape")])
def test_refusals(op: str, role: str) -> None:
    operands = ["s"] if op == "ConstantOfShape" else ["x", "s"]
    model = model_of([helper.make_node(op, operands, ["y"])], {"x": (np.float32, [4, 2]), "s": (np.int64, [2])}, ["y"])
    assert_refused(model, f"node 'y' ({op}): {role} must be constant, but is computed")
