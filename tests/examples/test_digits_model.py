"""The shipped digits.tflite: what its README says of it, by TFLite-Micro's own kernels."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from arenite.formats.tflite import import_model
from arenite.interp.interpreter import Interpreter
from arenite.ops import core_registry
from digitsnet import tflm
from digitsnet.quantize import activation_quantization, quantize_images
from digitsnet.testset import load_test_set

DIGITS = Path(__file__).parents[2] / "examples" / "digits"

README = (DIGITS / "README.md").read_text(encoding="utf-8")


def held_out_images() -> NDArray[np.int8]:
    return quantize_images(load_test_set(DIGITS / "test_images.npz").floats(), activation_quantization(0.0, 1.0))


def test_the_file_takes_images_as_they_are_quantized_here() -> None:
    (source,) = import_model((DIGITS / "digits.tflite").read_bytes(), "digits").graph.inputs
    assert source.type.quantization == activation_quantization(0.0, 1.0)


@pytest.mark.wheel
def test_accuracy_is_what_the_readme_says() -> None:
    samples = load_test_set(DIGITS / "test_images.npz")
    outputs = tflm.run((DIGITS / "digits.tflite").read_bytes(), held_out_images())
    correct = int((outputs.argmax(axis=1) == samples.labels).sum())
    (said,) = re.findall(r"int8 \(`digits\.tflite`\) \| (.*) \|", README)
    assert said == f"{100 * correct / len(samples):.2f} % ({correct} of {len(samples)})"


@pytest.mark.wheel
def test_the_interpreter_gives_the_same_bytes() -> None:
    images = held_out_images()[:30]
    data = (DIGITS / "digits.tflite").read_bytes()
    interpreter = Interpreter(import_model(data, "digits").graph, core_registry())
    outputs = np.concatenate([interpreter.run([image[np.newaxis]])[0] for image in images])
    np.testing.assert_array_equal(outputs, tflm.run(data, images))


def test_the_readme_names_the_operators_in_order() -> None:
    graph = import_model((DIGITS / "digits.tflite").read_bytes(), "digits").graph
    rows = re.findall(r"^\| (\w+) \| ([A-Z_0-9]+) ?.* \| ([\dx]+) \|$", README, re.MULTILINE)
    described = [(name, op.lower().replace("_2d", "2d"), shape) for name, op, shape in rows]
    found = [(node.name, node.op, "x".join(map(str, node.result.type.dims[1:]))) for node in graph.nodes]
    assert described == found
