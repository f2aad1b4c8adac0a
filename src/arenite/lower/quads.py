"""Kernels on int16 and uint8 of what fills most networks: convolutions of one group, and matrix products."""

from collections.abc import Callable, Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_wide import QUADS_S16, QUADS_U8
from arenite.kernels.manifest import KernelInfo
from arenite.lower.grouped import OF, GroupedConvolution
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, Reference, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import (
    CONSTANT_WEIGHTS,
    Arguments,
    deinterleaved,
    given,
    interleaved,
    number,
    output_range,
)
from arenite.lower.weighted_wide import (
    biases_of,
    is_narrow,
    rescaled_s16,
    stored_u8,
    tables_s16,
    takes,
)
from arenite.lower.windowed import param_windows
from arenite.ops.conv import patches
from arenite.ops.weighted import (
    INPUT,
    WEIGHT,
    Numbers,
    exact_product,
    quantization_of,
    quantized_multipliers,
    rounds_once,
)

_GROUP = 4
# Elements that the inner loop takes without a rest.
_STEP = 4
# Shorter rows of a window are gathered: the inner loop would be over before it pays.
_IN_PLACE_NELEM = 16
# What uint8 weights are stored lower by, to fit int8.
_OFFSET = 128
# Instructions on a Cortex-M4, as benchmarks/kernels.py measures them.
_PER_MAC = 2.3
_PER_RESULT = {DType.UINT8: 27.0, DType.INT16: 40.0}
_CODE_NBYTES = 1100


def _one_group(call: OpCall) -> bool | str:
    groups = OF[call.op](call).groups
    return groups == 1 or f"found {groups} groups"


def _reads_in_place(convolution: GroupedConvolution) -> bool:
    height, width = convolution.windows
    nelem = width.filter * convolution.channels
    return width.dilation == 1 and (height.filter == 1 or nelem >= _IN_PLACE_NELEM)


def _patch_nelem(convolution: GroupedConvolution) -> int:
    """Elements of a window; windows that are gathered anyway are filled up, so that the inner loop has no rest."""
    inner = int(convolution.weight[0].size)
    return inner if _reads_in_place(convolution) else inner + -inner % _STEP


def _scratch_nelem(convolution: GroupedConvolution) -> int:
    padded = any(w.pad_before or w.pad_after for w in convolution.windows)
    return _patch_nelem(convolution) if padded or not _reads_in_place(convolution) else 0


def _params(call: OpCall, convolution: GroupedConvolution, **more: int) -> dict[str, ParamValue]:
    shared = convolution.params()
    del shared["groups"]
    zero_point = quantization_of(call.operand(INPUT)).zero_point
    return {**shared, "input_zero_point": zero_point, **output_range(call), **more}


def _packed(convolution: GroupedConvolution, weight: Numbers) -> PreparedConstant:
    rows = np.zeros((weight.shape[0], _patch_nelem(convolution)), np.int8)
    rows[:, : weight[0].size] = weight.reshape(weight.shape[0], -1)
    return PreparedConstant(interleaved(rows, _GROUP), ConstantKind.WEIGHTS)


def _fours(values: Numbers) -> Numbers:
    return np.pad(values, (0, -len(values) % _GROUP))


def _arguments(weights: PreparedConstant, biases: Numbers, multipliers: Numbers, shifts: Numbers) -> Arguments:
    return {
        "input": OperandRef(INPUT),
        "weights": weights,
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(multipliers, ConstantKind.TABLE),
        "shifts": PreparedConstant(shifts, ConstantKind.TABLE),
        "output": ResultRef(),
    }


def _quads(call: OpCall, convolution: GroupedConvolution, zero_point: int, **more: int) -> dict[str, ParamValue]:
    placed = {"in_place": int(_reads_in_place(convolution)), "patch_nelem": _patch_nelem(convolution)}
    return _params(call, convolution, **placed, weight_zero_point=zero_point, **more)


def _prepare_s16(call: OpCall) -> tuple[Prepared, ...]:
    convolution = OF[call.op](call)
    table = tables_s16(call, convolution.weight)
    params = _quads(call, convolution, 0, narrow=0, once=int(table.once), wide=int(table.wide))
    weights = _packed(convolution, convolution.weight)
    given_ = _arguments(weights, _fours(table.biases), _fours(table.multipliers), _fours(table.shifts))
    return (Prepared(params, {**given_, "patch": 2 * _scratch_nelem(convolution) or None}, convolution.macs),)


