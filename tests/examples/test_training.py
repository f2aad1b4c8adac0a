"""Training is deterministic, learns, and keeps the held-out images to itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from digitsnet.data import N_TEST, N_VALIDATION, Samples, load_split
from digitsnet.layers import Params
from digitsnet.network import digits_network
from digitsnet.testset import load_test_set
from digitsnet.training import Settings, train

TEST_SET = Path(__file__).parents[2] / "examples" / "digits" / "test_images.npz"
TINY = Settings(epochs=2, batch=16)


@pytest.fixture(scope="module")
def few() -> Samples:
    pytest.importorskip("sklearn", reason="needs scikit-learn, which ships the digits")
    return load_split().train.take(np.arange(64))


def parameters(params: dict[str, Params]) -> dict[str, bytes]:
    return {f"{layer}/{key}": value.tobytes() for layer, values in params.items() for key, value in values.items()}


def test_the_same_settings_give_the_same_bytes(few: Samples) -> None:
    first = parameters(train(digits_network(), few, TINY))
    assert first == parameters(train(digits_network(), few, TINY))
    other = parameters(train(digits_network(), few, Settings(epochs=2, batch=16, seed=2)))
    assert other["stem/weights"] != first["stem/weights"]


def test_training_stays_in_float32_and_lowers_the_loss(few: Samples) -> None:
    losses: list[float] = []
    params = train(
        digits_network(), few, Settings(epochs=12, batch=16, max_shift=0), lambda _, loss: losses.append(loss)
    )
    assert {value.dtype for values in params.values() for value in values.values()} == {np.dtype(np.float32)}
    assert losses[0] > 1.5  # guessing among ten costs log(10) = 2.3
    assert losses[-1] < 0.3


def test_the_split_cuts_all_digits_into_disjoint_sets() -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn, which ships the digits")
    split = load_split()
    assert (len(split.test), len(split.validation)) == (N_TEST, N_VALIDATION)
    bunch = datasets.load_digits()

    def rows(images: NDArray[Any], labels: NDArray[np.int64]) -> list[tuple[bytes, int]]:
        return sorted(
            (image.astype(np.uint8).tobytes(), int(label)) for image, label in zip(images, labels, strict=True)
        )

    parts = (split.train, split.validation, split.test)
    everything = [row for part in parts for row in rows(part.images, part.labels)]
    assert sorted(everything) == rows(bunch.images, bunch.target)
    assert len(set(everything)) == len(everything)  # no image is there twice, so none is in two sets


def test_the_shipped_images_are_the_held_out_ones() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, which ships the digits")
    shipped, split = load_test_set(TEST_SET), load_split()
    np.testing.assert_array_equal(shipped.images, split.test.images)
    np.testing.assert_array_equal(shipped.labels, split.test.labels)
