"""Batch normalizations beside layers: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from arenite.formats.onnx import import_model, model_registry
from arenite.passes.base import Context
from arenite.passes.onnx.fuse_affine import FuseBatchNorm
from passes.onnx.fusing import Net, Outcome, rand, reseed, said

SPEC = FuseBatchNorm()


def conv(n: Net, channels: int = 4, **attrs: Any) -> str:
    return n.node("Conv", [n.input("x", [1, 3, 6, 6]), rand(channels, 3, 3, 3), rand(channels)], "layer", **attrs)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("group", [1, 2, 6])
def test_after_a_convolution_the_old_bias_is_scaled_too(bias: bool, group: int) -> None:
    n = Net()
    operands = [n.input("x", [1, 6, 5, 5]), rand(6, 6 // group, 3, 3), *([rand(6)] if bias else [])]
    c = n.node("Conv", operands, "c", group=group, pads=[1, 1, 1, 1])
    y = n.norm(c, 6, "y", epsilon=1e-2)
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["Conv"]
    assert o.of("y") == "passed fused-after"


def test_parameters_are_computed_in_doubles_and_rounded_once() -> None:
    n = Net()
    w, b = rand(4, 3, 3, 3), rand(4)
    names = {"scale": rand(4), "bias": rand(4), "mean": rand(4), "var": rand(4, low=0, high=1)}
    c = n.node("Conv", [n.input("x", [1, 3, 6, 6]), w, b], "c")
    o = Outcome(n.model(n.norm(c, 4, "y", epsilon=1e-3, **names)), SPEC)
    wide = {key: array.astype(np.float64) for key, array in names.items()}
    factor = wide["scale"] / np.sqrt(wide["var"] + float(np.float32(1e-3)))
    np.testing.assert_array_equal(o.weight(0, 1), (w * factor.reshape(4, 1, 1, 1)).astype(np.float32))
    np.testing.assert_array_equal(o.weight(0, 2), ((b - wide["mean"]) * factor + wide["bias"]).astype(np.float32))


@pytest.mark.parametrize("group", [1, 2])
def test_after_a_transposed_convolution(group: int) -> None:
    n = Net()
    c = n.node("ConvTranspose", [n.input("x", [1, 4, 5, 5]), rand(4, 3, 2, 2)], "c", group=group)
    assert Outcome(n.model(n.norm(c, 3 * group, "y")), SPEC).ops == ["ConvTranspose"]


@pytest.mark.parametrize("trans_b", [0, 1])
def test_after_a_gemm(trans_b: int) -> None:
    n = Net()
    weights = rand(5, 4) if trans_b else rand(4, 5)
    g = n.node("Gemm", [n.input("x", ["n", 4]), weights, rand(5)], "g", alpha=0.5, beta=2.0, transB=trans_b)
    assert Outcome(n.model(n.norm(g, 5, "y")), SPEC).ops == ["Gemm"]


def test_after_a_product_of_matrices() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 4]), rand(4, 5)], "m")
    assert Outcome(n.model(n.norm(m, 5, "y")), SPEC).ops == ["Gemm"]


def test_channels_of_a_stack_of_products_are_not_its_columns() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [2, 5, 4]), rand(4, 5)], "m")
    assert Outcome(n.model(n.norm(m, 5, "y")), SPEC).of("y") == "missed other-channels"


def test_before_a_convolution_without_padding() -> None:
    n = Net()
    b = n.norm(n.input("x", [1, 6, 5, 5]), 6, "b")
    y = n.node("Conv", [b, rand(4, 3, 2, 2), rand(4)], "y", group=2)
    o = Outcome(n.model(y), SPEC)
    assert o.of("b") == "passed fused-before"
    assert o.ops == ["Conv"]


def test_before_a_padded_convolution_it_stays_unless_it_only_scales() -> None:
    n = Net()
    b = n.norm(n.input("x", [1, 3, 5, 5]), 3, "b")
    y = n.node("Conv", [b, rand(4, 3, 3, 3)], "y", pads=[1, 1, 1, 1])
    assert Outcome(n.model(y), SPEC).of("b") == "missed padded"
    n = Net()
    zeros = np.zeros(3, np.float32)
    b = n.norm(n.input("x", [1, 3, 5, 5]), 3, "b", bias=zeros, mean=zeros)
    y = n.node("Conv", [b, rand(4, 3, 3, 3)], "y", pads=[1, 1, 1, 1])
    assert Outcome(n.model(y), SPEC).of("b") == "passed fused-before"


def test_before_a_gemm_whose_data_is_transposed_it_stays() -> None:
    n = Net()
    b = n.norm(n.input("x", [4, 4]), 4, "b")
    y = n.node("Gemm", [b, rand(4, 2), rand(2)], "y", transA=1)
    assert Outcome(n.model(y), SPEC).of("b") == "missed other-channels"


def test_shared_weights_get_a_copy_each() -> None:
    n = Net()
    x, w = n.input("x", [1, 3, 5, 5]), n.constant(rand(4, 3, 3, 3))
    a, b = n.norm(n.node("Conv", [x, w]), 4, "a"), n.norm(n.node("Conv", [x, w], pads=[1] * 4), 4, "b")
    assert Outcome(n.model(a, b), SPEC).ops == ["Conv", "Conv"]


def test_several_consumers() -> None:
    n = Net()
    layer = conv(n)
    y, z = n.norm(layer, 4, "y"), n.node("Relu", [layer], "z")
    assert Outcome(n.model(y, z), SPEC).of("y") == "missed several-readers"


def test_layer_that_is_an_output() -> None:
    n = Net()
    layer = conv(n)
    y = n.norm(layer, 4, "y")
    o = Outcome(n.model(layer, y), SPEC)
    assert o.of("y") == "missed intermediate-is-output"
    assert [out.name for out in o.model.graph.output] == ["layer", "y"]


def test_weights_that_are_computed() -> None:
    n = Net()
    w = n.node("Relu", [n.input("w", [4, 3, 3, 3])])
    c = n.node("Conv", [n.input("x", [1, 3, 5, 5]), w], "c")
    assert Outcome(n.model(n.norm(c, 4, "y")), SPEC).of("y") == "missed not-fewer"


@pytest.mark.parametrize("parameter", ["scale", "bias", "mean", "var"])
def test_parameters_that_are_computed(parameter: str) -> None:
    n = Net()
    computed = n.input("p", [4])
    y = n.norm(conv(n), 4, "y", **{parameter: n.node("Abs", [computed])})
    assert Outcome(n.model(y), SPEC).of("y") == "missed not-constant"


def test_inputs_with_defaults_are_not_constants() -> None:
    n = Net()
    y = n.norm(conv(n), 4, "y")
    model = n.model(y)
    mean = model.graph.node[1].input[3]
    model.graph.input.append(helper.make_tensor_value_info(mean, onnx.TensorProto.FLOAT, [4]))
    assert Outcome(model, SPEC).of("y") == "missed not-constant"


def test_training_mode() -> None:
    n = Net()
    layer = conv(n)
    n.norm(layer, 4, "y", training_mode=1)
    n.nodes[-1].output.extend(["mean_out", "var_out"])
    assert Outcome(n.model("y"), SPEC).of("y") == "missed training"
    n = Net()
    n.norm(conv(n), 4, "y", training_mode=1)
    assert said(SPEC, n.model("y"), "y") == ["missed training"]


def test_results_of_training_in_old_opsets() -> None:
    n = Net(opset=9)
    n.norm(conv(n), 4, "y")
    n.nodes[-1].output.extend(["m", "v", "sm", "sv"])
    assert said(SPEC, n.model("y"), "y") == ["missed training"]


def test_mean_per_element_in_old_opsets() -> None:
    n = Net(opset=8)
    n.norm(conv(n), 4, "y", spatial=0)
    assert said(SPEC, n.model("y"), "y") == ["missed per-element"]


@pytest.mark.parametrize(
    ("opset", "attrs"), [(9, {"training_mode": 1}), (17, {"spatial": 0}), (8, {}), (8, {"spatial": 1})], ids=str
)
def test_attributes_that_an_opset_does_not_have_say_nothing(opset: int, attrs: dict[str, Any]) -> None:
    n = Net(opset=opset)
    n.norm(conv(n), 4, "y", **attrs)
    assert said(SPEC, n.model("y"), "y") == ["passed fused-after"]


def test_parameters_of_another_size() -> None:
    n = Net()
    n.norm(conv(n), 4, "y", scale=rand(1))
    assert said(SPEC, n.model("y"), "y") == ["missed parameters"]


@pytest.mark.parametrize(("variance", "epsilon"), [(-1.0, 1e-5), (0.0, 0.0), (np.nan, 1e-5)])
def test_variance_that_is_not_positive(variance: float, epsilon: float) -> None:
    n = Net()
    var = rand(4, low=0.5, high=1)
    var[2] = variance
    n.norm(conv(n), 4, "y", var=var, epsilon=epsilon)
    model = n.model("y")
    assert said(SPEC, model, "y") == ["missed variance"]
    imported = import_model(model.SerializeToString(), "net")
    (remark,) = SPEC.run(imported.graph, Context(model_registry(imported))).remarks
    assert "channel 2 of n_y" in remark.text


def test_mean_that_is_infinite() -> None:
    n = Net()
    n.norm(conv(n), 4, "y", mean=np.array([0, np.inf, 0, 0], np.float32))
    assert said(SPEC, n.model("y"), "y") == ["missed not-finite"]


def test_tiny_epsilon_of_a_channel_that_never_varies() -> None:
    """The layer gives 5 and next to nothing else: fused, it would round what is enlarged a million times."""
    w, b = rand(4, 3, 3, 3), rand(4)
    w[1], b[1] = 1e-9, 5.0
    var, mean = rand(4, low=0.5, high=1), rand(4)
    var[1], mean[1] = 0.0, 0.0
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 3, 6, 6]), w, b], "c")
    n.norm(c, 4, "y", var=var, mean=mean, epsilon=1e-12)
    assert Outcome(n.model("y"), SPEC).of("y") == "missed amplifies-rounding"
    # Where the weights are all 0, nothing is rounded.
    w[1] = 0.0
    n = Net()
    c = n.node("Conv", [n.input("x", [1, 3, 6, 6]), w, b], "c")
    n.norm(c, 4, "y", var=var, mean=mean, epsilon=1e-12)
    assert Outcome(n.model("y"), SPEC).of("y") == "passed fused-after"


def test_normalization_far_from_any_layer_is_missed() -> None:
    n = Net()
    y = n.norm(n.node("Relu", [n.input("x", [1, 3, 5, 5])]), 3, "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed no-layer"


def test_half_floats_with_parameters_of_float32() -> None:
    n = Net(dtype=np.float16)
    c = n.node("Conv", [n.input("x", [1, 3, 6, 6]), rand(4, 3, 3, 3, dtype=np.float16)], "c")
    parameters = {"scale": rand(4), "bias": rand(4), "mean": rand(4), "var": rand(4, low=0.5, high=1)}
    model = n.model(n.norm(c, 4, "y", **parameters))
    assert said(SPEC, model, "y") == ["passed fused-after"]


def test_what_is_quantized_later_stays_exact() -> None:
    for op, extra in (("QuantizeLinear", [np.float32(0.05), np.int8(0)]), ("DynamicQuantizeLinear", [])):
        n = Net()
        y = n.norm(conv(n), 4, "y")
        n.node(op, [n.node("Relu", [y]), *extra], "q")
        if op == "DynamicQuantizeLinear":
            n.nodes[-1].output.extend(["s", "z"])
        assert said(SPEC, n.model("q"), "y") == ["missed feeds-quantization"]


def test_what_was_quantized_before_may_fuse() -> None:
    n = Net()
    q = n.node("QuantizeLinear", [n.input("x", [1, 3, 6, 6]), np.float32(0.05), np.int8(0)])
    d = n.node("DequantizeLinear", [q, np.float32(0.05), np.int8(0)])
    c = n.node("Conv", [d, rand(4, 3, 3, 3)], "c")
    assert Outcome(n.model(n.norm(c, 4, "y")), SPEC).of("y") == "passed fused-after"


@given(st.data())
def test_networks_compute_what_they_did(data: st.DataObject) -> None:
    reseed(data.draw(st.integers(0, 999)))
    n = Net(opset=data.draw(st.sampled_from([9, 13, 15])), ir_version=7)
    x = n.input("x", [2, 4, 11, 11])
    outputs, shared = [], n.constant(rand(4, 2, 3, 3))
    for _ in range(data.draw(st.integers(1, 4))):
        kind = data.draw(st.sampled_from(["Conv", "Conv", "ConvTranspose", "BatchNormalization", "Relu"]))
        if kind.startswith("Conv"):
            w = shared if data.draw(st.booleans()) else rand(4, 2, 3, 3)
            pads = [data.draw(st.sampled_from([0, 1]))] * 4 if kind == "Conv" else [0] * 4
            x = n.node(kind, [x, w, *([rand(4)] if data.draw(st.booleans()) else [])], group=2, pads=pads)
        elif kind == "Relu":
            x = n.node("Relu", [x])
        for _ in range(data.draw(st.integers(0, 2))):
            x = n.norm(x, 4, epsilon=data.draw(st.sampled_from([1e-5, 1e-3])))
        if data.draw(st.integers(0, 5)) == 0:
            outputs.append(x)
    Outcome(n.model(*dict.fromkeys([*outputs, n.node("Identity", [x])])), SPEC, tolerance=1e-4)
