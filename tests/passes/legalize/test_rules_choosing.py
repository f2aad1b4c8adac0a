"""Where, Trilu and OneHot, of values that lie in any order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import made_up, model_of

RNG = np.random.default_rng(9)


@FEW
@given(shapes(1, 4), st.sampled_from([np.float32, np.int32, np.int64, np.uint8]), st.data())
def test_where(dims: tuple[int, ...], dtype: Any, data: Any) -> None:
    rank, perm = len(dims), data.draw(permuted(len(dims)))

    def part() -> list[int]:
        found = [data.draw(st.sampled_from([1, dim])) for dim in dims]
        return found[data.draw(st.integers(0, rank)) :]

    condition, other = part(), part()
    is_constant = data.draw(st.booleans())
    others: dict[str, Any] = {"o": (dtype, other)}
    constants: dict[str, Any] = {}
    if is_constant:
        constants["c"] = RNG.integers(0, 2, condition).astype(np.bool_)
    else:
        others["c"] = (np.bool_, condition)
    nodes = [
        helper.make_node("Where", data.draw(st.sampled_from([["c", "t", "o"], ["c", "o", "t"]])), ["w"]),
        helper.make_node("Transpose", ["w"], ["y"], perm=[perm.index(axis) for axis in range(rank)]),
    ]
    ops = ops_of(after_transpose(nodes, dims, perm, constants=constants, dtype=dtype, others=others))
    assert ops.count("select_v2") == 1


def test_masks_of_an_image_lie_like_it() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Where", ["c", "a", "n"], ["y"]),
    ]
    constants: dict[str, Any] = {
        "w": RNG.normal(0, 1, (4, 3, 1, 1)).astype(np.float32),
        "c": RNG.integers(0, 2, (5, 6)).astype(np.bool_),
        "n": np.array(-1e9, np.float32),
    }
    model = model_of(nodes, {"x": (np.float32, [2, 3, 5, 6])}, ["y"], constants)
    assert ops_of(model) == ["conv2d", "select_v2"]


@FEW
@given(
    shapes(2, 4),
    st.sampled_from([np.float32, np.int32, np.int64, np.bool_]),
    st.booleans(),
    st.integers(-5, 5),
    st.data(),
)
def test_triangles(dims: tuple[int, ...], dtype: Any, upper: bool, offset: int, data: Any) -> None:
    """Of the types that onnxruntime has it for, as in the test before."""
    perm = data.draw(permuted(len(dims)))
    nodes = [
        helper.make_node("Trilu", ["t", "k"], ["l"], upper=int(upper)),
        helper.make_node("Transpose", ["l"], ["y"], perm=[perm.index(axis) for axis in range(len(dims))]),
    ]
    model = after_transpose(nodes, dims, perm, constants={"k": np.array(offset, np.int64)}, dtype=dtype)
    ops = ops_of(model)
    assert ops in (["select_v2"], ["reshape"])


@FEW
@given(shapes(1, 3), st.data())
def test_one_hot(dims: tuple[int, ...], data: Any) -> None:
    axis, perm = data.draw(st.integers(-len(dims) - 1, len(dims))), data.draw(permuted(len(dims)))
    depth = data.draw(st.integers(1, 5))
    nodes = [helper.make_node("OneHot", ["t", "d", "v"], ["y"], axis=axis)]
    constants: dict[str, Any] = {"d": np.array(depth, np.int64), "v": np.array([-0.5, 2], np.float32)}
    model = after_transpose(nodes, dims, perm, constants=constants, dtype=np.int64)
    feeds = {name: np.clip(array, -depth, depth + 1) for name, array in made_up(model).items()}
    ops_of(model, feeds)


@pytest.mark.parametrize(
    ("computed", "text"),
    [("d", "depth must be constant, but is computed"), ("v", "values must be constant, but is computed")],
)
def test_refused_one_hots(computed: str, text: str) -> None:
    inputs: dict[str, Any] = {"x": (np.int64, [4])}
    constants: dict[str, Any] = {"d": np.array(3, np.int64), "v": np.array([0, 1], np.float32)}
    array = constants.pop(computed)
    inputs[computed] = (array.dtype, array.shape)
    model = model_of([helper.make_node("OneHot", ["x", "d", "v"], ["y"])], inputs, ["y"], constants)
    assert_refused(model, f"node 'y' (OneHot): {text}")


@pytest.mark.parametrize(
    ("op", "count"), [("NonZero", 1), ("Unique", 1), ("TopK", 2), ("Compress", 2), ("ReverseSequence", 2)]
)
def test_what_has_no_counterpart(op: str, count: int) -> None:
    types: dict[str, Any] = {"TopK": (np.int64, [1]), "Compress": (np.bool_, [4]), "ReverseSequence": (np.int64, [3])}
    inputs = {"x": (np.float32, [4, 3])}
    operands = ["x"]
    if count == 2:
        inputs["k"] = types[op]
        operands.append("k")
    results = ["y", "z"] if op == "TopK" else ["y"]
    model = model_of([helper.make_node(op, operands, results)], inputs, ["y"])
    assert_refused(model, f"operator {op} has no counterpart in a .tflite that Arenite knows: node 'y'")
