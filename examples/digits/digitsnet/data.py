"""The digits that scikit-learn ships, split with a fixed seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SPLIT_SEED = 20260101
N_TEST = 360
N_VALIDATION = 240
PIXEL_MAX = 16


@dataclass(frozen=True)
class Samples:
    """images: uint8 [N, 8, 8, 1], pixels 0 to 16; labels: int64 [N], 0 to 9."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def floats(self) -> NDArray[np.float32]:
        """The images as the network sees them: 0 to 1."""
        return self.images.astype(np.float32) / np.float32(PIXEL_MAX)

    def take(self, rows: NDArray[np.int64]) -> "Samples":
        return Samples(self.images[rows], self.labels[rows])


@dataclass(frozen=True)
class Split:
    """Three disjoint sets: one fits the weights, one chooses settings, one is only ever scored."""

    train: Samples
    validation: Samples
    test: Samples


def load_split() -> Split:
    """All 1797 digits, shuffled with SPLIT_SEED and cut in three."""
    from sklearn.datasets import load_digits  # noqa: PLC0415  scoring needs no scikit-learn

    bunch = load_digits()
    samples = Samples(bunch.images.astype(np.uint8)[..., np.newaxis], np.asarray(bunch.target, dtype=np.int64))
    order = np.random.default_rng(SPLIT_SEED).permutation(len(samples))
    first, second = N_TEST, N_TEST + N_VALIDATION
    return Split(
        train=samples.take(order[second:]),
        validation=samples.take(order[first:second]),
        test=samples.take(order[:first]),
    )
