"""Kernels of transpose_conv."""

from collections.abc import Mapping

import numpy as np

from arenite.ir.opdef import OpCall
from arenite.kernels.families.transposed import TRANSPOSE_CONV_S8
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared
from arenite.lower.program import ParamValue
from arenite.lower.weighted import (
    CONSTRAINTS,
    PER_RESULT,
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


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    windows, shape = transpose_windows(call), call.operand(DATA).dims
    view, rows = as_weighted(call), _rows(call)
    table = tables(view, rows, _GROUP, fold=False)
    height, width = windows
    params: dict[str, ParamValue] = {
        "batches": shape[0],
        "input_height": shape[1],
        "input_width": shape[2],
        "input_channels": shape[3],
        "output_height": height.size,
        "output_width": width.size,
        "output_channels": rows.shape[0],
        "filter_height": height.filter,
        "filter_width": width.filter,
        "stride_height": height.stride,
        "stride_width": width.stride,
        "pad_top": height.pad_before,
        "pad_left": width.pad_before,
        "input_zero_point": quantization_of(view.operand(0)).zero_point,
        **output_range(view),
        "narrow": int(table.narrow),
    }
    taken = {**arguments(interleaved(rows, _GROUP), table), "input": OperandRef(DATA)}
    return (Prepared(params, taken, shape[0] * shape[1] * shape[2] * rows.size),)


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


def _reference(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_transpose_conv_s8 in numpy."""
    windows, channels = _windows(params), number(params, "input_channels")
    inner = windows[0].filter * windows[1].filter * channels
    outputs = number(params, "output_channels")
    weight = deinterleaved(given(found, "weights"), outputs, inner, _GROUP)
    filters = weight.reshape(outputs, windows[0].filter, windows[1].filter, channels)
    shape = (number(params, "batches"), windows[0].output, windows[1].output, channels)
    centred = given(found, "input").reshape(shape).astype(np.int16) - np.int16(number(params, "input_zero_point"))
    sums = scattered_sums(centred, filters.astype(np.int16), windows, np.int64, exact_product)
    finish(params, found, sums.reshape(-1, outputs))


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
)
