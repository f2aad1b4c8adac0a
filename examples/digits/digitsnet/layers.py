"""Layers with forward and backward passes in numpy.

Activations are NHWC and filters OHWI (1HWO depthwise, OI dense), as in TFLite, so that trained parameters are
exported without a transpose. Every layer works in the dtype it is given: float32 trains, float64 checks gradients.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Params = dict[str, Array]


class Layer(Protocol):
    """One node of the network; it reads the outputs of the layers that `inputs` names."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...

    def init(self, rng: np.random.Generator) -> Params:
        """Fresh parameters in float64, by name; empty where there is nothing to learn."""
        ...

    def forward(self, params: Params, *xs: Array) -> Array: ...

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        """Gradients of the inputs and of the parameters, from the gradient `dy` of the output `y`."""
        ...


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int, int]:
    """(output size, padding before, padding after) of TFLite's SAME padding along one axis."""
    out = -(-size // stride)
    total = max((out - 1) * stride + kernel - size, 0)
    return out, total // 2, total - total // 2


def _he(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> Array:
    """Normal weights with variance 2/fan_in, which keep the variance through a ReLU (He et al., 2015)."""
    weights: Array = rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)
    return weights


def _through_relu(y: Array, dy: Array, relu: bool) -> Array:
    return dy * (y > 0) if relu else dy


@dataclass(frozen=True)
class _Taps:
    """The strided views of a SAME-padded image, one for each kernel position."""

    kernel: int
    stride: int

    def pad(self, x: Array) -> Array:
        _, top, bottom = same_padding(x.shape[1], self.kernel, self.stride)
        _, left, right = same_padding(x.shape[2], self.kernel, self.stride)
        return np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))

    def unpad(self, padded: Array, like: Array) -> Array:
        _, top, _ = same_padding(like.shape[1], self.kernel, self.stride)
        _, left, _ = same_padding(like.shape[2], self.kernel, self.stride)
        return padded[:, top : top + like.shape[1], left : left + like.shape[2]]

    def views(self, x: Array, padded: Array) -> Iterator[tuple[int, int, Array]]:
        """Yields (kernel row, kernel column, the [N, OH, OW, C] view of `padded` that they multiply)."""
        span_y = self.stride * same_padding(x.shape[1], self.kernel, self.stride)[0]
        span_x = self.stride * same_padding(x.shape[2], self.kernel, self.stride)[0]
        for i in range(self.kernel):
            for j in range(self.kernel):
                yield i, j, padded[:, i : i + span_y : self.stride, j : j + span_x : self.stride]


@dataclass(frozen=True)
class Conv:
    """Convolution with SAME padding, a bias and an optional ReLU; filter [O, K, K, I]."""

    name: str
    inputs: tuple[str]
    in_channels: int
    out_channels: int
    kernel: int = 3
    stride: int = 1
    relu: bool = True

    def init(self, rng: np.random.Generator) -> Params:
        shape = (self.out_channels, self.kernel, self.kernel, self.in_channels)
        weights = _he(rng, shape, self.kernel * self.kernel * self.in_channels)
        return {"weights": weights, "bias": np.zeros(self.out_channels)}

    def forward(self, params: Params, *xs: Array) -> Array:
        (x,) = xs
        taps = _Taps(self.kernel, self.stride)
        y = params["bias"]
        for i, j, view in taps.views(x, taps.pad(x)):
            y = y + view @ params["weights"][:, i, j].T
        return np.maximum(y, 0) if self.relu else y

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        (x,) = xs
        dy = _through_relu(y, dy, self.relu)
        flat_dy = dy.reshape(-1, self.out_channels)
        taps = _Taps(self.kernel, self.stride)
        padded = taps.pad(x)
        d_padded = np.zeros_like(padded)
        d_weights = np.empty_like(params["weights"])
        for i, j, view in taps.views(x, padded):
            d_weights[:, i, j] = flat_dy.T @ view.reshape(-1, self.in_channels)
        for i, j, d_view in taps.views(x, d_padded):
            np.add(d_view, dy @ params["weights"][:, i, j], out=d_view)
        return (taps.unpad(d_padded, x),), {"weights": d_weights, "bias": flat_dy.sum(axis=0)}


