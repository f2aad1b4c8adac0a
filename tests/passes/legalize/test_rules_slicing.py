"""Slice in all its forms, of values that lie in any order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import DTYPES, FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import model_of

BOUNDS = st.integers(-8, 8) | st.sampled_from([2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])


@FEW
@given(shapes(1, 4), DTYPES, st.sampled_from([7, 10, 11, 13, 17]), st.data())
def test_slice(dims: tuple[int, ...], dtype: Any, opset: int, data: Any) -> None:
    rank = len(dims)
    axes = data.draw(st.lists(st.integers(0, rank - 1), min_size=1, unique=True))
    starts, ends = [data.draw(BOUNDS) for _ in axes], [data.draw(BOUNDS) for _ in axes]
    steps = [data.draw(st.sampled_from([1, 1, 2, 3, -1, -2])) if opset >= 10 else 1 for _ in axes]
    # Backwards to the largest number is said otherwise by runtimes than by the standard.
    ends = [-(2**63) if step < 0 and end > 8 else end for step, end in zip(steps, ends, strict=True)]
    perm = data.draw(permuted(rank))
    operands, attrs, constants = ["t"], {}, {}
    if opset < 10:
        attrs = {"starts": starts, "ends": ends, "axes": axes}
    else:
        named = [axis - rank if opset >= 11 and data.draw(st.booleans()) else axis for axis in axes]
        given_lists = {"starts": starts, "ends": ends, "axes": named, "steps": steps}
        constants = {name: np.array(items, np.int64) for name, items in given_lists.items()}
        operands += list(constants)
    nodes = [
        helper.make_node("Slice", operands, ["s"], **attrs),
        helper.make_node("Transpose", ["s"], ["y"], perm=[perm.index(i) for i in range(rank)]),
    ]
    ops = ops_of(after_transpose(nodes, dims, perm, constants=constants, dtype=dtype, opset=opset))
    assert len(ops) == 1
    assert ops[0] in ("slice", "strided_slice", "reshape")


@pytest.mark.parametrize(
    ("start", "end", "step", "op"),
    [
        (0, 2**63 - 1, 1, "reshape"),
        (1, 4, 1, "slice"),
        (1, 4, 3, "slice"),
        (4, 1, 1, "slice"),
        (0, 6, 2, "strided_slice"),
        (-1, -(2**63), -1, "strided_slice"),
        (-1, 0, -2, "strided_slice"),
        (5, 5, -1, "slice"),
    ],
)
def test_a_slice_is_one_node(start: int, end: int, step: int, op: str) -> None:
    nodes = [helper.make_node("Slice", ["x", "s", "e", "a", "d"], ["y"])]
    constants = {name: np.array([item]) for name, item in {"s": start, "e": end, "a": 1, "d": step}.items()}
    assert ops_of(model_of(nodes, {"x": (np.float32, [2, 6])}, ["y"], constants)) == [op]


def test_slices_of_an_image_keep_it_channels_last() -> None:
    """Every second pixel in four ways, behind each other, as some networks begin."""
    nodes, parts = [], []
    for index, (down, across) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
        nodes.append(helper.make_node("Slice", ["x", f"s{index}", "e", "a", "d"], [f"p{index}"]))
        parts.append((f"s{index}", np.array([down, across], np.int64)))
    nodes.append(helper.make_node("Concat", [f"p{index}" for index in range(4)], ["c"], axis=1))
    nodes.append(helper.make_node("Conv", ["c", "w"], ["y"]))
    constants: dict[str, Any] = {
        **dict(parts),
        "e": np.array([2**31 - 1] * 2, np.int64),
        "a": np.array([2, 3], np.int64),
        "d": np.array([2, 2], np.int64),
        "w": np.random.default_rng(1).normal(0, 1, (5, 12, 1, 1)).astype(np.float32),
    }
    model = model_of(nodes, {"x": (np.float32, [1, 3, 6, 8])}, ["y"], constants)
    assert ops_of(model) == ["strided_slice"] * 4 + ["concatenation", "conv2d"]


def _refused(text: str, lists: dict[str, list[int]], computed: str = "") -> None:
    constants = {name: np.array(items, np.int64) for name, items in lists.items() if name != computed}
    inputs: dict[str, tuple[Any, list[int]]] = {"x": (np.float32, [4, 6])}
    if computed:
        inputs[computed] = (np.int64, [len(lists[computed])])
    model = model_of([helper.make_node("Slice", ["x", *lists], ["y"])], inputs, ["y"], constants)
    assert_refused(model, f"node 'y' (Slice): {text}")


def test_refusals() -> None:
    bounds = {"s": [0], "e": [3], "a": [1], "d": [1]}
    _refused("starts must be constant, but is computed", bounds, "s")
    _refused("ends must be constant, but is computed", bounds, "e")
    _refused("steps must be constant, but is computed", bounds, "d")
