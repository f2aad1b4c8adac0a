"""Post-training quantization to int8, as TFLite's 8-bit specification asks for.

Activations are asymmetric int8 with the range that calibration images reach. Weights are symmetric int8, one scale
per output channel in convolutions and one per tensor in the dense layer. Biases are int32 with
scale = input scale * weight scale and zero point 0. A ReLU needs no step of its own: the range of its output starts
at 0, so that the saturation of the layer before does its work.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arenite.ir.types import Quantization
from digitsnet.layers import Array, Dense, DepthwiseConv, Flatten, MaxPool, Params
from digitsnet.network import IMAGE, Network

PROBABILITIES = Quantization.per_tensor(1.0 / 256.0, -128)
"""What the specification prescribes for the output of an int8 SOFTMAX."""

SMALLEST_SCALE = 2.0**-20
"""A floor for the scale of an activation that hardly moves, so that products of scales stay above 0 in float32."""


@dataclass(frozen=True)
class Weights:
    """The integers of one layer; the filter keeps its shape, bias is [O]."""

    weights: NDArray[np.int8]
    weights_quantization: Quantization
    bias: NDArray[np.int32]
    bias_quantization: Quantization


@dataclass(frozen=True)
class QuantizedNetwork:
    """A network with the quantization of every activation (IMAGE included) and every layer's integers, by name."""

    network: Network
    activations: Mapping[str, Quantization]
    weights: Mapping[str, Weights]


def activation_quantization(low: float, high: float) -> Quantization:
    """The finest int8 quantization that holds [low, high] and 0; zero is exact, as padding needs it to be."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32(max((high - low) / 255.0, SMALLEST_SCALE))
    zero_point = int(np.clip(round(-128 - low / float(scale)), -128, 127))
    return Quantization.per_tensor(float(scale), zero_point)


def quantize_weights(values: Params, axis: int | None, input_scale: float) -> Weights:
    """Symmetric int8 weights in [-127, 127], per slice along `axis` (None: per tensor), and their int32 bias."""
    weights = values["weights"].astype(np.float64)
    others = tuple(i for i in range(weights.ndim) if i != axis)
    largest = np.atleast_1d(np.abs(weights).max(axis=None if axis is None else others))
    scales = np.where(largest > 0, largest / 127.0, 1.0).astype(np.float32)
    shape = [1] * weights.ndim
    if axis is not None:
        shape[axis] = len(scales)
    integers = np.clip(np.rint(weights / scales.reshape(shape)), -127, 127).astype(np.int8)
    bias_scales = (np.float32(input_scale) * scales).astype(np.float32)
    limits = np.iinfo(np.int32)
    bias = np.clip(np.rint(values["bias"] / bias_scales.astype(np.float64)), limits.min, limits.max)
    return Weights(
        weights=integers,
        weights_quantization=_symmetric(scales, axis),
        bias=bias.astype(np.int32),
        bias_quantization=_symmetric(bias_scales, None if axis is None else 0),
    )


def _symmetric(scales: NDArray[np.float32], axis: int | None) -> Quantization:
    return Quantization(tuple(float(s) for s in scales), (0,) * len(scales), axis)


def quantize(network: Network, params: dict[str, Params], calibration: Array) -> QuantizedNetwork:
    """Int8 network whose activation ranges are those that the `calibration` images reach."""
    values = network.activations(params, calibration)
    activations = {IMAGE: activation_quantization(0.0, 1.0)}
    weights: dict[str, Weights] = {}
    for layer in network.layers:
        source = activations[layer.inputs[0]]
        if isinstance(layer, MaxPool | Flatten):  # they move bytes: what comes out is what went in
            activations[layer.name] = source
            continue
        y = values[layer.name]
        activations[layer.name] = activation_quantization(float(y.min()), float(y.max()))
        if params[layer.name]:
            axis = None if isinstance(layer, Dense) else 3 if isinstance(layer, DepthwiseConv) else 0
            weights[layer.name] = quantize_weights(params[layer.name], axis, source.scale)
    return QuantizedNetwork(network, activations, weights)


def quantize_images(images: Array, quantization: Quantization) -> NDArray[np.int8]:
    """Real pixels to int8: round(x / scale) + zero point, saturated."""
    stored = np.rint(images.astype(np.float64) / quantization.scale) + quantization.zero_point
    saturated: NDArray[np.int8] = np.clip(stored, -128, 127).astype(np.int8)
    return saturated
