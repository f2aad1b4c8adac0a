"""Random one-op graphs of conv2d, depthwise_conv2d and fully_connected, for tests of their meaning and kernels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, Margins, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Node
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, OpDef, OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import OPS as CONV_OPS
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import OPS as DENSE_OPS
from arenite.ops.dense import FullyConnectedAttrs

AnyArray = npt.NDArray[Any]

DEFINITIONS: dict[str, OpDef] = {definition.name: definition for definition in (*CONV_OPS, *DENSE_OPS)}

ACTIVATIONS = (Activation.NONE, Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1)


@dataclass(frozen=True)
class Case:
    """One op with its data: the input array is not part of the graph."""

    op: str
    attrs: Attrs
    data: AnyArray
    weight: AnyArray
    bias: AnyArray | None
    data_quantization: Quantization | None
    weight_quantization: Quantization | None
    result_quantization: Quantization | None

    @property
    def definition(self) -> OpDef:
        return DEFINITIONS[self.op]

    def graph(self) -> Graph:
        builder = GraphBuilder()
        dtype = DType.of(self.data.dtype)
        data = builder.input("data", TensorType(dtype, self.data.shape, self.data_quantization))
        weight = builder.constant("weight", self.weight, self.weight_quantization)
        bias = None if self.bias is None else builder.constant("bias", self.bias, self._bias_quantization())
        # TFLite-Micro's depthwise convolution crashes on a bias that is listed as absent.
        operands = (data, weight) if bias is None else (data, weight, bias)
        declared = (TensorType(dtype, None, self.result_quantization),)
        call = OpCall("node", self.op, self.attrs, tuple(operand.type for operand in operands), declared)
        (result,) = self.definition.infer(call)
        return builder.output(builder.node(self.op, operands, (result,), self.attrs, name="node").result)

    def _bias_quantization(self) -> Quantization | None:
        if self.data_quantization is None or self.weight_quantization is None:
            return None
        scale, weight = self.data_quantization.scale, self.weight_quantization
        scales = tuple(float(np.float32(scale) * np.float32(s)) for s in weight.scales)
        return Quantization(scales, (0,) * len(scales), None if weight.axis is None else 0)

    def model(self) -> Model:
        return Model("case", self.graph())

    def node(self) -> Node:
        (node,) = self.graph().nodes
        return node

    def call(self) -> OpCall:
        return OpCall.of(self.node())

    def evaluate(self) -> AnyArray:
        (result,) = self.definition.evaluate(self.call(), (self.data, self.weight, self.bias))
        return np.asarray(result)


def float32(value: float) -> float:
    return float(np.float32(value))


def int8_arrays(draw: st.DrawFn, shape: tuple[int, ...], *, low: int = -128) -> AnyArray:
    """int8 of one of several flavours: uniform, extreme, sparse."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    flavour = draw(st.sampled_from(("uniform", "uniform", "extreme", "sparse")))
    if flavour == "extreme":
        return rng.choice(np.array([low, 127], np.int8), shape)
    values = rng.integers(low, 128, shape).astype(np.int8)
    return np.where(rng.random(shape) < 0.7, np.int8(0), values) if flavour == "sparse" else values


def zero_points() -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from((-128, 127, 0)), st.integers(-128, 127))


def scales(exponents: tuple[int, int] = (-8, 0)) -> st.SearchStrategy[float]:
    return st.builds(
        lambda mantissa, exponent: float32(mantissa * 2.0**exponent), st.floats(1.0, 2.0), st.integers(*exponents)
    )


@st.composite
def weight_quantizations(draw: st.DrawFn, channels: int, axis: int) -> Quantization:
    if draw(st.booleans()):
        return Quantization.per_tensor(draw(scales()))
    # Now and then a layer whose channels lie far apart.
    exponents = draw(st.sampled_from(((-8, -4), (-20, 10))))
    return Quantization(tuple(draw(scales(exponents)) for _ in range(channels)), (0,) * channels, axis)


@st.composite
def biases(draw: st.DrawFn, channels: int) -> AnyArray | None:
    limit = draw(st.sampled_from((None, 1 << 6, 1 << 12, 1 << 20)))
    if limit is None:
        return None
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(-limit, limit, channels, dtype=np.int32, endpoint=True)


@st.composite
def result_quantizations(draw: st.DrawFn, reach: float) -> Quantization:
    """A scale such that results of typical size `reach` fill the range, or one that is far off."""
    exponent = draw(st.sampled_from((0, 0, 0, 1, -2, -6, 12, 28)))
    return Quantization.per_tensor(float32(max(reach, 1e-12) / 127 * 2.0**exponent), draw(zero_points()))


@st.composite
def quantized_cases(
    draw: st.DrawFn, op: str, shape: tuple[int, ...], weight_shape: tuple[int, ...], axis: int, attrs: Attrs
) -> Case:
    channels = weight_shape[axis]
    data, weight = int8_arrays(draw, shape), int8_arrays(draw, weight_shape, low=-127)
    data_q = Quantization.per_tensor(draw(scales()), draw(zero_points()))
    weight_q = draw(weight_quantizations(channels, axis))
    taken = weight.size // channels
    reach = data_q.scale * float(np.median(weight_q.scales)) * 64 * 64 * taken**0.5
    return Case(op, attrs, data, weight, draw(biases(channels)), data_q, weight_q, draw(result_quantizations(reach)))


@dataclass(frozen=True)
class Spatial:
    """The spatial half of a convolution."""

    size: tuple[int, int]
    filter: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: Padding | Margins


