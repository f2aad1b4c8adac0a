"""Training: Adam with a cosine schedule over randomly shifted images."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from digitsnet.data import Samples
from digitsnet.layers import Array, Params
from digitsnet.network import Network


@dataclass(frozen=True)
class Settings:
    """What training depends on; the same settings give the same weights on one machine.

    Attributes:
        max_shift: images move by up to this many pixels along each axis (below 1).
        decay: fraction of each weight removed per step, in units of the learning rate (decoupled, AdamW).
    """

    epochs: int = 60
    batch: int = 32
    learning_rate: float = 6e-3
    decay: float = 1e-2
    max_shift: float = 0.5
    seed: int = 1


@dataclass
class _Adam:
    """First and second moments of the gradients (Kingma and Ba, 2015; decoupled decay, Loshchilov 2019)."""

    mean: dict[str, Params]
    square: dict[str, Params]
    steps: int = 0

    def step(
        self, params: dict[str, Params], gradients: dict[str, Params], rate: float, decay: float
    ) -> dict[str, Params]:
        self.steps += 1
        beta1, beta2 = 0.9, 0.999
        correct1, correct2 = 1 - beta1**self.steps, 1 - beta2**self.steps
        updated: dict[str, Params] = {}
        for layer, values in params.items():
            updated[layer] = {}
            for key, value in values.items():
                g = gradients[layer][key]
                m = self.mean[layer][key] = beta1 * self.mean[layer][key] + (1 - beta1) * g
                v = self.square[layer][key] = beta2 * self.square[layer][key] + (1 - beta2) * g * g
                kept = value * (1 - rate * decay) if key == "weights" else value
                updated[layer][key] = kept - rate * (m / correct1) / (np.sqrt(v / correct2) + 1e-8)
        return updated


def _zeros_like(params: dict[str, Params]) -> dict[str, Params]:
    return {layer: {key: np.zeros_like(v) for key, v in values.items()} for layer, values in params.items()}


def shift_images(images: Array, shifts: NDArray[np.float32]) -> Array:
    """Moves image i by shifts[i] = (down, right) pixels, each in (-1, 1): linear interpolation, zeros outside."""
    for axis in (1, 2):
        s = shifts[:, axis - 1].reshape(-1, 1, 1, 1)
        width = images.shape[axis]
        pad = [(0, 0)] * 4
        pad[axis] = (1, 1)
        padded = np.pad(images, pad)
        before = padded.take(np.arange(width), axis)
        after = padded.take(np.arange(2, width + 2), axis)
        images = images * (1 - np.abs(s)) + before * np.maximum(s, 0) + after * np.maximum(-s, 0)
    return images


def train(
    network: Network, samples: Samples, settings: Settings, log: Callable[[int, float], None] | None = None
) -> dict[str, Params]:
    """Trained float32 parameters; `log` gets (epoch, mean loss) after each epoch."""
    rng = np.random.default_rng(settings.seed)
    params = network.init(settings.seed)
    adam = _Adam(_zeros_like(params), _zeros_like(params))
    images, labels = samples.floats(), samples.labels
    per_epoch = len(samples) // settings.batch
    for epoch in range(settings.epochs):
        order = rng.permutation(len(samples))
        losses = []
        for start in range(0, per_epoch * settings.batch, settings.batch):
            rows = order[start : start + settings.batch]
            shifts = rng.uniform(-settings.max_shift, settings.max_shift, (len(rows), 2)).astype(np.float32)
            progress = adam.steps / (settings.epochs * per_epoch)
            rate = settings.learning_rate * 0.5 * (1 + np.cos(np.pi * progress))
            loss, gradients = network.loss_and_gradients(params, shift_images(images[rows], shifts), labels[rows])
            params = adam.step(params, gradients, float(rate), settings.decay)
            losses.append(loss)
        if log is not None:
            log(epoch, float(np.mean(losses)))
    return params


def accuracy(network: Network, params: dict[str, Params], samples: Samples) -> float:
    """Fraction of samples whose largest logit is the label's."""
    predicted = network.logits(params, samples.floats()).argmax(axis=1)
    return float((predicted == samples.labels).mean())
