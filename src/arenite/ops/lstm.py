"""unidirectional_sequence_lstm: a recurrent layer with input, forget, cell and output gates (Hochreiter 1997).

Operands are TFLite's 24, of which coupled gates, peepholes, projection and layer normalization are not supported, as
in TFLite-Micro. Its state is what it gave last and the cell, for each batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, quantize_multiplier, requantize, requantize_int64, wrap_int32
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import per_tensor
from arenite.ops.gates import sigmoid_16, tanh_16
from arenite.ops.weighted import Numbers, exact_product

INPUT, OUTPUT_STATE, CELL_STATE = 0, 18, 19
GATES = ("input", "forget", "cell", "output")
"""In the order of TFLite's operands."""

ARGUMENT_SCALE = float(np.float32(2.0**-12))
GATE_SCALE = float(np.float32(2.0**-15))
"""Of what a gate's function takes and gives, in 16 bits."""

_OPERANDS = (
    "input",
    *(f"input_to_{gate}_weights" for gate in GATES),
    *(f"recurrent_to_{gate}_weights" for gate in GATES),
    *(f"cell_to_{gate}_weights" for gate in ("input", "forget", "output")),
    *(f"{gate}_bias" for gate in GATES),
    "projection_weights",
    "projection_bias",
    "output_state",
    "cell_state",
    *(f"{gate}_layer_norm_coefficients" for gate in GATES),
)
_NEEDED = frozenset((INPUT, *range(1, 9), *range(12, 16), OUTPUT_STATE, CELL_STATE))


@dataclass(frozen=True)
class LstmAttrs(Attrs):
    """Attributes of an lstm.

    Attributes:
        cell_clip: largest magnitude of the cell, 0: none. proj_clip: the same of the projection, which is absent.
        time_major: the input is (time, batches, elements), else (batches, time, elements).
    """

    activation: Activation = Activation.TANH
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    time_major: bool = False


_STORED = (DType.INT8, DType.INT16)


@dataclass(frozen=True)
class LstmSizes:
    """Sizes of an lstm."""

    batches: int
    steps: int
    inputs: int
    units: int


def lstm_attrs(call: OpCall) -> LstmAttrs:
    """The attributes of an lstm."""
    assert isinstance(call.attrs, LstmAttrs)
    return call.attrs


def lstm_sizes(call: OpCall) -> LstmSizes:
    """The sizes, once the constraints hold."""
    first, second, inputs = call.operand(INPUT).dims
    batches, steps = (second, first) if lstm_attrs(call).time_major else (first, second)
    return LstmSizes(batches, steps, inputs, call.operand(CELL_STATE).dims[1])


def input_weights(gate: int) -> int:
    """Index of a gate's weights of the input."""
    return 1 + gate


def recurrent_weights(gate: int) -> int:
    """Index of a gate's weights of what was given last."""
    return 5 + gate


def bias_of(gate: int) -> int:
    """Index of a gate's bias."""
    return 12 + gate


Scaling = tuple[int, int]
"""Multiplier and shift."""


NO_CLIP = 1 << 15
"""A magnitude that no int16 exceeds."""


@dataclass(frozen=True)
class LstmScalings:
    """How TFLM rescales (lstm_shared: CreateGateParams, CreateInterGateMulParams).

    Attributes:
        inputs, recurrent: for each gate, from products to the function's argument.
        forget: forget gate times cell, to the cell. update: input gate times cell gate, to the cell.
        output: output gate times tanh of the cell, to what is given.
        cell_bits: fractional bits of the cell.
        clip: largest magnitude of the stored cell, 0 where the attribute is less than one step; NO_CLIP: none.
    """

    inputs: tuple[Scaling, ...]
    recurrent: tuple[Scaling, ...]
    forget: Scaling
    update: Scaling
    output: Scaling
    cell_bits: int
    clip: int


def lstm_scalings(call: OpCall) -> LstmScalings:
    """The rescalings of a quantized lstm."""
    data, last, cell = (per_tensor(call.operand(i), "each tensor").scale for i in (INPUT, OUTPUT_STATE, CELL_STATE))

    def gate(scale: float, index: int) -> Scaling:
        return quantize_multiplier(scale * per_tensor(call.operand(index), "weights").scale / ARGUMENT_SCALE)

    clip = lstm_attrs(call).cell_clip
    return LstmScalings(
        inputs=tuple(gate(data, input_weights(g)) for g in range(4)),
        recurrent=tuple(gate(last, recurrent_weights(g)) for g in range(4)),
        forget=quantize_multiplier(GATE_SCALE * cell / cell),
        update=quantize_multiplier(GATE_SCALE * GATE_SCALE / cell),
        output=quantize_multiplier(GATE_SCALE * GATE_SCALE / last),
        cell_bits=-_log2(cell),
        clip=int(min(clip / cell, 32767.0)) if clip > 0 else NO_CLIP,
    )


def _log2(scale: float) -> int:
    return int(np.round(np.log2(scale)))


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    data = call.operand(INPUT)
    return (TensorType(data.dtype, (*data.dims[:2], lstm_sizes(call).units), call.results[0].quantization),)


