"""Random one-op graphs with state, and what is fed to them, invocation after invocation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.lstm import LstmAttrs
from arenite.ops.svdf import SvdfAttrs
from weighted_cases import float32, int8_arrays, scales, zero_points

AnyArray = npt.NDArray[Any]
Operand = AnyArray | TensorType | None
"""A constant; or the type of a variable; or nothing."""

INVOCATIONS = 6


@dataclass(frozen=True)
class Stateful:
    """One op whose operand 0 is the graph's input.

    Attributes:
        feeds: an array for each invocation.
        operands: all but the first.
        quantizations: of each operand that is an array, by index; 0 is the input's.
    """

    op: str
    attrs: Attrs
    feeds: tuple[AnyArray, ...]
    operands: tuple[Operand, ...]
    quantizations: dict[int, Quantization]
    result: TensorType

    def graph(self) -> Graph:
        builder = GraphBuilder()
        first = self.feeds[0]
        data = builder.input("data", TensorType(DType.of(first.dtype), first.shape, self.quantizations.get(0)))
        values: list[Value | None] = [data]
        for index, operand in enumerate(self.operands, 1):
            if operand is None:
                values.append(None)
            elif isinstance(operand, TensorType):
                values.append(builder.variable(f"state_{index}", operand))
            else:
                values.append(builder.constant(f"constant_{index}", operand, self.quantizations.get(index)))
        return builder.output(builder.node(self.op, values, [self.result], self.attrs, name="node").result)

    def model(self) -> Model:
        return Model("case", self.graph())

    def call(self) -> OpCall:
        (node,) = self.graph().nodes
        return OpCall.of(node)

    def problems(self) -> list[str]:
        call = self.call()
        for constraint in core_registry()[self.op].constraints:
            verdict = constraint.holds(call)
            if verdict is not True:
                return [f"{constraint.text}: {verdict}"]
        return []

    def evaluate(self) -> list[AnyArray]:
        """The result of each invocation."""
        interpreter = Interpreter(self.graph(), core_registry())
        return [np.asarray(interpreter.run([feed])[0]) for feed in self.feeds]


def quantized(draw: st.DrawFn, scale: float, zero_point: int | None = None) -> Quantization:
    """A quantization whose scale is `scale`, or now and then a little off."""
    factor = draw(st.one_of(st.just(1.0), st.floats(0.3, 3.0), st.floats(0.02, 50.0)))
    return Quantization.per_tensor(float32(scale * factor), draw(zero_points()) if zero_point is None else zero_point)


def int8_feeds(draw: st.DrawFn, shape: Sequence[int], count: int = INVOCATIONS) -> tuple[AnyArray, ...]:
    return tuple(int8_arrays(draw, tuple(shape)) for _ in range(count))


@st.composite
def svdf_cases(draw: st.DrawFn, biased: bool) -> Stateful:
    """TFLM crashes where the bias is absent."""
    wide = draw(st.sampled_from((DType.INT8, DType.INT16)))
    batches, inputs = draw(st.sampled_from((1, 1, 2))), draw(st.integers(1, 20))
    units, rank, memory = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 9))
    filters = units * rank
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data_q, feature_q, time_q = (Quantization.per_tensor(draw(scales())) for _ in range(3))
    data_q = Quantization.per_tensor(data_q.scale, draw(zero_points()))
    top = wide.limits[1]
    reach = data_q.scale * feature_q.scale * 64 * 64 * inputs**0.5 / top
    state_q = quantized(draw, reach, 0 if wide is DType.INT16 else None)
    result_q = quantized(draw, state_q.scale * time_q.scale * top * (rank * memory) ** 0.5 / 4)
    time = rng.integers(-top, top, (filters, memory), endpoint=True).astype(wide.numpy)
    bias = rng.integers(-(1 << 14), 1 << 14, units).astype(np.int32) if biased else None
    bias_q = Quantization.per_tensor(float32(state_q.scale * time_q.scale))
    # TFLM compares them with this tolerance, however large they are.
    assume(abs(bias_q.scale - state_q.scale * time_q.scale) < 1e-5)
    attrs = SvdfAttrs(rank, draw(st.sampled_from((Activation.RELU, Activation.NONE, Activation.RELU6))))
    return Stateful(
        "svdf",
        attrs,
        int8_feeds(draw, (batches, inputs)),
        (
            int8_arrays(draw, (filters, inputs), low=-127),
            time,
            bias,
            TensorType(wide, (batches, filters * memory), state_q),
        ),
        {0: data_q, 1: feature_q, 2: time_q, 3: bias_q},
        TensorType(DType.INT8, (batches, units), result_q),
    )


@st.composite
def lstm_cases(draw: st.DrawFn) -> Stateful:
    batches, steps = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 5))
    inputs, units = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data_q = Quantization.per_tensor(draw(scales((-8, -3))), draw(zero_points()))
    last_q = Quantization.per_tensor(
        draw(st.sampled_from((1 / 128, float32(0.0078), float32(0.01)))), draw(zero_points())
    )
    cell_q = Quantization.per_tensor(2.0 ** -draw(st.integers(9, 14)))
    quantizations = {0: data_q}
    operands: list[Operand] = [None] * 23
    for gate in range(4):
        for index, width, scale in ((1 + gate, inputs, data_q.scale), (5 + gate, units, last_q.scale)):
            # So that sums reach the ends of the gates' functions, or now and then beyond.
            reach = draw(st.sampled_from((1.0, 1.0, 0.2, 8.0)))
            q = Quantization.per_tensor(float32(reach / (scale * 64 * 64 * width**0.5)))
            operands[index - 1], quantizations[index] = int8_arrays(draw, (units, width), low=-127), q
        weight_q = quantizations[1 + gate]
        quantizations[12 + gate] = Quantization.per_tensor(float32(data_q.scale * weight_q.scale))
        operands[11 + gate] = rng.integers(-4000, 4000, units).astype(np.int32)
    operands[17] = TensorType(DType.INT8, (batches, units), last_q)
    operands[18] = TensorType(DType.INT16, (batches, units), cell_q)
    time_major = draw(st.booleans())
    leading = (steps, batches) if time_major else (batches, steps)
    clip = draw(st.sampled_from((0.0, 10.0, 0.75, 1e-30)))
    return Stateful(
        "unidirectional_sequence_lstm",
        LstmAttrs(cell_clip=clip, time_major=time_major),
        int8_feeds(draw, (*leading, inputs), 4),
        tuple(operands),
        quantizations,
        TensorType(DType.INT8, (*leading, units), last_q),
    )


@st.composite
def lstm_int16_cases(draw: st.DrawFn) -> Stateful:
    """Activations of 16 bits without zero points, and biases of 64."""
    case = draw(lstm_cases())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    assert case.result.quantization is not None
    # The same reals with eight bits more.
    data_q = Quantization.per_tensor(case.quantizations[0].scale / 256)
    last_q = Quantization.per_tensor(case.result.quantization.scale / 256)
    quantizations, operands = {**case.quantizations, 0: data_q}, list(case.operands)
    for gate in range(4):
        bias = operands[11 + gate]
        assert isinstance(bias, np.ndarray)
        operands[11 + gate] = bias.astype(np.int64) * draw(st.sampled_from((256, 2**18)))
        weight_q = quantizations[1 + gate]
        quantizations[12 + gate] = Quantization.per_tensor(float32(data_q.scale * weight_q.scale))
    state = operands[17]
    assert isinstance(state, TensorType)
    operands[17] = TensorType(DType.INT16, state.shape, last_q)
    feeds = tuple(rng.integers(-32768, 32767, feed.shape, endpoint=True).astype(np.int16) for feed in case.feeds)
    result = TensorType(DType.INT16, case.result.shape, last_q)
    return replace(case, feeds=feeds, operands=tuple(operands), quantizations=quantizations, result=result)
