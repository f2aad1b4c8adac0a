"""Scales and shifts that are not right beside their layer, or beside several that share weights."""

from typing import Any

import numpy as np
import onnx
import pytest

from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from passes.onnx.fusing import Net, Outcome, rand

SPEC = FuseAffine()


def moved(n: Net, value: str) -> str:
    """Through nodes that only move elements: [2, 3, 4] becomes [3, 8]."""
    t = n.node("Transpose", [value], perm=[1, 0, 2])
    u = n.node("Squeeze", [n.node("Unsqueeze", [t, np.array([1], np.int64)]), np.array([1], np.int64)])
    return n.node("Reshape", [u, np.array([3, 8], np.int64)])


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_one_number_passes_what_only_moves_elements(op: str) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 3, 5]), rand(5, 4)])
    b = n.node("Add", [m, rand(4)])
    y = n.node(op, [moved(n, b), np.float32(3)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.of("y") == "passed fused-after"
    assert o.ops == ["MatMul", "Add", "Transpose", "Unsqueeze", "Squeeze", "Reshape"]
    assert o.model.graph.output[0].name == "y"


def test_one_number_before_what_only_moves_elements() -> None:
    n = Net()
    a = n.node("Add", [n.input("x", [2, 3, 4]), np.float32(0.5)], "a")
    m = n.node("Mul", [a, rand(1)], "m")
    y = n.node("Gemm", [moved(n, m), rand(8, 5)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["Transpose", "Unsqueeze", "Squeeze", "Reshape", "Gemm"]


def test_a_product_becomes_a_gemm_before_what_moves_its_elements() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 5]), rand(5, 4)])
    y = n.node("Add", [n.node("Transpose", [m]), np.float32(2)], "y")
    assert Outcome(n.model(y), SPEC).ops == ["Gemm", "Transpose"]


@pytest.mark.parametrize("shape", [(3, 1), (8,), (1, 1, 1)])
def test_several_numbers_and_more_dimensions_do_not_pass(shape: tuple[int, ...]) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 3, 5]), rand(5, 4)])
    y = n.node("Mul", [moved(n, m), rand(*shape)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed broadcasts"
    n = Net()
    b = n.node("Mul", [n.input("x", [3, 8]), rand(*shape)], "b")
    r = n.node("Reshape", [b, np.array([6, 4], np.int64)])
    y = n.node("MatMul", [r, rand(4, 5)], "y")
    assert Outcome(n.model(y), SPEC).of("b") == "missed broadcasts"


def test_normalization_does_not_pass() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 5]), rand(5, 3)])
    y = n.norm(n.node("Transpose", [m]), 3, "y")
    assert Outcome(n.model(y), FuseBatchNorm()).of("y") == "missed other-channels"


@pytest.mark.parametrize("which", ["output", "read"])
def test_what_is_between_must_not_be_needed_as_it_is(which: str) -> None:
    for after in (False, True):
        n = Net()
        x = n.input("x", [3, 5])
        if after:
            t = n.node("Transpose", [n.node("MatMul", [x, rand(5, 3)])], "t")
            y = n.node("Mul", [t, np.float32(2)], "y")
        else:
            t = n.node("Transpose", [n.node("Mul", [x, np.float32(2)], "y")], "t")
            y = n.node("MatMul", [t, rand(3, 4)])
        outputs = [y, t] if which == "output" else [y, n.node("Relu", [t])]
        verdict = "missed intermediate-is-output" if which == "output" else "missed several-readers"
        assert Outcome(n.model(*outputs), SPEC).of("y") == verdict


@pytest.mark.parametrize("count", [8, 9])
def test_layers_that_are_far_away_are_not_looked_for(count: int) -> None:
    n = Net()
    value = n.node("MatMul", [n.input("x", [3, 5]), rand(5, 4)])
    for _ in range(count):
        value = n.node("Transpose", [value])
    assert bool(Outcome(n.model(n.node("Mul", [value, np.float32(2)], "y")), SPEC).said) is (count == 8)
    n = Net()
    value = n.node("Mul", [n.input("x", [3, 3]), np.float32(2)], "y")
    for _ in range(count):
        value = n.node("Transpose", [value])
    assert bool(Outcome(n.model(n.node("MatMul", [value, rand(3, 4)])), SPEC).said) is (count == 8)


