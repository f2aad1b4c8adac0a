"""The meaning of unidirectional_sequence_lstm and its gates: TFLite-Micro's on integers, its definition on floats."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model, import_model
from arenite.formats.tflite.details import TfliteDetails
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.opdef import Cost, OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.gates import sigmoid_16, tanh_16
from arenite.ops.lstm import LstmAttrs
from oracle import run_wheel
from state_cases import AnyArray, Stateful, lstm_cases, lstm_int16_cases

DEFINITION = core_registry()["unidirectional_sequence_lstm"]
ALL = np.arange(-32768, 32768, dtype=np.int16)


@pytest.mark.wheel
@pytest.mark.parametrize(("op", "function"), [("logistic", sigmoid_16), ("tanh", tanh_16)])
def test_gates_are_the_oracles_for_every_argument(op: str, function: Callable[[AnyArray], AnyArray]) -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT16, (1, ALL.size), Quantization.per_tensor(2.0**-12)))
    result = TensorType(DType.INT16, (1, ALL.size), Quantization.per_tensor(2.0**-15))
    model = Model("m", builder.output(builder.node(op, [x], [result], Attrs()).result))
    ((expected,),) = run_wheel(export_model(model), [[ALL.reshape(1, -1)]])
    np.testing.assert_array_equal(function(ALL), expected.reshape(-1))


@pytest.mark.parametrize("bits", range(1, 16))
def test_gates_are_near_their_real_functions(bits: int) -> None:
    # Rounding and chords each lose up to half of the last bit, of a sigmoid; tanh doubles that; and with more than 12
    # fractional bits the argument is rounded too.
    x = ALL / 2.0**bits
    assert np.abs(tanh_16(ALL, bits) - np.tanh(x) * 2**15).max() < (2 if bits <= 12 else 3)
    if bits == 12:
        assert np.abs(sigmoid_16(ALL) - 2**15 / (1 + np.exp(-x))).max() < 1.5


def by_wheel(case: Stateful) -> list[AnyArray]:
    runs = run_wheel(export_model(case.model()), [[feed] for feed in case.feeds], arena_nbytes=1 << 22)
    return [output for (output,) in runs]


@pytest.mark.wheel
@given(case=st.one_of(lstm_cases(), lstm_int16_cases()))
def test_quantized_meaning_is_the_oracles(case: Stateful) -> None:
    assume(not case.problems())
    np.testing.assert_array_equal(case.evaluate(), by_wheel(case))


def _long(scale: float) -> Stateful:
    """Many units and steps, so that every product is rounded at its halves too."""
    rng = np.random.default_rng(5)
    steps, inputs, units = 100, 8, 64
    data_q, last_q = Quantization.per_tensor(2.0**-5, 3), Quantization.per_tensor(float(np.float32(scale)), -1)
    quantizations, operands = {0: data_q}, list[AnyArray | TensorType | None]([None] * 23)
    for gate in range(4):
        for index, width, q in ((1 + gate, inputs, data_q), (5 + gate, units, last_q)):
            quantizations[index] = Quantization.per_tensor(float(np.float32(1 / (q.scale * 64 * 64 * width**0.5))))
            operands[index - 1] = rng.integers(-127, 128, (units, width)).astype(np.int8)
        bias_scale = float(np.float32(data_q.scale * quantizations[1 + gate].scale))
        quantizations[12 + gate] = Quantization.per_tensor(bias_scale)
        operands[11 + gate] = rng.integers(-4000, 4000, units).astype(np.int32)
    operands[17] = TensorType(DType.INT8, (1, units), last_q)
    operands[18] = TensorType(DType.INT16, (1, units), Quantization.per_tensor(2.0**-11))
    return Stateful(
        "unidirectional_sequence_lstm",
        LstmAttrs(),
        tuple(rng.integers(-128, 128, (1, steps, inputs)).astype(np.int8) for _ in range(20)),
        tuple(operands),
        quantizations,
        TensorType(DType.INT8, (1, steps, units), last_q),
    )


@pytest.mark.wheel
def test_twenty_long_invocations_are_the_oracles() -> None:
    case = _long(0.0078)
    assert not case.problems()
    np.testing.assert_array_equal(case.evaluate(), by_wheel(case))


@given(case=lstm_cases())
def test_float_meaning_is_the_definition(case: Stateful) -> None:
    attrs = case.attrs
    assert isinstance(attrs, LstmAttrs)
    plain: list[AnyArray | TensorType | None] = []
    for operand in case.operands:
        if isinstance(operand, np.ndarray):
            plain.append(operand.astype(np.float32) / (128 if operand.ndim == 2 else 4096))
        else:
            plain.append(None if operand is None else TensorType(DType.FLOAT32, operand.shape))
    feeds = tuple((feed / 64).astype(np.float32) for feed in case.feeds)
    result = TensorType(DType.FLOAT32, case.result.shape)
    found = replace(case, feeds=feeds, operands=tuple(plain), quantizations={}, result=result).evaluate()
    w = [None, *(None if isinstance(op, TensorType | None) else op.astype(float) for op in plain)]
    batches = case.result.dims[1 if attrs.time_major else 0]
    h, c = np.zeros((batches, case.result.dims[2])), np.zeros((batches, case.result.dims[2]))

    def argument(gate: int, x: AnyArray) -> AnyArray:
        new, old, bias = w[1 + gate], w[5 + gate], w[12 + gate]
        assert new is not None
        assert old is not None
        return np.asarray(x @ new.T + h @ old.T + bias)

    def sigmoid(x: AnyArray) -> AnyArray:
        return np.asarray(1 / (1 + np.exp(-x)))

    for feed, output in zip(feeds, found, strict=True):
        steps, outputs = (a if attrs.time_major else a.swapaxes(0, 1) for a in (feed.astype(float), output))
        for x, y in zip(steps, outputs, strict=True):
            into, forget, fresh, out = (argument(gate, x) for gate in range(4))
            c = sigmoid(forget) * c + sigmoid(into) * np.tanh(fresh)
            c = np.clip(c, -attrs.cell_clip, attrs.cell_clip) if attrs.cell_clip else c
            h = sigmoid(out) * np.tanh(c)
            np.testing.assert_allclose(y, h, atol=2e-5)


def _call() -> OpCall:
    case = _long(0.01)
    return case.call()


def _with(index: int, type_: TensorType | None) -> OpCall:
    call = _call()
    return replace(call, operands=(*call.operands[:index], type_, *call.operands[index + 1 :]))


def _of(dtype: DType, shape: tuple[int, ...], scale: float = 0.5, zero_point: int = 0) -> TensorType:
    return TensorType(dtype, shape, Quantization.per_tensor(scale, zero_point))


@pytest.mark.parametrize(
    ("index", "type_", "text"),
    [
        (1, None, "the 24 operands"),
        (9, _of(DType.INT16, (64,)), "the 24 operands"),
        (16, _of(DType.INT8, (64, 64)), "the 24 operands"),
        (20, _of(DType.INT16, (64,)), "the 24 operands"),
        (0, _of(DType.INT8, (1, 0, 8)), "the 24 operands"),
        (0, _of(DType.INT8, (1, 8)), "have the shapes of the gates"),
        (6, _of(DType.INT8, (64, 63)), "have the shapes of the gates"),
        (18, _of(DType.INT8, (2, 64)), "have the shapes of the gates"),
        (12, _of(DType.INT64, (64,)), "all is float32"),
        (19, _of(DType.INT8, (1, 64)), "all is float32"),
        (2, _of(DType.INT8, (64, 8), 0.5, 1), "weights, the cell state and all that is int16 zero point 0"),
        (3, TensorType(DType.INT8, (64, 8)), "weights, the cell state and all that is int16 zero point 0"),
        (19, _of(DType.INT16, (1, 64), 0.3), "a power of two"),
        (19, _of(DType.INT16, (1, 64), 2.0**-16), "a power of two"),
        (2, _of(DType.INT8, (64, 8), 2.0**30), "below 2**30"),
    ],
)
def test_misfits_break_a_constraint(index: int, type_: TensorType | None, text: str) -> None:
    assert all(c.holds(_call()) is True for c in DEFINITION.constraints)
    failed = next(c.text for c in DEFINITION.constraints if c.holds(_with(index, type_)) is not True)
    assert text in failed


@pytest.mark.parametrize("attrs", [LstmAttrs(Activation.RELU), LstmAttrs(cell_clip=-1.0)])
def test_other_activations_and_clips_break_a_constraint(attrs: LstmAttrs) -> None:
    failed = [c.text for c in DEFINITION.constraints if c.holds(replace(_call(), attrs=attrs)) is not True]
    assert failed == ["the activation is tanh, and cell_clip is not negative"]


def test_cost() -> None:
    assert callable(DEFINITION.cost)
    assert DEFINITION.cost(_call()) == Cost(macs=100 * 64 * 4 * (8 + 64))


@pytest.mark.shared
@pytest.mark.wheel
def test_intermediates_are_written_back(shared: Path) -> None:
    data = (shared / "models/tflite/coral_keras_lstm_mnist_ptq.tflite").read_bytes()
    again = import_model(export_model(import_model(data, "m")), "m")
    assert isinstance(again.details, TfliteDetails)
    (fact,) = (f for f in again.details.main.operators if f.op == "unidirectional_sequence_lstm")
    assert [None if item is None else item[0] for item in fact.intermediates] == [
        *(f"input_to_{gate}_intermediate" for gate in ("input", "forget", "cell", "output")),
        "effective_hidden_scale_intermediate",
    ]
    (source,) = again.graph.inputs
    rng = np.random.default_rng(1)
    feeds = [[rng.integers(*source.type.dtype.limits, source.type.dims).astype(source.type.dtype.numpy)]] * 3
    for one, other in zip(run_wheel(data, feeds), run_wheel(export_model(again), feeds), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