@dataclass(frozen=True)
class DepthwiseConv:
    """Depthwise convolution (multiplier 1) with SAME padding, a bias and an optional ReLU; filter [1, K, K, C]."""

    name: str
    inputs: tuple[str]
    channels: int
    kernel: int = 3
    stride: int = 1
    relu: bool = True

    def init(self, rng: np.random.Generator) -> Params:
        weights = _he(rng, (1, self.kernel, self.kernel, self.channels), self.kernel * self.kernel)
        return {"weights": weights, "bias": np.zeros(self.channels)}

    def forward(self, params: Params, *xs: Array) -> Array:
        (x,) = xs
        taps = _Taps(self.kernel, self.stride)
        y = params["bias"]
        for i, j, view in taps.views(x, taps.pad(x)):
            y = y + view * params["weights"][0, i, j]
        return np.maximum(y, 0) if self.relu else y

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        (x,) = xs
        dy = _through_relu(y, dy, self.relu)
        taps = _Taps(self.kernel, self.stride)
        padded = taps.pad(x)
        d_padded = np.zeros_like(padded)
        d_weights = np.empty_like(params["weights"])
        for i, j, view in taps.views(x, padded):
            d_weights[0, i, j] = (dy * view).sum(axis=(0, 1, 2))
        for i, j, d_view in taps.views(x, d_padded):
            np.add(d_view, dy * params["weights"][0, i, j], out=d_view)
        return (taps.unpad(d_padded, x),), {"weights": d_weights, "bias": dy.sum(axis=(0, 1, 2))}


@dataclass(frozen=True)
class MaxPool:
    """Maximum over windows of size x size that do not overlap; height and width are multiples of size."""

    name: str
    inputs: tuple[str]
    size: int = 2

    def init(self, rng: np.random.Generator) -> Params:
        return {}

    def _windows(self, x: Array) -> Array:
        n, h, w, c = x.shape
        s = self.size
        blocks = x.reshape(n, h // s, s, w // s, s, c).transpose(0, 1, 3, 5, 2, 4)
        return blocks.reshape(n, h // s, w // s, c, s * s)

    def forward(self, params: Params, *xs: Array) -> Array:
        (x,) = xs
        y: Array = self._windows(x).max(axis=-1)
        return y

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        (x,) = xs
        n, h, w, c = x.shape
        s = self.size
        windows = self._windows(x)
        # The first of equal maxima takes the whole gradient, as one of them must.
        winner = windows.argmax(axis=-1)[..., np.newaxis]
        d_windows = np.zeros_like(windows)
        np.put_along_axis(d_windows, winner, dy[..., np.newaxis], axis=-1)
        blocks = d_windows.reshape(n, h // s, w // s, c, s, s).transpose(0, 1, 4, 2, 5, 3)
        return (blocks.reshape(n, h, w, c),), {}


@dataclass(frozen=True)
class Add:
    """Sum of two activations of the same shape, with an optional ReLU."""

    name: str
    inputs: tuple[str, str]
    relu: bool = True

    def init(self, rng: np.random.Generator) -> Params:
        return {}

    def forward(self, params: Params, *xs: Array) -> Array:
        y = xs[0] + xs[1]
        return np.maximum(y, 0) if self.relu else y

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        dy = _through_relu(y, dy, self.relu)
        return (dy, dy), {}


@dataclass(frozen=True)
class Flatten:
    """[N, H, W, C] to [N, H*W*C]."""

    name: str
    inputs: tuple[str]

    def init(self, rng: np.random.Generator) -> Params:
        return {}

    def forward(self, params: Params, *xs: Array) -> Array:
        (x,) = xs
        return x.reshape(len(x), -1)

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        return (dy.reshape(xs[0].shape),), {}


@dataclass(frozen=True)
class Dense:
    """Fully connected layer with a bias; weights [O, I]."""

    name: str
    inputs: tuple[str]
    in_features: int
    out_features: int

    def init(self, rng: np.random.Generator) -> Params:
        weights = _he(rng, (self.out_features, self.in_features), self.in_features)
        return {"weights": weights, "bias": np.zeros(self.out_features)}

    def forward(self, params: Params, *xs: Array) -> Array:
        (x,) = xs
        return x @ params["weights"].T + params["bias"]

    def backward(self, params: Params, xs: tuple[Array, ...], y: Array, dy: Array) -> tuple[tuple[Array, ...], Params]:
        (x,) = xs
        return (dy @ params["weights"],), {"weights": dy.T @ x, "bias": dy.sum(axis=0)}
