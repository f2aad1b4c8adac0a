"""Kernels of depthwise_conv2d that treat each channel alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.conv import DEPTHWISE_CONV2D_S8, DEPTHWISE_PLANES_S8
from arenite.lower.kernel import Kernel, KernelCost, Prepared
from arenite.lower.program import ParamValue
from arenite.lower.weighted import (
    CONSTRAINTS,
    Int8Array,
    arguments,
    finish,
    given,
    number,
    output_range,
    tables,
    weight_of,
)
from arenite.lower.windowed import param_windows, window_params
from arenite.ops.conv import DepthwiseConv2dAttrs, conv_windows, exact_depthwise_sums
from arenite.ops.weighted import INPUT, WEIGHT, Numbers, quantization_of

# Results that the kernel computes together, and how large a plane may be before it is cut into bands.
_TOGETHER = 3
_PLANE_NBYTES = 1024
_DIRECT_CODE_NBYTES = 700
_PLANES_CODE_NBYTES = 1850


@dataclass(frozen=True)
class PlaneRates:
    """Instructions that a kernel on planes takes on a Cortex-M4; tests/lower/test_costs.py measures them.

    Attributes:
        copied: for an element of a plane.
        channel: for a channel of a band.
        small_tap, small_result: where the kernel has a loop of its own for the filter.
        tap, tap_row, result: elsewhere.
        wide_result: for a result more, where sums or shifts are not narrow.
    """

    copied: float
    channel: float
    small_tap: float
    small_result: float
    tap: float
    tap_row: float
    result: float
    wide_result: float


_RATES = PlaneRates(4.0, 95.0, 1.75, 16.0, tap=4.7, tap_row=4.8, result=34.0, wide_result=30.0)


def _channel_rows(call: OpCall) -> Int8Array:
    """The filter (1, FH, FW, O) as (O, FH * FW)."""
    weight = weight_of(call)
    return np.ascontiguousarray(weight.reshape(-1, weight.shape[3]).T)


def _multiplier(call: OpCall) -> int:
    assert isinstance(call.attrs, DepthwiseConv2dAttrs)
    return call.attrs.multiplier


def common_params(call: OpCall) -> dict[str, ParamValue]:
    """The fields that depthwise kernels have."""
    height, width = conv_windows(call)
    data = call.operand(INPUT)
    return {
        "batches": data.dims[0],
        "input_height": height.size,
        "input_width": width.size,
        "input_channels": data.dims[3],
        "output_height": height.output,
        "output_width": width.output,
        "multiplier": _multiplier(call),
        **window_params(height, width),
        "input_zero_point": quantization_of(data).zero_point,
        **output_range(call),
    }


def macs_of(call: OpCall) -> int:
    """Multiply-accumulates of a depthwise_conv2d."""
    height, width = conv_windows(call)
    pixels = call.operand(INPUT).dims[0] * height.output * width.output
    return pixels * call.operand(WEIGHT).nelem


def _results(call: OpCall) -> int:
    taps = call.operand(WEIGHT).dims[1:3]
    return macs_of(call) // (taps[0] * taps[1])


def _prepare_direct(call: OpCall) -> tuple[Prepared, ...]:
    rows = _channel_rows(call)
    # Taps beyond the border are left out, so the zero point cannot be folded.
    table = tables(call, rows, fold=False)
    params = {**common_params(call), "narrow": int(table.narrow)}
    return (Prepared(params, arguments(rows.reshape(-1), table), macs_of(call)),)


def _cost_direct(call: OpCall) -> KernelCost:
    instructions = macs_of(call) * 12.0 + _results(call) * 95.0
    return KernelCost(instructions, _DIRECT_CODE_NBYTES + weight_of(call).size + 9 * weight_of(call).shape[3])


def _reference_direct(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_depthwise_conv2d_s8 in numpy."""
    _reference(params, found, folded=False)


