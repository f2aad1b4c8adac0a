from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.ir.attrs import Activation, Padding
from arenite.ir.opdef import Cost, OpError
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from weighted_cases import DEFINITIONS, AnyArray, Case, Spatial, conv_cases, depthwise_cases, spatials


def _window(case: Case, axis: int) -> list[list[tuple[int, int]]]:
    """For each output position along a dimension, the (tap, input position) pairs that count, by definition."""
    attrs = case.attrs
    assert isinstance(attrs, Conv2dAttrs | DepthwiseConv2dAttrs)
    size, taps = case.data.shape[1 + axis], case.weight.shape[1 + axis]
    stride, dilation = attrs.stride[axis], attrs.dilation[axis]
    reach = (taps - 1) * dilation + 1
    if attrs.padding is Padding.SAME:
        count = (size + stride - 1) // stride
        start = -(max((count - 1) * stride + reach - size, 0) // 2)
    else:
        before, after = attrs.padding[axis] if isinstance(attrs.padding, tuple) else (0, 0)
        count, start = (before + size + after - reach) // stride + 1, -before
    places = [[(tap, start + i * stride + tap * dilation) for tap in range(taps)] for i in range(count)]
    return [[(tap, at) for tap, at in row if 0 <= at < size] for row in places]


def _brute_force(case: Case) -> AnyArray:
    """The sums, tap by tap, in float64."""
    rows, columns = _window(case, 0), _window(case, 1)
    depthwise = case.op == "depthwise_conv2d"
    channels = case.weight.shape[3] if depthwise else case.weight.shape[0]
    total = np.zeros((case.data.shape[0], len(rows), len(columns), channels))
    share = case.data.shape[3] // (1 if depthwise else case.weight.shape[3])
    for (y, taps_y), (x, taps_x) in ((a, b) for a in enumerate(rows) for b in enumerate(columns)):
        for channel in range(channels):
            if depthwise:
                taken = [channel * case.data.shape[3] // channels]
            else:
                first = channel // (channels // share) * case.weight.shape[3]
                taken = list(range(first, first + case.weight.shape[3]))
            for ky, at_y in taps_y:
                for kx, at_x in taps_x:
                    taps = case.weight[0, ky, kx, channel] if depthwise else case.weight[channel, ky, kx]
                    total[:, y, x, channel] += (case.data[:, at_y, at_x, taken].astype(float) * taps).sum(axis=-1)
    return total + (0 if case.bias is None else case.bias)


def _as_float(case: Case) -> Case:
    data, weight = case.data.astype(np.float32) / 16, case.weight.astype(np.float32) / 64
    bias = None if case.bias is None else (case.bias % 64).astype(np.float32)
    return replace(
        case,
        data=data,
        weight=weight,
        bias=bias,
        data_quantization=None,
        weight_quantization=None,
        result_quantization=None,
    )


@given(case=st.one_of(conv_cases(), depthwise_cases()))
def test_float_meaning_is_the_definition(case: Case) -> None:
    case = _as_float(case)
    expected = _brute_force(case)
    low, high = {
        Activation.NONE: (-np.inf, np.inf),
        Activation.RELU: (0, np.inf),
        Activation.RELU6: (0, 6),
        Activation.RELU_N1_TO_1: (-1, 1),
    }[getattr(case.attrs, "activation")]  # noqa: B009
    found = case.evaluate()
    assert found.dtype == np.float32
    # Sums of up to 250 products of 16-bit numbers: float32 holds them exactly, whatever the order.
    np.testing.assert_array_equal(found, np.clip(expected, low, high).astype(np.float32))


@given(case=st.one_of(conv_cases(), depthwise_cases()))
def test_cost_counts_every_tap_of_every_window(case: Case) -> None:
    facet = case.definition.cost
    assert callable(facet)
    result = case.evaluate()
    per_result = case.weight.size // result.shape[3]
    assert facet(case.call()) == Cost(macs=result.size * per_result)


@given(spatial=spatials())
def test_valid_padding_that_fits_nothing_is_refused(spatial: Spatial) -> None:
    attrs = Conv2dAttrs(dilation=(3, 1), padding=Padding.VALID)
    shape = (1, min(spatial.size[0], 6), 4, 1)
    case = Case(
        "conv2d", attrs, np.zeros(shape, np.float32), np.zeros((1, 3, 1, 1), np.float32), None, None, None, None
    )
    with pytest.raises(OpError, match="reach over 7 elements"):
        case.model()


@pytest.mark.parametrize(
    ("data", "weight", "attrs", "text"),
    [
        ((1, 4, 4, 6), (4, 1, 1, 4), Conv2dAttrs(), "equal share"),
        ((1, 4, 4, 6), (3, 1, 1, 3), Conv2dAttrs(), "equal share"),
        ((1, 4, 4, 2), (1, 1, 1, 3), DepthwiseConv2dAttrs(), "channels * multiplier"),
        ((1, 4, 4, 2), (2, 1, 1, 2), DepthwiseConv2dAttrs(), "channels * multiplier"),
        ((1, 4, 4, 2), (1, 1, 1, 2), DepthwiseConv2dAttrs(multiplier=0), "channels * multiplier"),
        ((1, 4, 4, 2), (1, 1, 1, 2), Conv2dAttrs(stride=(0, 1)), "1 to 32767"),
        ((4, 4, 2), (1, 1, 1, 2), Conv2dAttrs(), "four dimensions"),
    ],
)
def test_misfits_break_a_constraint(
    data: tuple[int, ...], weight: tuple[int, ...], attrs: Conv2dAttrs, text: str
) -> None:
    op = "conv2d" if isinstance(attrs, Conv2dAttrs) else "depthwise_conv2d"
    good = Case(
        op,
        type(attrs)(),
        np.zeros((1, 4, 4, 2), np.float32),
        np.zeros((1, 1, 1, 2), np.float32),
        None,
        None,
        None,
        None,
    ).call()
    bad = replace(
        good,
        attrs=attrs,
        operands=(replace(good.operand(0), shape=data), replace(good.operand(1), shape=weight)),
    )
    # A verifier stops at the first: those behind it rely on it.
    failed = next(c.text for c in DEFINITIONS[op].constraints if c.holds(bad) is not True)
    assert text in failed
