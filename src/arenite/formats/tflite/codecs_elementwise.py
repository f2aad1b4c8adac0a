"""ADD, SUB, MUL, activations, SOFTMAX, QUANTIZE and DEQUANTIZE. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, by_dtype, choice, same
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs

_ACTIVATION = choice("activation", "fused_activation_function", Activation)


def _add_version(call: OpCall) -> int:
    data = call.operand(0)
    match data.dtype:
        case DType.INT16:
            return 5 if data.quantization is None else 3
        case DType.INT64:
            return 4
        case DType.INT8:
            return 2
    return 1


def _sub_version(call: OpCall) -> int:
    data = call.operand(0)
    if data.dtype is DType.INT64:
        return 4
    if data.dtype is DType.INT16:
        return 5
    if any(t is not None and t.is_static and t.rank > 4 for t in call.operands):
        return 3
    return 2 if data.dtype is DType.INT8 else 1


def _mul_version(call: OpCall) -> int:
    data = call.operand(0)
    match data.dtype:
        case DType.UINT32:
            return 7
        case DType.COMPLEX64:
            return 6
        case DType.INT64:
            return 5
        case DType.INT16:
            return 7 if data.quantization is None else 4
    scales = [t.quantization.scale for t in (*call.operands[:2], *call.results) if t is not None and t.quantization]
    if len(scales) == 3 and scales[0] * scales[1] / scales[2] >= 1:
        return 3
    return 2 if data.dtype is DType.INT8 else 1


def _quantize_version(call: OpCall) -> int:
    data, result = call.operand(0), call.results[0]
    if DType.INT4 in (data.dtype, result.dtype):
        return 4
    if result.quantization is not None and not result.quantization.is_per_tensor:
        return 3
    return 2 if result.dtype is DType.INT16 else 1


def _dequantize_version(call: OpCall) -> int:
    data = call.operand(0)
    match data.dtype:
        case DType.INT4:
            return 6
        case DType.INT16 | DType.FLOAT16:
            return 3
        case DType.INT8:
            return 2 if data.quantization is None or data.quantization.is_per_tensor else 5
    return 1


CODECS = (
    Codec("ADD", "add", ArithmeticAttrs, "AddOptions", (_ACTIVATION,), 5, _add_version),
    Codec("SUB", "sub", ArithmeticAttrs, "SubOptions", (_ACTIVATION,), 5, _sub_version),
    Codec("MUL", "mul", ArithmeticAttrs, "MulOptions", (_ACTIVATION,), 7, _mul_version),
    Codec("RELU", "relu", Attrs, None, (), 3, by_dtype(int8=2, uint8=2, int16=3)),
    Codec("RELU6", "relu6", Attrs, None, (), 3, by_dtype(int8=2, int16=3)),
    Codec("LOGISTIC", "logistic", Attrs, None, (), 3, by_dtype(int8=2, int16=3)),
    Codec("TANH", "tanh", Attrs, None, (), 3, by_dtype(int8=2, int16=3)),
    Codec("SOFTMAX", "softmax", SoftmaxAttrs, "SoftmaxOptions", (same("beta"),), 3, by_dtype(int8=2, int16=3)),
    Codec("QUANTIZE", "quantize", Attrs, "QuantizeOptions", (), 4, _quantize_version),
    Codec("DEQUANTIZE", "dequantize", Attrs, "DequantizeOptions", (), 6, _dequantize_version),
)