def _prepare_u8(call: OpCall) -> tuple[Prepared, ...]:
    """With both zero points taken off: sum(x w) - zx sum(w) - zw sum(x) + n zx zw, of which the third is for later."""
    convolution = OF[call.op](call)
    zero_point = quantization_of(call.operand(WEIGHT)).zero_point - _OFFSET
    lowered = (convolution.weight.astype(np.int16) - _OFFSET).astype(np.int8)
    inner, data_zero_point = int(lowered[0].size), quantization_of(call.operand(INPUT)).zero_point
    sums = lowered.astype(np.int64).reshape(len(lowered), -1).sum(axis=1)
    biases = biases_of(call, len(lowered)) - data_zero_point * sums + inner * data_zero_point * zero_point
    narrow, once = int(is_narrow(call, convolution)), int(rounds_once(call))
    params = _quads(call, convolution, zero_point, narrow=narrow, once=once, wide=0)
    wrapped = _fours(biases.astype(np.int64)).astype(np.uint64).astype(np.uint32).view(np.int32)
    given_ = _arguments(_packed(convolution, lowered), wrapped, *quantized_multipliers(call, 1))
    return (Prepared(params, {**given_, "patch": _scratch_nelem(convolution) or None}, convolution.macs),)


def _windows_seen(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], value: int) -> Numbers:
    """The inputs of each pixel as rows; first makes of the scratch what the kernel does before it has read them."""
    windows, channels = param_windows(params), number(params, "input_channels")
    scratch = found.get("patch")
    if scratch is not None:
        scratch[:] = value
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    seen = patches(given(found, "input").reshape(shape), windows, value)
    return seen.reshape(-1, windows[0].filter * windows[1].filter * channels)


def _rows(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], inner: int) -> Numbers:
    outputs, packed = number(params, "output_channels"), number(params, "patch_nelem")
    return deinterleaved(given(found, "weights"), outputs, packed, _GROUP)[:, :inner]


def _reference_s16(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_quads_s16 in numpy."""
    seen, outputs = _windows_seen(params, found, 0), number(params, "output_channels")
    sums = exact_product(seen, _rows(params, found, seen.shape[1]))
    rescaled_s16(params, found, sums + given(found, "biases")[:outputs], outputs)


def _reference_u8(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_quads_u8 in numpy."""
    seen = _windows_seen(params, found, number(params, "input_zero_point")).astype(np.int64)
    sums = exact_product(seen, _rows(params, found, seen.shape[1]))
    excess = number(params, "weight_zero_point") * seen.sum(axis=1, keepdims=True)
    outputs = number(params, "output_channels")
    scaling = int(given(found, "multipliers")[0]), int(given(found, "shifts")[0])
    stored_u8(params, found, sums - excess + given(found, "biases")[:outputs], scaling)


def _cost(dtype: DType) -> Callable[[OpCall], KernelCost]:
    def cost(call: OpCall) -> KernelCost:
        convolution = OF[call.op](call)
        height, width = convolution.windows
        outputs, inner = convolution.weight.shape[0], _patch_nelem(convolution)
        pixels, fours = convolution.batches * height.output * width.output, outputs + -outputs % _GROUP
        gathered = 0.0 if _reads_in_place(convolution) else 4.0 * inner
        excess = 2.5 * inner if dtype is DType.UINT8 else 0.0
        instructions = pixels * (fours * _PER_MAC * inner + outputs * _PER_RESULT[dtype] + gathered + excess + 40)
        flash = _CODE_NBYTES + fours * (inner + (4 if dtype is DType.UINT8 else 13))
        return KernelCost(instructions, flash, dtype.itemsize * _scratch_nelem(convolution))

    return cost


_ONE_GROUP = Constraint("all channels form one group", _one_group)


def _fours_at_a_time(op: str, dtype: DType, info: KernelInfo, reference: Reference) -> Kernel:
    prepare = _prepare_u8 if dtype is DType.UINT8 else _prepare_s16
    constraints = (takes(dtype), CONSTANT_WEIGHTS, _ONE_GROUP)
    return Kernel(op, f"{dtype}_quads", info, constraints, prepare, _cost(dtype), reference)


KERNELS: tuple[Kernel, ...] = (
    *(_fours_at_a_time(op, DType.INT16, QUADS_S16, _reference_s16) for op in OF),
    *(_fours_at_a_time(op, DType.UINT8, QUADS_U8, _reference_u8) for op in OF),
)
