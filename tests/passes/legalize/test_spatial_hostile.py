"""Spatial operators with whatever attributes and operands: they are said, or refused with a reason."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from arenite._base.errors import ModelError
from passes.legalize.support import legalized

SOUND: dict[str, tuple[int, str, dict[str, Any]]] = {
    "Conv": (7, "x weights", {"pads": [1, 0, 1, 1], "strides": [2, 1], "dilations": [1, 1]}),
    "ConvTranspose": (7, "x turned vector", {"strides": [2, 1], "output_padding": [1, 0], "group": 2}),
    "MaxPool": (7, "x", {"kernel_shape": [2, 3], "pads": [1, 0, 1, 1], "ceil_mode": 1}),
    "AveragePool": (7, "x", {"kernel_shape": [2, 3], "pads": [1, 0, 1, 1], "count_include_pad": 1}),
    "GlobalAveragePool": (7, "x", {}),
    "GlobalMaxPool": (7, "x", {}),
    "BatchNormalization": (7, "x vector vector vector vector", {"epsilon": 9.0, "training_mode": 0}),
    "InstanceNormalization": (7, "x vector vector", {"epsilon": 0.5}),
    "GroupNormalization": (21, "x vector vector", {"num_groups": 2, "stash_type": 1}),
    "LayerNormalization": (17, "x last last", {"axis": -1, "stash_type": 1}),
    "RMSNormalization": (23, "x last", {"axis": -1, "stash_type": 1}),
    "LRN": (7, "x", {"size": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.0}),
    "Resize": (11, "x - scales", {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}),
    "DepthToSpace": (11, "x", {"blocksize": 2, "mode": "CRD"}),
    "SpaceToDepth": (11, "x", {"blocksize": 2}),
    "Pad": (11, "x amounts", {"mode": "reflect"}),
}
"""By operator: the opset from which on it is so, its operands, and its attributes."""
CONSTANTS: dict[str, Any] = {
    "weights": np.ones((3, 4, 2, 2), np.float32),
    "turned": np.ones((4, 2, 2, 2), np.float32),
    "vector": np.ones(4, np.float32),
    "last": np.ones(8, np.float32),
    "scales": np.array([1, 1, 2, 0.5], np.float32),
    "amounts": np.array([0, 0, 1, 2, 0, 0, 1, 2], np.int64),
    "empty": np.ones((0, 4), np.float32),
    "scalar": np.array(7, np.int64),
    "small": np.ones(2, np.int8),
}
DIMS = [1, 4, 6, 8]
LISTS = ["strides", "dilations", "pads", "kernel_shape", "output_padding", "output_shape", "axes"]
NUMBERS = ["group", "ceil_mode", "num_groups", "axis", "size", "blocksize", "antialias", "spatial", "exclude_outside"]
TEXTS = {
    "auto_pad": ["VALID", "SAME_UPPER", "SAME_LOWER", "SOME"],
    "mode": ["nearest", "linear", "cubic", "constant", "edge", "wrap", "DCR", "none"],
    "coordinate_transformation_mode": ["align_corners", "asymmetric", "half_pixel_symmetric", "none"],
    "nearest_mode": ["ceil", "none"],
    "keep_aspect_ratio_policy": ["not_larger"],
}
INTEGERS = [*range(-2, 5)] * 4 + [2**31, -(2**31), 2**62]


def changed(rng: random.Random, operands: list[str], attrs: dict[str, Any], dims: list[int]) -> None:
    """Damage one thing."""
    what = rng.randrange(6)
    if what == 0:
        attrs[rng.choice(LISTS)] = [rng.choice(INTEGERS) for _ in range(rng.choice([1, 2, 2, 4, 8]))]
    elif what == 1:
        attrs[rng.choice([*NUMBERS, *(name for name in attrs if isinstance(attrs[name], int))])] = rng.choice(INTEGERS)
    elif what == 2:
        name = rng.choice(sorted(TEXTS))
        attrs[name] = rng.choice(TEXTS[name])
    elif what == 3:
        attrs[rng.choice(["epsilon", "alpha", "beta", "bias", "value"])] = rng.choice([0.0, -1.0, math.nan, math.inf])
    elif what == 4:
        at = rng.randrange(1, len(operands) + 1)
        operands[at : at + 1] = [rng.choice([*CONSTANTS, "x", "z", "-"])]
    elif dims and rng.random() < 0.5:
        dims[rng.randrange(len(dims))] = rng.choice([0, 1, 2, 7])
    else:
        dims[:] = [rng.choice([1, 2, 4]) for _ in range(rng.choice([0, 1, 2, 3, 5, 6]))]


def model(rng: random.Random) -> onnx.ModelProto:
    operator = rng.choice(sorted(SOUND))
    since, written, sound = SOUND[operator]
    operands, attrs, dims, dtype = written.split(), dict(sound), list(DIMS), TensorProto.FLOAT
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        changed(rng, operands, attrs, dims)
    if rng.random() < 0.1:
        dtype = rng.choice([TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL, TensorProto.FLOAT16])
    results = ["y", *["extra"][: rng.random() < 0.1]]
    names = ["" if name == "-" else name for name in operands]
    node = helper.make_node(operator, names, results, **attrs)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", dtype, dims), helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in CONSTANTS.items()],
    )
    opset = rng.choice([since, since, max(since, 18), 7])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@given(st.integers(0, 2**32))
def test_whatever_it_says_it_is_said_or_refused(seed: int) -> None:
    problems: Sequence[str] = ()
    with TemporaryDirectory() as folder:
        try:
            legalized(model(random.Random(seed)), Path(folder))
        except ModelError as error:
            problems = error.problems
    # One node is refused in one sentence.
    assert len(problems) <= 1
    assert all(20 < len(problem) < 400 and "\n" not in problem for problem in problems)
