"""Scales and shifts beside Gemm and MatMul: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import pytest

from arenite.passes.onnx.fuse_affine import FuseAffine
from passes.onnx.fusing import Net, Outcome, rand, said

SPEC = FuseAffine()


def per_channel(rank: int, count: int, dtype: Any = np.float32) -> Any:
    return rand(count, *(1,) * (rank - 2), low=0.5, high=2, dtype=dtype)


def conv(n: Net, x: str, **attrs: Any) -> str:
    return n.node("Conv", [x, rand(4, 3, 3, 3), rand(4)], "layer", **attrs)


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (1, 1)])
def test_gemm_keeps_alpha_and_beta(trans_b: int, shape: tuple[int, ...]) -> None:
    n = Net()
    weights = rand(5, 4) if trans_b else rand(4, 5)
    a = n.node("Mul", [n.input("x", [3, 4]), rand(4, low=1, high=2)], "a")
    b = n.node("Add", [a, rand(1, 4)], "b")
    g = n.node("Gemm", [b, weights, rand(*shape)], "g", alpha=-3.0, beta=0.25, transB=trans_b)
    m = n.node("Mul", [g, rand(5)], "m")
    y = n.node("Add", [m, rand(1, 5)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["Gemm"]
    assert not [a for a in o.model.graph.node[0].attribute if a.name == "beta"]


def test_gemm_whose_data_is_transposed_has_its_channels_first() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [3, 3]), rand(3, 1, low=1, high=2)], "m")
    y = n.node("Gemm", [m, rand(3, 2), rand(2)], "y", transA=1)
    assert Outcome(n.model(y), SPEC).of("m") == "passed fused-before"
    n = Net()
    m = n.node("Mul", [n.input("x", [3, 3]), rand(3, low=1, high=2)], "m")
    y = n.node("Gemm", [m, rand(3, 2), rand(2)], "y", transA=1)
    assert Outcome(n.model(y), SPEC).of("m") == "missed not-per-channel"


@pytest.mark.parametrize("shape", [(3, 5), (3, 1)])
def test_gemm_whose_bias_is_not_per_channel_stays(shape: tuple[int, ...]) -> None:
    n = Net()
    g = n.node("Gemm", [n.input("x", [3, 4]), rand(4, 5), rand(*shape)], "g")
    y = n.node("Mul", [g, rand(5)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed bias-shape"


def test_gemm_whose_bias_is_computed_stays() -> None:
    n = Net()
    b = n.input("b", [5])
    g = n.node("Gemm", [n.input("x", [3, 4]), rand(4, 5), b], "g")
    y = n.node("Add", [g, rand(5)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed computed-bias"


def test_gemm_without_bias_gets_one() -> None:
    n = Net(opset=11)
    g = n.node("Gemm", [n.input("x", [3, 4]), rand(4, 5)], "g", alpha=2.0)
    y = n.node("Add", [g, rand(5)], "y")
    assert Outcome(n.model(y), SPEC).ops == ["Gemm"]


def test_product_of_matrices_and_a_bias_become_a_gemm() -> None:
    for operands in (0, 1):
        n = Net(opset=7)
        m = n.node("MatMul", [n.input("x", ["n", 4]), rand(4, 5)], "m")
        b = n.constant(rand(1, 5))
        y = n.node("Add", [m, b] if operands else [b, m], "y")
        o = Outcome(n.model(y), SPEC)
        assert o.ops == ["Gemm"]
        assert len(o.model.graph.node[0].input) == 3


@pytest.mark.parametrize(
    ("data", "weights", "bias", "verdict"),
    [
        ([2, 3, 4], (4, 5), (5,), "missed no-bias"),
        ([4], (4, 5), (5,), "missed no-bias"),
        ([1, 4], (4, 5), (3, 5), "missed broadcasts"),
        ([3, 4], (4, 5), (3, 5), "missed not-per-channel"),
        (["n", 4], (4, 5), (3, 5), "missed broadcasts"),
        ([3, 4], (4, 5), (1, 1, 5), "missed broadcasts"),
        ([4, 4], (2, 4, 5), (5,), "missed no-bias"),
        ([3, 4], (4, 1), (5,), "missed broadcasts"),
        ([3, 4], (4, 5), (1,), "passed fused-after"),
    ],
)
def test_only_biases_become_part_of_a_gemm(data: list[int | str], weights: Any, bias: Any, verdict: str) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", data), rand(*weights)], "m")
    y = n.node("Add", [m, rand(*bias, low=1, high=2)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == verdict


def test_rank_of_the_data_must_be_known_for_a_gemm() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", None), rand(4, 5)], "m")
    y = n.node("Add", [m, rand(5)], "y")
    assert said(SPEC, n.model(y), "y") == ["missed no-bias"]


def test_affine_chain_around_a_product() -> None:
    n = Net()
    h = n.node("Add", [n.input("x", [2, 3]), rand(3)], "a")
    h = n.node("Mul", [h, rand(3)], "b")
    h = n.node("MatMul", [h, rand(3, 1)], "c")
    h = n.node("Add", [h, rand(1)], "d")
    h = n.node("Mul", [h, np.float32(-7)], "e")
    h = n.node("Add", [h, rand(1)], "f")
    h = n.node("Mul", [np.float32(-7), h], "g")
    o = Outcome(n.model(h), SPEC)
    assert o.ops == ["Gemm"]
    assert all(verdict[0].startswith("passed") for verdict in o.said.values())


def test_stack_of_matrices_keeps_its_add_as_the_bias() -> None:
    n = Net()
    a = n.node("Add", [n.input("x", [2, 3, 4]), rand(4)], "a")
    m = n.node("MatMul", [a, rand(4, 5)], "m")
    b = n.node("Add", [m, rand(5)], "b")
    s = n.node("Mul", [b, rand(5)], "s")
    y = n.node("Sub", [s, rand(1, 5)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["MatMul", "Add"]
    assert o.of("a") == "passed fused-before"
    assert o.of("b") == "missed no-bias"


def test_bias_of_a_stack_that_somebody_else_reads_stays() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 3, 4]), rand(4, 5)], "m")
    b = n.node("Add", [m, rand(5)], "b")
    y = n.node("Mul", [b, rand(5)], "y")
    assert Outcome(n.model(y, "b"), SPEC).of("y") == "missed intermediate-is-output"
    n = Net()
    a = n.node("Add", [n.input("x", [2, 3, 4]), rand(4)], "a")
    m = n.node("MatMul", [a, rand(4, 5)], "m")
    n.node("Add", [m, rand(5)], "b")
    n.node("Relu", [m], "r")
    o = Outcome(n.model("b", "r"), SPEC)
    assert o.of("a") == "missed no-bias"


def test_stack_of_weights_takes_factors_only() -> None:
    n = Net()
    a = n.node("Mul", [n.input("x", [2, 3, 4]), rand(4)], "a")
    m = n.node("MatMul", [a, rand(2, 4, 5)], "m")
    y = n.node("Mul", [m, rand(5)], "y")
    assert Outcome(n.model(y), SPEC).ops == ["MatMul"]


def test_weights_that_are_a_vector_stay() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 4]), rand(4)], "m")
    y = n.node("Mul", [m, np.float32(2)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed misfit"


def test_factor_of_rows_is_none_of_columns() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [5, 4]), rand(4, 5)], "m")
    y = n.node("Mul", [m, rand(5, 1, low=1, high=2)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed not-per-channel"


def test_integers_stay() -> None:
    n = Net(dtype=np.int32)
    w = n.constant(np.arange(20, dtype=np.int32).reshape(4, 5))
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    y = n.node("Add", [m, np.arange(5, dtype=np.int32)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed not-float"


def test_integers_before_a_layer_stay() -> None:
    n = Net(dtype=np.int32)
    m = n.node("Mul", [n.input("x", [3, 4]), np.int32(2)], "m")
    y = n.node("MatMul", [m, np.arange(20, dtype=np.int32).reshape(4, 5)], "y")
    assert Outcome(n.model(y), SPEC).of("m") == "missed not-float"


def test_weights_of_unknown_rank_stay() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 4]), n.input("w", None)], "m")
    assert said(SPEC, n.model(n.node("Add", [m, rand(5)], "y")), "y") == ["missed rank-unknown"]


def test_layers_that_do_not_fit_stay() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 9, 6, 6]), group=3)
    assert said(SPEC, n.model(n.node("Mul", [layer, per_channel(4, 4)], "y")), "y") == ["missed misfit"]
    n = Net()
    g = n.node("Gemm", [n.input("x", [3, 4]), rand(1, 4, 5)], "g")
    assert said(SPEC, n.model(n.node("Mul", [g, rand(5)], "y")), "y") == ["missed misfit"]
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 6, 6]), group="two")
    assert said(SPEC, n.model(n.node("Mul", [layer, per_channel(4, 4)], "y")), "y") == ["missed misfit"]


@pytest.mark.parametrize(
    ("op", "shape", "verdict"),
    [("Mul", (1,), "passed fused-before"), ("Add", (), "passed fused-before"), ("Mul", (1,) * 4, "missed broadcasts")],
)
def test_operand_of_unknown_rank_before_a_layer(op: str, shape: tuple[int, ...], verdict: str) -> None:
    n = Net()
    m = n.node(op, [n.input("x", None), rand(*shape)], "m")
    assert said(SPEC, n.model(conv(n, m)), "m") == [verdict]


def test_a_factor_of_1_before_computed_weights_goes() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [3, 4]), np.float32(1)], "m")
    y = n.node("MatMul", [m, n.input("w", [4, 5])], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.of("m") == "passed fused-before"


def test_a_bias_that_is_taken_away_again_becomes_0() -> None:
    n = Net()
    bias = rand(4)
    c = n.node("Conv", [n.input("x", [1, 3, 5, 5]), rand(4, 3, 1, 1), bias])
    o = Outcome(n.model(n.node("Sub", [c, bias.reshape(4, 1, 1)], "y")), SPEC)
    assert o.ops == ["Conv"]
    assert not np.any(o.weight(0, 2))


def test_a_vector_times_a_stack_of_matrices_takes_no_bias() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3]), rand(2, 3, 4)])
    assert Outcome(n.model(n.node("Add", [m, rand(4)], "y")), SPEC).of("y") == "missed no-bias"


@pytest.mark.parametrize("shape", [(4,), (1, 4), (1, 1, 4), (1, 1, 1, 4)])
@pytest.mark.parametrize("known", [True, False])
def test_biases_of_products_may_have_more_dimensions(shape: tuple[int, ...], known: bool) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 3, 5] if known else None), rand(5, 4)])
    n.node("Mul", [n.node("Add", [m, rand(*shape)], "a"), rand(4)], "y")
    fits = len(shape) <= (3 if known else 1)
    assert said(SPEC, n.model("y"), "y") == ["passed fused-after" if fits else "missed bias-shape"]


def test_biases_of_convolutions_may_not() -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 3, 5, 5]), rand(4, 3, 1, 1), rand(1, 4)])
    n.node("Mul", [c, np.float32(2)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed bias-shape"]


@pytest.mark.parametrize(("weights", "factor"), [(rand(4, 5), 0), (np.zeros((4, 5), np.float32), 2)], ids=["0", "of-0"])
def test_weights_of_0_lose_no_precision(weights: Any, factor: float) -> None:
    n = Net()
    y = n.node("Mul", [n.node("MatMul", [n.input("x", [3, 4]), weights]), np.float32(factor)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "passed fused-after"


def test_a_bias_that_becomes_0_goes_at_once() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 3, 4]), rand(4, 5)], "m")
    y = n.node("Mul", [n.node("Add", [m, rand(5)], "a"), np.float32(0)], "y")
    o = Outcome(n.model(y), SPEC)
    assert (o.of("a"), o.of("y")) == ("passed fused-after", "passed fused-after")
