"""What the lowerings of convolutions and fully_connected prepare, and which kernel takes what."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite.ir.attrs import Padding
from arenite.ir.types import Quantization
from arenite.lower.conv import KERNELS as CONV_KERNELS
from arenite.lower.dense import KERNELS as DENSE_KERNELS
from arenite.lower.depthwise import KERNELS as DEPTHWISE_KERNELS
from arenite.lower.kernel import Kernel, PreparedConstant
from arenite.lower.weighted import deinterleaved, interleaved, tables, weight_of
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from weighted_cases import Case, conv_cases, dense_cases, fits

KERNELS = (*CONV_KERNELS, *DEPTHWISE_KERNELS, *DENSE_KERNELS)


def refusals(case: Case) -> dict[str, str]:
    """Variant → the first constraint that the case breaks; empty for those that take it."""
    call = case.call()
    return {
        kernel.variant: next((c.text for c in kernel.constraints if c.holds(call) is not True), "")
        for kernel in KERNELS
        if kernel.op == case.op
    }


def cheapest(case: Case) -> Kernel:
    call = case.call()
    taken = [k for k in KERNELS if k.op == case.op and all(c.holds(call) is True for c in k.constraints)]
    return min(taken, key=lambda kernel: kernel.cost(call).instructions)


def conv(size: int, channels: int, taps: int, outputs: int, stride: int = 1, taken: int | None = None) -> Case:
    return Case(
        "conv2d",
        Conv2dAttrs(stride=(stride, stride), padding=Padding.SAME),
        np.zeros((1, size, size, channels), np.int8),
        np.ones((outputs, taps, taps, taken or channels), np.int8),
        None,
        Quantization.per_tensor(0.5, 3),
        Quantization.per_tensor(0.25),
        Quantization.per_tensor(2.0, -5),
    )


def depthwise(size: int, channels: int, multiplier: int = 1, taps: int = 3) -> Case:
    attrs = DepthwiseConv2dAttrs(padding=Padding.SAME, multiplier=multiplier)
    weight = np.ones((1, taps, taps, channels * multiplier), np.int8)
    return replace(conv(size, channels, 3, 1), op="depthwise_conv2d", attrs=attrs, weight=weight)


@pytest.mark.parametrize(
    ("case", "variant"),
    [
        (conv(8, 16, 1, 16), "pointwise"),
        (conv(8, 16, 1, 16, stride=2), "direct"),
        (conv(8, 16, 3, 16), "direct"),
        (conv(1, 16, 1, 16), "dense"),
        (conv(8, 16, 3, 16, taken=4), "grouped"),
        (depthwise(8, 16), "planes_in_place"),
        (depthwise(8, 16, 2), "planes"),
        (depthwise(200, 16), "planes"),
        (depthwise(40, 1, 8, taps=9), "as_conv2d"),
    ],
)
def test_the_fastest_kernel_of_each_kind(case: Case, variant: str) -> None:
    assert cheapest(case).variant == variant


def test_groups_are_refused_with_a_reason() -> None:
    case = conv(8, 16, 3, 16, taken=4)
    assert refusals(case)["direct"] == "all channels form one group"
    assert refusals(conv(8, 16, 3, 16))["grouped"] == "channels form several groups"


def test_computed_weights_are_refused_with_a_reason() -> None:
    for case in (conv(8, 16, 3, 16), depthwise(8, 16)):
        call = case.call()
        computed = replace(call, constants=(None,) * len(call.operands))
        for kernel in KERNELS:
            if kernel.op == case.op:
                failed = next(c for c in kernel.constraints if c.holds(computed) is not True)
                assert failed.text == "weights and bias are constant"
                assert failed.holds(computed) == "the weights are computed"


@given(channels=st.integers(1, 9), inner=st.integers(1, 9), group=st.sampled_from((1, 2, 4)), data=st.data())
def test_packing_is_undone(channels: int, inner: int, group: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weight = rng.integers(-128, 128, (channels, inner)).astype(np.int8)
    packed = interleaved(weight, group)
    assert packed.size == -(-channels // group) * group * inner
    np.testing.assert_array_equal(deinterleaved(packed, channels, inner, group), weight)
    # [channel // group][k][channel % group]
    for channel, k in np.ndindex(channels, inner):
        assert packed[(channel // group * inner + k) * group + channel % group] == weight[channel, k]


@given(case=st.one_of(conv_cases(grouped=False), dense_cases()))
def test_narrow_sums_stay_narrow_for_the_worst_input(case: Case) -> None:
    assume(fits(case))
    rows = case.weight.reshape(case.weight.shape[0], -1)
    table = tables(case.call(), rows, 2)
    assert len(table.biases) % 2 == len(table.multipliers) % 2 == len(table.shifts) % 2 == 0
    assert case.data_quantization is not None
    zero_point = case.data_quantization.zero_point
    bias = np.zeros(len(rows), np.int64) if case.bias is None else case.bias.astype(np.int64)
    wide = rows.astype(np.int64)
    # The input that drives each channel farthest: an end of the range for each weight, by its sign.
    largest = bias + np.where(wide > 0, wide * (127 - zero_point), wide * (-128 - zero_point)).sum(axis=1)
    least = bias + np.where(wide > 0, wide * (-128 - zero_point), wide * (127 - zero_point)).sum(axis=1)
    if table.narrow:
        assert max(largest.max(), -least.min()) < 2**30
        assert table.shifts.min() >= -31
        assert table.shifts.max() <= -1
    # Folded or not, an input at its zero point gives the bias.
    folded = table.biases[: len(rows)].astype(np.int64) + zero_point * wide.sum(axis=1)
    np.testing.assert_array_equal((folded - bias) % 2**32, 0)


def test_a_multiplier_of_zero_is_a_shift_that_leaves_nothing() -> None:
    case = replace(
        conv(2, 1, 1, 3),
        weight_quantization=Quantization((1e-20, 0.25, 1e-20), (0, 0, 0), 0),
        result_quantization=Quantization.per_tensor(1e3),
    )
    table = tables(case.call(), weight_of(case.call()).reshape(3, -1), 2)
    assert table.shifts.tolist() == [-40, -12, -40, -1]
    assert not table.narrow


def test_weights_and_tables_are_told_apart_for_the_report() -> None:
    for case in (
        conv(8, 16, 3, 16),
        depthwise(8, 16),
        replace(
            conv(8, 16, 1, 16), op="fully_connected", attrs=FullyConnectedAttrs(), weight=np.ones((4, 16), np.int8)
        ),
    ):
        (prepared,) = cheapest(case).prepare(case.call())
        kinds = {
            name: given_.kind.value
            for name, given_ in prepared.arguments.items()
            if isinstance(given_, PreparedConstant)
        }
        assert kinds == {"weights": "weights", "biases": "weights", "multipliers": "table", "shifts": "table"}
        assert prepared.macs == case.definition.cost(case.call()).macs  # type: ignore[operator]
