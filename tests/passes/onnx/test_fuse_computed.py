"""A factor of channels becomes one of weights that are computed: each precondition has a test."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from arenite.formats.onnx import import_model, model_registry
from arenite.ir.graph import Graph
from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from arenite.passes.onnx.measures import peaks_of
from arenite.passes.onnx.peaks import run_within_peak
from passes.onnx.fusing import Net, Outcome, rand, said

SPEC = FuseAffine()
NORM = FuseBatchNorm()


def conv(n: Net, *, size: int = 8, op: str = "Conv", **attrs: Any) -> str:
    w = n.node("Relu", [n.input("w", [4, 3, 3, 3])], "r")
    return n.node(op, [n.input("x", [1, 3, size, size]), w], "layer", **attrs)


def factors(*shape: int) -> Any:
    return rand(*shape, low=0.5, high=2)


def product(rows: int | str, columns: int, dtype: Any = np.float32, factor: Any = 3) -> Net:
    """A product of matrices, of which the second has 4 rows, and one factor of it."""
    n = Net(dtype=dtype)
    m = n.node("MatMul", [n.input("x", [rows, 4]), n.input("w", [4, columns])], "m")
    n.node("Mul", [m, np.asarray(factor, dtype)], "y")
    return n


def test_a_normalization_becomes_a_factor_of_weights_and_a_bias() -> None:
    n = Net()
    o = Outcome(n.model(n.norm(conv(n), 4, "y")), NORM)
    assert o.of("y") == "passed fused-after"
    assert o.ops == ["Relu", "Mul", "Conv"]
    assert o.weight(1, 1).shape == (4, 1, 1, 1)
    assert o.weight(2, 2).shape == (4,)


def test_a_bias_that_is_constant_is_scaled_too() -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 3, 3, 3])], "r")
    layer = n.node("Conv", [n.input("x", [1, 3, 8, 8]), w, rand(4)], "layer")
    assert Outcome(n.model(n.norm(layer, 4, "y")), NORM).ops == ["Relu", "Mul", "Conv"]


def test_a_bias_that_is_computed_stays() -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 3, 3, 3])], "r")
    layer = n.node("Conv", [n.input("x", [1, 3, 8, 8]), w, n.input("b", [4])], "layer")
    assert Outcome(n.model(n.norm(layer, 4, "y")), NORM).of("y") == "missed computed-bias"


@pytest.mark.parametrize("op", ["Mul", "Div", "Neg", "Sub"])
def test_other_factors(op: str) -> None:
    n = Net()
    layer = conv(n)
    y = n.node(op, {"Neg": [layer], "Sub": [factors(4, 1, 1), layer]}.get(op, [layer, factors(4, 1, 1)]), "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["Relu", "Mul", "Conv"]
    assert o.of("y") == "passed fused-after"


@pytest.mark.parametrize(("group", "verdict"), [(1, "passed fused-after"), (2, "missed several-axes")])
def test_transposed_convolutions(group: int, verdict: str) -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 2, 3, 3])], "r")
    layer = n.node("ConvTranspose", [n.input("x", [1, 4, 8, 8]), w], "layer", group=group)
    o = Outcome(n.model(n.node("Mul", [layer, factors(2 * group, 1, 1)], "y")), SPEC)
    assert o.of("y") == verdict


def test_depthwise_transposed_convolutions() -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 1, 3, 3])], "r")
    layer = n.node("ConvTranspose", [n.input("x", [1, 4, 8, 8]), w], "layer", group=4)
    assert Outcome(n.model(n.node("Mul", [layer, factors(4, 1, 1)], "y")), SPEC).ops == ["Relu", "Mul", "ConvTranspose"]


@pytest.mark.parametrize("trans_b", [0, 1])
def test_a_gemm(trans_b: int) -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [5, 4] if trans_b else [4, 5])], "r")
    g = n.node("Gemm", [n.input("x", [9, 4]), w, rand(5)], "g", transB=trans_b, alpha=2.0, beta=0.5)
    assert Outcome(n.model(n.norm(g, 5, "y")), NORM).ops == ["Relu", "Mul", "Gemm"]


@pytest.mark.parametrize("data", [[2, 9, 4], [9, 4]])
def test_stacks_of_weights_stay(data: list[int]) -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [2, 4, 5])], "r")
    m = n.node("MatMul", [n.input("x", data), w], "m")
    assert Outcome(n.model(n.node("Mul", [m, factors(5)], "y")), SPEC).of("y") == "missed stacks"


def test_matrices_that_all_of_a_stack_are_multiplied_by() -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 5])], "r")
    m = n.node("MatMul", [n.input("x", [2, 9, 4]), w], "m")
    assert Outcome(n.model(n.node("Mul", [m, factors(5)], "y")), SPEC).ops == ["Relu", "Mul", "MatMul"]


def test_weights_on_the_other_side() -> None:
    """What a MatMul reads second is scaled, whichever is constant."""
    n = Net()
    m = n.node("MatMul", [rand(9, 4), n.node("Relu", [n.input("x", [4, 5])])], "m")
    assert Outcome(n.model(n.node("Mul", [m, factors(5)], "y")), SPEC).of("y") == "passed fused-after"
    n = Net()
    m = n.node("MatMul", [rand(9, 4), n.node("Relu", [n.input("x", [4, 5])])], "m")
    assert Outcome(n.model(n.node("Mul", [m, factors(9, 1)], "y")), SPEC).of("y") == "missed not-per-channel"


def test_moved_results_take_one_factor() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [9, 4]), n.node("Relu", [n.input("w", [4, 5])])], "m")
    t = n.node("Transpose", [m])
    o = Outcome(n.model(n.node("Mul", [t, np.float32(3)], "y")), SPEC)
    assert o.ops == ["Relu", "Mul", "MatMul", "Transpose"]


# Fewer elements


@pytest.mark.parametrize(
    ("rows", "columns", "verdict"),
    [
        (4, 5, "missed not-fewer"),
        (5, 5, "passed fused-after"),
        ("n", 5, "missed not-fewer"),
    ],
)
def test_weights_must_have_fewer_elements(rows: int | str, columns: int, verdict: str) -> None:
    assert Outcome(product(rows, columns).model("y"), SPEC).of("y") == verdict


@pytest.mark.parametrize(
    ("data", "weight", "verdict"),
    [
        (["n", 5, 4], [4, 5], "passed fused-after"),
        (["n", 4, 4], [4, 5], "missed not-fewer"),
        (["n", "m", 4], [4, 5], "missed not-fewer"),
        ([5, 4], [4, "m"], "passed fused-after"),
        (["n", 4, 4], [4, "m"], "missed not-fewer"),
        (["n", 5, 4], [4, "m"], "missed not-fewer"),
        (["n", "k", 4], [4, "m"], "missed not-fewer"),
    ],
)
def test_sizes_that_are_not_known_are_1_at_least(data: list[Any], weight: list[Any], verdict: str) -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", data), n.input("w", weight)], "m")
    assert Outcome(n.model(n.node("Mul", [m, np.float32(3)], "y")), SPEC).of("y") == verdict


def test_results_of_unknown_rank() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", None), n.input("w", [4, 5])], "m")
    n.node("Mul", [m, np.float32(3)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed not-fewer"]


# Range


@pytest.mark.parametrize(
    ("dtype", "factor", "verdict"),
    [
        (np.float32, 0, "passed fused-after"),
        (np.float32, -1e18, "passed fused-after"),
        (np.float32, 1e-18, "passed fused-after"),
        (np.float32, 1e20, "missed factor-range"),
        (np.float32, 1e-20, "missed factor-range"),
        (np.float32, -1e-20, "missed factor-range"),
        (np.float16, 100, "passed fused-after"),
        (np.float16, 300, "missed factor-range"),
        (np.float16, 0.005, "missed factor-range"),
    ],
)
def test_factors_that_could_leave_the_range(dtype: Any, factor: float, verdict: str) -> None:
    model = product(9, 5, dtype, factor).model("y")
    assert Outcome(model, SPEC, tolerance=1e-2 if dtype is np.float16 else None).of("y") == verdict


# A factor that there is


def masked(n: Net, *operands: Any, size: int = 3) -> str:
    """A layer whose weights are multiplied already."""
    names = ["w" if operand is None else operand for operand in operands]
    n.input("w", [4, 3, 3, 3])
    m = n.node("Mul", names, "v")
    return n.node("Conv", [n.input("x", [1, 3, size, size]), m], "layer")


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("shape", [(4, 1, 1, 1), (), (1, 3, 1, 1), (4, 3, 3, 3)])
def test_a_factor_of_the_weights_takes_it(first: bool, shape: tuple[int, ...]) -> None:
    n = Net()
    constant = factors(*shape)
    layer = masked(n, *([constant, None] if first else [None, constant]))
    o = Outcome(n.model(n.node("Mul", [layer, factors(4, 1, 1)], "y")), SPEC)
    # Of factors along two dimensions there would be more.
    assert o.of("y") == ("missed not-fewer" if shape == (1, 3, 1, 1) else "passed fused-after")
    assert len(o.ops) == (3 if shape == (1, 3, 1, 1) else 2)


@pytest.mark.parametrize("number", [1e-25, 1e25, np.nan])
def test_a_factor_that_is_nearly_none_takes_nothing(number: float) -> None:
    n = Net()
    layer = masked(n, None, np.float32(number))
    n.node("Mul", [layer, np.float32(2)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed not-fewer"]


def test_factors_that_are_nearly_none_together() -> None:
    n = Net()
    layer = masked(n, None, np.float32(1e-15))
    n.node("Mul", [layer, np.float32(1e-15)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed not-fewer"]


@pytest.mark.parametrize("by", ["node", "output"])
def test_a_factor_of_others_takes_nothing(by: str) -> None:
    n = Net()
    layer = masked(n, None, np.float32(3))
    y = n.node("Mul", [layer, factors(4, 1, 1)], "y")
    z = n.node("Relu", ["v"], "z") if by == "node" else "v"
    assert Outcome(n.model(y, z), SPEC).of("y") == "missed not-fewer"


def test_a_mask_that_is_computed_takes_nothing() -> None:
    n = Net()
    mask = n.input("mask", [4, 3, 3, 3])
    layer = masked(n, None, mask, size=8)
    o = Outcome(n.model(n.node("Mul", [layer, factors(4, 1, 1)], "y")), SPEC)
    assert o.ops == ["Mul", "Mul", "Conv"]


def test_other_operators_take_nothing() -> None:
    n = Net()
    w = n.node("Add", [n.input("w", [4, 3, 3, 3]), np.float32(3)])
    layer = n.node("Conv", [n.input("x", [1, 3, 3, 3]), w])
    assert Outcome(n.model(n.node("Mul", [layer, factors(4, 1, 1)], "y")), SPEC).of("y") == "missed not-fewer"


def test_a_factor_of_three_takes_nothing() -> None:
    n = Net()
    masked(n, None, np.float32(2), np.float32(3))
    n.node("Mul", ["layer", factors(4, 1, 1)], "y")
    model = helper.make_model(
        helper.make_graph(n.nodes, "net", n.inputs, [helper.make_tensor_value_info("y", 1, None)], n.constants)
    )
    # Of a node with too many operands nothing is known.
    assert said(SPEC, model, "y") == ["missed rank-unknown"]


def test_a_factor_goes_on_into_what_computes_the_weights() -> None:
    n = Net()
    w = n.node("MatMul", [n.input("h", [4, 2]), rand(2, 5)], "w")
    m = n.node("MatMul", [n.input("x", [9, 4]), w], "m")
    o = Outcome(n.model(n.node("Mul", [m, factors(5)], "y")), SPEC)
    assert o.ops == ["MatMul", "MatMul"]
    assert o.said["n_m_weights"] == ["passed fused-after"]


def test_a_factor_that_goes_no_further_has_its_verdict() -> None:
    n = Net()
    w = n.node("MatMul", [n.input("h", [4, 2]), n.input("v", [2, 5])], "w")
    m = n.node("MatMul", [n.input("x", [9, 4]), w], "m")
    z = n.node("Relu", [w], "z")
    o = Outcome(n.model(n.node("Mul", [m, factors(5)], "y"), z), SPEC)
    assert o.ops == ["MatMul", "Mul", "MatMul", "Relu"]
    assert o.said["n_m_weights"] == ["missed several-readers"]


# Others, and memory


def test_others_read_the_weights_as_they_were() -> None:
    n = Net()
    layer = conv(n)
    y = n.node("Mul", [layer, factors(4, 1, 1)], "y")
    o = Outcome(n.model(y, n.node("Exp", ["r"], "z")), SPEC)
    assert o.ops == ["Relu", "Mul", "Conv", "Exp"]
    assert o.model.graph.node[3].input[0] == "r"


def peak(graph: Graph, model: onnx.ModelProto) -> int | None:
    imported = import_model(model.SerializeToString(), "net")
    return peaks_of(graph, model_registry(imported))[0]


@pytest.mark.parametrize("later", [False, True])
def test_the_peak_is_not_raised(later: bool) -> None:
    """Weights that somebody reads later are alive with what becomes of them, beside data and result of the layer."""
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 4, 3, 3])], "r")
    layer = n.node("Conv", [n.input("x", [1, 4, 9, 9]), w], "layer")
    y = n.node("ReduceMax", [n.node("Mul", [layer, factors(4, 1, 1)], "y")], "m", keepdims=0)
    outputs = [y, n.node("Exp", ["r"], "z")] if later else [y]
    model = n.model(*outputs)
    imported = import_model(model.SerializeToString(), "net")
    before = peak(imported.graph, model)
    found = run_within_peak(imported.graph, (SPEC,), model_registry(imported))
    assert before is not None
    after = peak(found.graph, model)
    assert after is not None
    assert after <= before
    said = [(r.subject, r.kind.value, r.reason.slug) for r in found.result.remarks]
    if later:
        assert said == [("n_y", "analysis", "raises-peak"), ("n_y", "missed", "raises-peak")]
    else:
        assert said == [("n_y", "passed", "fused-after")]


def test_layers_in_nested_graphs() -> None:
    n = Net()
    n.input("x", [1, 3, 8, 8])
    w = n.node("Relu", [n.input("w", [4, 3, 3, 3])], "r")
    n.constant(factors(4, 1, 1), "k")
    dims = ["a", "b", "c", "d"]

    def branch(name: str) -> onnx.GraphProto:
        nodes = [
            helper.make_node("Conv", ["x", w], [f"{name}_c"], name=f"n_{name}_c"),
            helper.make_node("Mul", [f"{name}_c", "k"], [f"{name}_y"], name=f"n_{name}_y"),
        ]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", 1, dims)])

    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(helper.make_node("If", [cond], ["y"], name="n_y", then_branch=branch("p"), else_branch=branch("q")))
    o = Outcome(n.model("y"), SPEC)
    assert (o.of("p_y"), o.of("q_y")) == ("passed fused-after", "passed fused-after")


def test_what_is_quantized_later_stays() -> None:
    n = Net()
    y = n.node("Mul", [conv(n), factors(4, 1, 1)], "y")
    q = n.node("QuantizeLinear", [y, np.float32(0.1), np.int8(0)], "q")
    n.node("DequantizeLinear", [q, np.float32(0.1), np.int8(0)], "f")
    assert Outcome(n.model("f"), SPEC).of("y") == "missed feeds-quantization"


def test_what_comes_before_computed_weights_stays() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 8, 8]), np.float32(3)], "m")
    y = n.node("Conv", [m, n.node("Relu", [n.input("w", [4, 3, 3, 3])])], "y")
    assert Outcome(n.model(y), SPEC).of("m") == "missed computed-weights"
