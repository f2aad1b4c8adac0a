"""What conv2d, depthwise_conv2d and fully_connected have in common."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import quantize_multiplier, requantize
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.weighted import exact_product
from oracle import run_litert, run_wheel
from weighted_cases import Case, conv_cases, dense_cases, depthwise_cases, fits, sixteen, unsigned

ANY_CASE = st.one_of(conv_cases(), depthwise_cases(), dense_cases())


def _tiny(op: str, *, channels: int = 2) -> Case:
    """One input element per product, so that the bias alone decides."""
    attrs: dict[str, Attrs] = {
        "conv2d": Conv2dAttrs(),
        "depthwise_conv2d": DepthwiseConv2dAttrs(multiplier=channels),
        "fully_connected": FullyConnectedAttrs(),
    }
    weights = {
        "conv2d": (channels, 1, 1, 1),
        "depthwise_conv2d": (1, 1, 1, channels),
        "fully_connected": (channels, 1),
    }
    shape = (1, 1) if op == "fully_connected" else (1, 1, 1, 1)
    return Case(
        op,
        attrs[op],
        np.zeros(shape, np.int8),
        np.ones(weights[op], np.int8),
        np.zeros(channels, np.int32),
        Quantization.per_tensor(0.5),
        Quantization.per_tensor(0.5),
        Quantization.per_tensor(0.5),
    )


@pytest.mark.wheel
@given(case=ANY_CASE)
def test_quantized_meaning_is_the_oracles(case: Case) -> None:
    assume(fits(case))
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data]], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(case.evaluate(), expected)


def _bias_between(first: float, second: float) -> int:
    """An accumulator that the two real multipliers round differently."""
    (m1, s1), (m2, s2) = quantize_multiplier(first), quantize_multiplier(second)
    for result in range(20, 120):
        near = round((result + 0.5) / first)
        candidates = near + np.arange(-600, 600)
        apart = np.flatnonzero(requantize(candidates, m1, s1) != requantize(candidates, m2, s2))
        if apart.size:
            return int(candidates[apart[0]])
    pytest.fail("the multipliers never round differently")


@pytest.mark.wheel
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
def test_the_precision_of_multipliers_is_the_oracles(op: str, per_channel: bool) -> None:
    # A product in float32 differs from one in double from the 25th bit on: only a large accumulator can tell.
    data, weight = (float(np.float32(x)) for x in (0.1, 0.7))
    result = float(np.float32(2.0**23 * data * weight))
    exact, single = data * weight / result, float(np.float32(data) * np.float32(weight)) / result
    bias = _bias_between(exact, single)
    case = replace(
        _tiny(op),
        bias=np.full(2, bias, np.int32),
        data_quantization=Quantization.per_tensor(data),
        weight_quantization=Quantization((weight,) * 2, (0, 0), 3 if op == "depthwise_conv2d" else 0)
        if per_channel
        else Quantization.per_tensor(weight),
        result_quantization=Quantization.per_tensor(result),
    )
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data]], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(case.evaluate(), expected)
    assert expected.ravel()[0] == requantize(bias, *quantize_multiplier(exact))


@pytest.mark.wheel
@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
@pytest.mark.parametrize("exponent", [-40, -33, -32, -31, -30, -24, -1, 0, 1, 5, 20, 29])
def test_every_shift_is_the_oracles(op: str, exponent: int) -> None:
    # The multiplier is 2**exponent times a little: below 2**-32 it vanishes, above 1 it shifts left and may wrap.
    case = replace(
        _tiny(op, channels=8),
        bias=np.array([1, -1, 3, -5, 1 << 20, -(1 << 20), 2**31 - 1, -(2**31)], np.int32),
        data_quantization=Quantization.per_tensor(1.0),
        weight_quantization=Quantization.per_tensor(1.0),
        result_quantization=Quantization.per_tensor(float(np.float32(0.8 * 2.0**-exponent))),
    )
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data]], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(case.evaluate(), expected)


@given(case=ANY_CASE)
def test_canonical_attributes_mean_the_same(case: Case) -> None:
    assume(fits(case))
    facet = case.definition.canonicalize
    assert callable(facet)
    simpler = facet(case.node())
    if simpler is not None:
        assert simpler != case.attrs
        again = replace(case, attrs=simpler)
        assert facet(again.node()) is None
        np.testing.assert_array_equal(again.evaluate(), case.evaluate())


def test_an_activation_that_the_type_implies_is_dropped() -> None:
    case = replace(_tiny("fully_connected"), result_quantization=Quantization.per_tensor(6 / 255, -128))
    case = replace(case, attrs=FullyConnectedAttrs(Activation.RELU6))
    facet = case.definition.canonicalize
    assert callable(facet)
    assert facet(case.node()) == FullyConnectedAttrs()
    wider = replace(case, result_quantization=Quantization.per_tensor(7 / 255, -128))
    assert facet(wider.node()) is None


def test_padding_and_dilation_that_do_nothing_are_dropped() -> None:
    case = replace(_tiny("conv2d"), attrs=Conv2dAttrs(dilation=(2, 3), padding=Padding.SAME))
    facet = case.definition.canonicalize
    assert callable(facet)
    assert facet(case.node()) == Conv2dAttrs()


@given(data=st.data())
def test_products_are_exact_in_either_precision(data: st.DataObject) -> None:
    rows, inner, columns = (data.draw(st.integers(1, top)) for top in (4, 900, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a = rng.choice(np.array([-255, 255, 254], np.int16), (rows, inner))
    b = rng.choice(np.array([-128, 127, 126], np.int16), (columns, inner))
    np.testing.assert_array_equal(exact_product(a, b), a.astype(np.int64) @ b.astype(np.int64).T)


def _broken(case: Case) -> list[tuple[str, Case]]:
    ones = Quantization((0.5, 0.5), (0, 0), 1)
    shifted = Quantization.per_tensor(0.5, 3)
    tanh = replace(case.attrs, activation=Activation.TANH)  # type: ignore[call-arg]
    return [
        ("one element per output channel", replace(case, bias=np.zeros(3, np.int32))),
        ("dtypes of input", replace(case, bias=np.zeros(2, np.int16))),
        ("dtypes of input", replace(case, weight=case.weight.astype(np.int16))),
        ("zero point 0 and one scale", replace(case, weight_quantization=shifted)),
        ("zero point 0 and one scale", replace(case, weight_quantization=ones)),
        ("zero point 0 and one scale", replace(case, weight_quantization=None, bias=None)),
        ("a zero point within the type", replace(case, data_quantization=Quantization.per_tensor(0.5, 200))),
        ("a zero point within the type", replace(case, data_quantization=None)),
        ("is below 2**30", replace(case, result_quantization=Quantization.per_tensor(2.0**-32))),
        ("scales are positive", replace(case, result_quantization=Quantization.per_tensor(0.0))),
        ("not empty", replace(case, data=np.zeros((0, *case.data.shape[1:]), np.int8))),
        ("the fused activation is a clamp", replace(case, attrs=tanh)),
    ]


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
@pytest.mark.parametrize("index", range(12))
def test_each_misfit_breaks_one_constraint(op: str, index: int) -> None:
    whole = _tiny(op)
    assert fits(whole)
    text, broken = _broken(whole)[index]
    call = replace(broken.call(), results=(_result_type(broken),))
    failed = next(c.text for c in broken.definition.constraints if c.holds(call) is not True)
    assert text in failed


def _result_type(case: Case) -> TensorType:
    return TensorType(DType.INT8, (1, 2), case.result_quantization)


@pytest.mark.litert
@given(
    case=st.one_of(conv_cases(grouped=False), depthwise_cases(), dense_cases()),
    weight_zero_point=st.one_of(st.sampled_from((0, 128, 255)), st.integers(0, 255)),
)
def test_unsigned_meaning_is_litert_s(case: Case, weight_zero_point: int) -> None:
    # TFLite-Micro does not run uint8; LiteRT's reference kernels do.
    case = unsigned(case, weight_zero_point)
    assume(fits(case))
    ((expected,),) = run_litert(export_model(case.model()), [[case.data]])
    np.testing.assert_array_equal(case.evaluate(), expected)


@pytest.mark.litert
@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
def test_the_precision_of_unsigned_multipliers_is_litert_s(op: str) -> None:
    data, weight = (float(np.float32(x)) for x in (0.1, 0.7))
    result = float(np.float32(2.0**23 * data * weight))
    exact, single = data * weight / result, float(np.float32(data) * np.float32(weight)) / result
    case = replace(
        _tiny(op),
        bias=np.full(2, _bias_between(exact, single), np.int32),
        data_quantization=Quantization.per_tensor(data),
        weight_quantization=Quantization.per_tensor(weight),
        result_quantization=Quantization.per_tensor(result),
    )
    case = unsigned(case, 128)
    ((expected,),) = run_litert(export_model(case.model()), [[case.data]])
    np.testing.assert_array_equal(case.evaluate(), expected)


@pytest.mark.litert
@given(data=st.data())
def test_unsigned_matrix_products_are_rounded_once_as_litert_s(data: st.DataObject) -> None:
    """Of sums near all halves between two results, a few are rounded otherwise when they are rounded twice."""
    shift = data.draw(st.one_of(st.integers(-9, 3), st.integers(4, 28)))
    scale = float(np.float32(data.draw(st.floats(0.5, 0.99999)) * 2.0**shift))
    # LiteRT computes in double, and garbage of what leaves 32 bits.
    reach = max(4, int(300 / scale))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    case = replace(
        _tiny("fully_connected", channels=512),
        bias=rng.integers(-reach, reach, 512).astype(np.int32),
        data_quantization=Quantization.per_tensor(scale),
        weight_quantization=Quantization.per_tensor(1.0),
        result_quantization=Quantization.per_tensor(1.0, data.draw(st.sampled_from((-128, -3, 0, 127)))),
    )
    case = unsigned(case, 128)
    assert fits(case)
    ((expected,),) = run_litert(export_model(case.model()), [[case.data]])
    np.testing.assert_array_equal(case.evaluate(), expected)


@pytest.mark.wheel
@pytest.mark.parametrize("bias_dtype", [np.int32, np.int64])
@given(case=ANY_CASE)
def test_sixteen_bit_activations_are_the_oracles(bias_dtype: type[np.signedinteger], case: Case) -> None:
    case = sixteen(case, bias_dtype)
    assume(fits(case))
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data]], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(case.evaluate(), expected)
