"""The held-out digits as a small file, so that scoring the shipped model needs no scikit-learn."""

from pathlib import Path

import numpy as np

from digitsnet.data import Samples


def save_test_set(path: Path, samples: Samples) -> None:
    """Writes `images` (uint8 [N, 8, 8, 1], pixels 0 to 16) and `labels` (uint8 [N])."""
    np.savez_compressed(path, images=samples.images, labels=samples.labels.astype(np.uint8))


def load_test_set(path: Path) -> Samples:
    with np.load(path, allow_pickle=False) as arrays:
        return Samples(arrays["images"], arrays["labels"].astype(np.int64))