def plane_of(call: OpCall) -> tuple[int, int, int]:
    """Output rows per band, width of the plane, elements of the plane."""
    height, width = conv_windows(call)
    wide = width.output + -width.output % _TOGETHER
    plane_width = max((wide - 1) * width.stride + (width.filter - 1) * width.dilation + 1, width.pad_before)
    reach = (height.filter - 1) * height.dilation + 1
    fitting = (_PLANE_NBYTES // plane_width - reach) // height.stride + 1
    band = min(max(fitting, 1), height.output)
    return band, plane_width, ((band - 1) * height.stride + reach) * plane_width


def _prepare_planes(call: OpCall) -> tuple[Prepared, ...]:
    rows = _channel_rows(call)
    table = tables(call, rows)
    band, plane_width, nbytes = plane_of(call)
    params = {
        **common_params(call),
        "band_height": band,
        "plane_width": plane_width,
        "narrow": int(table.narrow),
    }
    return (Prepared(params, arguments(rows.reshape(-1), table, plane=nbytes), macs_of(call)),)


def _cost_planes(call: OpCall) -> KernelCost:
    channels, narrow = weight_of(call).shape[3], tables(call, _channel_rows(call)).narrow
    instructions = plane_instructions(call, _RATES, small=narrow and has_small_windows(call), narrow=narrow)
    return KernelCost(instructions, _PLANES_CODE_NBYTES + weight_of(call).size + 9 * channels, plane_of(call)[2])


def has_small_windows(call: OpCall) -> bool:
    """Whether windows are those for which kernels on planes have a loop of their own, if sums are what it takes."""
    height, width = conv_windows(call)
    return height.filter == width.filter == 3 and width.dilation == 1 and width.stride <= 2


def plane_instructions(call: OpCall, rates: PlaneRates, *, small: bool, narrow: bool) -> float:
    """An estimate; `small`: the kernel takes the loop that it has for small windows."""
    band, _, nelem = plane_of(call)
    height, width = conv_windows(call)
    bands = call.operand(INPUT).dims[0] * -(-height.output // band)
    if small:
        taps, result = height.filter * width.filter * rates.small_tap, rates.small_result
    else:
        taps, result = height.filter * (width.filter * rates.tap + rates.tap_row), rates.result
    rounded = (width.output + -width.output % _TOGETHER) / width.output
    each = taps * rounded + result + (0.0 if narrow else rates.wide_result)
    copied = call.operand(INPUT).dims[3] * bands * nelem * rates.copied
    return copied + bands * call.results[0].dims[3] * rates.channel + _results(call) * each


def _channel_in_one_plane(call: OpCall) -> bool | str:
    """Whether a channel is read whole before its results take its very places."""
    height, width = conv_windows(call)
    band, _, _ = plane_of(call)
    if _multiplier(call) != 1 or (height.size, width.size) != (height.output, width.output):
        return f"found {call.operand(INPUT)} -> {call.results[0]}"
    return band == height.output or f"found {-(-height.output // band)} bands"


def _reference_planes(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_depthwise_planes_s8 in numpy."""
    # As the kernel does before it has read all of its input.
    given(found, "plane")[:] = number(params, "input_zero_point")
    _reference(params, found, folded=True)


def _reference(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], *, folded: bool) -> None:
    windows = param_windows(params)
    channels, zero_point = number(params, "input_channels"), number(params, "input_zero_point")
    outputs = channels * number(params, "multiplier")
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    weight = given(found, "weights").reshape(outputs, windows[0].filter, windows[1].filter).transpose(1, 2, 0)
    data = given(found, "input").reshape(shape).astype(np.int64) - zero_point
    sums = exact_depthwise_sums(data, weight[np.newaxis], windows)
    if folded:
        # Stored inputs instead of centred ones: what the folded bias takes back.
        sums = sums + zero_point * weight.astype(np.int64).sum(axis=(0, 1))
    finish(params, found, sums)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        op="depthwise_conv2d",
        variant="planes_in_place",
        info=DEPTHWISE_PLANES_S8,
        constraints=(
            *CONSTRAINTS,
            Constraint("a channel fits a plane and its results its own places", _channel_in_one_plane),
        ),
        prepare=_prepare_planes,
        cost=_cost_planes,
        reference=_reference_planes,
        in_place=(INPUT,),
    ),
    Kernel(
        op="depthwise_conv2d",
        variant="planes",
        info=DEPTHWISE_PLANES_S8,
        constraints=CONSTRAINTS,
        prepare=_prepare_planes,
        cost=_cost_planes,
        reference=_reference_planes,
    ),
    Kernel(
        op="depthwise_conv2d",
        variant="direct",
        info=DEPTHWISE_CONV2D_S8,
        constraints=CONSTRAINTS,
        prepare=_prepare_direct,
        cost=_cost_direct,
        reference=_reference_direct,
    ),
)
