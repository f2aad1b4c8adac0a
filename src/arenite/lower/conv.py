"""Kernels of conv2d and depthwise_conv2d."""

from collections.abc import Callable, Mapping

import numpy as np

from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.conv import CONV2D_GROUPED_S8, CONV2D_LEAN_S8, CONV2D_S8, POINTWISE_S8
from arenite.kernels.families.dense import FULLY_CONNECTED_S8
from arenite.lower.dense import cost_rows, prepare_rows, reference_rows
from arenite.lower.grouped import OF, grouped_sums, grouped_weights
from arenite.lower.kernel import Kernel, KernelCost, Prepared
from arenite.lower.program import ParamValue
from arenite.lower.weighted import (
    CONSTRAINTS,
    PER_MAC,
    PER_RESULT,
    Arguments,
    Int8Array,
    arguments,
    deinterleaved,
    finish,
    given,
    interleaved,
    number,
    output_range,
    tables,
    weight_of,
)
from arenite.lower.windowed import param_windows, window_params
from arenite.ops.conv import conv_attrs, conv_windows, patches
from arenite.ops.weighted import INPUT, WEIGHT, Numbers, exact_product, quantization_of
from arenite.ops.windows import Window

_PAIR = 2
# Elements that the inner loop takes without a rest.
_STEP = 4
# Code of the kernels, compiled for size.
_DIRECT_CODE_NBYTES = 1600
_POINTWISE_CODE_NBYTES = 950
_GROUPED_CODE_NBYTES = 500
# Instructions of a tap at the border, more than those inside take.
_PER_BORDER_MAC = 6.0
# Shorter rows of a window are gathered: the inner loop would be over before it pays.
_IN_PLACE_NELEM = 16
# Of a convolution in groups, as a simulated Cortex-M4 counts them.
_PER_GROUPED_MAC = 5.0
_PER_TAP = 4.5
_PER_GROUPED_RESULT = 20.0

OhwiWeights = Callable[[OpCall], Int8Array]


def _transposed(call: OpCall) -> Int8Array:
    """The filter of a depthwise convolution of one channel, as conv2d's."""
    return np.ascontiguousarray(weight_of(call).transpose(3, 1, 2, 0))


def _one_group(call: OpCall) -> bool | str:
    data, taken = call.operand(INPUT).dims[3], call.operand(WEIGHT).dims[3]
    return data == taken or f"found {data // taken} groups"


def _several_groups(call: OpCall) -> bool | str:
    return _one_group(call) is not True or "found one group"


def _one_tap(call: OpCall) -> bool | str:
    taps, stride = call.operand(WEIGHT).dims[1:3], conv_attrs(call).stride
    return (*taps, *stride) == (1, 1, 1, 1) or f"found {taps[0]}x{taps[1]} taps, stride {stride[0]}x{stride[1]}"


def _whole_input(call: OpCall) -> bool | str:
    data, taps = call.operand(INPUT).dims[1:3], call.operand(WEIGHT).dims[1:3]
    windows = conv_windows(call)
    single = all(w.output == 1 and w.dilation == 1 and w.pad_before == w.pad_after == 0 for w in windows)
    return (single and data == taps) or f"found {taps[0]}x{taps[1]} taps for {data[0]}x{data[1]} pixels"


def _one_channel(call: OpCall) -> bool | str:
    channels = call.operand(INPUT).dims[3]
    return channels == 1 or f"found {channels}"


def _prepare_direct(call: OpCall, weight: Int8Array) -> tuple[Prepared, ...]:
    params, constants, macs = _prepared(call, weight)
    return (Prepared(params, {**constants, "patches": _scratch_nbytes(call) or None}, macs),)


def _prepare_lean(call: OpCall, weight: Int8Array) -> tuple[Prepared, ...]:
    return (Prepared(*_prepared(call, weight)),)


def _prepared(call: OpCall, weight: Int8Array) -> tuple[dict[str, ParamValue], Arguments, int]:
    """Parameters, arguments but scratch, and multiply-accumulates."""
    height, width = conv_windows(call)
    channels = call.operand(INPUT).dims[3]
    rows = np.zeros((weight.shape[0], _patch_nelem(call)), np.int8)
    rows[:, : weight[0].size] = weight.reshape(weight.shape[0], -1)
    table = tables(call, rows, _PAIR)
    params: dict[str, ParamValue] = {
        "batches": call.operand(INPUT).dims[0],
        "input_height": height.size,
        "input_width": width.size,
        "input_channels": channels,
        "output_height": height.output,
        "output_width": width.output,
        "output_channels": weight.shape[0],
        **window_params(height, width),
        "in_place": int(_reads_in_place(call)),
        "patch_nelem": rows.shape[1],
        "input_zero_point": quantization_of(call.operand(INPUT)).zero_point,
        **output_range(call),
        "narrow": int(table.narrow),
    }
    macs = call.operand(INPUT).dims[0] * height.output * width.output * weight.size
    return params, arguments(interleaved(rows, _PAIR), table), macs