def _operands_there(call: OpCall) -> bool | str:
    if len(call.operands) != len(_OPERANDS):
        return f"found {len(call.operands)}"
    for index, (name, type_) in enumerate(zip(_OPERANDS, call.operands, strict=True)):
        if (type_ is not None) is not (index in _NEEDED):
            return f"{name} is {'absent' if type_ is None else 'there'}"
        if type_ is not None and (not type_.is_static or type_.nelem < 1):
            return f"{name} is {type_}"
    return True


def _shapes(call: OpCall) -> bool | str:
    data, cell = call.operand(INPUT), call.operand(CELL_STATE)
    if data.rank != 3 or cell.rank != 2:
        return f"the input has {data.rank} dimensions, the cell state {cell.rank}"
    sizes = lstm_sizes(call)
    kept = (sizes.batches, sizes.units)
    wanted: dict[int, tuple[int, ...]] = {OUTPUT_STATE: kept, CELL_STATE: kept}
    for gate in range(4):
        wanted[input_weights(gate)] = (sizes.units, sizes.inputs)
        wanted[recurrent_weights(gate)] = (sizes.units, sizes.units)
        wanted[bias_of(gate)] = (sizes.units,)
    for index, shape in wanted.items():
        if call.operand(index).dims != shape:
            return f"{_OPERANDS[index]} is {list(call.operand(index).dims)}, not {list(shape)}"
    return True


def _dtypes(call: OpCall) -> bool | str:
    data = call.operand(INPUT).dtype
    wanted = dict.fromkeys(_NEEDED, DType.INT8 if data in _STORED else DType.FLOAT32)
    if data in _STORED:
        bias = DType.INT32 if data is DType.INT8 else DType.INT64
        wanted |= {bias_of(gate): bias for gate in range(4)} | {
            INPUT: data,
            OUTPUT_STATE: data,
            CELL_STATE: DType.INT16,
        }
    for index, dtype in wanted.items():
        if call.operand(index).dtype is not dtype:
            return f"{_OPERANDS[index]} is {call.operand(index).dtype}, not {dtype}"
    return call.results[0].dtype is call.operand(INPUT).dtype or f"the result is {call.results[0].dtype}"


def _quantizations(call: OpCall) -> bool | str:
    if call.operand(INPUT).dtype not in _STORED:
        return True
    symmetric: tuple[int, ...] = (*range(1, 9), CELL_STATE)
    if call.operand(INPUT).dtype is DType.INT16:
        symmetric = (INPUT, *symmetric, OUTPUT_STATE)
    for index in dict.fromkeys((INPUT, *symmetric, OUTPUT_STATE)):
        q = call.operand(index).quantization
        if q is None or not q.is_per_tensor:
            return f"{_OPERANDS[index]} has {'none' if q is None else 'one per channel'}"
        if index in symmetric and q.zero_point:
            return f"the zero point of {_OPERANDS[index]} is {q.zero_point}"
    return True


def _cell_scale(call: OpCall) -> bool | str:
    if call.operand(INPUT).dtype not in _STORED:
        return True
    scale = per_tensor(call.operand(CELL_STATE), "the cell state").scale
    return (2.0**-15 <= scale <= 2.0**-1 and scale == 2.0 ** _log2(scale)) or f"found {scale}"


def _small_multipliers(call: OpCall) -> bool | str:
    if call.operand(INPUT).dtype not in _STORED:
        return True
    scalings = lstm_scalings(call)
    largest = max(s for _, s in (*scalings.inputs, *scalings.recurrent, scalings.update, scalings.output))
    if call.operand(INPUT).dtype is DType.INT16 and max(s for _, s in (*scalings.inputs, *scalings.recurrent)) > 7:
        return "int16 sums are scaled by 2**7 or more"
    return largest < 30 or f"found a shift by {largest}"


def _tanh_only(call: OpCall) -> bool | str:
    attrs = lstm_attrs(call)
    fits = attrs.activation is Activation.TANH and 0 <= attrs.cell_clip < float("inf")
    return fits or f"found {attrs.activation.value}, cell_clip {attrs.cell_clip}"


def _clip16(values: Int64Array) -> Int64Array:
    return np.clip(values, -32768, 32767)


def _given(operands: Sequence[Array | None], index: int) -> Numbers:
    found = operands[index]
    assert found is not None, "constraints were checked"
    return found


def by_steps(call: OpCall, data: Numbers) -> Numbers:
    """The input, or the result, as (time, batches, elements)."""
    return data if lstm_attrs(call).time_major else data.swapaxes(0, 1)


def stored_cell(scalings: LstmScalings, gates: Sequence[Int64Array], cell: npt.ArrayLike) -> Int64Array:
    """The next cell from input, forget and cell gate and the last cell."""
    into, forget, new, _ = gates
    kept = _clip16(requantize(forget * np.asarray(cell, np.int64), *scalings.forget))
    cells = _clip16(kept + _clip16(requantize(into * new, *scalings.update)))
    return np.clip(cells, -scalings.clip, scalings.clip)


