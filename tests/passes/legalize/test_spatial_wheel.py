"""What spatial operators become is what TFLite-Micro has kernels for."""

from typing import Any

import numpy as np
import onnx
import pytest

from passes.legalize.spatial import node, numbers, one, wheel_agrees

VECTORS = {"s": numbers(4), "b": numbers(4, seed=6), "m": numbers(4, seed=7), "v": np.abs(numbers(4, seed=8))}
CONSTANTS: dict[str, Any] = {
    **VECTORS,
    "grouped": numbers(4, 2, 3, 2),
    "depthwise": numbers(8, 1, 3, 2),
    "turned": numbers(4, 3, 3, 3),
    "turned2": numbers(4, 2, 3, 3),
    "twice": np.array([1, 1, 2, 2], np.float32),
    "odd": np.array([1, 1, 2.3, 2], np.float32),
    "amounts": np.array([0, 0, 1, 1, 0, 0, 1, 2], np.int64),
}


@pytest.mark.wheel
@pytest.mark.parametrize(
    "of",
    [
        node("Conv", "x grouped", group=2, pads=[1, 0, 2, 1], strides=[2, 1]),
        node("Conv", "x depthwise", group=4, pads=[5, 0, 2, 1], dilations=[2, 1]),
        node("ConvTranspose", "x turned", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
        node("ConvTranspose", "x turned2", strides=[2, 2], group=2),
        node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Resize", "x - twice"),
        node("Resize", "x - twice", mode="linear"),
        node("Resize", "x - odd", nearest_mode="ceil"),
        node("Resize", "x - odd", mode="linear"),
        node("BatchNormalization", "x s b m v"),
        node("InstanceNormalization", "x s b"),
        node("GroupNormalization", "x s b", num_groups=2),
        node("LRN", "x", size=3),
        node("DepthToSpace", "x", blocksize=2, mode="CRD"),
        node("Pad", "x amounts", mode="reflect"),
        node("Pad", "x amounts", mode="edge"),
    ],
    ids=lambda of: of.op_type,
)
def test_tflite_micro_runs_it_alike(of: onnx.NodeProto) -> None:
    read = {name: CONSTANTS[name] for name in of.input if name in CONSTANTS}
    wheel_agrees(one(of, [1, 4, 7, 8], read, opset=21))
