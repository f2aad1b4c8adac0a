"""The network as a list of layers, and back-propagation over it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitsnet.layers import Add, Array, Conv, Dense, DepthwiseConv, Flatten, Layer, MaxPool, Params

IMAGE = "image"
"""Name of the input: [N, 8, 8, 1], pixels 0 to 1."""


@dataclass(frozen=True)
class Network:
    """Layers in an order in which each comes after its inputs; the last one gives the logits."""

    layers: tuple[Layer, ...]

    def init(self, seed: int) -> dict[str, Params]:
        """Fresh float32 parameters by layer name."""
        rng = np.random.default_rng(seed)
        return {
            layer.name: {key: value.astype(np.float32) for key, value in layer.init(rng).items()}
            for layer in self.layers
        }

    def activations(self, params: dict[str, Params], images: Array) -> dict[str, Array]:
        """The output of every layer by name, and the images themselves under IMAGE."""
        values = {IMAGE: images}
        for layer in self.layers:
            values[layer.name] = layer.forward(params[layer.name], *(values[name] for name in layer.inputs))
        return values

    def logits(self, params: dict[str, Params], images: Array) -> Array:
        return self.activations(params, images)[self.layers[-1].name]

    def loss_and_gradients(
        self, params: dict[str, Params], images: Array, labels: NDArray[np.int64]
    ) -> tuple[float, dict[str, Params]]:
        """Mean cross entropy after a softmax, and its gradient for every parameter."""
        values = self.activations(params, images)
        loss, d_logits = cross_entropy(values[self.layers[-1].name], labels)
        d_values: dict[str, Array] = {self.layers[-1].name: d_logits}
        gradients: dict[str, Params] = {}
        for layer in reversed(self.layers):
            xs = tuple(values[name] for name in layer.inputs)
            d_xs, gradients[layer.name] = layer.backward(
                params[layer.name], xs, values[layer.name], d_values.pop(layer.name)
            )
            for name, d_x in zip(layer.inputs, d_xs, strict=True):
                d_values[name] = d_values[name] + d_x if name in d_values else d_x
        return loss, gradients


def cross_entropy(logits: Array, labels: NDArray[np.int64]) -> tuple[float, Array]:
    """Mean over the batch of -log softmax(logits)[label], and its gradient for the logits."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    gradient: NDArray[Any] = np.exp(log_p)
    gradient[rows, labels] -= 1
    return float(-log_p[rows, labels].mean()), gradient / len(labels)


def digits_network() -> Network:
    """The example's network: a separable convolution, a pool, a residual block, a strided convolution."""
    return Network(
        (
            Conv("stem", (IMAGE,), in_channels=1, out_channels=16),
            DepthwiseConv("depthwise", ("stem",), channels=16),
            Conv("pointwise", ("depthwise",), in_channels=16, out_channels=24, kernel=1),
            MaxPool("pool", ("pointwise",)),
            Conv("branch", ("pool",), in_channels=24, out_channels=24, relu=False),
            Add("residual", ("pool", "branch")),
            Conv("reduce", ("residual",), in_channels=24, out_channels=32, stride=2),
            Flatten("flatten", ("reduce",)),
            Dense("logits", ("flatten",), in_features=2 * 2 * 32, out_features=10),
        )
    )
