"""Scales and shifts beside layers: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from passes.onnx.fusing import Net, Outcome, rand, said

SPEC = FuseAffine()


def per_channel(rank: int, count: int, dtype: Any = np.float32) -> Any:
    return rand(count, *(1,) * (rank - 2), low=0.5, high=2, dtype=dtype)


def conv(n: Net, x: str, **attrs: Any) -> str:
    return n.node("Conv", [x, rand(4, 3, 3, 3), rand(4)], "layer", **attrs)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("turned", [False, True])
def test_after_a_convolution(op: str, turned: bool) -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 6, 6]), pads=[1, 1, 1, 1])
    constant = per_channel(4, 4)
    y = n.node(op, [constant, layer] if turned else [layer, constant], "y")
    o = Outcome(n.model(y), SPEC)
    if op == "Div" and turned:
        assert o.of("y") == "missed is-divisor"
        assert o.ops == ["Conv", "Div"]
    else:
        assert o.of("y") == "passed fused-after"
        assert o.ops == ["Conv"]
    assert o.model.graph.output[0].name == "y"


def test_an_operator_before_a_convolution_without_padding() -> None:
    n = Net()
    x = n.input("x", [1, 6, 6, 6])
    a = n.node("Sub", [x, per_channel(4, 6)], "a")
    m = n.node("Div", [a, per_channel(4, 6)], "m")
    y = n.node("Conv", [m, rand(4, 3, 2, 3)], "y", group=2, strides=[2, 1], dilations=[1, 2])
    o = Outcome(n.model(y), SPEC)
    assert (o.of("a"), o.of("m")) == ("passed fused-before", "passed fused-before")
    assert o.ops == ["Conv"]


def test_a_scale_before_a_padded_convolution() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "m")
    o = Outcome(n.model(conv(n, m, pads=[1, 1, 1, 1])), SPEC)
    assert o.of("m") == "passed fused-before"


def test_a_shift_before_a_padded_convolution_stays() -> None:
    n = Net()
    m = n.node("Add", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "m")
    o = Outcome(n.model(conv(n, m, pads=[0, 0, 1, 0])), SPEC)
    assert o.of("m") == "missed padded"


@pytest.mark.parametrize("pads", [[1, 0, 0, 0], [0, 0, 0, 1]])
def test_padding_of_one_side_is_padding(pads: list[int]) -> None:
    n = Net()
    m = n.node("Add", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "m")
    assert Outcome(n.model(conv(n, m, pads=pads)), SPEC).of("m") == "missed padded"


def test_windows_of_other_ranks_do_not_fit() -> None:
    n = Net()
    m = n.node("Add", [n.input("x", [1, 3, 5]), np.float32(1)], "m")
    conv(n, m, strides=[1], dilations=[1], kernel_shape=[3, 3])
    assert said(SPEC, n.model("layer"), "m") == ["missed misfit"]


@pytest.mark.parametrize(
    ("auto", "kernel", "verdict"),
    [("SAME_UPPER", 3, "missed padded"), ("VALID", 3, "passed"), ("SAME_LOWER", 1, "passed")],
)
def test_auto_padding_is_worked_out(auto: str, kernel: int, verdict: str) -> None:
    n = Net()
    m = n.node("Add", [n.input("x", [1, 3, "h", 5]), per_channel(4, 3)], "m")
    y = n.node("Conv", [m, rand(4, 3, kernel, kernel)], "y", auto_pad=auto, strides=[2, 2])
    assert Outcome(n.model(y), SPEC).of("m").startswith(verdict)


def test_a_shift_before_a_transposed_convolution_stays_and_a_scale_fuses() -> None:
    n = Net()
    a = n.node("Add", [n.input("x", [1, 4, 5, 5]), per_channel(4, 4)], "a")
    m = n.node("Mul", [a, per_channel(4, 4)], "m")
    y = n.node("ConvTranspose", [m, rand(4, 3, 3, 3)], "y", group=2, strides=[2, 2])
    o = Outcome(n.model(y), SPEC)
    assert (o.of("m"), o.of("a")) == ("passed fused-before", "missed overlaps")


def test_after_a_transposed_convolution_in_groups() -> None:
    n = Net()
    c = n.node("ConvTranspose", [n.input("x", [1, 4, 5, 5]), rand(4, 3, 3, 3)], "c", group=2, strides=[2, 1])
    m = n.node("Mul", [c, per_channel(4, 6)], "m")
    y = n.node("Sub", [m, per_channel(4, 6)], "y")
    assert Outcome(n.model(y), SPEC).ops == ["ConvTranspose"]


# Not a bias


@pytest.mark.parametrize(
    ("shape", "verdict"),
    [
        ((4,), "missed not-per-channel"),  # broadcasts along the width, which is as large
        ((1, 4, 4, 4), "missed not-per-channel"),
        ((1, 4, 1, 1), "passed fused-after"),
        ((4, 1, 1), "passed fused-after"),
        ((1, 1, 1, 1), "passed fused-after"),
        ((), "passed fused-after"),
        ((1, 1, 4, 1, 1), "missed broadcasts"),
        ((2, 4, 1, 1), "missed broadcasts"),
    ],
)
def test_only_what_is_the_same_along_all_but_the_channels_is_a_bias(shape: tuple[int, ...], verdict: str) -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 4, 4, 4]), rand(4, 2, 1, 1)], "c", group=2)
    y = n.node("Add", [c, rand(*shape)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == verdict


def test_constant_that_repeats_along_the_other_dimensions_is_a_bias() -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 4, 4, 4]), rand(4, 4, 1, 1)], "c")
    y = n.node("Add", [c, np.broadcast_to(rand(1, 4, 1, 1), (1, 4, 4, 4)).copy()], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.of("y") == "passed fused-after"
    assert o.weights_nbytes == 4 * (16 + 4)


def test_constant_that_gives_an_unknown_size_stays() -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 4, "h", 4]), rand(4, 4, 1, 1)], "c")
    y = n.node("Add", [c, np.ones((1, 4, 3, 1), np.float32)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed broadcasts"


def test_several_channels_for_a_layer_with_one_stay() -> None:
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 4, 4, 4]), rand(1, 4, 1, 1)], "c")
    y = n.node("Add", [c, rand(1, 3, 1, 1)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed broadcasts"


def test_operand_that_is_broadcast_before_a_layer_stays() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 1, 5, 5]), per_channel(4, 3)], "m")
    assert Outcome(n.model(conv(n, m)), SPEC).of("m") == "missed broadcasts"


def test_operand_that_gets_a_dimension_before_a_layer_stays() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [3, 5, 5]), np.ones((1, 1, 1, 1), np.float32)], "m")
    assert Outcome(n.model(conv(n, m)), SPEC).of("m") == "missed broadcasts"


@pytest.mark.parametrize(("shape", "group"), [((4, 3), 1), ((4, 3, 3, 3), 0), ((4, 3, 3, 3), -1), ((4, 1, 3, 3), 3)])
def test_weights_and_groups_that_do_not_fit_stay(shape: tuple[int, ...], group: int) -> None:
    n = Net()
    layer = n.node("Conv", [n.input("x", None), rand(*shape)], group=group)
    n.node("Mul", [layer, np.float32(2)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed misfit"]


def test_weights_of_an_unknown_type_stay() -> None:
    n = Net()
    n.inputs.append(helper.make_tensor_sequence_value_info("s", onnx.TensorProto.FLOAT, None))
    w = n.node("Reshape", [n.node("SequenceAt", ["s", np.int64(0)]), np.array([3, 4], np.int64)])
    n.node("Mul", [n.node("MatMul", [n.input("x", [2, 3]), w]), np.float32(2)], "y")
    model = n.model("y")
    del model.graph.value_info[:]
    assert said(SPEC, model, "y") == ["missed not-float"]


def test_scale_that_is_computed_stays() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node("Mul", [layer, n.input("s", [4, 1, 1])], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed not-constant"


@pytest.mark.parametrize(("op", "number"), [("Div", 0.0), ("Mul", np.inf), ("Add", np.nan)])
def test_what_is_not_finite_stays(op: str, number: float) -> None:
    n = Net()
    constant = per_channel(4, 4)
    constant[2] = number
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node(op, [layer, constant], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed not-finite"


def test_operators_on_constants_alone_are_no_candidates() -> None:
    n = Net()
    layer = conv(n, n.node("Add", [np.ones((1, 3, 5, 5), np.float32), np.float32(1)], "a"))
    y = n.node("Add", [layer, n.input("x", [4, 1, 1])], "y")
    assert "n_a" not in Outcome(n.model(y), SPEC).said


def test_each_pass_takes_its_own_operators() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.norm(n.node("Relu", [n.node("Mul", [layer, per_channel(4, 4)], "m")]), 4, "y")
    assert list(Outcome(n.model(y), FuseBatchNorm()).said) == ["n_y"]
    assert list(Outcome(n.model(y), SPEC).said) == ["n_m"]


def test_operand_of_unknown_rank_may_have_no_dimension() -> None:
    """One number times [1] has one, and can be multiplied with matrices then."""
    n = Net()
    m = n.node("Mul", [n.input("x", None), rand(1)], "m")
    n.node("MatMul", [m, rand(2, 1, 3)], "y")
    assert said(SPEC, n.model("y"), "m") == ["missed broadcasts"]


# The layer


def test_layer_that_somebody_else_reads_stays() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node("Mul", [layer, per_channel(4, 4)], "y")
    z = n.node("Relu", [layer], "z")
    assert Outcome(n.model(y, z), SPEC).of("y") == "missed several-readers"


def test_layer_that_is_an_output_stays() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node("Mul", [layer, per_channel(4, 4)], "y")
    o = Outcome(n.model(y, layer), SPEC)
    assert o.of("y") == "missed intermediate-is-output"


def test_operator_before_that_somebody_else_needs_stays() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "m")
    layer = conv(n, m)
    z = n.node("Relu", [m], "z")
    assert Outcome(n.model(layer, z), SPEC).of("m") == "missed several-readers"
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "m")
    assert Outcome(n.model(conv(n, m), m), SPEC).of("m") == "missed intermediate-is-output"


def test_operator_that_gives_a_layer_its_weights_is_not_before_it() -> None:
    n = Net()
    w = n.node("Mul", [n.input("w", [4, 5]), rand(5)], "w2")
    y = n.node("MatMul", [n.input("x", [3, 4]), w], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.said == {}
    assert o.ops == ["Mul", "MatMul"]


def test_computed_weights_take_a_bias_and_no_factor_that_costs_more() -> None:
    n = Net()
    x, w = n.input("x", [1, 3, 5, 5]), n.input("w", [4, 3, 3, 3])
    c = n.node("Conv", [x, w], "c")
    a = n.node("Add", [c, per_channel(4, 4)], "a")
    y = n.node("Mul", [a, per_channel(4, 4)], "y")
    o = Outcome(n.model(y), SPEC)
    assert (o.of("a"), o.of("y")) == ("passed fused-after", "missed not-fewer")


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_operators_before_computed_weights_stay(op: str) -> None:
    n = Net()
    a = n.node(op, [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "a")
    y = n.node("Conv", [a, n.input("w", [4, 3, 3, 3])], "y")
    assert Outcome(n.model(y), SPEC).of("a") == "missed computed-weights"


def test_shift_before_a_computed_bias_stays() -> None:
    n = Net()
    a = n.node("Add", [n.input("x", [1, 3, 5, 5]), per_channel(4, 3)], "a")
    y = n.node("Conv", [a, rand(4, 3, 3, 3), n.input("b", [4])], "y")
    assert Outcome(n.model(y), SPEC).of("a") == "missed computed-bias"


def test_bias_that_stays_the_same_is_not_copied() -> None:
    n = Net()
    x, zeros = n.input("x", [1, 3, 5, 5]), n.constant(np.zeros(4, np.float32))
    a, b = n.node("Conv", [x, rand(4, 3, 1, 1), zeros]), n.node("Conv", [x, rand(4, 3, 1, 1), zeros], "b")
    y = n.node("Mul", [a, per_channel(4, 4)], "y")
    assert Outcome(n.model(y, b), SPEC).weights_nbytes == 4 * (2 * 12 + 4)


def test_computed_weights_of_unknown_size_take_no_bias() -> None:
    n = Net()
    c = n.node("MatMul", [n.input("x", [2, 3]), n.input("w", [3, "m"])], "c")
    y = n.node("Add", [c, np.float32(2)], "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed channels-unknown"


def test_shared_weights_are_copied_only_where_they_change() -> None:
    n = Net()
    x, w = n.input("x", [1, 3, 5, 5]), n.constant(rand(4, 3, 3, 3), "w")
    a = n.node("Conv", [x, w], "a")
    b = n.node("Conv", [x, w], "b", pads=[1, 1, 1, 1])
    y = n.node("Mul", [a, per_channel(4, 4)], "y")
    z = n.node("Add", [b, per_channel(4, 4)], "z")
    o = Outcome(n.model(y, z), SPEC)
    assert o.ops == ["Conv", "Conv"]
    assert o.weights_nbytes == 4 * (2 * 4 * 27 + 4)
    # Whoever still reads the weights as they were reads them under their name.
    assert [node.input[1] == "w" for node in o.model.graph.node] == [False, True]


def test_shared_weights_that_are_large_stay() -> None:
    n = Net()
    x, w = n.input("x", [1, 16, 5, 5]), n.constant(rand(16, 16, 3, 3), "w")
    a, b = n.node("Conv", [x, w], "a"), n.node("Conv", [x, w], "b", strides=[2, 2])
    y = n.node("Mul", [a, per_channel(4, 16)], "y")
    o = Outcome(n.model(y, b), SPEC)
    assert o.of("y") == "missed shared-weights"
    assert Outcome(n.model(y, b), FuseAffine(max_copy_nbytes=4 * 9 * 256)).of("y") == "passed fused-after"


def test_weights_that_nobody_else_reads_do_not_grow() -> None:
    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node("Mul", [layer, per_channel(4, 4)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.weights_nbytes == 4 * (4 * 27 + 4)
    assert [c.name for c in o.model.graph.initializer] == ["c0", "c1"]


def test_weights_that_would_overflow_stay() -> None:
    n = Net()
    layer = n.node("Conv", [n.input("x", [1, 1, 3, 3]), np.full((1, 1, 1, 1), 1e20, np.float32)], "layer")
    y = n.node("Mul", [layer, np.float32(1e20)], "y")
    assert Outcome(n.model(y), SPEC, scale=1e-10).of("y") == "missed not-stable"


def test_bias_that_would_overflow_stays() -> None:
    n = Net()
    c = n.node(
        "Conv", [n.input("x", [1, 1, 3, 3]), np.ones((1, 1, 1, 1), np.float32), np.full(1, 3e38, np.float32)], "c"
    )
    y = n.node("Add", [c, np.float32(3e38)], "y")
    model = n.model(y)
    assert said(SPEC, model, "y") == ["missed not-stable"]


def test_weights_that_would_lose_precision_stay() -> None:
    n = Net()
    layer = n.node("Conv", [n.input("x", [1, 1, 3, 3]), np.full((1, 1, 1, 1), 1e-20, np.float32)], "layer")
    y = n.node("Mul", [layer, np.float32(1.3e-20)], "y")
    assert Outcome(n.model(y), SPEC, scale=1e15).of("y") == "missed underflow"


def test_shift_before_that_is_much_larger_than_what_is_left_stays() -> None:
    n = Net()
    m = n.node("Sub", [n.input("x", [1, 3, 5, 5]), np.float32(1e6)], "m")
    assert Outcome(n.model(conv(n, m)), SPEC).of("m") == "missed amplifies-rounding"


def _constant_branch(name: str, dims: list[str]) -> onnx.GraphProto:
    """A branch that reads nothing from outside."""
    value = numpy_helper.from_array(np.zeros((1, 1, 1, 1), np.float32))
    node = helper.make_node("Constant", [], [f"{name}_y"], value=value)
    return helper.make_graph(
        [node], name, [], [helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, dims)]
    )


def test_layer_in_another_graph_stays() -> None:
    dims = ["a", "b", "c", "d"]

    def body(name: str) -> onnx.GraphProto:
        node = helper.make_node("Mul", ["layer", "k"], [f"{name}_y"], name=f"n_{name}_y")
        out = helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, dims)
        return helper.make_graph([node], name, [], [out])

    n = Net()
    conv(n, n.input("x", [1, 3, 5, 5]))
    n.constant(np.float32(3), "k")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(
        helper.make_node(
            "If", [cond], ["y"], name="n_y", then_branch=body("p"), else_branch=_constant_branch("q", dims)
        )
    )
    o = Outcome(n.model("y"), SPEC)
    assert o.of("p_y") == "missed other-graph"


def test_layer_after_in_another_graph_stays() -> None:
    dims = ["a", "b", "c", "d"]
    node = helper.make_node("Conv", ["m", "w"], ["p_y"], name="n_p_y")
    branch = helper.make_graph([node], "p", [], [helper.make_tensor_value_info("p_y", onnx.TensorProto.FLOAT, dims)])
    n = Net()
    n.node("Mul", [n.input("x", [1, 3, 5, 5]), np.float32(3)], "m")
    n.constant(rand(4, 3, 3, 3), "w")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    branches = {"then_branch": branch, "else_branch": _constant_branch("q", dims)}
    n.nodes.append(helper.make_node("If", [cond], ["y"], name="n_y", **branches))
    assert Outcome(n.model("y"), SPEC).of("m") == "missed other-graph"


def test_layers_in_nested_graphs_fuse() -> None:
    dims = ["a", "b"]

    def body(name: str) -> onnx.GraphProto:
        nodes = [
            helper.make_node("MatMul", ["x", "w"], [f"{name}_m"], name=f"n_{name}_m"),
            helper.make_node("Add", [f"{name}_m", "b"], [f"{name}_y"], name=f"n_{name}_y"),
        ]
        return helper.make_graph(
            nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, dims)]
        )

    n = Net()
    n.input("x", [2, 3])
    n.constant(rand(3, 4), "w")
    n.constant(rand(4), "b")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(helper.make_node("If", [cond], ["y"], name="n_y", then_branch=body("p"), else_branch=body("q")))
    o = Outcome(n.model("y"), SPEC)
    branches = [a.g for a in o.model.graph.node[-1].attribute]
    assert [[node.op_type for node in g.node] for g in branches] == [["Gemm"], ["Gemm"]]


def test_operators_of_old_opsets_stay() -> None:
    n = Net(opset=6, ir_version=3)
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    n.node("Add", [layer, rand(4)], "y", axis=1, broadcast=1)
    model = n.model("y")
    for constant in n.constants:
        model.graph.input.append(helper.make_tensor_value_info(constant.name, constant.data_type, constant.dims))
    assert said(SPEC, model, "y") == ["missed old-opset"]


def test_operators_far_from_any_layer_are_no_candidates() -> None:
    n = Net()
    y = n.node("Mul", [n.node("Relu", [n.input("x", [2, 3])]), rand(3)], "y")
    assert Outcome(n.model(y), SPEC).said == {}


def test_origin_of_what_went_stays_with_the_layer() -> None:
    from arenite.formats.onnx import import_model, model_registry
    from arenite.passes.base import Context

    n = Net()
    layer = conv(n, n.input("x", [1, 3, 5, 5]))
    y = n.node("Mul", [layer, per_channel(4, 4)], "y")
    imported = import_model(n.model(y).SerializeToString(), "net")
    SPEC.run(imported.graph, Context(model_registry(imported)))
    (node,) = imported.graph.nodes
    assert node.origin == ("n_layer", "n_y")


# Everything at once


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_are_rounded_once(dtype: Any) -> None:
    n = Net(dtype=dtype)
    weights, scale = rand(4, 3, 3, 3, dtype=dtype), per_channel(4, 4, dtype)
    c = n.node("Conv", [n.input("x", [1, 3, 5, 5]), weights], "c")
    y = n.node("Mul", [c, scale], "y")
    o = Outcome(n.model(y), SPEC, tolerance=1e-14 if dtype is np.float64 else 1e-2)
    assert o.ops == ["Conv"]
    exact = (weights.astype(np.float64) * scale.astype(np.float64).reshape(4, 1, 1, 1)).astype(dtype)
    np.testing.assert_array_equal(o.weight(), exact)
