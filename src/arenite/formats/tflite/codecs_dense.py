"""FULLY_CONNECTED. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, choice, same
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpCall
from arenite.ops.dense import FullyConnectedAttrs


def _version(call: OpCall) -> int:
    data, weights = call.operand(0), call.operand(1)
    per_channel = weights.quantization is not None and not weights.quantization.is_per_tensor
    match data.dtype, weights.dtype:
        case DType.INT16, DType.INT4:
            return 13
        case DType.FLOAT32, DType.INT8 if per_channel:
            return 12
        case DType.INT16, _:
            return 7
        case DType.INT8, DType.INT4:
            return 10
    if not call.has(2):
        return 6
    if isinstance(call.attrs, FullyConnectedAttrs) and call.attrs.keep_dims:
        return 5
    match data.dtype, weights.dtype:
        case DType.INT8, _:
            return 4
        case DType.FLOAT32, DType.INT8:
            return 3
    return 1


CODECS = (
    Codec(
        "FULLY_CONNECTED",
        "fully_connected",
        FullyConnectedAttrs,
        "FullyConnectedOptions",
        (choice("activation", "fused_activation_function", Activation), same("keep_dims", "keep_num_dims")),
        13,
        _version,
        must_be_default=("weights_format", "quant_spec"),
    ),
)