@pytest.mark.parametrize("op", ["Sub", "Mul"])
def test_only_an_add_holds_the_bias_of_a_product(op: str) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [1, 3, 5]), n.input("w", [5, 4])])
    k = n.node(op, [m, rand(4)], "k")
    y = n.node("Add", [k, rand(4)], "y")
    assert "n_y" not in Outcome(n.model(y), SPEC).said


def test_only_a_product_has_its_bias_elsewhere() -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 3, 5, 5]), rand(4, 3, 1, 1), n.input("b", [4])])
    a = n.node("Add", [c, rand(4, 1, 1)], "a")
    o = Outcome(n.model(n.node("Mul", [a, np.float32(2)], "y")), SPEC)
    assert o.said == {"n_a": ["missed computed-bias"]}


@pytest.mark.parametrize("after", ["Relu", "output", "Add"])
def test_a_shift_before_a_product_needs_a_bias_that_all_see(after: str) -> None:
    n = Net()
    a = n.node("Add", [n.input("x", [2, 3, 4]), np.float32(0.5)], "a")
    m = n.node("MatMul", [a, rand(4, 5)], "m")
    y = n.node("Relu", [m]) if after == "Relu" else n.node("Add", [m, rand(5)], "b")
    o = Outcome(n.model(*([y, m] if after == "output" else [y])), SPEC)
    assert o.of("a") == ("passed fused-before" if after == "Add" else "missed no-bias")


def test_a_bias_in_another_graph_is_not_the_products() -> None:
    dims = ["a", "b", "c"]

    def branch(name: str, constant: str) -> onnx.GraphProto:
        node = onnx.helper.make_node("Add", ["m" if name == "p" else "x", constant], [f"{name}_y"], name=f"n_{name}_y")
        return onnx.helper.make_graph([node], name, [], [onnx.helper.make_tensor_value_info(f"{name}_y", 1, dims)])

    n = Net()
    a = n.node("Add", [n.input("x", [2, 3, 4]), np.float32(0.5)], "a")
    n.node("MatMul", [a, rand(4, 4)], "m")
    n.constant(rand(4), "k")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    branches = {"then_branch": branch("p", "k"), "else_branch": branch("q", "k")}
    n.nodes.append(onnx.helper.make_node("If", [cond], ["y"], name="n_y", **branches))
    assert Outcome(n.model("y"), SPEC).of("a") == "missed no-bias"


def test_what_computes_is_not_passed() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 5]), rand(5, 3)])
    y = n.node("Mul", [n.node("Relu", [m]), np.float32(-2)], "y")
    assert Outcome(n.model(y), SPEC).said == {}
    n = Net()
    a = n.node("Mul", [n.input("x", [3, 5]), np.float32(-2)], "a")
    y = n.node("MatMul", [n.node("Relu", [a]), rand(5, 3)])
    assert Outcome(n.model(y), SPEC).said == {}


