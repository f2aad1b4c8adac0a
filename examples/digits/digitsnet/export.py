"""The quantized network as an Arenite graph of core ops, one node for each layer and a softmax behind them."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.movement import ReshapeAttrs
from arenite.ops.pool import Pool2dAttrs
from digitsnet.layers import Add, Conv, Dense, DepthwiseConv, Flatten, Layer, MaxPool
from digitsnet.network import IMAGE
from digitsnet.quantize import PROBABILITIES, QuantizedNetwork

OUTPUT = "probabilities"


def build_graph(quantized: QuantizedNetwork, image_shape: tuple[int, int, int]) -> Graph:
    """The graph for one image of shape (height, width, channels); its output is int8 [1, classes]."""
    builder = GraphBuilder("digits")
    shape = (1, *image_shape)
    values = {IMAGE: builder.input(IMAGE, _int8(shape, quantized.activations[IMAGE]))}
    shapes: dict[str, tuple[int, ...]] = {IMAGE: shape}
    for layer in quantized.network.layers:
        shapes[layer.name] = _output_shape(quantized, layer, shapes[layer.inputs[0]])
        values[layer.name] = _append(builder, quantized, layer, values, shapes[layer.name])
    logits = quantized.network.layers[-1].name
    softmax = builder.node(
        "softmax", [values[logits]], [_int8(shapes[logits], PROBABILITIES)], SoftmaxAttrs(), name=OUTPUT
    )
    return builder.output(softmax.result)


def _int8(shape: tuple[int, ...], quantization: Quantization) -> TensorType:
    return TensorType(DType.INT8, shape, quantization)


def _output_shape(quantized: QuantizedNetwork, layer: Layer, source: tuple[int, ...]) -> tuple[int, ...]:
    """The layer's own forward pass tells: nothing to keep in step with it."""
    weights = quantized.weights.get(layer.name)
    params = {}
    if weights is not None:
        params = {"weights": weights.weights.astype(np.float32), "bias": weights.bias.astype(np.float32)}
    zeros = np.zeros(source, np.float32)
    return layer.forward(params, *[zeros] * len(layer.inputs)).shape


def _append(
    builder: GraphBuilder,
    quantized: QuantizedNetwork,
    layer: Layer,
    values: dict[str, Value],
    shape: tuple[int, ...],
) -> Value:
    operands = [values[name] for name in layer.inputs]
    op, attrs = _op(layer)
    weights = quantized.weights.get(layer.name)
    if weights is not None:
        name = layer.name
        operands.append(builder.constant(f"{name}/weights", weights.weights, weights.weights_quantization))
        operands.append(builder.constant(f"{name}/bias", weights.bias, weights.bias_quantization))
    if isinstance(layer, Flatten):
        operands.append(builder.constant(f"{layer.name}/shape", np.array(shape, np.int32)))
    result = _int8(shape, quantized.activations[layer.name])
    return builder.node(op, operands, [result], attrs, name=layer.name).result


def _op(layer: Layer) -> tuple[str, Attrs]:
    """The core op that a layer becomes, and its attributes."""
    match layer:
        case Conv():
            stride = (layer.stride, layer.stride)
            return "conv2d", Conv2dAttrs(stride, padding=Padding.SAME, activation=_activation(layer.relu))
        case DepthwiseConv():
            stride = (layer.stride, layer.stride)
            return "depthwise_conv2d", DepthwiseConv2dAttrs(
                stride, padding=Padding.SAME, activation=_activation(layer.relu)
            )
        case MaxPool():
            size = (layer.size, layer.size)
            return "max_pool2d", Pool2dAttrs(size, size)
        case Add():
            return "add", ArithmeticAttrs(_activation(layer.relu))
        case Flatten():
            return "reshape", ReshapeAttrs()
        case Dense():
            return "fully_connected", FullyConnectedAttrs()
    raise TypeError(f"no core op for layer '{layer.name}' ({type(layer).__name__})")


def _activation(relu: bool) -> Activation:
    return Activation.RELU if relu else Activation.NONE
