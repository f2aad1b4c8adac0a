"""CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and the pools. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, by_dtype, choice, pair, same
from arenite.ir.attrs import Activation, Padding
from arenite.ir.opdef import OpCall
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.transposed import BIAS, DATA, TransposeConvAttrs

_ACTIVATION = choice("activation", "fused_activation_function", Activation)
_PADDING = choice("padding", "padding", Padding)
_STRIDE = pair("stride", "stride_h", "stride_w")
_DILATION = pair("dilation", "dilation_h_factor", "dilation_w_factor")


def _conv2d_version(call: OpCall) -> int:
    data, weights = call.operand(0), call.operand(1)
    per_channel = weights.quantization is not None and not weights.quantization.is_per_tensor
    if data.is_static and weights.is_static and data.rank == weights.rank == 4 and data.dims[3] != weights.dims[3]:
        return 6  # grouped
    match data.dtype, weights.dtype:
        case DType.INT16, _:
            return 4
        case DType.INT8, DType.INT4:
            return 7
        case DType.INT8, _:
            return 3
        case DType.FLOAT32, DType.INT8:
            return 5 if per_channel else 2
    return 1


def _depthwise_version(call: OpCall) -> int:
    data, weights, attrs = call.operand(0), call.operand(1), call.attrs
    per_channel = weights.quantization is not None and not weights.quantization.is_per_tensor
    match data.dtype, weights.dtype:
        case DType.INT16, _:
            return 5
        case DType.FLOAT32, DType.INT8:
            return 6 if per_channel else 4
        case DType.INT8, DType.INT4:
            return 7
        case DType.INT8, _:
            return 3
    return 2 if isinstance(attrs, DepthwiseConv2dAttrs) and attrs.dilation != (1, 1) else 1


def _transpose_conv_version(call: OpCall) -> int:
    if isinstance(call.attrs, TransposeConvAttrs) and call.attrs.activation is not Activation.NONE:
        return 4
    if call.has(BIAS):
        return 3
    return 2 if call.has(DATA) and call.operand(DATA).dtype is DType.INT8 else 1


def _pool(builtin: str, op: str) -> Codec:
    maps = (pair("filter", "filter_height", "filter_width"), _STRIDE, _PADDING, _ACTIVATION)
    return Codec(builtin, op, Pool2dAttrs, "Pool2DOptions", maps, 3, by_dtype(int8=2, int16=3))


CODECS = (
    Codec(
        "CONV_2D",
        "conv2d",
        Conv2dAttrs,
        "Conv2DOptions",
        (_STRIDE, _DILATION, _PADDING, _ACTIVATION),
        8,
        _conv2d_version,
    ),
    Codec(
        "DEPTHWISE_CONV_2D",
        "depthwise_conv2d",
        DepthwiseConv2dAttrs,
        "DepthwiseConv2DOptions",
        (_STRIDE, _DILATION, _PADDING, same("multiplier", "depth_multiplier"), _ACTIVATION),
        7,
        _depthwise_version,
    ),
    Codec(
        "TRANSPOSE_CONV",
        "transpose_conv",
        TransposeConvAttrs,
        "TransposeConvOptions",
        (_STRIDE, _PADDING, _ACTIVATION),
        5,
        _transpose_conv_version,
    ),
    _pool("AVERAGE_POOL_2D", "average_pool2d"),
    _pool("MAX_POOL_2D", "max_pool2d"),
)
