"""Kernels of depthwise_conv2d on int16 and uint8, that treat each channel alone."""

from collections.abc import Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_wide import DEPTHWISE_PLANES_S16, DEPTHWISE_PLANES_U8
from arenite.kernels.manifest import KernelInfo
from arenite.lower.depthwise import PlaneRates, common_params, has_small_windows, macs_of, plane_instructions, plane_of
from arenite.lower.grouped import OF, grouped_sums
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import CONSTANT_WEIGHTS, Arguments, given, number
from arenite.lower.weighted_wide import (
    biases_of,
    centred_weight,
    flat,
    is_narrow,
    rescaled_s16,
    stored_u8,
    tables_s16,
    takes,
)
from arenite.lower.windowed import param_windows
from arenite.ops.weighted import INPUT, Numbers, quantized_multipliers

_RATES = PlaneRates(6.0, 95.0, 2.1, 28.0, tap=4.8, tap_row=5.5, result=38.5, wide_result=12.5)
_CODE_NBYTES = 1900


def _sums_fit(call: OpCall) -> bool | str:
    return not tables_s16(call, OF[call.op](call).weight).wide or "they may leave 32 bits"


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    convolution = OF[call.op](call)
    band, plane_width, nelem = plane_of(call)
    params: dict[str, ParamValue] = {**common_params(call), "band_height": band, "plane_width": plane_width}
    tables: tuple[Numbers, Numbers, Numbers]
    if call.operand(INPUT).dtype is DType.UINT8:
        weights, outputs = centred_weight(call, convolution), len(convolution.weight)
        tables = (biases_of(call, outputs).astype(np.int32), *quantized_multipliers(call, outputs))
        params |= {"narrow": int(is_narrow(call, convolution)), "once": 0}
    else:
        table = tables_s16(call, convolution.weight)
        weights, tables = convolution.weight.astype(np.int16), (table.biases, table.multipliers, table.shifts)
        params |= {"narrow": 0, "once": int(table.once)}
    arguments: Arguments = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(flat(weights), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(tables[0], ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(tables[1], ConstantKind.TABLE),
        "shifts": PreparedConstant(tables[2], ConstantKind.TABLE),
        "output": ResultRef(),
        "plane": 2 * nelem,
    }
    return (Prepared(params, arguments, macs_of(call)),)


def _cost(call: OpCall) -> KernelCost:
    convolution, dtype = OF[call.op](call), call.operand(INPUT).dtype
    if dtype is DType.INT16:
        table = tables_s16(call, convolution.weight)
        narrow = table.once and bool((table.shifts < -1).all())
    else:
        narrow = is_narrow(call, convolution)
    instructions = plane_instructions(call, _RATES, small=has_small_windows(call), narrow=narrow)
    weight = convolution.weight
    flash = _CODE_NBYTES + 2 * weight.size + (9 if dtype is DType.UINT8 else 13) * len(weight)
    return KernelCost(instructions, int(flash), 2 * plane_of(call)[2])


def _reference(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_depthwise_planes_s16 and arenite_depthwise_planes_u8 in numpy."""
    # As the kernel does before it has read all of its input.
    given(found, "plane")[:] = 0
    channels, windows = number(params, "input_channels"), param_windows(params)
    outputs = channels * number(params, "multiplier")
    weight = given(found, "weights").reshape(outputs, windows[0].filter, windows[1].filter, 1)
    data = given(found, "input").astype(np.int16) - np.int16(number(params, "input_zero_point"))
    grouped = {**params, "output_channels": outputs, "groups": channels}
    sums = grouped_sums(grouped, data, weight) + given(found, "biases")
    if given(found, "output").dtype == np.int16:
        rescaled_s16(params, found, sums, outputs)
    else:
        stored_u8(params, found, sums, (int(given(found, "multipliers")[0]), int(given(found, "shifts")[0])))


def _kernel(dtype: DType, info: KernelInfo, *more: Constraint) -> Kernel:
    constraints = (takes(dtype), CONSTANT_WEIGHTS, *more)
    return Kernel("depthwise_conv2d", f"{dtype}_planes", info, constraints, _prepare, _cost, _reference)


KERNELS: tuple[Kernel, ...] = (
    _kernel(DType.INT16, DEPTHWISE_PLANES_S16, Constraint("sums fit 32 bits, or are rounded twice", _sums_fit)),
    _kernel(DType.UINT8, DEPTHWISE_PLANES_U8),
)