def _reads_in_place(call: OpCall) -> bool:
    width = conv_windows(call)[1]
    return width.dilation == 1 and width.filter * call.operand(INPUT).dims[3] >= _IN_PLACE_NELEM


def _patch_nelem(call: OpCall) -> int:
    """Elements of a window; windows that are gathered anyway are filled up, so that the inner loop has no rest."""
    height, width = conv_windows(call)
    nelem = height.filter * width.filter * call.operand(INPUT).dims[3]
    return nelem if _reads_in_place(call) else nelem + -nelem % _STEP


def _scratch_nbytes(call: OpCall) -> int:
    windows = conv_windows(call)
    if _reads_in_place(call) and not any(w.pad_before or w.pad_after for w in windows):
        return 0
    return _PAIR * _patch_nelem(call)


def _cost_direct(call: OpCall, weight: OhwiWeights) -> KernelCost:
    height, width = conv_windows(call)
    channels, inner = weight(call).shape[0], _patch_nelem(call)
    pixels = call.operand(INPUT).dims[0] * height.output * width.output
    # A last pixel without a partner costs as much as two.
    pixels += pixels % 2
    gathered = 0.0 if _reads_in_place(call) else 1.5 * inner + 25.0 * height.filter
    pairs = -(-channels // _PAIR)
    instructions = pixels * (pairs * _PAIR * (PER_MAC * inner + PER_RESULT) + 40 + gathered)
    return KernelCost(instructions, _DIRECT_CODE_NBYTES + pairs * _PAIR * (inner + 9), _scratch_nbytes(call))


def _cost_lean(call: OpCall, weight: OhwiWeights) -> KernelCost:
    direct = _cost_direct(call, weight)
    height, width = conv_windows(call)
    channels, inner = weight(call).shape[0], _patch_nelem(call)
    border = height.output * width.output - _inside(height) * _inside(width) * _reads_in_place(call)
    extra = call.operand(INPUT).dims[0] * border * channels * inner * _PER_BORDER_MAC
    return KernelCost(direct.instructions + extra, direct.flash_nbytes)


def _inside(window: Window) -> int:
    """How many outputs along one dimension have all their taps inside the image."""
    first = -(-window.pad_before // window.stride)
    last = (window.size - 1 - (window.filter - 1) * window.dilation + window.pad_before) // window.stride
    return max(0, min(last, window.output - 1) - first + 1)


def _reference_direct(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_s8 in numpy."""
    windows = param_windows(params)
    channels = number(params, "input_channels")
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    inner = windows[0].filter * windows[1].filter * channels
    zero_point, packed = number(params, "input_zero_point"), number(params, "patch_nelem")
    weight = deinterleaved(given(found, "weights"), number(params, "output_channels"), packed, _PAIR)[:, :inner]
    scratch = found.get("patches")
    if scratch is not None:
        # As the kernel does before it has read all of its input.
        scratch[:] = zero_point
    seen = patches(given(found, "input").reshape(shape), windows, zero_point)
    finish(params, found, exact_product(seen.reshape(-1, inner), weight))


def _prepare_pointwise(call: OpCall) -> tuple[Prepared, ...]:
    weight = weight_of(call)
    outputs, inputs = weight.shape[0], weight.shape[3]
    rows = weight.reshape(outputs, inputs)
    table = tables(call, rows, _PAIR)
    pixels = call.operand(INPUT).nelem // inputs
    params: dict[str, ParamValue] = {
        "pixels": pixels,
        "input_channels": inputs,
        "output_channels": outputs,
        **output_range(call),
        "narrow": int(table.narrow),
    }
    return (Prepared(params, arguments(interleaved(rows, _PAIR), table), pixels * inputs * outputs),)


def _cost_pointwise(call: OpCall) -> KernelCost:
    outputs, _, _, inputs = weight_of(call).shape
    pixels = call.operand(INPUT).nelem // inputs
    pairs = -(-outputs // _PAIR)
    # A last pixel without a partner costs as much as two.
    computed = pixels + pixels % 2
    instructions = computed * (pairs * _PAIR * (PER_MAC * inputs + PER_RESULT) + 10)
    return KernelCost(instructions, _POINTWISE_CODE_NBYTES + pairs * _PAIR * (inputs + 9))


def _reference_pointwise(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_pointwise_s8 in numpy."""
    inputs, outputs = number(params, "input_channels"), number(params, "output_channels")
    weight = deinterleaved(given(found, "weights"), outputs, inputs, _PAIR)
    finish(params, found, exact_product(given(found, "input").reshape(-1, inputs), weight))


def _prepare_grouped(call: OpCall) -> tuple[Prepared, ...]:
    convolution, weight = OF[call.op](call), weight_of(call)
    # Taps beyond the border are left out, so the zero point cannot be folded.
    table = tables(call, weight.reshape(weight.shape[0], -1), fold=False)
    params: dict[str, ParamValue] = {
        **convolution.params(),
        "input_zero_point": quantization_of(call.operand(INPUT)).zero_point,
        **output_range(call),
        "narrow": int(table.narrow),
    }
    return (Prepared(params, arguments(np.ascontiguousarray(weight).reshape(-1), table), convolution.macs),)


def _cost_grouped(call: OpCall) -> KernelCost:
    convolution, weight = OF[call.op](call), weight_of(call)
    # In a group of few channels, finding the taps takes as long as multiplying.
    per_mac = _PER_GROUPED_MAC + _PER_TAP / weight.shape[3]
    flash_nbytes = _GROUPED_CODE_NBYTES + weight.size + 9 * weight.shape[0]
    return KernelCost(convolution.macs * per_mac + call.results[0].nelem * _PER_GROUPED_RESULT, flash_nbytes)


def _reference_grouped(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_grouped_s8 in numpy."""
    data = given(found, "input").astype(np.int16) - np.int16(number(params, "input_zero_point"))
    finish(params, found, grouped_sums(params, data, grouped_weights(params, given(found, "weights"))))


def _rows_of_all_taps(call: OpCall) -> Int8Array:
    weight = weight_of(call)
    return weight.reshape(weight.shape[0], -1)


_ONE_GROUP = Constraint("all channels form one group", _one_group)

KERNELS: tuple[Kernel, ...] = (
    Kernel(
        op="conv2d",
        variant="dense",
        info=FULLY_CONNECTED_S8,
        constraints=(*CONSTRAINTS, _ONE_GROUP, Constraint("the filter covers the whole input", _whole_input)),
        prepare=lambda call: prepare_rows(call, _rows_of_all_taps(call)),
        cost=lambda call: cost_rows(call, *_rows_of_all_taps(call).shape),
        reference=reference_rows,
    ),
    Kernel(
        op="conv2d",
        variant="pointwise",
        info=POINTWISE_S8,
        constraints=(*CONSTRAINTS, _ONE_GROUP, Constraint("the filter has one tap and stride 1", _one_tap)),
        prepare=_prepare_pointwise,
        cost=_cost_pointwise,
        reference=_reference_pointwise,
    ),
    Kernel(
        op="conv2d",
        variant="direct",
        info=CONV2D_S8,
        constraints=(*CONSTRAINTS, _ONE_GROUP),
        prepare=lambda call: _prepare_direct(call, weight_of(call)),
        cost=lambda call: _cost_direct(call, weight_of),
        reference=_reference_direct,
    ),
    Kernel(
        op="conv2d",
        variant="lean",
        info=CONV2D_LEAN_S8,
        constraints=(*CONSTRAINTS, _ONE_GROUP),
        prepare=lambda call: _prepare_lean(call, weight_of(call)),
        cost=lambda call: _cost_lean(call, weight_of),
        reference=_reference_direct,
    ),
    Kernel(
        op="conv2d",
        variant="grouped",
        info=CONV2D_GROUPED_S8,
        constraints=(*CONSTRAINTS, Constraint("channels form several groups", _several_groups)),
        prepare=_prepare_grouped,
        cost=_cost_grouped,
        reference=_reference_grouped,
    ),
    Kernel(
        op="depthwise_conv2d",
        variant="as_conv2d",
        info=CONV2D_S8,
        constraints=(*CONSTRAINTS, Constraint("the input has one channel", _one_channel)),
        prepare=lambda call: _prepare_direct(call, _transposed(call)),
        cost=lambda call: _cost_direct(call, _transposed),
        reference=_reference_direct,
    ),
)
