"""A bias in other units than the products is refused where TFLite refuses it."""

import numpy as np
import pytest

from arenite._base.errors import ModelError
from arenite.driver.checks import check_runnable
from arenite.formats.tflite import import_model
from arenite.ops import core_registry
from formats.tflite.small import SCHEMA, buffer, one_op, quantization, tensor
from oracle import run_litert

# Options, version, the axis of output channels.
KINDS = {
    "FULLY_CONNECTED": (SCHEMA.record("FullyConnectedOptions"), 4, 0),
    "CONV_2D": (SCHEMA.record("Conv2DOptions", stride_h=1, stride_w=1), 3, 0),
    "DEPTHWISE_CONV_2D": (SCHEMA.record("DepthwiseConv2DOptions", stride_h=1, stride_w=1, depth_multiplier=1), 4, 3),
}
SHAPES = {
    "FULLY_CONNECTED": ((1, 2), (2, 2)),
    "CONV_2D": ((1, 2, 2, 2), (2, 1, 1, 2)),
    "DEPTHWISE_CONV_2D": ((1, 2, 2, 2), (1, 1, 1, 2)),
}


def weighted(
    op: str,
    dtype: str,
    *,
    per_channel: bool = False,
    bias_scale: float | None = 0.25,
    zero_point: int = 0,
    weight: int = 0,
) -> bytes:
    """One layer of scales 0.5, 0.5 and 1, all of whose weights are the same."""
    options, version, axis = KINDS[op]
    shape, weight_shape = SHAPES[op]
    count = 2 if per_channel else 1
    unsigned = dtype == "UINT8"
    bias = "INT64" if dtype == "INT16" else "INT32"
    tensors = [
        tensor("x", shape, dtype, quantization=quantization([0.5], [0])),
        tensor(
            "w",
            weight_shape,
            "UINT8" if unsigned else "INT8",
            buffer=1,
            quantization=quantization([0.5] * count, [7 if unsigned else 0] * count, axis),
        ),
        tensor(
            "b",
            (2,),
            bias,
            buffer=2,
            quantization=None if bias_scale is None else quantization([bias_scale] * count, [zero_point] * count),
        ),
        tensor("y", shape, dtype, quantization=quantization([1.0], [0])),
    ]
    data = [buffer(bytes([weight]) * int(np.prod(weight_shape))), buffer(bytes(16 if bias == "INT64" else 8))]
    return one_op(op, tensors, [0, 1, 2], data, version=version, builtin_options=options)


@pytest.mark.litert
@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize(
    ("dtype", "per_channel"), [("INT8", False), ("INT8", True), ("INT16", False), ("INT16", True), ("UINT8", False)]
)
def test_bias_scales_as_litert_takes_them(op: str, dtype: str, per_channel: bool) -> None:
    refused = 0
    # A fiftieth of the result's step is 8 % of the products' unit.
    for scale in (0.25, 0.25 * 1.079, 0.25 * 1.081, 0.25 * 0.921, 0.25 * 0.919, 0.5, None):
        data = weighted(op, dtype, per_channel=per_channel, bias_scale=scale)
        problem = problem_of(data)
        assert runs_in_litert(data, SHAPES[op][0], dtype) == (not problem), (scale, problem)
        if problem:
            assert "the bias's scale is input scale * weight scale, its zero point 0; found" in problem
            refused += 1
    assert refused == (4 if dtype == "UINT8" or (op == "FULLY_CONNECTED" and not per_channel) else 0)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("dtype", ["INT8", "INT16", "UINT8"])
def test_a_bias_starts_at_zero(op: str, dtype: str) -> None:
    """LiteRT says so of some operators, and takes the others' for zero."""
    assert "found the zero point 3" in problem_of(weighted(op, dtype, zero_point=3))


def runs_in_litert(data: bytes, shape: tuple[int, ...], dtype: str) -> bool:
    try:
        run_litert(data, [[np.zeros(shape, dtype.lower())]])
    except RuntimeError:
        return False
    return True


def problem_of(data: bytes) -> str:
    try:
        check_runnable(import_model(data, "m"), core_registry())
    except ModelError as error:
        return str(error)
    return ""


@pytest.mark.litert
@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
def test_a_convolution_on_uint8_has_a_bias(dtype: str) -> None:
    """TFLite-Micro runs one on int8 without; LiteRT runs neither."""
    options, version, axis = KINDS["CONV_2D"]
    shape, weight_shape = SHAPES["CONV_2D"]
    tensors = [
        tensor("x", shape, dtype, quantization=quantization([0.5], [0])),
        tensor("w", weight_shape, dtype, buffer=1, quantization=quantization([0.5], [0], axis)),
        tensor("y", shape, dtype, quantization=quantization([1.0], [0])),
    ]
    data = one_op("CONV_2D", tensors, [0, 1], [buffer(bytes(4))], version=version, builtin_options=options)
    assert not runs_in_litert(data, shape, dtype)
    assert ("on uint8 there is a bias" in problem_of(data)) == (dtype == "UINT8")
