"""Factors that follow each other: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import onnx
import pytest

from arenite.passes.onnx.fuse_factors import MergeFactors
from passes.onnx.fusing import Net, Outcome, said

SPEC = MergeFactors()


def scale(n: Net, value: str, op: str, factor: Any, result: str = "") -> str:
    return n.node(op, [value, np.asarray(factor, n.dtype)], result)


@pytest.mark.parametrize("first", ["Mul", "Div"])
@pytest.mark.parametrize("second", ["Mul", "Div"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_two_become_one(first: str, second: str, dtype: Any) -> None:
    n = Net(dtype=dtype)
    a = scale(n, n.node("Relu", [n.input("x", [3, 4])]), first, [10], "a")
    y = scale(n, a, second, 2.302585, "y")
    o = Outcome(n.model(y), SPEC, tolerance=2e-3 if dtype is np.float16 else 1e-6)
    assert o.ops == ["Relu", first]
    assert o.model.graph.output[0].name == "y"


def test_several_become_one() -> None:
    n = Net()
    value = n.input("x", [3, 4])
    for op, factor in (("Mul", 3), ("Div", -7), ("Mul", 0.1), ("Div", 0.3)):
        value = scale(n, value, op, factor)
    assert Outcome(n.model(value), SPEC).ops == ["Mul"]


def test_constant_before_the_data() -> None:
    n = Net()
    a = n.node("Mul", [np.float32(3), n.input("x", [3, 4])])
    y = n.node("Mul", [np.float32(5), a])
    assert Outcome(n.model(y), SPEC).ops == ["Mul"]
    n = Net()
    a = n.node("Div", [np.float32(3), n.input("x", [3, 4])])
    assert Outcome(n.model(scale(n, a, "Mul", 2)), SPEC).said == {}


@pytest.mark.parametrize(("first", "second"), [([1, 2, 3, 4], 2), (2, [1, 2, 3, 4]), ([2], [1, 2, 3, 4]), (2, [[2]])])
def test_several_numbers_or_dimensions_stay(first: Any, second: Any) -> None:
    n = Net()
    y = scale(n, scale(n, n.input("x", [4]), "Mul", first), "Mul", second, "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed several-factors"


@pytest.mark.parametrize(("first", "second"), [(1e30, 1e-30), (0.0, 2.0), (np.inf, 2.0), (1e15, 1e15)])
def test_what_leaves_the_range_stays(first: float, second: float) -> None:
    n = Net()
    y = scale(n, scale(n, n.input("x", [3, 4]), "Mul", first), "Mul", second, "y")
    assert said(SPEC, n.model(y), "y") == ["missed range"]


@pytest.mark.parametrize("second", ["Relu", "Add", "computed"])
def test_what_is_no_factor_is_no_candidate(second: str) -> None:
    n = Net()
    a = scale(n, n.input("x", [4]), "Mul", 2)
    if second == "Relu":
        y = n.node("Relu", [a])
    else:
        y = scale(n, a, "Add", 2) if second == "Add" else n.node("Mul", [a, n.input("z", [4])])
    assert Outcome(n.model(y), SPEC).said == {}
    n = Net()
    x = n.input("x", [4])
    if second == "Relu":
        y = n.node("Relu", [x])
    else:
        y = scale(n, x, "Add", 2) if second == "Add" else n.node("Mul", [x, n.input("z", [4])])
    assert Outcome(n.model(scale(n, y, "Mul", 2)), SPEC).said == {}


def test_divisions_by_0_stay() -> None:
    n = Net()
    y = scale(n, scale(n, n.input("x", [3, 4]), "Div", 0.0), "Mul", 2.0, "y")
    assert said(SPEC, n.model(y), "y") == ["missed range"]


def test_integers_stay() -> None:
    n = Net(dtype=np.int32)
    y = scale(n, scale(n, n.input("x", [3, 4]), "Mul", 3), "Div", 2, "y")
    assert Outcome(n.model(y), SPEC, tolerance=0).of("y") == "missed not-float"


def test_first_that_is_needed_stays() -> None:
    n = Net()
    a = scale(n, n.input("x", [3, 4]), "Mul", 3, "a")
    assert Outcome(n.model(scale(n, a, "Mul", 2, "y"), a), SPEC).of("y") == "missed intermediate-is-output"
    n = Net()
    a = scale(n, n.input("x", [3, 4]), "Mul", 3, "a")
    o = Outcome(n.model(scale(n, a, "Mul", 2, "y"), n.node("Relu", [a])), SPEC)
    assert o.of("y") == "missed several-readers"


def test_what_is_quantized_later_stays() -> None:
    n = Net()
    y = scale(n, scale(n, n.input("x", [3, 4]), "Mul", 3), "Mul", 2, "y")
    n.node("QuantizeLinear", [y, np.float32(0.1), np.int8(0)], "q")
    model = n.model("y")
    assert said(SPEC, model, "y") == ["missed feeds-quantization"]


def test_first_in_another_graph_stays() -> None:
    def branch(name: str, op: str) -> onnx.GraphProto:
        operands = ["a", "k"] if op == "Mul" else ["x"]
        node = onnx.helper.make_node(op, operands, [f"{name}_y"], name=f"n_{name}_y")
        return onnx.helper.make_graph(
            [node], name, [], [onnx.helper.make_tensor_value_info(f"{name}_y", 1, ["r", "c"])]
        )

    n = Net()
    scale(n, n.input("x", [3, 4]), "Mul", 3, "a")
    n.constant(np.float32(2), "k")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    branches = {"then_branch": branch("p", "Mul"), "else_branch": branch("q", "Neg")}
    n.nodes.append(onnx.helper.make_node("If", [cond], ["y"], name="n_y", **branches))
    assert Outcome(n.model("y"), SPEC).of("p_y") == "missed other-graph"
