"""Kernels of transpose_conv."""

from collections.abc import Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.kernels.families.transposed import TRANSPOSE_CONV_S8, TRANSPOSE_CONV_S16
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import (
    CONSTANT_WEIGHTS,
    CONSTRAINTS,
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
from arenite.lower.weighted_wide import rescaled_s16, tables_s16, takes
from arenite.ops.transposed import DATA, as_weighted, of_weighted, scattered_sums, transpose_windows
from arenite.ops.weighted import Numbers, exact_product, quantization_of
from arenite.ops.windows import Window

_GROUP = 4
_PER_MAC = 2.6
_PER_TAP = 20.0
_CODE_NBYTES = 600


def _rows(call: OpCall) -> Int8Array:
    weight = weight_of(as_weighted(call))
    return weight.reshape(weight.shape[0], -1)


def _sizes(call: OpCall) -> dict[str, ParamValue]:
    """The fields that every kernel of transpose_conv has."""
    (height, width), shape = transpose_windows(call), call.operand(DATA).dims
    return {
        "batches": shape[0],
        "input_height": shape[1],
        "input_width": shape[2],
        "input_channels": shape[3],
        "output_height": height.size,
        "output_width": width.size,
        "output_channels": call.results[0].dims[3],
        "filter_height": height.filter,
        "filter_width": width.filter,
        "stride_height": height.stride,
        "stride_width": width.stride,
        "pad_top": height.pad_before,
        "pad_left": width.pad_before,
    }


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    shape, view, rows = call.operand(DATA).dims, as_weighted(call), _rows(call)
    table = tables(view, rows, _GROUP, fold=False)
    params: dict[str, ParamValue] = {
        **_sizes(call),
        "input_zero_point": quantization_of(view.operand(0)).zero_point,
        **output_range(view),
        "narrow": int(table.narrow),
    }
    taken = {**arguments(interleaved(rows, _GROUP), table), "input": OperandRef(DATA)}
    return (Prepared(params, taken, shape[0] * shape[1] * shape[2] * rows.size),)


def _prepare_s16(call: OpCall) -> tuple[Prepared, ...]:
    shape, view, rows = call.operand(DATA).dims, as_weighted(call), _rows(call)
    table, limits = tables_s16(view, rows), output_range(view)
    params: dict[str, ParamValue] = {
        **_sizes(call),
        "clamp_low": limits["clamp_low"],
        "clamp_high": limits["clamp_high"],
    }
    taken: Arguments = {
        "input": OperandRef(DATA),
        "weights": PreparedConstant(rows.reshape(-1), ConstantKind.WEIGHTS),
        "biases": PreparedConstant(table.biases, ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(table.multipliers, ConstantKind.TABLE),
        "shifts": PreparedConstant(table.shifts, ConstantKind.TABLE),
        "output": ResultRef(),
    }
    return (Prepared(params, taken, shape[0] * shape[1] * shape[2] * rows.size),)


def _cost_s16(call: OpCall) -> KernelCost:
    shape, (outputs, inner) = call.operand(DATA).dims, _rows(call).shape
    macs = shape[0] * shape[1] * shape[2] * outputs * (6.0 * inner + _PER_TAP * inner / shape[3])
    return KernelCost(macs + call.results[0].nelem * 70.0, _CODE_NBYTES + outputs * (inner + 13))


def _cost(call: OpCall) -> KernelCost:
    shape, (outputs, inner) = call.operand(DATA).dims, _rows(call).shape
    pixels, groups = shape[0] * shape[1] * shape[2], -(-outputs // _GROUP)
    taps = inner // shape[3]
    macs = pixels * groups * (_GROUP * _PER_MAC * inner + _PER_TAP * taps)
    instructions = macs + call.results[0].nelem * (PER_RESULT + 10)
    return KernelCost(instructions, _CODE_NBYTES + groups * _GROUP * (inner + 9))


def _windows(params: Mapping[str, ParamValue]) -> tuple[Window, Window]:
    found = []
    for side, before in (("height", "pad_top"), ("width", "pad_left")):
        size, taps, stride = (number(params, f"{what}_{side}") for what in ("output", "filter", "stride"))
        found.append(Window(size, taps, stride, 1, number(params, f"input_{side}"), number(params, before), 0))
    return found[0], found[1]


def _sums(params: Mapping[str, ParamValue], data: Numbers, weight: Numbers) -> Numbers:
    """Sums (pixels, outputs) of centred data, flat, and weights (outputs, taps and channels)."""
    windows, channels, outputs = _windows(params), number(params, "input_channels"), number(params, "output_channels")
    filters = weight.reshape(outputs, windows[0].filter, windows[1].filter, channels)
    shape = (number(params, "batches"), windows[0].output, windows[1].output, channels)
    centred = data.reshape(shape).astype(np.int16)
    return scattered_sums(centred, filters.astype(np.int16), windows, np.int64, exact_product).reshape(-1, outputs)


def _reference(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_transpose_conv_s8 in numpy."""
    inner = number(params, "filter_height") * number(params, "filter_width") * number(params, "input_channels")
    weight = deinterleaved(given(found, "weights"), number(params, "output_channels"), inner, _GROUP)
    centred = given(found, "input").astype(np.int16) - np.int16(number(params, "input_zero_point"))
    finish(params, found, _sums(params, centred, weight))


def _reference_s16(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_transpose_conv_s16 in numpy."""
    sums = _sums(params, given(found, "input"), given(found, "weights")) + given(found, "biases")
    rescaled_s16({**params, "once": 1}, found, sums, number(params, "output_channels"))


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        op="transpose_conv",
        variant="gather",
        info=TRANSPOSE_CONV_S8,
        constraints=tuple(map(of_weighted, CONSTRAINTS)),
        prepare=_prepare,
        cost=_cost,
        reference=_reference,
    ),
    Kernel(
        op="transpose_conv",
        variant="int16",
        info=TRANSPOSE_CONV_S16,
        constraints=tuple(map(of_weighted, (takes(DType.INT16), CONSTANT_WEIGHTS))),
        prepare=_prepare_s16,
        cost=_cost_s16,
        reference=_reference_s16,
    ),
)
