"""Gather, Scatter and their kin, of values that lie in any order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import DTYPES, FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.support import made_up, model_of

RNG = np.random.default_rng(8)
INDEX_TYPES = st.sampled_from([np.int32, np.int64])


def inverse(perm: tuple[int, ...]) -> list[int]:
    return [perm.index(axis) for axis in range(len(perm))]


@FEW
@given(shapes(1, 4), DTYPES, INDEX_TYPES, st.data())
def test_gather_by_constants(dims: tuple[int, ...], dtype: Any, index_type: Any, data: Any) -> None:
    axis, perm = data.draw(st.integers(-len(dims), len(dims) - 1)), data.draw(permuted(len(dims)))
    shape = data.draw(st.sampled_from([(), (0,), (1,), (3,), (2, 2)]))
    indices = RNG.integers(-dims[axis], dims[axis], shape).astype(index_type)
    nodes = [helper.make_node("Gather", ["t", "i"], ["y"], axis=axis)]
    ops = ops_of(after_transpose(nodes, dims, perm, constants={"i": indices}, dtype=dtype))
    assert len([op for op in ops if op not in ("reshape", "transpose")]) <= 1
    assert ops.count("transpose") <= (perm != tuple(sorted(perm)))


@FEW
@given(shapes(1, 4), INDEX_TYPES, st.data())
def test_gather_by_computed_indices(dims: tuple[int, ...], index_type: Any, data: Any) -> None:
    axis, perm = data.draw(st.integers(-len(dims), len(dims) - 1)), data.draw(permuted(len(dims)))
    shape = data.draw(st.sampled_from([(), (3,), (2, 2)]))
    nodes = [helper.make_node("Gather", ["t", "i"], ["y"], axis=axis)]
    model = after_transpose(nodes, dims, perm, others={"i": (index_type, shape)})
    indices = RNG.integers(-dims[axis], dims[axis], shape).astype(index_type)
    ops_of(model, made_up(model) | {"i": np.asarray(indices)})


@pytest.mark.parametrize(
    ("indices", "ops"),
    [
        (2, ["strided_slice"]),
        (-1, ["strided_slice"]),
        ([1], ["slice"]),
        ([1, 2, 3], ["slice"]),
        ([-3, -2, -1], ["slice"]),
        ([0, 1, 2, 3], ["reshape"]),
        ([3, 2, 1], ["gather"]),
        ([0, 0], ["gather"]),
    ],
)
def test_a_gather_by_constants_is_one_node(indices: Any, ops: list[str]) -> None:
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=1)]
    model = model_of(nodes, {"x": (np.float32, [2, 4, 3])}, ["y"], {"i": np.array(indices, np.int64)})
    assert ops_of(model) == ops


def test_channels_are_taken_where_they_lie() -> None:
    """Red and blue change places before a convolution."""
    nodes = [helper.make_node("Gather", ["x", "i"], ["a"], axis=1), helper.make_node("Conv", ["a", "w"], ["y"])]
    constants = {"i": np.array([2, 1, 0]), "w": RNG.normal(0, 1, (4, 3, 1, 1)).astype(np.float32)}
    assert ops_of(model_of(nodes, {"x": (np.float32, [1, 3, 4, 5])}, ["y"], constants)) == ["gather", "conv2d"]


def test_places_that_are_found_are_not_negative() -> None:
    nodes = [
        helper.make_node("ArgMax", ["x"], ["a"], axis=1, keepdims=0),
        helper.make_node("Gather", ["c", "a"], ["y"], axis=0),
    ]
    constants = {"c": RNG.normal(0, 1, (5, 3)).astype(np.float32)}
    ops = ops_of(model_of(nodes, {"x": (np.float32, [4, 5])}, ["y"], constants))
    assert ops[-1] == "gather"
    assert not {"select_v2", "less", "add"} & set(ops)


@FEW
@given(shapes(1, 4), DTYPES, INDEX_TYPES, st.data())
def test_gather_elements(dims: tuple[int, ...], dtype: Any, index_type: Any, data: Any) -> None:
    axis, perm = data.draw(st.integers(-len(dims), len(dims) - 1)), data.draw(permuted(len(dims)))
    shape = [data.draw(st.integers(1, dim)) for dim in dims]
    shape[axis] = data.draw(st.integers(1, 4))
    nodes = [
        helper.make_node("GatherElements", ["t", "i"], ["g"], axis=axis),
        helper.make_node("Transpose", ["g"], ["y"], perm=inverse(perm)),
    ]
    constants = {"i": RNG.integers(-dims[axis], dims[axis], shape).astype(index_type)}
    assert "transpose" not in ops_of(after_transpose(nodes, dims, perm, constants=constants, dtype=dtype))


@FEW
@given(shapes(1, 4), DTYPES, st.booleans(), st.booleans(), st.data())
def test_gather_nd(dims: tuple[int, ...], dtype: Any, constant: bool, batched: bool, data: Any) -> None:
    perm = data.draw(permuted(len(dims)))
    batch = data.draw(st.integers(0, len(dims) - 1)) if batched and constant else 0
    depth = data.draw(st.integers(1, len(dims) - batch))
    shape = (*dims[:batch], *data.draw(st.sampled_from([(), (3,), (2, 2)])))
    limits = np.array(dims[batch : batch + depth])
    indices = np.asarray(RNG.integers(-limits, limits, (*shape, depth)), np.int64)
    nodes = [helper.make_node("GatherND", ["t", "i"], ["y"], batch_dims=batch)]
    if constant:
        ops_of(after_transpose(nodes, dims, perm, constants={"i": indices}, dtype=dtype))
    else:
        model = after_transpose(nodes, dims, perm, others={"i": (np.int64, indices.shape)}, dtype=dtype)
        ops_of(model, made_up(model) | {"i": indices})


@FEW
@given(shapes(1, 4), DTYPES, st.sampled_from([9, 11, 16, 18]), st.data())
def test_scatter_elements(dims: tuple[int, ...], dtype: Any, opset: int, data: Any) -> None:
    axis, perm = data.draw(st.integers(0, len(dims) - 1)), data.draw(permuted(len(dims)))
    shape = [data.draw(st.integers(1, dim)) for dim in dims]
    # Each place once: which of several updates counts is open.
    indices = np.moveaxis(np.empty(shape, np.int64), axis, -1)
    for row in np.ndindex(indices.shape[:-1]):
        indices[row] = RNG.permutation(dims[axis])[: shape[axis]]
    nodes = [
        helper.make_node("Scatter" if opset < 11 else "ScatterElements", ["t", "i", "u"], ["s"], axis=axis),
        helper.make_node("Transpose", ["s"], ["y"], perm=inverse(perm)),
    ]
    constants = {"i": np.ascontiguousarray(np.moveaxis(indices, -1, axis))}
    updates = {"u": (dtype, shape)}
    ops = ops_of(after_transpose(nodes, dims, perm, constants=constants, dtype=dtype, opset=opset, others=updates))
    assert "transpose" not in ops


@FEW
@given(shapes(1, 4), DTYPES, st.data())
def test_scatter_nd(dims: tuple[int, ...], dtype: Any, data: Any) -> None:
    perm, depth = data.draw(permuted(len(dims))), data.draw(st.integers(1, len(dims)))
    places = np.stack(np.unravel_index(np.arange(np.prod(dims[:depth])), dims[:depth]), axis=-1)
    count = data.draw(st.integers(1, len(places)))
    indices = RNG.permutation(places)[:count] - np.array(dims[:depth]) * RNG.integers(0, 2)
    nodes = [
        helper.make_node("ScatterND", ["t", "i", "u"], ["s"]),
        helper.make_node("Transpose", ["s"], ["y"], perm=inverse(perm)),
    ]
    updates = {"u": (dtype, (count, *dims[depth:]))}
    constants = {"i": indices.astype(np.int64)}
    assert "transpose" not in ops_of(
        after_transpose(nodes, dims, perm, constants=constants, dtype=dtype, others=updates)
    )


@pytest.mark.parametrize(
    ("op", "indices", "attrs", "text"),
    [
        ("Gather", [4], {"axis": 1}, "indices must be from -4 to 3, but are from 4 to 4"),
        ("GatherElements", None, {"axis": 1}, "indices must be constant, but is computed"),
        ("GatherND", [[0, 9]], {}, "indices must be from [-3, -4] to [2, 3], but are from 0 to 9"),
        ("GatherND", None, {"batch_dims": 1}, "with batch_dims (1), indices must be constant, but are computed"),
    ],
)
def test_refused_gathers(op: str, indices: Any, attrs: dict[str, Any], text: str) -> None:
    inputs: dict[str, Any] = {"x": (np.float32, [3, 4])}
    constants = {}
    if indices is None:
        inputs["i"] = (np.int64, [3, 1])
    else:
        constants["i"] = np.array(indices, np.int64)
    model = model_of([helper.make_node(op, ["x", "i"], ["y"], **attrs)], inputs, ["y"], constants)
    assert_refused(model, f"node 'y' ({op}): {text}")


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_refused_scatters(op: str) -> None:
    nodes = [helper.make_node(op, ["x", "i", "u"], ["y"], reduction="add")]
    inputs = {"x": (np.float32, [3]), "i": (np.int64, [1, 1] if op == "ScatterND" else [1]), "u": (np.float32, [1])}
    assert_refused(model_of(nodes, inputs, ["y"], opset=18), f"node 'y' ({op}): reduction must be none, but is add")
    nodes = [helper.make_node(op, ["x", "i", "u"], ["y"])]
    text = f"node 'y' ({op}): indices must be constant, but is computed"
    assert_refused(model_of(nodes, inputs, ["y"]), text)
