"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, choice, same
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpCall
from arenite.ops.lstm import LstmAttrs
from arenite.ops.svdf import SvdfAttrs


def _svdf_version(call: OpCall) -> int:
    data, weights = call.operands[0], call.operands[1]
    if data is not None and data.dtype is DType.INT8:
        return 3
    return 2 if weights is not None and weights.dtype is DType.INT8 else 1


def _lstm_version(call: OpCall) -> int:
    data, weights = call.operands[0], call.operands[2] if len(call.operands) > 2 else None
    hybrid = data is not None and weights is not None and (data.dtype, weights.dtype) == (DType.FLOAT32, DType.INT8)
    return 2 if hybrid else 1


_ACTIVATION = choice("activation", "fused_activation_function", Activation)

CODECS = (
    Codec(
        "SVDF",
        "svdf",
        SvdfAttrs,
        "SVDFOptions",
        (same("rank"), _ACTIVATION),
        4,
        _svdf_version,
    ),
    Codec(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "unidirectional_sequence_lstm",
        LstmAttrs,
        "UnidirectionalSequenceLSTMOptions",
        (_ACTIVATION, same("cell_clip"), same("proj_clip"), same("time_major")),
        4,
        _lstm_version,
        must_be_default=("diagonal_recurrent_tensors",),
        has_intermediates=True,
    ),
)
