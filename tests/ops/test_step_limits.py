"""Strides and dilations of convolutions have the limits that LiteRT gives them, on every dtype."""

import pytest

from formats.tflite.small import SCHEMA, buffer, one_op, quantization, tensor
from ops.test_bias_scale import problem_of, runs_in_litert

KINDS = {
    "CONV_2D": ("Conv2DOptions", 3, (2, 1, 1, 2), {}),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2DOptions", 4, (1, 1, 1, 2), {"depth_multiplier": 1}),
}
SHAPE = (1, 2, 2, 2)


def model(op: str, dtype: str, **steps: int) -> bytes:
    """One layer whose filter has one tap."""
    options, version, weights, rest = KINDS[op]
    strided = max(steps.get("stride_h", 1), steps.get("stride_w", 1)) > 1
    tensors = [
        tensor("x", SHAPE, dtype, quantization=quantization([0.5], [0])),
        tensor("w", weights, "UINT8" if dtype == "UINT8" else "INT8", buffer=1, quantization=quantization([0.5], [0])),
        tensor("b", (2,), "INT32", buffer=2, quantization=quantization([0.25], [0])),
        tensor("y", (1, 1, 1, 2) if strided else SHAPE, dtype, quantization=quantization([1.0], [0])),
    ]
    record = SCHEMA.record(options, **{"stride_h": 1, "stride_w": 1, **rest, **steps})
    data = [buffer(bytes(4 if op == "CONV_2D" else 2)), buffer(bytes(8))]
    return one_op(op, tensors, [0, 1, 2], data, version=version, builtin_options=record)


@pytest.mark.litert
@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
@pytest.mark.parametrize("fields", [("stride_h", "stride_w"), ("dilation_h_factor",), ("dilation_w_factor",)])
def test_steps_end_where_litert_s_do(op: str, dtype: str, fields: tuple[str, ...]) -> None:
    for step in (1, 2**15 - 1, 2**15, 2**31 - 1):
        data = model(op, dtype, **dict.fromkeys(fields, step))
        problem = problem_of(data)
        assert runs_in_litert(data, SHAPE, dtype) == (not problem), (step, problem)
        assert bool(problem) == (step >= 2**15)
        assert not problem or ("stride and dilation are 1 to 32767" in problem and str(step) in problem)
