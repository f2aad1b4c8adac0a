"""Blocks of pixels from channels, and back."""

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.spatial import node, numbers, one, refusal, run
from passes.legalize.support import model_of


@given(
    block=st.integers(1, 3),
    channels=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    mode=st.sampled_from(["DCR", "CRD"]),
    dtype=st.sampled_from([np.float32, np.int8, np.uint8, np.int32]),
)
def test_depth_to_space(
    block: int, channels: int, sizes: tuple[int, int, int], mode: str, dtype: npt.DTypeLike
) -> None:
    of = node("DepthToSpace", "x", blocksize=block, mode=mode)
    dims = [sizes[0], channels * block**2, *sizes[1:]]
    if dtype is np.float32:
        ops = run(one(of, dims))
    else:
        # onnxruntime has it on floats alone.
        casts = [node("Cast", "x", "f", to=1), node("DepthToSpace", "f", blocksize=block, mode=mode)]
        ops = run(model_of(casts, {"x": (dtype, dims)}, ["y"]))
        ops.remove("cast")
    assert ops == (["gather"] if mode == "CRD" and min(block, channels) > 1 else []) + ["depth_to_space"]


@given(
    block=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
)
def test_space_to_depth(block: int, sizes: tuple[int, int, int, int]) -> None:
    dims = [*sizes[:2], sizes[2] * block, sizes[3] * block]
    assert run(one(node("SpaceToDepth", "x", blocksize=block), dims)) == ["space_to_depth"]


def test_a_shuffle_between_convolutions_is_not_transposed() -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("DepthToSpace", "c", "d", blocksize=2, mode="CRD"),
        node("SpaceToDepth", "d", "s", blocksize=3),
        node("Conv", "s v"),
    ]
    constants = {"w": numbers(8, 3, 1, 1), "v": numbers(4, 18, 1, 1)}
    model = model_of(nodes, {"x": (np.float32, [1, 3, 6, 6])}, ["y"], constants)
    assert run(model) == ["conv2d", "gather", "depth_to_space", "space_to_depth", "conv2d"]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (
            node("DepthToSpace", "x", blocksize=2, mode="RCD"),
            "mode must be DCR or CRD, but is 'RCD'",
        ),
        (node("SpaceToDepth", "x", blocksize=3), "height and width must divide by blocksize 3, but are [6, 8]"),
        (node("DepthToSpace", "x", blocksize=3), "the channels must divide by blocksize 3 squared, but are 8"),
    ],
)
def test_what_has_no_counterpart(of: onnx.NodeProto, expected: str) -> None:
    assert refusal(one(of, [1, 8, 6, 8])) == expected
