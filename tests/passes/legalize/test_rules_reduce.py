"""Reductions, indices of extremes, and softmax, of values that lie in any order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.moves import FEW, after_transpose, ops_of, permuted, shapes
from passes.legalize.spatial import computed, node, numbers, one, refusal, run
from passes.legalize.support import made_up, model_of

NODES = {
    "ReduceMean": ["mean"],
    "ReduceSum": ["sum"],
    "ReduceMax": ["reduce_max"],
    "ReduceMin": ["reduce_min"],
    "ReduceL1": ["abs", "sum"],
    "ReduceL2": ["square", "sum", "sqrt"],
    "ReduceSumSquare": ["square", "sum"],
    "ReduceLogSum": ["sum", "log"],
    "ReduceLogSumExp": ["reduce_max", "sub", "exp", "sum", "log", "add"],
}
OPERATORS = st.sampled_from(sorted(NODES))


@FEW
@given(OPERATORS, shapes(1, 4), st.sampled_from([7, 13, 18]), st.data())
def test_reductions(operator: str, dims: tuple[int, ...], opset: int, data: Any) -> None:
    """Axes are an attribute, then an operand, and count from the end, too; nothing is transposed for them."""
    rank = len(dims)
    axes = data.draw(st.lists(st.integers(0, rank - 1), max_size=rank, unique=True))
    axes = [axis - rank * data.draw(st.integers(0, 1)) for axis in axes]
    attrs: dict[str, Any] = {"keepdims": data.draw(st.integers(0, 1))}
    constants: dict[str, Any] = {}
    operand = opset >= 18 or (operator == "ReduceSum" and opset >= 13)
    if axes and operand:
        constants["a"] = np.array(axes, np.int64)
    elif axes:
        attrs["axes"] = axes
    of, perm = node(operator, "t a" if constants else "t", **attrs), data.draw(permuted(rank))
    model = after_transpose([of], dims, perm, constants=constants, opset=opset)
    feeds = {"x": np.random.default_rng(3).uniform(0.1, 3, [dims[perm.index(a)] for a in range(rank)])}
    ops = ops_of(model, {"x": feeds["x"].astype(np.float32)})
    assert [op for op in ops if op not in ("reshape", "transpose")] == NODES[operator]
    assert ops.count("transpose") <= 1
    assert not axes or "transpose" not in ops or attrs["keepdims"] or len(dims) - len(axes) > 1


@pytest.mark.parametrize("operator", sorted(NODES))
def test_nothing_to_reduce(operator: str) -> None:
    """What composite operators do besides is done."""
    model = one(node(operator, "x", noop_with_empty_axes=1), [2, 3], opset=18)
    if operator in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceLogSumExp"):
        assert run(model) == ["reshape"]
        return
    # The runtime here leaves its operand as it is.
    positive = [node("Abs", "x", "p"), node(operator, "p", noop_with_empty_axes=1)]
    found = computed(model_of(positive, {"x": (np.float32, [2, 3])}, ["y"], opset=18))
    x = np.abs(made_up(model)["x"].astype(np.float32))
    expected = {"ReduceLogSum": np.log(x), "ReduceSumSquare": x * x}.get(operator, x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@FEW
@given(st.sampled_from(["ArgMax", "ArgMin"]), shapes(1, 4), st.sampled_from([np.float32, np.int32, np.int8]), st.data())
def test_indices_of_extremes(operator: str, dims: tuple[int, ...], dtype: Any, data: Any) -> None:
    rank = len(dims)
    attrs = {"axis": data.draw(st.integers(-rank, rank - 1)), "keepdims": data.draw(st.integers(0, 1))}
    model = after_transpose([node(operator, "t", **attrs)], dims, data.draw(permuted(rank)), dtype=dtype)
    ops = ops_of(model)
    assert len([op for op in ops if op not in ("reshape", "transpose")]) == 1


def test_the_last_of_equal_extremes() -> None:
    assert refusal(one(node("ArgMax", "x", select_last_index=1), [3])) == (
        "select_last_index must be 0: the core dialect finds the first of equal elements"
    )


@FEW
@given(
    st.sampled_from(["Softmax", "LogSoftmax", "Hardmax"]), shapes(1, 5), st.sampled_from([7, 11, 12, 13, 17]), st.data()
)
def test_softmax(operator: str, dims: tuple[int, ...], opset: int, data: Any) -> None:
    """Before opset 13, all dimensions from the axis on are one."""
    rank = len(dims)
    axis = data.draw(st.integers(0 if opset < 11 else -rank, rank - 1))
    attrs = {} if data.draw(st.booleans()) and rank > 1 else {"axis": axis}
    perm = data.draw(permuted(rank))
    ops_of(after_transpose([node(operator, "t", **attrs)], dims, perm, opset=opset))


@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_over_channels_that_lie_last(opset: int) -> None:
    """Of an image of one pixel, the dimensions behind the channels are none."""
    size, axis = (1, 1) if opset < 13 else (4, 5), 1
    nodes = [node("Conv", "x w", "c"), node("Softmax", "c", axis=axis)]
    model = model_of(nodes, {"x": (np.float32, [1, 2, *size])}, ["y"], {"w": numbers(3, 2, 1, 1)}, opset=opset)
    assert run(model) == ["conv2d", "softmax"]


def test_reductions_of_what_lies_channels_last() -> None:
    nodes = [node("Conv", "x w", "c"), node("ReduceMean", "c", axes=[2, 3], keepdims=0)]
    model = model_of(nodes, {"x": (np.float32, [2, 2, 4, 5])}, ["y"], {"w": numbers(3, 2, 1, 1)})
    assert run(model) == ["conv2d", "mean"]


def test_sums_of_exponentials_do_not_overflow() -> None:
    model = one(node("ReduceLogSumExp", "x", axes=[1]), [2, 3])
    run(model, feeds={"x": np.array([[900, 901, 899], [-900, -901, -899]], np.float32)})


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_norms(p: int, axis: int) -> None:
    model = one(node("LpNormalization", "x", p=p, axis=axis), [2, 3, 4])
    x = numbers(2, 3, 4)
    x[:, :, 1] = 0
    x[:, 1] = 0
    x[1] = 0
    assert "transpose" not in run(model, feeds={"x": x})


def test_other_norms() -> None:
    assert refusal(one(node("LpNormalization", "x", p=3), [2, 3])) == "p must be 1 or 2, but is 3"


def test_what_is_refused() -> None:
    model = model_of([node("ReduceSum", "x a")], {"x": (np.float32, [2, 3]), "a": (np.int64, [1])}, ["y"])
    assert refusal(model) in (
        "the axes must be constant, but is computed",
        "operand 'axes' must be constant, but is computed",
    )
    integers = refusal(one(node("ReduceSum", "x"), [2, 3], dtype=np.int32))
    assert integers.startswith("as sum, dtypes must be one of (float32) -> float32")
