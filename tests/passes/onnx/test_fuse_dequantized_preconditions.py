"""Weights that are dequantized take no factor, or in a copy: each precondition has a test."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from arenite.passes.onnx.fuse_affine import FuseAffine
from passes.onnx.fusing import Net, Outcome, rand, said
from passes.onnx.quantizing import FACTORS, MIXED, NORM, SPEC, after, conv, scaled, stored, verdict, weights

# What stays


def test_one_scale_for_all_before_there_were_axes() -> None:
    assert after(stored(4, 3, 3, 3), FACTORS, opset=10).of("y") == "missed whole-tensor"
    assert after(stored(4, 3, 3, 3), FACTORS, opset=12).of("y") == "missed whole-tensor"


def test_scales_of_channels_before_there_were_axes() -> None:
    assert verdict(stored(4, 3, 3, 3), FACTORS, np.ones(3, np.float32), opset=12) == "missed misfit"


def test_scales_for_a_size_that_is_not_known() -> None:
    n = Net()
    w = weights(n, n.input("q", [4, "c", 3, 3], np.int8), rand(3, low=0.1, high=1), axis=1)
    o = Outcome(n.model(scaled(n, conv(n, w), 2)), SPEC)
    assert o.of("y") == "passed fused-after"


@pytest.mark.parametrize("is_moved", [False, True])
def test_weights_that_nothing_computes(is_moved: bool) -> None:
    n = Net()
    w = n.input("w", [4, 5])
    m = n.node("MatMul", [n.input("x", [3, 5 if is_moved else 4]), n.node("Transpose", [w]) if is_moved else w])
    assert Outcome(n.model(n.node("Mul", [m, np.float32(3)], "y")), SPEC).of("y") == "missed not-fewer"


@pytest.mark.parametrize("moves", [8, 9])
def test_weights_that_are_moved_often_are_taken_for_computed(moves: int) -> None:
    n = Net()
    w = weights(n, stored(4, 4))
    for _ in range(moves):
        w = n.node("Transpose", [w])
    o = Outcome(n.model(n.node("Mul", [n.node("MatMul", [n.input("x", [9, 4]), w]), np.float32(3)], "y")), SPEC)
    assert ("Mul" in o.ops) == (moves == 9)


@pytest.mark.parametrize("step", [1, 2])
def test_steps_that_are_computed(step: int) -> None:
    n = Net()
    steps: list[Any] = [np.float32(0.02), np.int8(0)]
    steps[step - 1] = n.input("s", [], np.float32 if step == 1 else np.int8)
    o = Outcome(n.model(scaled(n, conv(n, weights(n, stored(4, 3, 3, 3), *steps)), FACTORS)), SPEC)
    assert o.of("y") == "missed steps-computed"


def test_scales_along_another_dimension() -> None:
    o = after(stored(4, 3, 3, 3), FACTORS, rand(3, low=0.1, high=1), axis=1)
    assert o.of("y") == "missed several-axes"
    assert after(stored(4, 3, 3, 3), 2, rand(3, low=0.1, high=1), axis=1).of("y") == "passed fused-after"


def test_groups_of_a_transposed_convolution_with_several_channels() -> None:
    n = Net()
    layer = n.node("ConvTranspose", [n.input("x", [1, 4, 6, 6]), weights(n, stored(4, 2, 3, 3))], group=2)
    o = Outcome(n.model(scaled(n, layer, FACTORS)), SPEC)
    assert o.of("y") == "missed several-axes"


@pytest.mark.parametrize(("block", "rows"), [(2, 2), (4, 1)])
def test_blocks_along_the_dimension_of_the_channels(block: int, rows: int) -> None:
    n = Net(opset=21, ir_version=10)
    w = weights(n, stored(4, 5), rand(rows, 5, low=0.01, high=0.02), axis=0, block_size=block)
    t = n.node("Transpose", [w])
    m = n.node("MatMul", [n.input("x", [3, 5]), t], "m")
    o = Outcome(n.model(n.node("Mul", [m, FACTORS], "y")), SPEC)
    assert o.of("y") == "missed several-axes"


def test_blocks_that_span_the_other_dimension_and_one_factor() -> None:
    n = Net(opset=21, ir_version=10)
    w = weights(n, stored(4, 5), rand(1, 5, low=0.01, high=0.02), axis=0, block_size=4)
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    assert Outcome(n.model(n.node("Mul", [m, np.float32(-3)], "y")), SPEC).of("y") == "passed fused-after"


def test_scales_that_are_coarser_than_the_layer() -> None:
    n = Net(opset=23, ir_version=10)
    w = weights(n, stored(4, 5), np.float16(0.02), output_dtype=1)
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    assert said(SPEC, n.model(n.node("Mul", [m, np.float32(3)], "y")), "y") == ["missed coarse-scales"]


def test_scales_that_are_integers() -> None:
    assert verdict(stored(4, 3, 3, 3), 2, np.int32(2), opset=23, output_dtype=1) == "missed coarse-scales"


def test_reals_of_8_bits() -> None:
    n = Net(opset=19, ir_version=9)
    w = weights(n, np.ones((4, 5), ml_dtypes.float8_e4m3fn), np.float32(0.02))
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    assert said(SPEC, n.model(n.node("Mul", [m, np.float32(3)], "y")), "y") == ["missed not-integers"]


@pytest.mark.parametrize(
    ("scale", "factor"),
    [
        (1e30, 1e10),  # infinite
        (1e20, 1e17),  # 1e37, at which 127 becomes infinite
        (-0.1, 1.0001),
        (0.0, 2.0),
        (np.nan, 2.0),
        (np.inf, 0.5),
        (1e-30, 1e-10),
    ],
)
def test_scales_that_would_be_none(scale: float, factor: float) -> None:
    assert verdict(stored(4, 3, 3, 3), factor, np.float32(scale)) == "missed bad-scale"


def test_a_channel_that_is_nearly_0_becomes_0() -> None:
    q = stored(4, 3, 3, 3)
    o = after(q, np.array([1, 1e-38, -1e-38, 0.5]), np.float32(0.02))
    assert o.of("y") == "passed fused-after"
    assert not np.any(o.weight(0, 0)[1:3])
    assert np.array_equal(o.weight(0, 1)[1:3], np.full(2, 0.02, np.float32))


def test_what_is_quantized_later_stays() -> None:
    n = Net()
    y = n.norm(conv(n, weights(n, stored(4, 3, 3, 3))), 4, "y")
    z = n.node("QuantizeLinear", [y, np.float32(0.1), np.int8(0)], "z")
    n.node("DequantizeLinear", [z, np.float32(0.1), np.int8(0)], "f")
    assert Outcome(n.model("f"), NORM).of("y") == "missed feeds-quantization"


def test_factors_of_channels_before_a_layer_stay() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 6, 6]), rand(3, 1, 1)], "m")
    y = n.node("Conv", [m, weights(n, stored(4, 3, 3, 3))], "y")
    assert Outcome(n.model(y), SPEC).of("m") == "missed computed-weights"


@pytest.mark.parametrize(
    ("scale", "zero", "attrs"),
    [
        (np.ones(3, np.float32), None, {"axis": 0}),
        (np.ones(4, np.float32), None, {"axis": 7}),
        (np.ones(4, np.float32), None, {"axis": -5}),
        (np.ones((4, 3, 3, 3), np.float32), None, {}),
        (np.ones((2, 3, 3, 3), np.float32), None, {"axis": 1, "block_size": 2}),
        (np.ones((4, 3, 3, 3), np.float32), None, {"axis": 9, "block_size": 1}),
        (np.ones((4, 3, 3, 3), np.float32), None, {"axis": -9, "block_size": 1}),
        (np.ones((3, 4, 3, 3), np.float32), None, {"axis": 1, "block_size": 1}),
        (np.ones(4, np.float32), None, {"axis": 0, "block_size": 1}),
        (np.ones((4, 3, 3, 3), np.float32), None, {"axis": 0, "block_size": -1}),
        (np.ones(4, np.float32), np.zeros(3, np.int8), {"axis": 0}),
        (np.float32(1), np.zeros(2, np.int8), {}),
        (np.ones(0, np.float32), None, {"axis": 0}),
        (np.ones((4, 1), np.float32), None, {"axis": 0}),
    ],
)
def test_steps_that_do_not_fit(scale: Any, zero: Any, attrs: dict[str, int]) -> None:
    steps = [scale] if zero is None else [scale, zero]
    assert verdict(stored(4, 3, 3, 3), FACTORS, *steps, opset=21, **attrs) == "missed misfit"


def test_transposes_that_do_not_fit() -> None:
    n = Net()
    t = n.node("Transpose", [weights(n, stored(4, 5))], "t", perm=[1, 0])
    y = n.node("Mul", [n.node("MatMul", [n.input("x", [3, 5]), t]), np.float32(2)], "y")
    model = n.model(y)
    model.graph.node[1].attribute[0].ints[:] = [1, 1]
    assert said(SPEC, model, "y") in (["missed misfit"], ["missed rank-unknown"])


# Others that read


def two(n: Net, *ws: str, factors: tuple[Any, Any] = (FACTORS, None)) -> onnx.ModelProto:
    """Two layers with weights of their own or the same, of which the first is scaled, or both."""
    x = n.input("x", [1, 3, 6, 6])
    a, b = n.node("Conv", [x, ws[0]], "a"), n.node("Conv", [x, ws[-1]], "b")
    outputs = []
    for name, layer, factor in (("y", a, factors[0]), ("z", b, factors[1])):
        if factor is None:
            outputs.append(n.node("Relu", [layer], name))
        else:
            shaped = np.reshape(factor, (-1, 1, 1)).astype(np.float32)
            known = "k" if name == "z" and factor is factors[0] else n.constant(shaped, "k" if name == "y" else "")
            outputs.append(n.node("Mul", [layer, known], name))
    return n.model(*outputs)


def test_weights_that_others_read_are_dequantized_twice() -> None:
    n = Net()
    q = stored(4, 3, 3, 3)
    w = weights(n, q)
    o = Outcome(two(n, w), SPEC)
    assert o.of("y") == "passed fused-after"
    assert sorted(o.ops) == ["Conv", "Conv", "DequantizeLinear", "DequantizeLinear", "Relu"]
    # What is stored is there once.
    assert o.weights_nbytes == q.nbytes + 4 * (1 + 4)


def test_layers_with_the_same_factors_share_again() -> None:
    for factor in (FACTORS, MIXED):
        n = Net()
        model = two(n, weights(n, stored(4, 3, 3, 3)), factors=(factor, factor))
        o = Outcome(model, FuseAffine(max_copy_nbytes=0))
        assert (o.of("y"), o.of("z")) == ("passed fused-after", "passed fused-after")
        reads = [node.input[1] for node in o.model.graph.node if node.op_type == "Conv"]
        assert reads[0] == reads[1]


def test_weights_that_were_scaled_again_are_no_longer_what_another_wants() -> None:
    n = Net()
    w = weights(n, stored(4, 3, 3, 3))
    x = n.input("x", [1, 3, 6, 6])
    a, b = n.node("Conv", [x, w], "a"), n.node("Conv", [x, w], "b")
    y = n.node("Mul", [n.node("Mul", [a, np.float32(2)]), np.float32(3)], "y")
    z = n.node("Mul", [b, np.float32(2)], "z")
    o = Outcome(n.model(y, z, n.node("Exp", [w])), SPEC)
    assert o.ops.count("DequantizeLinear") == 3


def test_weights_that_have_another_sign_now() -> None:
    """The second layer takes what is stored, negated for the first one: not what others once got of it."""
    n = Net()
    w = weights(n, stored(4, 3, 3, 3))
    x = n.input("x", [1, 3, 6, 6])
    layers = [n.node("Conv", [x, w], name) for name in "abc"]
    two_of_a = n.node("Mul", [layers[0], np.float32(2)], "y")
    b = n.node("Mul", [n.node("Mul", [layers[1], np.float32(2)]), np.float32(-1)], "z")
    c = n.node("Mul", [n.node("Mul", [layers[2], np.float32(-1)]), np.float32(2)], "u")
    o = Outcome(n.model(two_of_a, b, c), SPEC)
    assert o.ops.count("Mul") == 0


def test_weights_that_are_an_output_too() -> None:
    n = Net()
    w = weights(n, stored(4, 3, 3, 3))
    y = scaled(n, conv(n, w), FACTORS)
    o = Outcome(n.model(y, w), SPEC)
    assert o.ops.count("DequantizeLinear") == 2


def test_steps_that_others_read_stay_theirs() -> None:
    n = Net()
    s, q = n.constant(np.float32(0.02), "s"), n.constant(stored(4, 3, 3, 3), "q")
    w = n.node("DequantizeLinear", [q, s], "w")
    v = n.node("DequantizeLinear", [q, s], "v")
    o = Outcome(two(n, w, v), SPEC)
    assert o.of("y") == "passed fused-after"
    assert o.ops.count("DequantizeLinear") == 2
    assert o.weights_nbytes == 4 * 27 + 4 * (1 + 4)


@pytest.mark.parametrize("limit", [107, 108])
@pytest.mark.parametrize("by", ["node", "output", "constant"])
def test_copies_of_what_is_stored_are_limited(limit: int, by: str) -> None:
    n = Net()
    q = n.constant(stored(4, 3, 3, 3), "q")
    w = n.node("DequantizeLinear", [q, np.float32(0.02)], "w")
    if by == "node":
        model = two(n, w, factors=(MIXED, None))
    elif by == "constant":
        model = two(n, w, n.node("DequantizeLinear", [q, np.float32(0.02)], "v"), factors=(MIXED, None))
    else:
        model = n.model(scaled(n, conv(n, w), MIXED))
        model.graph.output.append(helper.make_tensor_value_info("q", onnx.TensorProto.INT8, [4, 3, 3, 3]))
    o = Outcome(model, FuseAffine(max_copy_nbytes=limit))
    assert o.of("y") == ("passed fused-after" if limit == 108 else "missed shared-weights")


@pytest.mark.parametrize("limit", [19, 20])
def test_copies_of_what_is_moved_are_limited(limit: int) -> None:
    n = Net()
    w = weights(n, stored(5, 4))
    m = n.node("MatMul", [n.input("x", [3, 4]), n.node("Transpose", [w])])
    y, z = n.node("Mul", [m, np.float32(-2)], "y"), n.node("Relu", [w], "z")
    o = Outcome(n.model(y, z), FuseAffine(max_copy_nbytes=limit))
    assert o.of("y") == ("passed fused-after" if limit == 20 else "missed shared-weights")


def test_copies_are_known_again_after_other_weights_changed() -> None:
    n = Net()
    v = n.node("DequantizeLinear", [stored(4, 3, 3, 3), np.float32(0.02)], "v")
    w, x = weights(n, stored(4, 3, 3, 3)), n.input("x", [1, 3, 6, 6])
    k = n.constant(FACTORS.reshape(4, 1, 1))
    names = [n.node("Mul", [n.node("Conv", [x, each]), k]) for each in (w, v, w)]
    o = Outcome(n.model(*names), SPEC)
    reads = [node.input[1] for node in o.model.graph.node if node.op_type == "Conv"]
    assert reads[0] == reads[2]


@pytest.mark.parametrize("at", ["transposed", "dequantized"])
def test_what_would_take_more_nodes_stays(at: str) -> None:
    n = Net()
    w = weights(n, stored(5, 4))
    t = n.node("Transpose", [w], "t")
    y = n.node("Mul", [n.node("MatMul", [n.input("x", [3, 4]), t]), rand(5)], "y")
    z = n.node("Relu", [t if at == "transposed" else w], "z")
    o = Outcome(n.model(y, z), SPEC)
    assert o.of("y") == ("missed copies-nodes" if at == "transposed" else "passed fused-after")
    assert len(o.model.graph.node) <= 5


def nested(n: Net) -> onnx.ModelProto:
    """A layer and a factor in the branches of an If."""
    dims = ["a", "b", "c", "d"]

    def branch(name: str) -> onnx.GraphProto:
        nodes = [
            helper.make_node("Conv", ["x", "w"], [f"{name}_c"], name=f"n_{name}_c"),
            helper.make_node("Mul", [f"{name}_c", "k"], [f"{name}_y"], name=f"n_{name}_y"),
        ]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", 1, dims)])

    value = numpy_helper.from_array(np.zeros((1, 1, 1, 1), np.float32))
    other = helper.make_graph(
        [helper.make_node("Constant", [], ["q_y"], value=value)],
        "q",
        [],
        [helper.make_tensor_value_info("q_y", 1, dims)],
    )
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(helper.make_node("If", [cond], ["y"], name="n_y", then_branch=branch("p"), else_branch=other))
    return n.model("y")


@pytest.mark.parametrize("others", [False, True])
def test_weights_in_the_graph_around(others: bool) -> None:
    n = Net()
    n.input("x", [1, 3, 6, 6])
    n.constant(FACTORS.reshape(4, 1, 1), "k")
    w = weights(n, stored(4, 3, 3, 3))
    if others:
        n.node("Relu", [w], "r")
    model = nested(n)
    o = Outcome(model, SPEC)
    assert o.of("p_y") == ("missed dequantized-elsewhere" if others else "passed fused-after")
