"""Trains the digits network, quantizes it and writes digits.tflite and test_images.npz.

    python examples/digits/train.py

Needs scikit-learn for its digits; takes seconds. On one machine the same seed gives the same files.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from arenite.formats.tflite import export_model
from arenite.ir.model import Model
from digitsnet import tflm
from digitsnet.data import load_split
from digitsnet.export import build_graph
from digitsnet.network import IMAGE, digits_network
from digitsnet.quantize import quantize, quantize_images
from digitsnet.testset import save_test_set
from digitsnet.training import Settings, accuracy, train


def main() -> None:
    defaults = Settings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder for the two files")
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--epochs", type=int, default=defaults.epochs)
    arguments = parser.parse_args()
    settings = replace(defaults, seed=arguments.seed, epochs=arguments.epochs)

    split = load_split()
    network = digits_network()
    # One thread adds in one order, whatever the number of cores; products this small are faster so, too.
    with threadpool_limits(1):
        params = train(network, split.train, settings, log=_progress)
        quantized = quantize(network, params, split.train.floats())
    height, width, channels = split.test.images.shape[1:]
    model = export_model(Model("digits", build_graph(quantized, (height, width, channels))))

    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "digits.tflite").write_bytes(model)
    save_test_set(arguments.out / "test_images.npz", split.test)

    print(f"digits.tflite: {len(model)} bytes")
    for name, samples in (("train", split.train), ("validation", split.validation), ("test", split.test)):
        line = f"{name:>10}: {len(samples):4} images, float {accuracy(network, params, samples):.2%}"
        images = quantize_images(samples.floats(), quantized.activations[IMAGE])
        try:
            outputs = tflm.run(model, images)
        except ImportError:
            line += ", int8 not scored: needs the tflite-micro wheel"
        else:
            line += f", int8 {(outputs.argmax(axis=1) == samples.labels).mean():.2%}"
        print(line)


def _progress(epoch: int, loss: float) -> None:
    if sys.stderr.isatty():
        print(f"epoch {epoch + 1}: loss {loss:.4f}", end="\r", file=sys.stderr)


if __name__ == "__main__":
    main()
