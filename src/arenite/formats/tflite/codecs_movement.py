"""RESHAPE, PAD, PADV2, CONCATENATION and MEAN. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, by_dtype, choice, integers, same
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.reduce import ReduceAttrs


def _pad_version(call: OpCall) -> int:
    data = call.operand(0)
    if data.dtype is DType.BOOL:
        return 5
    if data.is_static and data.rank > 4:
        return 4
    return {DType.INT16: 3, DType.INT8: 2}.get(data.dtype, 1)


CODECS = (
    Codec("RESHAPE", "reshape", ReshapeAttrs, "ReshapeOptions", (integers("new_shape", "new_shape"),), 1, by_dtype()),
    Codec("PAD", "pad", Attrs, "PadOptions", (), 5, _pad_version),
    Codec("PADV2", "padv2", Attrs, "PadV2Options", (), 5, _pad_version),
    Codec(
        "CONCATENATION",
        "concatenation",
        ConcatenationAttrs,
        "ConcatenationOptions",
        (same("axis"), choice("activation", "fused_activation_function", Activation)),
        4,
        by_dtype(int8=2, int16=3, uint32=4),
    ),
    Codec(
        "MEAN",
        "mean",
        ReduceAttrs,
        "ReducerOptions",
        (same("keep_dims"),),
        3,
        by_dtype(int8=2, int16=3),
    ),
)
