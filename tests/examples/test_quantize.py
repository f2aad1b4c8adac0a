"""The quantizer's promises, and the exported graph against the float network by dequantized arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.model import Model
from digitsnet import tflm
from digitsnet.export import build_graph
from digitsnet.layers import Flatten, MaxPool
from digitsnet.network import IMAGE, digits_network
from digitsnet.quantize import QuantizedNetwork, activation_quantization, quantize, quantize_images, quantize_weights

bounds = st.floats(-1e3, 1e3, width=32)


@given(bounds, bounds, st.data())
def test_a_range_is_held_to_half_a_step_and_zero_exactly(a: float, b: float, data: st.DataObject) -> None:
    low, high = min(a, b, 0.0), max(a, b, 0.0)
    quantization = activation_quantization(min(a, b), max(a, b))
    assert -128 <= quantization.zero_point <= 127
    assert quantize_images(np.zeros(1), quantization)[0] == quantization.zero_point
    x = data.draw(st.floats(low, high))
    stored = int(quantize_images(np.array([x]), quantization)[0])
    restored = quantization.scale * (stored - quantization.zero_point)
    # Half a step for x, and up to half a step more at the ends, because the zero point is rounded as well.
    assert abs(restored - x) <= quantization.scale * (1 + 1e-5)


def test_a_relu_range_starts_at_the_smallest_integer() -> None:
    assert activation_quantization(0.0, 6.0).zero_point == -128


@pytest.mark.parametrize("axis", [None, 0, 3])
def test_weights_are_symmetric_and_within_half_a_step(axis: int | None) -> None:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((4, 3, 3, 5)) * rng.uniform(0.1, 10, (4, 1, 1, 5))
    channels = 1 if axis is None else weights.shape[axis]
    if axis == 0:
        weights[2] = 0  # an all-zero channel still needs a scale above 0
    bias = rng.standard_normal(4 if axis is None else channels)
    result = quantize_weights({"weights": weights, "bias": bias}, axis, input_scale=0.05)
    scales = np.array(result.weights_quantization.scales)
    assert len(scales) == channels
    assert (scales > 0).all()
    assert set(result.weights_quantization.zero_points) == {0}
    assert result.weights_quantization.axis == axis
    assert result.weights.min() >= -127
    step = scales.reshape([-1 if i == axis else 1 for i in range(4)])
    assert (np.abs(result.weights * step - weights) <= step * (0.5 + 1e-5)).all()
    bias_scales = np.array(result.bias_quantization.scales)
    np.testing.assert_array_equal(bias_scales, (np.float32(0.05) * scales.astype(np.float32)).astype(np.float32))
    assert (np.abs(result.bias * bias_scales - bias) <= bias_scales * (0.5 + 1e-5)).all()


@pytest.fixture(scope="module")
def quantized() -> QuantizedNetwork:
    network = digits_network()
    images = np.random.default_rng(2).random((20, 8, 8, 1), dtype=np.float32)
    return quantize(network, network.init(2), images)


def test_what_moves_bytes_keeps_their_quantization(quantized: QuantizedNetwork) -> None:
    movers = [layer for layer in quantized.network.layers if isinstance(layer, MaxPool | Flatten)]
    assert len(movers) == 2
    for layer in movers:
        assert quantized.activations[layer.name] == quantized.activations[layer.inputs[0]]


def test_the_graph_has_a_node_per_layer_in_int8(quantized: QuantizedNetwork) -> None:
    graph = build_graph(quantized, (8, 8, 1))
    assert [node.op for node in graph.nodes] == [
        "conv2d",
        "depthwise_conv2d",
        "conv2d",
        "max_pool2d",
        "conv2d",
        "add",
        "conv2d",
        "reshape",
        "fully_connected",
        "softmax",
    ]
    assert {value.type.dtype for value in graph.values() if not value.is_constant} == {DType.INT8}
    shapes = [node.result.type.dims for node in graph.nodes]
    assert shapes == [
        (1, 8, 8, 16),
        (1, 8, 8, 16),
        (1, 8, 8, 24),
        (1, 4, 4, 24),
        (1, 4, 4, 24),
        (1, 4, 4, 24),
        (1, 2, 2, 32),
        (1, 128),
        (1, 10),
        (1, 10),
    ]
    (source,) = graph.inputs
    assert (source.name, source.type.dims) == (IMAGE, (1, 8, 8, 1))


@pytest.mark.wheel
def test_the_exported_network_says_what_the_float_network_says() -> None:
    network = digits_network()
    params = network.init(3)
    rng = np.random.default_rng(3)
    images = rng.random((40, 8, 8, 1), dtype=np.float32)
    for values in params.values():
        if "bias" in values:
            values["bias"] += rng.standard_normal(values["bias"].shape).astype(np.float32) * np.float32(0.1)
    quantized = quantize(network, params, images)
    model = export_model(Model("digits", build_graph(quantized, (8, 8, 1))))
    outputs = tflm.run(model, quantize_images(images, quantized.activations[IMAGE]))
    logits = network.logits(params, images).astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert expected.std(axis=0).max() > 0.09  # the images are told apart, so that agreeing says something
    # Rounding to 8 bits costs 0.0105 here.
    np.testing.assert_allclose((outputs + 128.0) / 256.0, expected, atol=0.015)
