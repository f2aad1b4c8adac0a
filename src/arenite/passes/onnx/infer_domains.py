"""Facts of operators outside the default domain that exporters write often."""

from arenite._base.dtypes import DType
from arenite.passes.onnx.fact import Asked, Fact, Infer
from arenite.passes.onnx.infer_elementwise import same_type
from arenite.passes.onnx.infer_layers import RULES as LAYERS
from arenite.passes.onnx.shapes import broadcast, shape_of, unknown_dims


def _as_float(asked: Asked) -> list[Fact]:
    return [Fact(DType.FLOAT32, asked.operand(0).shape)]


def _qlinear_binary(asked: Asked) -> list[Fact]:
    first = asked.operand(0)
    return [Fact(first.dtype, broadcast(asked, [shape_of(first), shape_of(asked.operand(3))]))]


def _dynamic_lstm(asked: Asked) -> list[Fact]:
    """Like LSTM, its weights [directions, inputs, 4 * hidden]."""
    data, recurrent = asked.operand(0), shape_of(asked.operand(2))
    shape = shape_of(data)
    last = Fact(data.dtype, (recurrent[0], shape[1], recurrent[1]))
    return [Fact(data.dtype, (shape[0], recurrent[0], shape[1], recurrent[1])), last, last]


def _average_pool(asked: Asked) -> list[Fact]:
    if asked.attrs.integer("channels_last", 0):
        return [Fact(asked.operand(0).dtype, unknown_dims(asked, len(shape_of(asked.operand(0)))))]
    return list(LAYERS["AveragePool"](asked))[:1]


_SAME = """
QLinearSigmoid QLinearLeakyRelu QLinearSoftmax Gelu BiasGelu FastGelu QuickGelu"""

RULES: dict[str, Infer] = {
    **{f"com.microsoft::{name}": same_type for name in _SAME.split()},
    "com.microsoft::QLinearAdd": _qlinear_binary,
    "com.microsoft::QLinearMul": _qlinear_binary,
    "com.microsoft::QLinearAveragePool": _average_pool,
    "com.microsoft::DynamicQuantizeLSTM": _dynamic_lstm,
    "ai.onnx.ml::Scaler": _as_float,
    "ai.onnx.ml::Normalizer": _as_float,
    "ai.onnx.ml::Imputer": same_type,
    "ai.onnx.ml::Binarizer": same_type,
}
