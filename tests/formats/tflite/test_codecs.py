"""Attributes and options, both ways, with LiteRT's object API as the judge of what was written."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model, import_model
from arenite.formats.tflite.codecs import codecs_by_builtin, codecs_by_op
from arenite.formats.tflite.schema import tflite_schema
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Node
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.reduce import ReduceAttrs

_NUMBER = st.integers(1, 1000)
_PAIR = st.tuples(_NUMBER, _NUMBER)
_ACTIVATION = st.sampled_from(Activation)
_PADDING = st.sampled_from(Padding)
# By the public schema: enum Padding { SAME, VALID }, enum ActivationFunctionType in the order below.
_ACTIVATIONS = [
    Activation.NONE,
    Activation.RELU,
    Activation.RELU_N1_TO_1,
    Activation.RELU6,
    Activation.TANH,
    Activation.SIGN_BIT,
]


def _padding(padding: object) -> int:
    assert isinstance(padding, Padding), "explicit padding is a PAD of its own in a file"
    return [Padding.SAME, Padding.VALID].index(padding)


def _conv(attrs: Conv2dAttrs | DepthwiseConv2dAttrs) -> dict[str, Any]:
    found = {
        "strideH": attrs.stride[0],
        "strideW": attrs.stride[1],
        "dilationHFactor": attrs.dilation[0],
        "dilationWFactor": attrs.dilation[1],
        "padding": _padding(attrs.padding),
        "fusedActivationFunction": _ACTIVATIONS.index(attrs.activation),
    }
    if isinstance(attrs, DepthwiseConv2dAttrs):
        found["depthMultiplier"] = attrs.multiplier
    return found


def _pool(attrs: Pool2dAttrs) -> dict[str, Any]:
    return {
        "filterHeight": attrs.filter[0],
        "filterWidth": attrs.filter[1],
        "strideH": attrs.stride[0],
        "strideW": attrs.stride[1],
        "padding": _padding(attrs.padding),
        "fusedActivationFunction": _ACTIVATIONS.index(attrs.activation),
    }


def _activation(attrs: Any) -> dict[str, Any]:
    return {"fusedActivationFunction": _ACTIVATIONS.index(attrs.activation)}


_POOL = (st.builds(Pool2dAttrs, _PAIR, _PAIR, _PADDING, _ACTIVATION), "Pool2DOptionsT", _pool)
_NONE: tuple[st.SearchStrategy[Attrs], None, Any] = (st.just(Attrs()), None, lambda _: {})
# op → (its attributes, LiteRT's class of options, what the options hold)
CASES: Mapping[str, tuple[st.SearchStrategy[Attrs], str | None, Any]] = {
    "conv2d": (st.builds(Conv2dAttrs, _PAIR, _PAIR, _PADDING, _ACTIVATION), "Conv2DOptionsT", _conv),
    "depthwise_conv2d": (
        st.builds(DepthwiseConv2dAttrs, _PAIR, _PAIR, _PADDING, _NUMBER, _ACTIVATION),
        "DepthwiseConv2DOptionsT",
        _conv,
    ),
    "average_pool2d": _POOL,
    "max_pool2d": _POOL,
    "fully_connected": (
        st.builds(FullyConnectedAttrs, _ACTIVATION, st.booleans()),
        "FullyConnectedOptionsT",
        lambda a: {**_activation(a), "keepNumDims": a.keep_dims, "weightsFormat": 0},
    ),
    "add": (st.builds(ArithmeticAttrs, _ACTIVATION), "AddOptionsT", _activation),
    "sub": (st.builds(ArithmeticAttrs, _ACTIVATION), "SubOptionsT", _activation),
    "mul": (st.builds(ArithmeticAttrs, _ACTIVATION), "MulOptionsT", _activation),
    "relu": _NONE,
    "relu6": _NONE,
    "logistic": _NONE,
    "tanh": _NONE,
    "softmax": (
        st.builds(SoftmaxAttrs, st.floats(width=32, min_value=0, allow_infinity=False)),
        "SoftmaxOptionsT",
        lambda a: {"beta": a.beta},
    ),
    "quantize": (st.just(Attrs()), "QuantizeOptionsT", lambda _: {}),
    "dequantize": (st.just(Attrs()), "DequantizeOptionsT", lambda _: {}),
    "reshape": (
        st.builds(ReshapeAttrs, st.none() | st.lists(st.integers(-1, 9), max_size=4).map(tuple)),
        "ReshapeOptionsT",
        lambda a: {"newShape": None if a.new_shape is None else list(a.new_shape)},
    ),
    "pad": (st.just(Attrs()), "PadOptionsT", lambda _: {}),
    "padv2": (st.just(Attrs()), "PadV2OptionsT", lambda _: {}),
    "concatenation": (
        st.builds(ConcatenationAttrs, st.integers(-4, 4), _ACTIVATION),
        "ConcatenationOptionsT",
        lambda a: {"axis": a.axis, **_activation(a)},
    ),
    "mean": (st.builds(ReduceAttrs, st.booleans()), "ReducerOptionsT", lambda a: {"keepDims": a.keep_dims}),
}


def model_of(op: str, attrs: Attrs, operands: list[TensorType], result: TensorType) -> Model:
    builder = GraphBuilder()
    values = [builder.input(f"x{i}", type_) for i, type_ in enumerate(operands)]
    node = builder.node(op, values, [result], attrs, name="y")
    return Model("m", builder.output(node.result))


def only(model: Model) -> Node:
    (node,) = model.graph.nodes
    return node


def case_of(op: str) -> tuple[st.SearchStrategy[Attrs], str | None, Any]:
    """The case by hand where there is one, else any attributes, which must at least come back."""
    if op in CASES:
        return CASES[op]
    codec = codecs_by_op()[op]
    hints = get_type_hints(codec.attrs)
    strategy = st.builds(codec.attrs, **{field.name: _any(hints[field.name]) for field in fields(codec.attrs)})
    return strategy, None if codec.options is None else f"{codec.options}T", lambda _: {}


def _any(hint: Any) -> st.SearchStrategy[Any]:
    if hint is int:
        return _NUMBER
    if hint is float:
        return st.floats(width=32, allow_nan=False, allow_infinity=False)
    if hint is DType:
        return st.sampled_from([DType.FLOAT32, DType.INT32, DType.INT64, DType.INT8])
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        if rest == [...]:
            return st.lists(_any(first), max_size=4).map(tuple)
        return st.tuples(*(_any(arg) for arg in (first, *rest)))
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*(_any(arg) for arg in get_args(hint)))
    return st.from_type(hint)


def test_every_op_has_one_codec() -> None:
    registry = core_registry()
    # Tables of functions of a byte are what passes make for C; .tflite has none.
    assert set(registry) - {"lookup"} <= set(codecs_by_op())
    assert len(codecs_by_op()) == len(codecs_by_builtin())
    for op, codec in codecs_by_op().items():
        assert op not in registry or codec.attrs is registry[op].attrs
        mapped = {item.attr for item in codec.maps}
        assert mapped == {field.name for field in fields(codec.attrs)}, op


@pytest.mark.litert
@given(st.data())
@pytest.mark.parametrize("op", codecs_by_op())
def test_options_as_litert_reads_them(op: str, data: st.DataObject) -> None:
    from ai_edge_litert import schema_py_generated as litert

    strategy, options_class, expected = case_of(op)
    attrs = data.draw(strategy)
    type_ = TensorType(DType.FLOAT32, (1, 2, 2, 1))
    written = export_model(model_of(op, attrs, [type_, type_], type_))
    (operator,) = litert.ModelT.InitFromPackedBuf(written, 0).subgraphs[0].operators
    options = operator.builtinOptions
    assert (None if options is None else type(options).__name__) == options_class
    for name, value in expected(attrs).items():
        found = getattr(options, name)
        assert (found.tolist() if isinstance(found, np.ndarray) else found) == value, name


@given(st.data())
@pytest.mark.parametrize("op", codecs_by_op())
def test_what_is_exported_is_imported(op: str, data: st.DataObject) -> None:
    attrs = data.draw(case_of(op)[0])
    type_ = TensorType(DType.FLOAT32, (1, 2, 2, 1))
    node = only(import_model(export_model(model_of(op, attrs, [type_, type_], type_)), "m"))
    assert (node.op, node.attrs, node.name) == (op, attrs, "y")


_F = TensorType(DType.FLOAT32, (1, 2, 2, 1))
_S8 = TensorType(DType.INT8, (1, 2, 2, 1), Quantization.per_tensor(0.5, 0))
_S4 = TensorType(DType.INT4, (1, 2, 2, 1), Quantization.per_tensor(0.5, 0))
_S16 = TensorType(DType.INT16, (1, 2, 2, 1), Quantization.per_tensor(0.5, 0))
_S32 = TensorType(DType.INT32, (1,))
_PER_CHANNEL = TensorType(DType.INT8, (2, 2, 2, 1), Quantization((0.5, 0.25), (0, 0), 0))
_GROUPED = TensorType(DType.INT8, (1, 2, 2, 4), Quantization.per_tensor(0.5, 0))
_COARSE = TensorType(DType.INT8, (1, 2, 2, 1), Quantization.per_tensor(0.25, 0))


@pytest.mark.litert
@pytest.mark.parametrize(
    ("op", "attrs", "operands", "result", "version"),
    [
        # What each version brought: the table in LiteRT's op_version.cc.
        ("conv2d", Conv2dAttrs(), [_F, _F], _F, 1),
        ("conv2d", Conv2dAttrs(), [_S8, _S8], _S8, 3),
        ("conv2d", Conv2dAttrs(), [_S16, _S8], _S16, 4),
        ("conv2d", Conv2dAttrs(), [_F, _S8], _F, 2),
        ("conv2d", Conv2dAttrs(), [_F, _PER_CHANNEL], _F, 5),
        ("conv2d", Conv2dAttrs(), [_GROUPED, _S8], _S8, 6),
        ("conv2d", Conv2dAttrs(), [_S8, _S4], _S8, 7),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_F, _F], _F, 1),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(dilation=(1, 2)), [_F, _F], _F, 2),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_S8, _S8], _S8, 3),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_F, _S8], _F, 4),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_S16, _S8], _S16, 5),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_F, _PER_CHANNEL], _F, 6),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), [_S8, _S4], _S8, 7),
        ("fully_connected", FullyConnectedAttrs(), [_F, _F, _F], _F, 1),
        ("fully_connected", FullyConnectedAttrs(), [_F, _S8, _F], _F, 3),
        ("fully_connected", FullyConnectedAttrs(), [_S8, _S8, _S32], _S8, 4),
        ("fully_connected", FullyConnectedAttrs(keep_dims=True), [_S8, _S8, _S32], _S8, 5),
        ("fully_connected", FullyConnectedAttrs(), [_S8, _S8], _S8, 6),
        ("fully_connected", FullyConnectedAttrs(), [_S16, _S8, _S32], _S16, 7),
        ("fully_connected", FullyConnectedAttrs(), [_S8, _S4, _S32], _S8, 10),
        ("fully_connected", FullyConnectedAttrs(), [_F, _PER_CHANNEL, _F], _F, 12),
        ("fully_connected", FullyConnectedAttrs(), [_S16, _S4, _S32], _S16, 13),
        ("add", ArithmeticAttrs(), [_F, _F], _F, 1),
        ("add", ArithmeticAttrs(), [_S8, _S8], _S8, 2),
        ("add", ArithmeticAttrs(), [_S16, _S16], _S16, 3),
        ("mul", ArithmeticAttrs(), [_S8, _S8], _S8, 2),
        ("mul", ArithmeticAttrs(), [_F, _F], _F, 1),
        ("mul", ArithmeticAttrs(), [_S8, _S8], TensorType(DType.INT8, (1,), Quantization.per_tensor(0.25)), 3),
        ("mul", ArithmeticAttrs(), [_S16, _S16], _S16, 4),
        ("relu", Attrs(), [_F], _F, 1),
        ("relu", Attrs(), [_S8], _S8, 2),
        ("relu6", Attrs(), [_S16], _S16, 3),
        ("logistic", Attrs(), [_S8], _S8, 2),
        ("softmax", SoftmaxAttrs(), [_S8], _S8, 2),
        ("average_pool2d", Pool2dAttrs(), [_S8], _S8, 2),
        ("max_pool2d", Pool2dAttrs(), [_S16], _S16, 3),
        ("mean", ReduceAttrs(), [_S8, _S32], _S8, 2),
        ("pad", Attrs(), [_F, _S32], _F, 1),
        ("pad", Attrs(), [_S8, _S32], _S8, 2),
        ("pad", Attrs(), [TensorType(DType.FLOAT32, (1,) * 5), _S32], _F, 4),
        ("concatenation", ConcatenationAttrs(), [_S8, _S8], _S8, 2),
        ("concatenation", ConcatenationAttrs(), [_S16], _S16, 3),
        ("quantize", Attrs(), [_F], _S8, 1),
        ("quantize", Attrs(), [_F], _S16, 2),
        ("quantize", Attrs(), [_F], _PER_CHANNEL, 3),
        ("dequantize", Attrs(), [_S8], _F, 2),
        ("dequantize", Attrs(), [_S16], _F, 3),
        ("dequantize", Attrs(), [_PER_CHANNEL], _F, 5),
        ("reshape", ReshapeAttrs(), [_S8], _S8, 1),
    ],
)
def test_the_least_version_that_has_it(
    op: str, attrs: Attrs, operands: list[TensorType], result: TensorType, version: int
) -> None:
    from ai_edge_litert import schema_py_generated as litert

    written = export_model(model_of(op, attrs, operands, result))
    (code,) = litert.ModelT.InitFromPackedBuf(written, 0).operatorCodes
    assert code.version == version
    assert code.version <= codecs_by_op()[op].max_version
    name = codecs_by_op()[op].builtin
    assert code.builtinCode == code.deprecatedBuiltinCode == getattr(litert.BuiltinOperator, name)
    assert tflite_schema().enums["BuiltinOperator"].value(name) == code.builtinCode