def _gate(arguments: Int64Array, gate: int) -> Int64Array:
    return tanh_16(arguments) if GATES[gate] == "cell" else sigmoid_16(arguments)


def rescaled_share(sums: Int64Array, scaling: Scaling, dtype: DType) -> Int64Array:
    """What sums with biases contribute to a gate's argument: those of int16 data are of 64 bits, and rounded once."""
    if dtype is DType.INT16:
        multiplier, shift = (np.array([number]) for number in scaling)
        return _clip16(wrap_int32(requantize_int64(sums, multiplier, shift)))
    return _clip16(requantize(wrap_int32(sums), *scaling))


def _evaluate_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """TFLM's LstmStep with int8 or int16 activations, int8 weights, and an int16 cell."""
    dtype = call.operand(INPUT).dtype
    scalings = lstm_scalings(call)
    zero_point = per_tensor(call.operand(INPUT), "the input").zero_point
    last_zero = per_tensor(call.operand(OUTPUT_STATE), "the output state").zero_point
    last, cell = _given(operands, OUTPUT_STATE), _given(operands, CELL_STATE)
    steps = by_steps(call, _given(operands, INPUT).astype(np.int16) - np.int16(zero_point))
    results = np.zeros((*steps.shape[:2], cell.shape[1]), dtype.numpy)
    for step, data in enumerate(steps):
        centred = last.astype(np.int16) - np.int16(last_zero)
        gates = []
        for g in range(4):
            new = exact_product(data, _given(operands, input_weights(g)).astype(np.int16))
            new = new + _given(operands, bias_of(g)).astype(np.int64)
            old = exact_product(centred, _given(operands, recurrent_weights(g)).astype(np.int16))
            share = rescaled_share(new, scalings.inputs[g], dtype)
            gates.append(_gate(_clip16(share + rescaled_share(old, scalings.recurrent[g], dtype)), g))
        cell[...] = stored_cell(scalings, gates, cell)
        given = requantize(gates[3] * tanh_16(cell, scalings.cell_bits), *scalings.output) + last_zero
        last[...] = np.clip(given, *dtype.limits)
        results[step] = last
    return (np.ascontiguousarray(by_steps(call, results)),)


def _evaluate_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    last, cell, clip = _given(operands, OUTPUT_STATE), _given(operands, CELL_STATE), lstm_attrs(call).cell_clip
    steps = by_steps(call, _given(operands, INPUT))
    results = np.zeros((*steps.shape[:2], cell.shape[1]), np.float32)
    for step, data in enumerate(steps):
        gates = []
        for g in range(4):
            arguments = data @ _given(operands, input_weights(g)).T + last @ _given(operands, recurrent_weights(g)).T
            arguments = arguments + _given(operands, bias_of(g))
            gates.append(np.tanh(arguments) if GATES[g] == "cell" else 1 / (1 + np.exp(-arguments)))
        cells = gates[1] * cell + gates[0] * gates[2]
        cell[...] = np.clip(cells, -clip, clip) if clip else cells
        last[...] = gates[3] * np.tanh(cell)
        results[step] = last
    return (np.ascontiguousarray(by_steps(call, results)),)


def _cost(call: OpCall) -> Cost:
    sizes = lstm_sizes(call)
    products = 4 * (sizes.inputs + sizes.units)
    return Cost(macs=sizes.batches * sizes.steps * sizes.units * products)


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="unidirectional_sequence_lstm",
        summary=(
            "Steps through a sequence (N, T, I), or (T, N, I), with gates of weights (U, I) and (U, U) and biases (U), "
            "keeping what it gave last (N, U) and a cell (N, U); gives (N, T, U), or (T, N, U)"
        ),
        attrs=LstmAttrs,
        operands=tuple(Operand(name, optional=index not in _NEEDED) for index, name in enumerate(_OPERANDS)),
        result_names=("result",),
        traits=frozenset({Trait.DETERMINISTIC, Trait.SIDE_EFFECT}),
        infer=_infer,
        evaluate_float=_evaluate_float,
        evaluate_quantized=_evaluate_quantized,
        cost=_cost,
        quantization=NotApplicable("its gates and its states each need a range of their own"),
        canonicalize=NotApplicable("its attributes have one form"),
        constraints=(
            Constraint(
                "the 24 operands are TFLite's, with four gates, without peepholes, projection and layer normalization, "
                "of known shapes that are not empty",
                _operands_there,
            ),
            Constraint("weights, biases and states have the shapes of the gates", _shapes),
            Constraint(
                "all is float32; or weights are int8, and input, output state and result int8, biases int32, or int16 "
                "and int64; and the cell state is int16",
                _dtypes,
            ),
            Constraint(
                "quantized tensors have one scale; weights, the cell state and all that is int16 zero point 0",
                _quantizations,
            ),
            Constraint("the scale of the cell state is a power of two from 2**-15 to 2**-1", _cell_scale),
            Constraint("real multipliers are below 2**30, of sums of int16 below 2**7", _small_multipliers),
            Constraint("the activation is tanh, and cell_clip is not negative", _tanh_only),
        ),
        state=(OUTPUT_STATE, CELL_STATE),
    ),
)
