"""Kernels of conv2d, depthwise_conv2d and fully_connected with 16-bit activations, or on uint8.

Both exist for compatibility: one result at a time, whatever the filter.
"""

from collections.abc import Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, clamp, requantize, requantize_int64, wrap_int32
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_wide import CONV2D_S16, CONV2D_U8
from arenite.lower.grouped import OF, GroupedConvolution
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import CONSTANT_WEIGHTS, Arguments, given, number, output_range
from arenite.lower.windowed import param_windows
from arenite.ops.conv import patches
from arenite.ops.weighted import BIAS, INPUT, WEIGHT, Numbers, exact_product, quantization_of, quantized_multipliers

_REDUCED_LIMIT = 0x7FFF0000
_CODE_NBYTES = 500


def _takes(dtype: DType) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        return call.operand(INPUT).dtype is dtype or f"found {call.operand(INPUT).dtype}"

    return Constraint(f"the input is {dtype}", holds)


def _grouped_sums(params: Mapping[str, ParamValue], data: Numbers, weight: Numbers) -> Int64Array:
    """Sums (pixels, outputs) of centred data, flat, and weights (outputs, height, width, inputs of a group)."""
    windows = param_windows(params)
    channels, outputs, groups = (number(params, n) for n in ("input_channels", "output_channels", "groups"))
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    seen = patches(data.reshape(shape), windows)
    taken, share = channels // groups, outputs // groups
    found = []
    for group in range(groups):
        rows = seen[..., group * taken : (group + 1) * taken].reshape(-1, weight[0].size)
        found.append(exact_product(rows, weight[group * share : (group + 1) * share].reshape(share, -1)))
    return np.concatenate(found, axis=-1)


def _weights_of(params: Mapping[str, ParamValue], packed: Numbers) -> Numbers:
    windows = param_windows(params)
    return packed.reshape(number(params, "output_channels"), windows[0].filter, windows[1].filter, -1)


def _rounds_once(call: OpCall) -> bool:
    return not call.has(BIAS) or call.operand(BIAS).dtype is DType.INT64


def _prepare_s16(call: OpCall, convolution: GroupedConvolution) -> tuple[Prepared, ...]:
    outputs, once = convolution.weight.shape[0], _rounds_once(call)
    multipliers, shifts = quantized_multipliers(call, outputs)
    if once:
        wide = multipliers.astype(np.int64)
        multipliers = np.where(wide < _REDUCED_LIMIT, (wide + (1 << 15)) >> 16, 0x7FFF).astype(np.int32)
    bias = call.constant(BIAS)
    biases = np.zeros(outputs, np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    largest = np.abs(convolution.weight.astype(np.int64)).reshape(outputs, -1).sum(axis=1).max() << 15
    low_high = output_range(call)
    params: Mapping[str, ParamValue] = {
        **convolution.params(),
        "clamp_low": low_high["clamp_low"],
        "clamp_high": low_high["clamp_high"],
        "once": int(once),
        # A sum that is rounded twice wraps at 32 bits anyway.
        "wide": int(once and largest >= 2**31),
    }
    arguments: Arguments = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(_flat(convolution.weight.astype(np.int8)), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(multipliers, ConstantKind.TABLE),
        "shifts": PreparedConstant(shifts, ConstantKind.TABLE),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, convolution.macs),)


def _flat(array: Numbers) -> Numbers:
    return np.ascontiguousarray(array).reshape(-1)


def _reference_s16(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_s16 in numpy."""
    sums = _grouped_sums(params, given(found, "input"), _weights_of(params, given(found, "weights")))
    sums = sums + given(found, "biases")
    multipliers, shifts = given(found, "multipliers").astype(np.int64), given(found, "shifts").astype(np.int64)
    if number(params, "once"):
        # The multipliers have been reduced to 15 bits already.
        scaled = wrap_int32(requantize_int64(sums, multipliers << 16, shifts))
    else:
        scaled = requantize(wrap_int32(sums), multipliers, shifts)
    low, high = number(params, "clamp_low"), number(params, "clamp_high")
    given(found, "output")[:] = clamp(scaled, low, high, np.int16).reshape(-1)


def _prepare_u8(call: OpCall, convolution: GroupedConvolution) -> tuple[Prepared, ...]:
    outputs = convolution.weight.shape[0]
    multipliers, shifts = quantized_multipliers(call, outputs)
    bias = call.constant(BIAS)
    biases = np.zeros(outputs, np.int32) if bias is None else bias.astype(np.int32).reshape(-1)
    params: Mapping[str, ParamValue] = {
        **convolution.params(),
        "input_zero_point": quantization_of(call.operand(INPUT)).zero_point,
        "weight_zero_point": quantization_of(call.operand(WEIGHT)).zero_point,
        # Weights have one scale.
        "multiplier": int(multipliers[0]),
        "shift": int(shifts[0]),
        **output_range(call),
    }
    arguments: Arguments = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(_flat(convolution.weight.astype(np.uint8)), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, convolution.macs),)


def _reference_u8(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_u8 in numpy."""
    data = given(found, "input").astype(np.int16) - np.int16(number(params, "input_zero_point"))
    weight = given(found, "weights").astype(np.int16) - np.int16(number(params, "weight_zero_point"))
    sums = wrap_int32(_grouped_sums(params, data, _weights_of(params, weight)) + given(found, "biases"))
    scaled = requantize(sums, number(params, "multiplier"), number(params, "shift"))
    stored = scaled + number(params, "output_zero_point")
    given(found, "output")[:] = np.clip(stored, number(params, "clamp_low"), number(params, "clamp_high")).reshape(-1)


def _cost(per_mac: float, convolution: GroupedConvolution) -> KernelCost:
    return KernelCost(convolution.macs * per_mac, _CODE_NBYTES + int(convolution.weight.size))


def _s16(op: str) -> Kernel:
    convolution = OF[op]
    return Kernel(
        op=op,
        variant="int16",
        info=CONV2D_S16,
        constraints=(_takes(DType.INT16), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare_s16(call, convolution(call)),
        cost=lambda call: _cost(5.0, convolution(call)),
        reference=_reference_s16,
    )


def _u8(op: str) -> Kernel:
    convolution = OF[op]
    return Kernel(
        op=op,
        variant="uint8",
        info=CONV2D_U8,
        constraints=(_takes(DType.UINT8), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare_u8(call, convolution(call)),
        cost=lambda call: _cost(6.0, convolution(call)),
        reference=_reference_u8,
    )


KERNELS: tuple[Kernel, ...] = (*map(_s16, OF), *map(_u8, OF))