def pairs(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def spatials(draw: st.DrawFn, largest: int = 9) -> Spatial:
    taps = draw(st.one_of(pairs(1, 5), st.sampled_from(((1, 1), (3, 3), (2, 2)))))
    stride = draw(st.one_of(pairs(1, 4), st.just((1, 1))))
    dilation = draw(st.one_of(pairs(1, 3), st.just((1, 1))))
    reach = tuple((taps[i] - 1) * dilation[i] + 1 for i in range(2))
    margins = st.tuples(*(pairs(0, reach[i] - 1) for i in range(2)))
    padding = draw(st.one_of(st.sampled_from(Padding), margins))
    # SAME padding takes inputs smaller than the filter's reach, others as far as they fill them up.
    added = (reach[0] - 1, reach[1] - 1) if padding is Padding.SAME else (0, 0)
    if isinstance(padding, tuple):
        added = (sum(padding[0]), sum(padding[1]))
    lows = tuple(max(1, reach[i] - added[i]) for i in range(2))
    size = tuple(draw(st.integers(lows[i], max(lows[i], largest))) for i in range(2))
    return Spatial((size[0], size[1]), taps, stride, dilation, padding)


@st.composite
def conv_cases(draw: st.DrawFn, *, grouped: bool = True, pointwise: bool = False) -> Case:
    spatial = draw(spatials())
    if pointwise:
        rule = Padding.VALID if isinstance(spatial.padding, tuple) else spatial.padding
        spatial = Spatial(spatial.size, (1, 1), (1, 1), (1, 1), rule)
    batch = draw(st.sampled_from((1, 1, 1, 2)))
    inputs, outputs = draw(st.integers(1, 10)), draw(st.integers(1, 10))
    groups = draw(st.sampled_from((1, 1, 2, 3))) if grouped else 1
    attrs = Conv2dAttrs(spatial.stride, spatial.dilation, spatial.padding, draw(st.sampled_from(ACTIVATIONS)))
    shape = (batch, *spatial.size, inputs * groups)
    return draw(quantized_cases("conv2d", shape, (outputs * groups, *spatial.filter, inputs), 0, attrs))


@st.composite
def depthwise_cases(draw: st.DrawFn, multipliers: tuple[int, ...] = (1, 1, 2, 3, 8), same_size: bool = False) -> Case:
    spatial = draw(spatials())
    if same_size:
        spatial = replace(spatial, stride=(1, 1), padding=Padding.SAME)
    batch = draw(st.sampled_from((1, 1, 1, 2)))
    channels, multiplier = draw(st.integers(1, 11)), draw(st.sampled_from(multipliers))
    activation = draw(st.sampled_from(ACTIVATIONS))
    attrs = DepthwiseConv2dAttrs(spatial.stride, spatial.dilation, spatial.padding, multiplier, activation)
    shape = (batch, *spatial.size, channels)
    return draw(quantized_cases("depthwise_conv2d", shape, (1, *spatial.filter, channels * multiplier), 3, attrs))


@st.composite
def dense_cases(draw: st.DrawFn) -> Case:
    inputs, outputs = draw(st.integers(1, 70)), draw(st.integers(1, 13))
    rank = draw(st.integers(1, 4))
    leading = draw(st.lists(st.integers(1, 3), min_size=rank - 1, max_size=rank - 1)) if rank > 1 else []
    attrs = FullyConnectedAttrs(draw(st.sampled_from(ACTIVATIONS)), rank > 1 and draw(st.booleans()))
    return draw(quantized_cases("fully_connected", (*leading, inputs), (outputs, inputs), 0, attrs))


def fits(case: Case) -> bool:
    """Whether every constraint holds and the activation's bounds can be stored."""
    call = case.call()
    try:
        return all(constraint.holds(call) is True for constraint in case.definition.constraints) and (
            case.evaluate() is not None
        )
    except OpError:
        return False


def unsigned(case: Case, weight_zero_point: int) -> Case:
    """The case in TFLite's first quantization: uint8, weights per tensor and of any zero point, always a bias."""

    def shifted(quantization: Quantization | None) -> Quantization:
        assert quantization is not None
        return Quantization.per_tensor(quantization.scale, quantization.zero_point + 128)

    def stored(array: AnyArray) -> AnyArray:
        return (array.astype(np.int16) + 128).astype(np.uint8)

    assert case.weight_quantization is not None
    channels = case.weight.shape[3 if case.op == "depthwise_conv2d" else 0]
    return replace(
        case,
        data=stored(case.data),
        weight=stored(case.weight),
        bias=np.zeros(channels, np.int32) if case.bias is None else case.bias,
        data_quantization=shifted(case.data_quantization),
        weight_quantization=Quantization.per_tensor(case.weight_quantization.scales[0], weight_zero_point),
        result_quantization=shifted(case.result_quantization),
    )


def sixteen(case: Case, bias_dtype: type[np.signedinteger]) -> Case:
    """The case with 16-bit activations, whose zero points are 0."""
    assert case.data_quantization is not None
    assert case.result_quantization is not None
    rng = np.random.default_rng(int(case.data.astype(np.int64).sum()) % 2**32)
    data = case.data.astype(np.int16) * 256 + rng.integers(0, 256, case.data.shape).astype(np.int16)
    return replace(
        case,
        data=data,
        bias=None if case.bias is None else case.bias.astype(bias_dtype),
        data_quantization=Quantization.per_tensor(float(np.float32(case.data_quantization.scale / 256))),
        result_quantization=Quantization.per_tensor(float(np.float32(case.result_quantization.scale / 256))),
    )
