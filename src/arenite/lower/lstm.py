"""The kernel of unidirectional_sequence_lstm."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import requantize, wrap_int32
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.recurrent import LSTM_S8, LSTM_S16
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Filled, Given, Params, array, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind
from arenite.lower.weighted_wide import reduced_multipliers, takes
from arenite.ops.constraints import per_tensor
from arenite.ops.gates import sigmoid_16, tanh_16
from arenite.ops.interpolated import sigmoid_table
from arenite.ops.lstm import (
    CELL_STATE,
    INPUT,
    OUTPUT_STATE,
    LstmScalings,
    Scaling,
    bias_of,
    input_weights,
    lstm_attrs,
    lstm_scalings,
    lstm_sizes,
    recurrent_weights,
    rescaled_share,
    stored_cell,
)
from arenite.ops.weighted import Numbers, exact_product

_GATES = range(4)


def _constant_weights(call: OpCall) -> bool | str:
    indices = [index(gate) for gate in _GATES for index in (input_weights, recurrent_weights, bias_of)]
    computed = [i for i in indices if call.constant(i) is None]
    return not computed or f"operand {computed[0]} is computed"


def _stacked(call: OpCall, index: Callable[[int], int]) -> Numbers:
    """One operand of each gate, the gates last."""
    return np.stack([np.asarray(call.constant(index(gate))) for gate in _GATES], axis=-1)


def _folded(biases: Numbers, zero_point: int, weights: Numbers) -> PreparedConstant:
    """Biases (U, 4) less zero_point * sum(weights (U, K, 4))."""
    folded = wrap_int32(biases.astype(np.int64) - zero_point * weights.astype(np.int64).sum(axis=1))
    return PreparedConstant(folded.astype(np.int32).reshape(-1), ConstantKind.WEIGHTS)


def _weights(packed: Numbers) -> PreparedConstant:
    return PreparedConstant(np.ascontiguousarray(packed).reshape(-1), ConstantKind.WEIGHTS)


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    sizes, scalings = lstm_sizes(call), lstm_scalings(call)
    new, old = _stacked(call, input_weights), _stacked(call, recurrent_weights)
    kept = per_tensor(call.operand(OUTPUT_STATE), "the output state").zero_point
    params: Filled = {
        "batches": sizes.batches,
        "steps": sizes.steps,
        "inputs": sizes.inputs,
        "units": sizes.units,
        "time_major": int(lstm_attrs(call).time_major),
        "input_multipliers": tuple(m for m, _ in scalings.inputs),
        "input_shifts": tuple(s for _, s in scalings.inputs),
        "recurrent_multipliers": tuple(m for m, _ in scalings.recurrent),
        "recurrent_shifts": tuple(s for _, s in scalings.recurrent),
        "forget_multiplier": scalings.forget[0],
        "forget_shift": scalings.forget[1],
        "update_multiplier": scalings.update[0],
        "update_shift": scalings.update[1],
        "output_multiplier": scalings.output[0],
        "output_shift": scalings.output[1],
        "output_zero_point": kept,
        "cell_bits": scalings.cell_bits,
        "clip": scalings.clip,
    }
    zero_point, biases = per_tensor(call.operand(INPUT), "the input").zero_point, _stacked(call, bias_of)
    folded: Given = {
        "biases": _folded(biases, zero_point, new),
        "recurrent_biases": _folded(np.zeros((sizes.units, 4), np.int32), kept, old),
    }
    if call.operand(INPUT).dtype is DType.INT16:
        # Without zero points, and rounded once: by multipliers of 15 bits.
        folded = {"biases": _weights(biases.astype(np.int64))}
        params |= {f"{of}_multipliers": _reduced(params, f"{of}_multipliers") for of in ("input", "recurrent")}
    given: Given = {
        "input": OperandRef(INPUT),
        "weights": _weights(new),
        "recurrent_weights": _weights(old),
        **folded,
        "points": PreparedConstant(sigmoid_table().astype(np.uint16), ConstantKind.TABLE),
        "output_state": OperandRef(OUTPUT_STATE),
        "cell_state": OperandRef(CELL_STATE),
        "output": ResultRef(),
    }
    macs = sizes.batches * sizes.steps * sizes.units * 4 * (sizes.inputs + sizes.units)
    return (Prepared(params, given, macs),)


def _reduced(params: Params, name: str) -> tuple[int, ...]:
    return tuple(int(m) for m in reduced_multipliers(np.array(integers(params, name), np.int64)))


def _cost(call: OpCall) -> KernelCost:
    sizes = lstm_sizes(call)
    per_unit = 4 * 2.5 * (sizes.inputs + sizes.units) + 500
    flash = 1000 + 512 + sizes.units * 4 * (sizes.inputs + sizes.units + 8)
    return KernelCost(sizes.batches * sizes.steps * sizes.units * per_unit, flash)


def _scalings_of(params: Params) -> LstmScalings:
    def pair(name: str) -> Scaling:
        return integer(params, f"{name}_multiplier"), integer(params, f"{name}_shift")

    def four(name: str) -> tuple[Scaling, ...]:
        both = zip(integers(params, f"{name}_multipliers"), integers(params, f"{name}_shifts"), strict=True)
        return tuple(both)

    bits, clip = integer(params, "cell_bits"), integer(params, "clip")
    return LstmScalings(four("input"), four("recurrent"), pair("forget"), pair("update"), pair("output"), bits, clip)


def _shares(values: Numbers, weights: Numbers, biases: Numbers, scalings: tuple[Scaling, ...]) -> Numbers:
    """What values (N, K) contribute to the arguments of each gate: (4, N, U)."""
    found, dtype = [], DType.of(values.dtype)
    for gate, (multiplier, shift) in enumerate(scalings):
        sums = exact_product(values, weights[:, :, gate]) + biases[:, gate].astype(np.int64)
        # The multipliers of int16 have been reduced to 15 bits already.
        whole = multiplier << 16 if dtype is DType.INT16 else multiplier
        found.append(rescaled_share(sums, (whole, shift), dtype))
    return np.stack(found)


def _reference(params: Params, arguments: Arguments) -> None:
    """arenite_lstm_s8 and arenite_lstm_s16 in numpy."""
    batches, steps, inputs, units = (integer(params, name) for name in ("batches", "steps", "inputs", "units"))
    scalings, time_major = _scalings_of(params), bool(integer(params, "time_major"))
    leading = (steps, batches) if time_major else (batches, steps)
    data, rows = array(arguments, "input").reshape(*leading, inputs), array(arguments, "output")
    rows = rows.reshape(*leading, units)
    if not time_major:
        data, rows = data.swapaxes(0, 1), rows.swapaxes(0, 1)
    new = array(arguments, "weights").reshape(units, inputs, 4), array(arguments, "biases").reshape(units, 4)
    biases = arguments.get("recurrent_biases")
    biases = np.zeros((units, 4), np.int32) if biases is None else biases.reshape(units, 4)
    old = array(arguments, "recurrent_weights").reshape(units, units, 4), biases
    last = array(arguments, "output_state").reshape(batches, units)
    cell = array(arguments, "cell_state").reshape(batches, units)
    for step in range(steps):
        total = _shares(data[step], *new, scalings.inputs) + _shares(last, *old, scalings.recurrent)
        total = np.clip(total, -32768, 32767)
        gates = [tanh_16(total[g]) if g == 2 else sigmoid_16(total[g]) for g in _GATES]
        cell[...] = stored_cell(scalings, gates, cell)
        scaled = requantize(gates[3] * tanh_16(cell, scalings.cell_bits), *scalings.output)
        last[...] = np.clip(scaled + integer(params, "output_zero_point"), *DType.of(last.dtype).limits)
        rows[step] = last


def _kernel(variant: str, dtype: DType, info: KernelInfo) -> Kernel:
    constraints = (takes(dtype), Constraint("weights and biases are constant", _constant_weights))
    return Kernel("unidirectional_sequence_lstm", variant, info, constraints, _prepare, _cost, _reference)


KERNELS: tuple[Kernel, ...] = (_kernel("units", DType.INT8, LSTM_S8), _kernel("int16", DType.INT16, LSTM_S16))
