"""Parts of networks as they are exported: how many transposes each needs, and not one more."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

from passes.legalize.moves import ops_of
from passes.legalize.spatial import node, numbers
from passes.legalize.support import model_of

IMAGE = {"x": (np.float32, [1, 4, 6, 8])}


def ints(*items: int) -> Any:
    return np.array(items, np.int64)


def _conv(source: str, weights: str, result: str, size: int = 1) -> onnx.NodeProto:
    return node("Conv", f"{source} {weights}", result, pads=[size // 2] * 4)


Net = tuple[Sequence[onnx.NodeProto], dict[str, Any], dict[str, Any]]


def spatial_attention() -> Net:
    nodes = [
        _conv("x", "w", "a"),
        node("ReduceMean", "a", "m", axes=[1]),
        node("ReduceMax", "a", "n", axes=[1]),
        node("Concat", "m n", "c", axis=1),
        _conv("c", "v", "d", 3),
        node("Sigmoid", "d", "s"),
        node("Mul", "a s"),
    ]
    return nodes, IMAGE, {"w": numbers(4, 4, 1, 1), "v": numbers(1, 2, 3, 3)}


def channel_attention_of_neighbours() -> Net:
    """The channels, averaged over the image, are a sequence that a convolution goes over."""
    nodes = [
        _conv("x", "w", "a"),
        node("GlobalAveragePool", "a", "g"),
        node("Squeeze", "g three", "q"),
        node("Transpose", "q", "t", perm=[0, 2, 1]),
        node("Conv", "t v", "c", pads=[1, 1]),
        node("Transpose", "c", "u", perm=[0, 2, 1]),
        node("Unsqueeze", "u three", "z"),
        node("Sigmoid", "z", "s"),
        node("Mul", "a s"),
    ]
    return nodes, IMAGE, {"w": numbers(4, 4, 1, 1), "v": numbers(1, 1, 3), "three": ints(3)}


def attention_along_both_sides() -> Net:
    nodes = [
        _conv("x", "w", "a"),
        node("ReduceMean", "a", "h", axes=[3]),
        node("ReduceMean", "a", "v", axes=[2]),
        node("Transpose", "v", "t", perm=[0, 1, 3, 2]),
        node("Concat", "h t", "c", axis=2),
        _conv("c", "w", "d"),
        node("Split", "d sizes", "e f", axis=2),
        node("Transpose", "f", "g", perm=[0, 1, 3, 2]),
        node("Sigmoid", "e", "i"),
        node("Sigmoid", "g", "j"),
        node("Mul", "a i", "k"),
        node("Mul", "k j"),
    ]
    return nodes, IMAGE, {"w": numbers(4, 4, 1, 1), "sizes": ints(6, 8)}


def selective_kernels() -> Net:
    """Two branches, weighed by a softmax over them for each channel: its few numbers are moved there and back."""
    nodes = [
        _conv("x", "w", "a"),
        _conv("x", "v", "b", 3),
        node("Unsqueeze", "a one", "a5"),
        node("Unsqueeze", "b one", "b5"),
        node("Concat", "a5 b5", "c", axis=1),
        node("ReduceSum", "c one", "u", keepdims=0),
        node("GlobalAveragePool", "u", "g"),
        _conv("g", "f", "z"),
        node("Reshape", "z apart", "r"),
        node("Softmax", "r", "s", axis=1),
        node("Mul", "c s", "m"),
        node("ReduceSum", "m one", "y", keepdims=0),
    ]
    constants = {"w": numbers(4, 4, 1, 1), "v": numbers(4, 4, 3, 3), "f": numbers(8, 4, 1, 1)}
    return nodes, IMAGE, {**constants, "one": ints(1), "apart": ints(1, 2, 4, 1, 1)}


def layer_norm_between_channels() -> Net:
    nodes = [
        _conv("x", "w", "a"),
        node("Transpose", "a", "t", perm=[0, 2, 3, 1]),
        node("LayerNormalization", "t s b", "l"),
        node("MatMul", "l v", "m"),
        node("Relu", "m", "r"),
        node("MatMul", "r u", "n"),
        node("Mul", "n s", "o"),
        node("Transpose", "o", "p", perm=[0, 3, 1, 2]),
        node("Add", "a p"),
    ]
    constants = {"w": numbers(4, 4, 1, 1), "v": numbers(4, 12), "u": numbers(12, 4), "s": numbers(4), "b": numbers(4)}
    return nodes, IMAGE, constants


def patches_and_a_class() -> Net:
    nodes = [
        node("Conv", "x w", "a", strides=[2, 2]),
        node("Reshape", "a flat", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1]),
        node("Concat", "k t", "c", axis=1),
        node("Add", "c p", "d"),
        node("MatMul", "d v"),
    ]
    constants = {"w": numbers(5, 4, 2, 2), "k": numbers(1, 1, 5), "p": numbers(1, 13, 5), "v": numbers(5, 3)}
    return nodes, IMAGE, {**constants, "flat": ints(1, 5, -1)}


def every_second_pixel() -> Net:
    constants: dict[str, Any] = {"w": numbers(5, 16, 1, 1), "end": ints(2**31 - 1), "two": ints(2), "three": ints(3)}
    constants |= {"from0": ints(0), "from1": ints(1)}
    nodes = []
    for row in (0, 1):
        nodes.append(node("Slice", f"x from{row} end two two", f"r{row}"))
        nodes += [node("Slice", f"r{row} from{column} end three two", f"p{row}{column}") for column in (0, 1)]
    nodes += [node("Concat", "p00 p10 p01 p11", "c", axis=1), _conv("c", "w", "y")]
    return nodes, IMAGE, constants


def up_and_beside() -> Net:
    nodes = [
        node("Conv", "x w", "a", strides=[2, 2]),
        node("ConvTranspose", "a u", "b", strides=[2, 2]),
        node("Concat", "b x", "c", axis=1),
        _conv("c", "v", "y"),
    ]
    return nodes, IMAGE, {"w": numbers(3, 4, 2, 2), "u": numbers(3, 2, 2, 2), "v": numbers(5, 6, 1, 1)}


def pixels_from_channels() -> Net:
    """Depth to space as it is written with a transpose of six dimensions."""
    nodes = [
        _conv("x", "w", "a"),
        node("Reshape", "a apart", "r"),
        node("Transpose", "r", "t", perm=[0, 1, 4, 2, 5, 3]),
        node("Reshape", "t joined", "s"),
        _conv("s", "v", "y"),
    ]
    constants = {"w": numbers(12, 4, 1, 1), "v": numbers(2, 3, 1, 1)}
    return nodes, IMAGE, {**constants, "apart": ints(1, 3, 2, 2, 6, 8), "joined": ints(1, 3, 12, 16)}


def causal_convolutions() -> Net:
    nodes = [
        node("Transpose", "x", "t", perm=[0, 2, 1]),
        node("Conv", "t w", "a", pads=[2, 2]),
        node("Slice", "a from until two", "b"),
        node("Relu", "b", "c"),
        node("Add", "c t", "d"),
        node("Slice", "d last end two", "e"),
        node("Squeeze", "e two", "f"),
        node("Gemm", "f v", "y", transB=1),
    ]
    constants = {"w": numbers(5, 5, 3), "v": numbers(3, 5), "from": ints(0), "until": ints(-2), "two": ints(2)}
    return nodes, {"x": (np.float32, [2, 9, 5])}, {**constants, "last": ints(-1), "end": ints(2**63 - 1)}


def boxes_of_distributions() -> Net:
    """A detection head: scales beside each other, boxes as means over bins."""
    nodes = [
        _conv("x", "w", "a"),
        node("MaxPool", "a", "b", kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", "a flat", "c"),
        node("Reshape", "b flat", "d"),
        node("Concat", "c d", "e", axis=2),
        node("Split", "e sizes", "f g", axis=1),
        node("Reshape", "f bins", "h"),
        node("Transpose", "h", "i", perm=[0, 2, 1, 3]),
        node("Softmax", "i", "j", axis=1),
        _conv("j", "v", "k"),
        node("Reshape", "k boxes", "l"),
        node("Sigmoid", "g", "m"),
        node("Concat", "l m", "y", axis=1),
    ]
    constants = {"w": numbers(14, 4, 1, 1), "v": numbers(1, 3, 1, 1), "flat": ints(1, 14, -1), "sizes": ints(12, 2)}
    return nodes, IMAGE, {**constants, "bins": ints(1, 4, 3, 60), "boxes": ints(1, 4, 60)}


def pixels_that_attend() -> Net:
    """Queries and keys of pixels, whose products are columns where the values want them as rows."""
    nodes = [
        _conv("x", "q", "a"),
        _conv("x", "k", "b"),
        _conv("x", "v", "c"),
        node("Reshape", "a flat", "d"),
        node("Transpose", "d", "e", perm=[0, 2, 1]),
        node("Reshape", "b flat", "f"),
        node("Reshape", "c flat", "g"),
        node("MatMul", "e f", "h"),
        node("Softmax", "h", "i", axis=-1),
        node("Transpose", "i", "j", perm=[0, 2, 1]),
        node("MatMul", "g j", "k1"),
        node("Reshape", "k1 image", "l"),
        node("Add", "l x", "m"),
        _conv("m", "v", "y"),
    ]
    constants = {"q": numbers(2, 4, 1, 1), "k": numbers(2, 4, 1, 1), "v": numbers(4, 4, 1, 1)}
    return nodes, IMAGE, {**constants, "flat": ints(1, 0, -1), "image": ints(1, 4, 6, 8)}


def flattenings_side_by_side() -> Net:
    nodes = [
        _conv("x", "w", "a"),
        node("MaxPool", "a", "b", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "a", "c"),
        node("Flatten", "b", "d"),
        node("Concat", "c d", "e", axis=1),
        node("Gemm", "e v"),
        node("Gemm", "c u", "z"),
    ]
    return nodes, IMAGE, {"w": numbers(3, 4, 1, 1), "v": numbers(180, 3), "u": numbers(144, 2)}


def windows_of_an_image() -> Net:
    """Images in NHWC, cut into windows and put together again."""
    nodes = [
        _conv("x", "w", "a"),
        node("Transpose", "a", "n", perm=[0, 2, 3, 1]),
        node("Reshape", "n apart", "b"),
        node("Transpose", "b", "c", perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", "c windows", "d"),
        node("MatMul", "d v", "e"),
        node("Reshape", "e again", "f"),
        node("Transpose", "f", "g", perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", "g image", "h"),
        node("Transpose", "h", "i", perm=[0, 3, 1, 2]),
        node("Add", "a i"),
    ]
    constants = {
        "w": numbers(4, 4, 1, 1),
        "v": numbers(4, 4),
        "apart": ints(1, 3, 2, 4, 2, 4),
        "windows": ints(-1, 4, 4),
    }
    return nodes, IMAGE, {**constants, "again": ints(1, 3, 4, 2, 2, 4), "image": ints(1, 6, 8, 4)}


@pytest.mark.parametrize(
    ("network", "transposes"),
    [
        (spatial_attention, 0),
        (channel_attention_of_neighbours, 0),
        (attention_along_both_sides, 0),
        (selective_kernels, 2),
        (layer_norm_between_channels, 0),
        (patches_and_a_class, 0),
        (every_second_pixel, 0),
        (up_and_beside, 0),
        (pixels_from_channels, 1),
        (causal_convolutions, 0),
        (boxes_of_distributions, 0),
        (pixels_that_attend, 1),
        (flattenings_side_by_side, 2),
        (windows_of_an_image, 2),
    ],
)
def test_as_few_transposes_as_can_be(network: Callable[[], Net], transposes: int) -> None:
    nodes, inputs, constants = network()
    outputs = ["y", "z"] if nodes[-1].output[0] == "z" else ["y"]
    model = model_of(nodes, inputs, outputs, constants)
    assert ops_of(model, tolerance=1e-4).count("transpose") == transposes
