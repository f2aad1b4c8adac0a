"""Arithmetic of two operands or many, of values that lie in any order, with broadcasting."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.moves import FEW, after_transpose, ops_of, permuted, shapes
from passes.legalize.spatial import node, one, refusal, run
from passes.legalize.support import made_up, model_of

FULL = np.array([-128, -127, -7, -1, 0, 1, 2, 127], np.int64)


def broadcast_dims(data: st.DataObject, dims: tuple[int, ...]) -> list[int]:
    """Of something that broadcasts to `dims`."""
    rank = data.draw(st.integers(0, len(dims)))
    return [dim if data.draw(st.booleans()) else 1 for dim in dims[len(dims) - rank :]]


@FEW
@given(st.sampled_from(["Add", "Sub", "Mul", "Div", "Min", "Max"]), shapes(1, 5), st.data())
def test_floats(operator: str, dims: tuple[int, ...], data: st.DataObject) -> None:
    perm, other = data.draw(permuted(len(dims))), broadcast_dims(data, dims)
    constant = {"o": np.random.default_rng(1).uniform(0.5, 2, other).astype(np.float32)}
    model = after_transpose([node(operator, "t o")], dims, perm, constants=constant)
    ops = ops_of(model)
    assert len([op for op in ops if op not in ("transpose", "reshape")]) == 1
    assert ops.count("transpose") <= (perm != tuple(sorted(perm)))


@FEW
@given(
    st.sampled_from(["Add", "Sub", "Mul", "Div"]), st.sampled_from([np.int8, np.uint8, np.int16, np.int32]), st.data()
)
def test_integers_wrap_around_and_quotients_are_cut_off(operator: str, dtype: Any, data: st.DataObject) -> None:
    model = model_of([node(operator, "x o")], {"x": (dtype, [8]), "o": (dtype, [3, 1])}, ["y"])
    divisors = [3, -2, 1] if operator == "Div" else data.draw(st.lists(st.integers(-128, 127), min_size=3, max_size=3))
    feeds = {"x": FULL.astype(dtype), "o": np.array(divisors).astype(dtype).reshape(3, 1)}
    ops_of(model, feeds)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("operator", ["Min", "Max"])
def test_extremes_of_integers(operator: str, dtype: Any) -> None:
    run(one(node(operator, "x o"), [8], {"o": FULL[::-1].astype(dtype)}, dtype=dtype))


@pytest.mark.parametrize("operator", ["Sum", "Mean", "Min", "Max"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("alike", [True, False])
def test_many_operands(operator: str, count: int, alike: bool) -> None:
    names = [f"x{index}" for index in range(count)]
    inputs = {name: (np.float32, [2, 3] if alike or index else [3]) for index, name in enumerate(names)}
    ops = run(model_of([node(operator, " ".join(names))], inputs, ["y"]))
    most = {"Sum": 1 if alike else count - 1, "Mean": 2 if alike else count}.get(operator, count - 1)
    assert len(ops) <= max(most, 1)


@pytest.mark.parametrize(
    ("exponent", "ops"),
    [
        (2, ["square"]),
        (0.5, ["sqrt"]),
        (-0.5, ["rsqrt"]),
        (-1, ["div"]),
        (3, ["square", "mul"]),
        (1, ["reshape"]),
        (2.5, ["pow"]),
        (0, ["pow"]),
    ],
)
def test_powers(exponent: float, ops: list[str]) -> None:
    model = one(node("Pow", "x e"), [2, 3], {"e": np.float32(exponent)})
    assert run(model, feeds={"x": np.random.default_rng(2).uniform(0.1, 3, (2, 3)).astype(np.float32)}) == ops


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_exponents_of_another_type(dtype: Any) -> None:
    run(one(node("Pow", "x e"), [2, 3], {"e": np.array([2, 3, 4], dtype)}, dtype=np.float32))
    assert run(one(node("Pow", "x e"), [2, 3], {"e": np.array([2, 0, 4], dtype)}, dtype=np.int32)) == ["pow"]


def test_a_power_of_one_element_that_adds_a_dimension() -> None:
    assert run(one(node("Pow", "x e"), [], {"e": np.full((1, 1), 2, np.float32)})) == ["pow"]


def test_computed_exponents() -> None:
    model = model_of([node("Pow", "x e")], {"x": (np.float32, [2, 3]), "e": (np.int32, [3])}, ["y"])
    ops_of(model, {"x": np.array([[1, 2, 3], [4, 5, 6]], np.float32), "e": np.array([0, 1, 2], np.int32)})
    computed = model_of([node("Pow", "x e")], {"x": (np.int32, [3]), "e": (np.float32, [3])}, ["y"])
    assert refusal(computed) == "the exponents of integers must be integers, but are computed floats"


@pytest.mark.parametrize("exponent", [0.5, -1])
def test_powers_that_are_no_integers(exponent: float) -> None:
    message = refusal(one(node("Pow", "x e"), [3], {"e": np.float32(exponent)}, dtype=np.int32))
    assert message == "the exponents of integers must be whole and not negative"


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("divisors", [[5], [-5], [7, -3, 1]])
@pytest.mark.parametrize("constant", [True, False])
def test_remainders(fmod: int, dtype: Any, divisors: list[int], constant: bool) -> None:
    of, divisor = node("Mod", "x o", fmod=fmod), np.array(divisors, dtype)
    if constant:
        model = one(of, [8, 1], {"o": divisor}, dtype=dtype)
    else:
        model = model_of([of], {"x": (dtype, [8, 1]), "o": (dtype, divisor.shape)}, ["y"])
    feeds = made_up(model) | {"x": FULL.astype(dtype).reshape(8, 1)}
    ops_of(model, feeds if constant else feeds | {"o": divisor})


def test_remainders_of_large_numbers() -> None:
    low, high = -(2**31), 2**31 - 1
    feeds = {"x": np.array([low, high, low, high], np.int32), "o": np.array([high, low, 3, -high], np.int32)}
    ops_of(model_of([node("Mod", "x o")], {"x": (np.int32, [4]), "o": (np.int32, [4])}, ["y"]), feeds)


def test_remainders_of_floats() -> None:
    model = one(node("Mod", "x o", fmod=1), [3], {"o": np.float32(2)})
    assert refusal(model) == "the operands must be integers: remainders of floats have no exact counterpart"


def test_a_sum_in_the_order_of_most_of_it() -> None:
    nodes = [node("Transpose", "x", "t", perm=[0, 2, 3, 1]), node("Add", "t o", "s"), node("Mul", "s t", "y")]
    model = model_of(nodes, {"x": (np.float32, [1, 3, 4, 5])}, ["y"], {"o": np.ones((1, 4, 5, 3), np.float32)})
    assert run(model) == ["add", "mul", "transpose"]
