"""Elementwise functions of one and two operands, comparisons, logic. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, MinVersion, by_dtype, choice, same
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.rectifiers import LeakyReluAttrs

_FIRST = by_dtype()
_INT8_SINCE_2 = by_dtype(int8=2)


def _broadcasts_beyond(rank: int, version: int, otherwise: MinVersion) -> MinVersion:
    """`version` for operands of unequal shapes, one of them of a higher rank."""

    def needed(call: OpCall) -> int:
        types = [t for t in call.operands if t is not None and t.is_static]
        beyond = len({t.dims for t in types}) > 1 and max(t.rank for t in types) > rank
        return max(version, otherwise(call)) if beyond else otherwise(call)

    return needed


def _extremum_version(call: OpCall) -> int:
    if call.operand(0).dtype is DType.INT16:
        return 4
    return _broadcasts_beyond(4, 3, _INT8_SINCE_2)(call)


_EXTREMUM = ("MaximumMinimumOptions", (), 4, _extremum_version)
_ACTIVATION = (choice("activation", "fused_activation_function", Activation),)

CODECS = (
    Codec("ABS", "abs", Attrs, "AbsOptions", (), 5, by_dtype(int8=2, int16=3)),
    Codec("NEG", "neg", Attrs, "NegOptions", (), 1, _FIRST),
    Codec("SQUARE", "square", Attrs, "SquareOptions", (), 1, _FIRST),
    Codec("SQRT", "sqrt", Attrs, None, (), 2, _FIRST),
    Codec("RSQRT", "rsqrt", Attrs, None, (), 3, by_dtype(int8=2, int16=3)),
    Codec("EXP", "exp", Attrs, "ExpOptions", (), 2, _INT8_SINCE_2),
    Codec("LOG", "log", Attrs, None, (), 2, _INT8_SINCE_2),
    Codec("SIN", "sin", Attrs, None, (), 1, _FIRST),
    Codec("COS", "cos", Attrs, "CosOptions", (), 1, _FIRST),
    Codec("FLOOR", "floor", Attrs, None, (), 1, _FIRST),
    Codec("CEIL", "ceil", Attrs, None, (), 1, _FIRST),
    Codec("ROUND", "round", Attrs, None, (), 1, _FIRST),
    Codec("RELU_N1_TO_1", "relu_n1_to_1", Attrs, None, (), 1, _FIRST),
    Codec("RELU_0_TO_1", "relu_0_to_1", Attrs, None, (), 1, _FIRST),
    Codec("LEAKY_RELU", "leaky_relu", LeakyReluAttrs, "LeakyReluOptions", (same("alpha"),), 2, by_dtype(int16=2)),
    Codec("PRELU", "prelu", Attrs, None, (), 1, _FIRST),
    Codec("ELU", "elu", Attrs, None, (), 1, _FIRST),
    Codec("HARD_SWISH", "hard_swish", Attrs, "HardSwishOptions", (), 1, _FIRST),
    Codec("DIV", "div", ArithmeticAttrs, "DivOptions", _ACTIVATION, 2, _broadcasts_beyond(4, 2, _FIRST)),
    Codec("MINIMUM", "minimum", Attrs, *_EXTREMUM),
    Codec("MAXIMUM", "maximum", Attrs, *_EXTREMUM),
    Codec("SQUARED_DIFFERENCE", "squared_difference", Attrs, "SquaredDifferenceOptions", (), 2, _INT8_SINCE_2),
    Codec("POW", "pow", Attrs, "PowOptions", (), 1, _FIRST),
    Codec("EQUAL", "equal", Attrs, "EqualOptions", (), 5, by_dtype(int8=2, int16=4)),
    Codec("NOT_EQUAL", "not_equal", Attrs, "NotEqualOptions", (), 4, _INT8_SINCE_2),
    Codec("LESS", "less", Attrs, "LessOptions", (), 3, by_dtype(int8=2, int16=3)),
    Codec("LESS_EQUAL", "less_equal", Attrs, "LessEqualOptions", (), 2, _INT8_SINCE_2),
    Codec("GREATER", "greater", Attrs, "GreaterOptions", (), 2, _INT8_SINCE_2),
    Codec("GREATER_EQUAL", "greater_equal", Attrs, "GreaterEqualOptions", (), 3, by_dtype(int8=2, int16=3)),
    Codec("LOGICAL_AND", "logical_and", Attrs, "LogicalAndOptions", (), 1, _FIRST),
    Codec("LOGICAL_OR", "logical_or", Attrs, "LogicalOrOptions", (), 1, _FIRST),
    Codec("LOGICAL_NOT", "logical_not", Attrs, "LogicalNotOptions", (), 1, _FIRST),
)
