"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, choice, same
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpCall
from arenite.ops.svdf import SvdfAttrs


def _svdf_version(call: OpCall) -> int:
    data, weights = call.operands[0], call.operands[1]
    if data is not None and data.dtype is DType.INT8:
        return 3
    return 2 if weights is not None and weights.dtype is DType.INT8 else 1


CODECS = (
    Codec(
        "SVDF",
        "svdf",
        SvdfAttrs,
        "SVDFOptions",
        (same("rank"), choice("activation", "fused_activation_function", Activation)),
        4,
        _svdf_version,
    ),
)
