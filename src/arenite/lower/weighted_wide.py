"""Kernels of convolutions in groups with 16-bit activations, or on uint8: one result at a time, whatever the filter.

What fills most networks has faster ones (see quads).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, requantize, requantize_once, requantize_wide, stored_sums
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_wide import CONV2D_S16, CONV2D_U8
from arenite.lower.grouped import OF, GroupedConvolution, grouped_sums, grouped_weights
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import CONSTANT_WEIGHTS, Arguments, given, number, output_range, stored_limits
from arenite.ops.weighted import BIAS, INPUT, WEIGHT, Numbers, quantization_of, quantized_multipliers, rounds_once

_REDUCED_LIMIT = 0x7FFF0000
_CODE_NBYTES = 500
# Of windows with few channels, whose taps are placed one by one.
_PER_MAC_S16 = 40.0
_PER_MAC_U8 = 35.0


def takes(dtype: DType) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        return call.operand(INPUT).dtype is dtype or f"found {call.operand(INPUT).dtype}"

    return Constraint(f"the input is {dtype}", holds)


@dataclass(frozen=True)
class TablesS16:
    """Per-channel constants of int16 kernels.

    Attributes:
        once: sums of 64 bits are rounded once, by multipliers of 15 bits, which `multipliers` are then.
        wide: sums may leave 32 bits, and count as they are.
    """

    biases: Numbers
    multipliers: Numbers
    shifts: Numbers
    once: bool
    wide: bool


def reduced_multipliers(multipliers: Numbers) -> Numbers:
    """Q31 multipliers as those of 15 bits, by which sums of 64 bits are rounded once."""
    wide = multipliers.astype(np.int64)
    reduced: Numbers = np.where(wide < _REDUCED_LIMIT, (wide + (1 << 15)) >> 16, 0x7FFF).astype(np.int32)
    return reduced


def tables_s16(call: OpCall, weight: Numbers) -> TablesS16:
    """The constants of a node on int16 with these weights, (outputs, ...)."""
    outputs, once = weight.shape[0], rounds_once(call)
    multipliers, shifts = quantized_multipliers(call, outputs)
    if once:
        multipliers = reduced_multipliers(multipliers)
    biases = biases_of(call, outputs)
    sums = np.abs(weight.astype(np.int64)).reshape(outputs, -1).sum(axis=1) << 15
    largest = int((sums + np.minimum(np.abs(biases), 2**40)).max())
    # A sum that is rounded twice wraps at 32 bits anyway.
    return TablesS16(biases, multipliers, shifts, once, once and largest >= 2**31)


def rescaled_s16(
    params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], sums: Int64Array, channels: int
) -> None:
    """Stores results of sums with biases, whose last dimension is the output channel."""
    multipliers = given(found, "multipliers")[:channels].astype(np.int64)
    shifts = given(found, "shifts")[:channels].astype(np.int64)
    once = bool(number(params, "once"))
    given(found, "output")[:] = stored_sums(
        sums,
        0,
        # Those that round once have been reduced to 15 bits already.
        multipliers << 16 if once else multipliers,
        shifts,
        zero_point=0,
        limits=stored_limits(params),
        dtype=np.int16,
        rescale=requantize_wide if once else requantize,
    ).reshape(-1)


def stored_u8(
    params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], sums: Int64Array, scaling: tuple[int, int]
) -> None:
    """Stores results of sums with biases."""
    given(found, "output")[:] = stored_sums(
        sums,
        0,
        *scaling,
        zero_point=number(params, "output_zero_point"),
        limits=stored_limits(params),
        dtype=np.uint8,
        rescale=requantize_once if number(params, "once") else requantize,
    ).reshape(-1)


def _prepare_s16(call: OpCall, convolution: GroupedConvolution) -> tuple[Prepared, ...]:
    table, low_high = tables_s16(call, convolution.weight), output_range(call)
    params: Mapping[str, ParamValue] = {
        **convolution.params(),
        "clamp_low": low_high["clamp_low"],
        "clamp_high": low_high["clamp_high"],
        "once": int(table.once),
        "wide": int(table.wide),
    }
    arguments: Arguments = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(flat(convolution.weight.astype(np.int8)), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(table.biases, ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(table.multipliers, ConstantKind.TABLE),
        "shifts": PreparedConstant(table.shifts, ConstantKind.TABLE),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, convolution.macs),)


def flat(array: Numbers) -> Numbers:
    """As it lies in memory."""
    return np.ascontiguousarray(array).reshape(-1)


def _reference_s16(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_s16 in numpy."""
    sums = grouped_sums(params, given(found, "input"), grouped_weights(params, given(found, "weights")))
    rescaled_s16(params, found, sums + given(found, "biases"), number(params, "output_channels"))


