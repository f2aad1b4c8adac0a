"""The meaning of svdf: TFLite-Micro's on integers over many invocations, its definition on floats."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import quantize_multiplier, requantize
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation
from arenite.ir.opdef import Cost, OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.clamps import activation_range_float
from arenite.ops.svdf import SvdfAttrs
from oracle import run_wheel
from state_cases import AnyArray, Stateful, svdf_cases

DEFINITION = core_registry()["svdf"]


def by_wheel(case: Stateful) -> list[AnyArray]:
    runs = run_wheel(export_model(case.model()), [[feed] for feed in case.feeds], arena_nbytes=1 << 20)
    return [output for (output,) in runs]


@pytest.mark.wheel
@given(case=svdf_cases(biased=True))
def test_quantized_meaning_is_the_oracles(case: Stateful) -> None:
    assume(not case.problems())
    np.testing.assert_array_equal(case.evaluate(), by_wheel(case))


@given(case=svdf_cases(biased=False))
def test_no_bias_is_a_bias_of_zeros(case: Stateful) -> None:
    assume(not case.problems())
    features, time, _, state = case.operands
    zeros = np.zeros(case.result.dims[1], np.int32)
    np.testing.assert_array_equal(case.evaluate(), replace(case, operands=(features, time, zeros, state)).evaluate())


def _precise(feed: AnyArray, features: AnyArray, bias: int, scales: tuple[float, ...]) -> Stateful:
    """One unit that remembers one feature; scales of input, features, time, state and result."""
    data, feature, time, state, result = (Quantization.per_tensor(float(np.float32(s))) for s in scales)
    return Stateful(
        "svdf",
        SvdfAttrs(1, Activation.RELU),
        (feed,),
        (
            features,
            np.ones((1, 1), np.int16),
            np.array([bias], np.int32),
            TensorType(DType.INT16, (1, 1), state),
        ),
        {0: data, 1: feature, 2: time, 3: Quantization.per_tensor(float(np.float32(state.scale * time.scale)))},
        TensorType(DType.INT8, (1, 1), result),
    )


def _between(single: float, exact: float) -> int:
    """A sum that the two multipliers round differently."""
    for result in range(10, 120):
        sums = round((result + 0.5) / exact) + np.arange(-200, 200)
        one, other = (requantize(sums, *quantize_multiplier(real)) for real in (single, exact))
        apart = np.flatnonzero(one != other)
        if apart.size:
            return int(sums[apart[0]])
    pytest.fail("the multipliers never round differently")


@pytest.mark.wheel
def test_the_precision_of_the_second_multiplier_is_the_oracles() -> None:
    time, state = np.float32(0.7), np.float32(0.1)
    result = np.float32(2.0**23 * 0.07)
    exact = float(state) * float(time) / float(result)
    bias = _between(float(state * time / result), exact)
    zeros = np.zeros((1, 1), np.int8)
    case = _precise(zeros, zeros, bias, (0.5, 0.5, float(time), float(state), float(result)))
    np.testing.assert_array_equal(case.evaluate(), by_wheel(case))


@pytest.mark.wheel
def test_the_precision_of_the_first_multiplier_is_the_oracles() -> None:
    data, feature = np.float32(0.3), np.float32(0.7)
    state = np.float32(2.0**23 * 0.21)
    exact = float(data) * float(feature) / float(state)
    wanted = _between(float(data * feature / state), exact)
    # A product that is this sum: 127 * 127 many times, 127 * 1 some, 1 the rest.
    many, rest = divmod(wanted, 127 * 127)
    some, ones = divmod(rest, 127)
    inputs = np.concatenate([np.full(many + some, 127), np.ones(ones)]).astype(np.int8)
    weights = np.concatenate([np.full(many, 127), np.ones(some + ones)]).astype(np.int8)
    scales = (float(data), float(feature), 1.0 / float(state), float(state), 1.0)
    case = _precise(inputs.reshape(1, -1), weights.reshape(1, -1), 0, scales)
    np.testing.assert_array_equal(case.evaluate(), by_wheel(case))


@given(case=svdf_cases(biased=True))
def test_float_meaning_is_the_definition(case: Stateful) -> None:
    features, time, bias, state = case.operands
    assert isinstance(features, np.ndarray)
    assert isinstance(time, np.ndarray)
    assert isinstance(bias, np.ndarray)
    assert isinstance(state, TensorType)
    attrs = case.attrs
    assert isinstance(attrs, SvdfAttrs)
    small = [array.astype(np.float32) for array in (features / 64, time / 16384, bias / 1024)]
    plain = TensorType(DType.FLOAT32, state.shape)
    as_float = replace(
        case,
        feeds=tuple((feed / 32).astype(np.float32) for feed in case.feeds),
        operands=(*small, plain),
        quantizations={},
        result=TensorType(DType.FLOAT32, case.result.shape),
    )
    low, high = activation_range_float(attrs.activation)
    history = np.zeros((*time.shape, case.feeds[0].shape[0]))
    for feed, found in zip(as_float.feeds, as_float.evaluate(), strict=True):
        newest = small[0].astype(float) @ feed.T.astype(float)
        history = np.concatenate([history[:, 1:], newest[:, None]], axis=1)
        filters = np.einsum("fm,fmn->fn", small[1].astype(float), history)
        units = filters.reshape(-1, attrs.rank, filters.shape[1]).sum(axis=1) + small[2][:, None]
        np.testing.assert_allclose(found.T, np.clip(units, low, high), rtol=1e-4, atol=1e-4)


def _call() -> OpCall:
    q = Quantization.per_tensor(0.5)
    int8 = [TensorType(DType.INT8, shape, q) for shape in ((1, 3), (4, 3), (4, 5))]
    operands = (*int8, TensorType(DType.INT32, (2,), Quantization.per_tensor(0.25)), TensorType(DType.INT8, (1, 20), q))
    return OpCall("n", "svdf", SvdfAttrs(2), operands, (TensorType(DType.INT8, (1, 2), q),), (None,) * 5)


def _with(index: int, type_: TensorType) -> OpCall:
    call = _call()
    return replace(call, operands=(*call.operands[:index], type_, *call.operands[index + 1 :]))


_Q = Quantization.per_tensor(0.5)


def _small_state() -> OpCall:
    call = _with(4, TensorType(DType.INT8, (1, 20), Quantization.per_tensor(2.0**-40)))
    bias = TensorType(DType.INT32, (2,), Quantization.per_tensor(2.0**-41))
    return replace(call, operands=(*call.operands[:3], bias, call.operands[4]))


@pytest.mark.wheel
@pytest.mark.parametrize(("off", "taken"), [(0.9e-5, True), (1.1e-5, False)])
def test_the_oracle_asks_for_that_scale_of_the_bias(off: float, taken: bool) -> None:
    case = _precise(np.ones((1, 3), np.int8), np.ones((1, 3), np.int8), 5, (0.5, 0.25, 0.5, 0.25, 0.5))
    scale = 0.125 + off
    moved = replace(case, quantizations={**case.quantizations, 3: Quantization.per_tensor(float(np.float32(scale)))})
    assert any("the scale of the bias" in problem for problem in moved.problems()) is not taken
    if taken:
        np.testing.assert_array_equal(moved.evaluate(), by_wheel(moved))
    else:
        with pytest.raises(RuntimeError):
            by_wheel(moved)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (_with(0, TensorType(DType.INT8, (3,), _Q)), "operands are matrices"),
        (_with(1, TensorType(DType.INT8, (4, 2), _Q)), "weights_feature is (filters, inputs)"),
        (_with(2, TensorType(DType.INT8, (5, 4), _Q)), "weights_feature is (filters, inputs)"),
        (_with(3, TensorType(DType.INT32, (4,))), "weights_feature is (filters, inputs)"),
        (_with(4, TensorType(DType.INT8, (1, 19), _Q)), "weights_feature is (filters, inputs)"),
        (_with(4, TensorType(DType.INT16, (1, 20), _Q)), "time and state int8 or int16"),
        (_with(3, TensorType(DType.INT64, (2,))), "time and state int8 or int16"),
        (_with(4, TensorType(DType.INT8, (1, 20))), "quantized tensors have one scale"),
        (_with(1, TensorType(DType.INT8, (4, 3), Quantization.per_tensor(0.5, 3))), "quantized tensors have one scale"),
        (replace(_call(), attrs=SvdfAttrs(0)), "weights_feature is (filters, inputs)"),
        (replace(_call(), attrs=SvdfAttrs(2, Activation.TANH)), "the fused activation is a clamp"),
        (_with(3, TensorType(DType.INT32, (2,))), "the scale of the bias"),
        (_with(3, TensorType(DType.INT32, (2,), Quantization.per_tensor(0.25 + 2**-16))), "the scale of the bias"),
        (_small_state(), "below 2**30"),
    ],
)
def test_misfits_break_a_constraint(call: OpCall, text: str) -> None:
    assert all(c.holds(_call()) is True for c in DEFINITION.constraints)
    failed = next(c.text for c in DEFINITION.constraints if c.holds(call) is not True)
    assert text in failed


def test_cost() -> None:
    assert callable(DEFINITION.cost)
    assert DEFINITION.cost(_call()) == Cost(macs=4 * (3 + 5))