def test_negations() -> None:
    n = Net()
    a = n.node("Neg", [n.input("x", [1, 3, 5, 5])], "a")
    c = n.node("Conv", [a, rand(4, 3, 3, 3), rand(4)], pads=[1, 1, 1, 1])
    y = n.node("Neg", [n.node("Transpose", [c])], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["Conv", "Transpose"]


# Shared weights


def twins(n: Net, count: int, w: Any) -> list[str]:
    x = n.input("x", [1, 16, 7, 7])
    return [n.node("Conv", [x, w], strides=[i + 1, 1], pads=[1] * 4) for i in range(count)]


def test_layers_with_the_same_operators_beside_them_share_their_weights_again() -> None:
    n = Net()
    scale = n.constant(rand(16, 1, 1))
    ends = [n.node("Mul", [c, scale], f"y{i}") for i, c in enumerate(twins(n, 3, n.constant(rand(16, 16, 3, 3))))]
    o = Outcome(n.model(*ends), SPEC)
    assert o.ops == ["Conv"] * 3
    assert o.weights_nbytes == 4 * 16 * 16 * 9
    n = Net()
    ends = [n.node("Neg", [c], f"y{i}") for i, c in enumerate(twins(n, 3, n.constant(rand(16, 16, 3, 3))))]
    o = Outcome(n.model(*ends), SPEC)
    assert o.weights_nbytes == 4 * 16 * 16 * 9


@pytest.mark.parametrize("other", ["scale", "none", "weights-are-an-output", "read-elsewhere"])
def test_layers_with_other_operators_beside_them_would_need_copies(other: str) -> None:
    n = Net()
    scale, w = n.constant(rand(16, 1, 1)), n.constant(rand(16, 16, 3, 3), "w")
    one, two = twins(n, 2, w)
    ends = [n.node("Mul", [one, scale], "y")]
    if other == "scale":
        ends.append(n.node("Mul", [two, rand(16, 1, 1)], "z"))
    elif other == "none":
        ends.append(two)
    else:
        ends += [n.node("Mul", [two, scale], "z"), "w" if other.startswith("weights") else n.node("Relu", ["w"])]
    o = Outcome(n.model(*ends), SPEC)
    assert o.of("y") == "missed shared-weights"


@pytest.mark.parametrize("alike", [True, False])
def test_operators_before_layers_that_share_weights(alike: bool) -> None:
    n = Net()
    x, w, scale = n.input("x", [3, 40]), n.constant(rand(40, 40)), n.constant(rand(40))
    one = n.node("MatMul", [n.node("Mul", [n.node("Sin", [x]), scale], "a"), w])
    two = n.node("MatMul", [n.node("Mul", [n.node("Cos", [x]), scale if alike else rand(40)], "b"), w])
    o = Outcome(n.model(one, two), SPEC)
    assert o.of("a") == ("passed fused-before" if alike else "missed shared-weights")
    assert o.weights_nbytes == 4 * (1600 if alike else 1680)


def test_what_is_not_beside_a_layer_counts_as_one_version() -> None:
    n = Net()
    ends = twins(n, 3, n.constant(rand(16, 16, 3, 3)))
    y = n.node("Neg", [ends[0]], "y")
    others = [n.node("Relu", [ends[1]]), n.node("Sin", [ends[2]])]
    assert Outcome(n.model(y, *others), FuseAffine(max_copy_nbytes=4 * 16 * 144)).of("y") == "passed fused-after"


def test_what_is_no_layer_reads_weights_as_they_are() -> None:
    n = Net()
    w = n.constant(rand(40, 40), "w")
    y = n.node("Neg", [n.node("MatMul", [n.input("x", [3, 40]), w])], "y")
    others = [n.node("Neg", [n.node("Pow", [n.input("v", [40, 40]), w])]), n.node("Relu", [w])]
    assert Outcome(n.model(y, *others), FuseAffine(max_copy_nbytes=4 * 1600)).of("y") == "passed fused-after"


def test_what_several_read_before_layers_is_not_beside_them() -> None:
    n = Net()
    w, scale = n.constant(rand(40, 40), "w"), n.constant(rand(40))
    shared = n.node("Mul", [n.input("x", [3, 40]), scale], "a")
    alone = n.node("Mul", [n.input("v", [3, 40]), scale], "b")
    ends = [n.node("MatMul", [shared, w]), n.node("Relu", [shared]), n.node("MatMul", [alone, w])]
    assert Outcome(n.model(*ends), SPEC).of("b") == "missed shared-weights"


def test_weights_that_are_data_elsewhere_stay_as_they_are_there() -> None:
    n = Net()
    w = n.constant(rand(40, 40))
    y = n.node("Neg", [n.node("MatMul", [n.input("x", [3, 40]), w])], "y")
    z = n.node("Neg", [n.node("MatMul", [w, n.input("v", [40, 5])])], "z")
    o = Outcome(n.model(y, z), SPEC)
    assert o.of("y") == "missed shared-weights"
