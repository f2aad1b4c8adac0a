"""Functions of one element, comparisons, logic and casts, of values that lie in any order."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from passes.legalize.moves import FEW, after_transpose, assert_refused, ops_of, permuted, shapes
from passes.legalize.spatial import node, one, refusal, run
from passes.legalize.support import made_up

ONE_NODE = {
    "Abs": "abs",
    "Neg": "neg",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Reciprocal": "div",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Sin": "sin",
    "Cos": "cos",
    "Sigmoid": "logistic",
    "Tanh": "tanh",
    "HardSwish": "hard_swish",
    "IsNaN": "not_equal",
}
INTEGERS = [np.int8, np.uint8, np.int16, np.int32, np.int64]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 3.7, -1e-9, 88.0], np.float32)


@FEW
@given(st.sampled_from(sorted(ONE_NODE)), shapes(1, 4), st.data())
def test_one_node_in_the_order_in_which_the_value_lies(operator: str, dims: tuple[int, ...], data: Any) -> None:
    perm = data.draw(permuted(len(dims)))
    ops = ops_of(after_transpose([node(operator, "t")], dims, perm))
    assert [op for op in ops if op not in ("transpose", "reshape")] == [ONE_NODE[operator]]
    assert ops.count("transpose") <= (perm != tuple(sorted(perm)))


@pytest.mark.parametrize("operator", sorted(ONE_NODE))
def test_one_number(operator: str) -> None:
    assert run(one(node(operator, "x"), [])) == [ONE_NODE[operator]]


@pytest.mark.parametrize("operator", ["Round", "Floor", "Ceil", "Sign", "IsNaN", "IsInf", "Abs", "Neg"])
def test_special_numbers(operator: str) -> None:
    numbers = SPECIAL[1:] if operator == "Sign" else SPECIAL
    model = one(node(operator, "x"), numbers.shape)
    with np.errstate(invalid="ignore"):
        run(model, feeds={"x": numbers})


@pytest.mark.parametrize(("positive", "negative"), [(1, 1), (1, 0), (0, 1)])
def test_infinities(positive: int, negative: int) -> None:
    of = node("IsInf", "x", detect_positive=positive, detect_negative=negative)
    run(one(of, SPECIAL.shape), feeds={"x": SPECIAL})


def test_no_infinities() -> None:
    of = node("IsInf", "x", detect_positive=0, detect_negative=0)
    assert refusal(one(of, [3])) == "one of detect_positive and detect_negative must be set"


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("operator", ["Abs", "Neg", "Sign"])
def test_integers(operator: str, dtype: type[np.generic]) -> None:
    model = one(node(operator, "x"), [4], dtype=dtype)
    if dtype is np.int64 and operator != "Sign":
        assert refusal(model).startswith("as sub, dtypes must be one of")
        return
    low = np.iinfo(dtype).min  # type: ignore[type-var]
    run(model, feeds={"x": np.array([low, -3, 0, 5], dtype)})


@pytest.mark.parametrize("operator", ["Tan", "Sign"])
def test_functions_of_several_nodes(operator: str) -> None:
    assert len(run(one(node(operator, "x"), [2, 3, 4]))) > 1


@FEW
@given(
    st.sampled_from(["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]),
    st.sampled_from([np.float32, *INTEGERS]),
    shapes(1, 4),
    st.data(),
)
def test_comparisons(operator: str, dtype: Any, dims: tuple[int, ...], data: Any) -> None:
    rank = data.draw(st.integers(0, len(dims)))
    other = [dim if data.draw(st.booleans()) else 1 for dim in dims[len(dims) - rank :]]
    model = after_transpose(
        [node(operator, "t o")], dims, data.draw(permuted(len(dims))), others={"o": (dtype, other)}, dtype=dtype
    )
    ops_of(model, made_up(model) | {"o": np.asarray(np.ones(other), dtype)})


@FEW
@given(st.sampled_from(["And", "Or", "Xor"]), shapes(1, 4), st.data())
def test_logic(operator: str, dims: tuple[int, ...], data: Any) -> None:
    perm = data.draw(permuted(len(dims)))
    nodes = [node("Not", "t", "n"), node(operator, "n t")]
    assert len(ops_of(after_transpose(nodes, dims, perm, dtype=np.bool_))) <= 3


CASTS = [np.float32, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_]


@pytest.mark.parametrize("target", CASTS)
@pytest.mark.parametrize("source", CASTS)
def test_casts(source: type[np.generic], target: type[np.generic]) -> None:
    """Within what the target holds, and beyond it from integers, which wrap around."""
    numbers: Any = np.array([0, 1, 2.75, 100.5, 3]) if source is np.float32 else np.array([0, 1, 200, 70000, -5, -129])
    to = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    feeds = {"x": numbers.astype(source)}
    ops = run(one(node("Cast", "x", to=to), numbers.shape, dtype=source), feeds=feeds)
    assert ops == (["reshape"] if source is target else ["cast"])


def test_negative_floats_lose_their_fraction() -> None:
    model = one(node("Cast", "x", to=onnx.TensorProto.INT32), [4])
    run(model, feeds={"x": np.array([-2.75, -0.5, -1e9, 7.999], np.float32)})


@pytest.mark.parametrize(("to", "name"), [(onnx.TensorProto.DOUBLE, "float64"), (onnx.TensorProto.FLOAT16, "float16")])
def test_casts_to_what_files_have_not(to: int, name: str) -> None:
    assert refusal(one(node("Cast", "x", to=to), [3])) == (
        "'y' must be of bool, float32, int16, int32, int64, int8, uint8, but is "
        f"{name}; save the model with float32 in its place"
    )


def test_inputs_of_other_types() -> None:
    assert_refused(
        one(node("Relu", "x"), [3], dtype=np.float64),
        "input 'x': 'x' must be of bool, float32, int16, int32, int64, int8, uint8, but is float64; save the model "
        "with float32 in its place",
    )


def test_an_operator_of_an_old_opset() -> None:
    assert run(one(node("Sigmoid", "x"), [3], opset=6)) == ["logistic"]
    message = refusal(one(node("Add", "x c"), [3], {"c": np.ones(3, np.float32)}, opset=6))
    assert message.startswith("the model must be of opset 7 or newer, but is of 6, where this operator is another")
