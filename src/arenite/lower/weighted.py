"""What the lowerings of conv2d, depthwise_conv2d and fully_connected share: packing, folding, tables, references."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, stored_sums, wrap_int32
from arenite.ir.opdef import Constraint, OpCall
from arenite.lower.kernel import OperandRef, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.ops.clamps import activation_range
from arenite.ops.weighted import BIAS, INPUT, WEIGHT, Numbers, activation_of, quantization_of, quantized_multipliers

Int8Array = npt.NDArray[np.int8]
Int32Array = npt.NDArray[np.int32]

# A real multiplier of 0 has no mantissa in [2**30, 2**31): any other does as well with a shift that leaves nothing.
_VANISHING_SHIFT = -40
_NARROW_LIMIT = 2**30

# Instructions on a Cortex-M4, as benchmarks/kernels.py measures them for the portable C.
PER_MAC = 2.09
PER_RESULT = 19.0


@dataclass(frozen=True)
class Tables:
    """Per-channel constants of a kernel, padded to whole groups of channels.

    Attributes:
        multipliers: 2 * M - 2**32 of the Q31 multiplier M (see arenite_requantize.h).
        shifts: positive to the left, in [-40, 30].
        narrow: every sum stays below 2**30 in magnitude and every shift is in [-31, -1], so that the short
            requantization is exact.
    """

    biases: Int32Array
    multipliers: Int32Array
    shifts: Int8Array
    narrow: bool


def _is_int8(call: OpCall) -> bool | str:
    return call.operand(INPUT).dtype is DType.INT8 or f"found {call.operand(INPUT).dtype}"


def _constant_weights(call: OpCall) -> bool | str:
    if call.constant(WEIGHT) is None:
        return "the weights are computed"
    return not call.has(BIAS) or call.constant(BIAS) is not None or "the bias is computed"


CONSTANT_WEIGHTS = Constraint("weights and bias are constant", _constant_weights)
CONSTRAINTS = (Constraint("the input is int8", _is_int8), CONSTANT_WEIGHTS)


def weight_of(call: OpCall) -> Int8Array:
    """The weights, as the model has them."""
    weight = call.constant(WEIGHT)
    assert weight is not None, "constraints were checked"
    return weight.astype(np.int8, copy=False)


def tables(call: OpCall, weight: Int8Array, group: int = 1, *, fold: bool = True) -> Tables:
    """Biases, multipliers and shifts for weights (channels, K), padded to a multiple of `group` channels.

    Args:
        call: the node.
        weight: one row per output channel.
        group: channels that the kernel treats together.
        fold: whether biases take in -zero_point * sum(weights), because the kernel multiplies stored inputs.
    """
    channels = weight.shape[0]
    rows: Int64Array = weight.astype(np.int64)
    given = call.constant(BIAS)
    biases = np.zeros(channels, np.int64) if given is None else given.astype(np.int64).reshape(-1)
    zero_point = quantization_of(call.operand(INPUT)).zero_point
    farthest = max(127 - zero_point, 128 + zero_point)
    largest = int((np.abs(biases) + np.abs(rows).sum(axis=1) * farthest).max())
    if fold:
        biases = biases - zero_point * rows.sum(axis=1)
    multipliers, shifts = quantized_multipliers(call, channels)
    vanishing = multipliers == 0
    mantissas = np.where(vanishing, 2**30, multipliers.astype(np.int64))
    shifts = np.where(vanishing, _VANISHING_SHIFT, shifts).astype(np.int8)
    narrow = largest < _NARROW_LIMIT and bool(((shifts >= -31) & (shifts <= -1)).all())
    return Tables(
        _padded(wrap_int32(biases).astype(np.int32), group),
        _padded((2 * mantissas - 2**32).astype(np.int32), group),
        # Channels that are only there to fill a group have a shift that the short requantization takes.
        _padded(shifts, group, -1),
        narrow,
    )


def _padded(values: Numbers, group: int, filler: int = 0) -> Numbers:
    return np.pad(values, (0, -len(values) % group), constant_values=filler)


def interleaved(weight: Int8Array, group: int) -> Int8Array:
    """Weights (channels, K) as [ceil(channels / group)][K][group], zeros for the channels that are not there."""
    channels, inner = weight.shape
    filled = np.zeros((channels + -channels % group, inner), np.int8)
    filled[:channels] = weight
    return np.ascontiguousarray(filled.reshape(-1, group, inner).transpose(0, 2, 1)).reshape(-1)


def deinterleaved(packed: Numbers, channels: int, inner: int, group: int) -> Numbers:
    """The weights (channels, K) that `interleaved` packed."""
    return packed.reshape(-1, inner, group).transpose(0, 2, 1).reshape(-1, inner)[:channels]


Arguments = dict[str, OperandRef | ResultRef | PreparedConstant | int | None]
"""Argument → what it gets."""


def arguments(weights: Int8Array, table: Tables, **scratch: int | None) -> Arguments:
    """The arguments that all these kernels have, and scratch."""
    return {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(weights, ConstantKind.WEIGHTS),
        "biases": PreparedConstant(table.biases, ConstantKind.WEIGHTS),
        "multipliers": PreparedConstant(table.multipliers, ConstantKind.TABLE),
        "shifts": PreparedConstant(table.shifts, ConstantKind.TABLE),
        "output": ResultRef(),
        **scratch,
    }


def output_range(call: OpCall) -> dict[str, ParamValue]:
    """Zero point and clamp of the result."""
    result = call.results[0]
    quantization = quantization_of(result)
    low, high = activation_range(activation_of(call), quantization, result.dtype)
    return {"output_zero_point": quantization.zero_point, "clamp_low": low, "clamp_high": high}


def number(params: Mapping[str, ParamValue], name: str) -> int:
    """A parameter that is one integer."""
    value = params[name]
    assert isinstance(value, int), f"{name} is one integer"
    return value


def given(found: Mapping[str, "Numbers | None"], name: str) -> Numbers:
    """An argument that is no null pointer."""
    value = found[name]
    assert value is not None, f"{name} is given"
    return value


def finish(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"], sums: Int64Array) -> None:
    """Requantizes sums (results, channels) of stored inputs times weights into the output, as the kernels do."""
    channels = sums.shape[-1]
    biases, multipliers, shifts = (given(found, name)[:channels] for name in ("biases", "multipliers", "shifts"))
    mantissas = (multipliers.astype(np.int64) + 2**32) // 2
    exponents = shifts.astype(np.int64)
    mantissas = np.where(exponents == _VANISHING_SHIFT, 0, mantissas)
    given(found, "output")[:] = stored_sums(
        sums,
        biases,
        mantissas,
        np.maximum(exponents, -31),
        zero_point=number(params, "output_zero_point"),
        limits=stored_limits(params),
        dtype=np.int8,
    ).reshape(-1)


def stored_limits(params: Mapping[str, ParamValue]) -> tuple[int, int]:
    """Between what a result is clamped (see `output_range`)."""
    return number(params, "clamp_low"), number(params, "clamp_high")