def centred_weight(call: OpCall, convolution: GroupedConvolution) -> Numbers:
    """uint8 weights less their zero point, int16."""
    zero_point = quantization_of(call.operand(WEIGHT)).zero_point
    return (convolution.weight.astype(np.int16) - zero_point).astype(np.int16)


def biases_of(call: OpCall, outputs: int) -> Numbers:
    """The model's own, as int64."""
    bias = call.constant(BIAS)
    return np.zeros(outputs, np.int64) if bias is None else bias.astype(np.int64).reshape(-1)


def is_narrow(call: OpCall, convolution: GroupedConvolution) -> bool:
    """Whether every sum of a node on uint8 stays below 2**30, and its shift is in [-31, -1]."""
    weight, zero_point = centred_weight(call, convolution), quantization_of(call.operand(INPUT)).zero_point
    farthest = max(255 - zero_point, zero_point)
    sums = np.abs(weight.astype(np.int64)).reshape(len(weight), -1).sum(axis=1) * farthest
    largest = int((sums + np.abs(biases_of(call, len(weight)))).max())
    return largest < 2**30 and -31 <= int(quantized_multipliers(call, 1)[1][0]) <= -1


def _prepare_u8(call: OpCall, convolution: GroupedConvolution) -> tuple[Prepared, ...]:
    outputs = convolution.weight.shape[0]
    multipliers, shifts = quantized_multipliers(call, outputs)
    biases = biases_of(call, outputs).astype(np.int32)
    params: Mapping[str, ParamValue] = {
        **convolution.params(),
        "input_zero_point": quantization_of(call.operand(INPUT)).zero_point,
        # Weights have one scale.
        "multiplier": int(multipliers[0]),
        "shift": int(shifts[0]),
        **output_range(call),
        "once": int(rounds_once(call)),
    }
    arguments: Arguments = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(flat(centred_weight(call, convolution)), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, convolution.macs),)


def _reference_u8(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_u8 in numpy."""
    data = given(found, "input").astype(np.int16) - np.int16(number(params, "input_zero_point"))
    sums = grouped_sums(params, data, grouped_weights(params, given(found, "weights")))
    scaling = number(params, "multiplier"), number(params, "shift")
    stored_u8(params, found, sums + given(found, "biases"), scaling)


def _cost(per_mac: float, convolution: GroupedConvolution) -> KernelCost:
    return KernelCost(convolution.macs * per_mac, _CODE_NBYTES + int(convolution.weight.size))


def _s16(op: str) -> Kernel:
    convolution = OF[op]
    return Kernel(
        op=op,
        variant="int16",
        info=CONV2D_S16,
        constraints=(takes(DType.INT16), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare_s16(call, convolution(call)),
        cost=lambda call: _cost(_PER_MAC_S16, convolution(call)),
        reference=_reference_s16,
    )


def _u8(op: str) -> Kernel:
    convolution = OF[op]
    return Kernel(
        op=op,
        variant="uint8",
        info=CONV2D_U8,
        constraints=(takes(DType.UINT8), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare_u8(call, convolution(call)),
        cost=lambda call: _cost(_PER_MAC_U8, convolution(call)),
        reference=_reference_u8,
    )


KERNELS: tuple[Kernel, ...] = (*map(_s16, OF), *map(_u8, OF))
