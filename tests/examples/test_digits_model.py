"""The shipped digits.tflite: what its README says of it, by TFLite-Micro's own kernels."""

import re
from pathlib import Path

import pytest

from digitsnet import tflm
from digitsnet.quantize import activation_quantization, quantize_images
from digitsnet.testset import load_test_set

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def stated(pattern: str) -> str:
    """The group that `pattern` finds in the README, exactly once."""
    (found,) = re.findall(pattern, (DIGITS / "README.md").read_text(encoding="utf-8"))
    return str(found)


@pytest.mark.wheel
def test_accuracy_is_what_the_readme_says() -> None:
    samples = load_test_set(DIGITS / "test_images.npz")
    images = quantize_images(samples.floats(), activation_quantization(0.0, 1.0))
    outputs = tflm.run((DIGITS / "digits.tflite").read_bytes(), images)
    correct = int((outputs.argmax(axis=1) == samples.labels).sum())
    assert f"{correct} of {len(samples)}" == stated(r"int8 \(`digits\.tflite`\) \| [\d.]+ % \((\d+ of \d+)\)")
    assert f"{correct / len(samples):.2%}" == stated(r"int8 \(`digits\.tflite`\) \| ([\d.]+ %)").replace(" ", "")
