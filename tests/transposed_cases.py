"""Random one-op graphs of transpose_conv, for tests of its meaning and kernels."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Padding
from arenite.ir.types import Quantization
from arenite.ops.transposed import TransposeConvAttrs
from plain_cases import Plain
from weighted_cases import (
    ACTIVATIONS,
    AnyArray,
    biases,
    int8_arrays,
    pairs,
    result_quantizations,
    scales,
    weight_quantizations,
    zero_points,
)


def result_sizes(size: int, taps: int, stride: int, padding: Padding) -> tuple[int, int]:
    """The smallest and the largest result that a convolution with this window takes to `size` elements."""
    if padding is Padding.SAME:
        return (size - 1) * stride + 1, size * stride
    return (size - 1) * stride + taps, size * stride + taps - 1


@st.composite
def transpose_cases(draw: st.DrawFn) -> Plain:
    taps = draw(st.one_of(pairs(1, 5), st.sampled_from(((2, 2), (3, 3), (4, 4)))))
    stride = draw(st.one_of(pairs(1, 4), st.just((2, 2))))
    padding = draw(st.sampled_from(Padding))
    size = draw(pairs(1, 5))
    fitting = [result_sizes(size[i], taps[i], stride[i], padding) for i in range(2)]
    height, width = (draw(st.integers(*limits)) for limits in fitting)
    batch, inputs, outputs = draw(st.sampled_from((1, 1, 2))), draw(st.integers(1, 9)), draw(st.integers(1, 9))
    data, weight = int8_arrays(draw, (batch, *size, inputs)), int8_arrays(draw, (outputs, *taps, inputs), low=-127)
    shape = np.array((batch, height, width, outputs), np.int32)
    attrs = TransposeConvAttrs(stride, padding, draw(st.sampled_from(ACTIVATIONS)))
    data_q = Quantization.per_tensor(draw(scales()), draw(zero_points()))
    weight_q = draw(weight_quantizations(outputs, 0))
    bias = draw(biases(outputs))
    reach = data_q.scale * float(np.median(weight_q.scales)) * 64 * 64 * (inputs * taps[0] * taps[1]) ** 0.5
    result_q = draw(result_quantizations(reach))
    arrays: tuple[AnyArray, ...] = (shape, weight, data)
    quantizations: tuple[Quantization | None, ...] = (None, weight_q, data_q)
    if bias is not None:
        scale = tuple(float(np.float32(data_q.scale) * np.float32(s)) for s in weight_q.scales)
        bias_q = Quantization(scale, (0,) * len(scale), None if weight_q.axis is None else 0)
        arrays, quantizations = (*arrays, bias), (*quantizations, bias_q)
    constants = frozenset({0, 1, 3})
    return Plain("transpose_conv", arrays, (*quantizations, result_q), DType.INT8, attrs, constants)


@st.composite
def transpose_int16_cases(draw: st.DrawFn) -> Plain:
    """Data of 16 bits without zero points, and a bias of 64 bits, or none."""
    case = draw(transpose_cases())
    shape, weight, data, *bias = case.data
    _, weight_q, data_q, *bias_q = case.quantizations
    assert data_q is not None
    result_q = bias_q.pop()
    assert result_q is not None
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wide = rng.integers(-32768, 32767, data.shape, endpoint=True).astype(np.int16)
    biased = [array.astype(np.int64) * draw(st.sampled_from((1, 256, 2**20))) for array in bias]
    quantizations = (None, weight_q, Quantization.per_tensor(data_q.scale), *bias_q)
    result = Quantization.per_tensor(result_q.scale * draw(st.sampled_from((1.0, 256.0))))
    return replace(
        case, data=(shape, weight, wide, *biased), quantizations=(*quantizations, result), result_dtype=DType.INT16
    )
