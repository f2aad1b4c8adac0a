"""Kernels of svdf."""

from collections.abc import Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, requantize, wrap_int32
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.recurrent import SVDF_S8, SVDF_S8_S16
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Params, array, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import deinterleaved, interleaved
from arenite.ops.constraints import per_tensor
from arenite.ops.svdf import BIAS, FEATURES, INPUT, STATE, TIME, newest_features, svdf_multipliers, svdf_sizes
from arenite.ops.weighted import Numbers, exact_product

_GROUP = 4


def _constant(call: OpCall, index: int) -> Numbers:
    found = call.constant(index)
    assert found is not None, "constraints were checked"
    return np.asarray(found)


def _constant_weights(call: OpCall) -> bool | str:
    computed = [i for i in (FEATURES, TIME, BIAS) if call.has(i) and call.constant(i) is None]
    return not computed or f"operand {computed[0]} is computed"


def _folded(biases: Numbers, zero_point: int, weights: Numbers, group: int = 1) -> PreparedConstant:
    """Biases less zero_point * sum(weights), in whole groups."""
    folded = wrap_int32(biases.astype(np.int64) - zero_point * weights.astype(np.int64).sum(axis=1))
    padded = np.pad(folded.astype(np.int32), (0, -len(folded) % group))
    return PreparedConstant(padded, ConstantKind.WEIGHTS)


def _prepare_svdf(call: OpCall) -> tuple[Prepared, ...]:
    sizes, (first, second) = svdf_sizes(call), svdf_multipliers(call)
    features, time = _constant(call, FEATURES), _constant(call, TIME)
    biases = _constant(call, BIAS) if call.has(BIAS) else np.zeros(sizes.units, np.int32)
    kept = per_tensor(call.operand(STATE), "the state").zero_point
    params: Mapping[str, ParamValue] = {
        "batches": sizes.batches,
        "inputs": sizes.inputs,
        "units": sizes.units,
        "rank": sizes.rank,
        "memory": sizes.memory,
        "feature_multiplier": first[0],
        "feature_shift": first[1],
        "state_zero_point": kept,
        "multiplier": second[0],
        "shift": second[1],
        "output_zero_point": per_tensor(call.results[0], "the result").zero_point,
        "clamp_low": -128,
        "clamp_high": 127,
    }
    nothing = np.zeros(sizes.filters, np.int32)
    zero_point = per_tensor(call.operand(INPUT), "the input").zero_point
    arguments: Mapping[str, OperandRef | ResultRef | PreparedConstant | int | None] = {
        "input": OperandRef(INPUT),
        "features": PreparedConstant(interleaved(features, _GROUP), ConstantKind.WEIGHTS),
        "feature_biases": _folded(nothing, zero_point, features, _GROUP),
        "time": PreparedConstant(np.ascontiguousarray(time).reshape(-1), ConstantKind.WEIGHTS),
        "biases": _folded(biases, kept, time.reshape(sizes.units, -1)),
        "state": OperandRef(STATE),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, sizes.batches * sizes.filters * (sizes.inputs + sizes.memory)),)


def _cost_svdf(call: OpCall) -> KernelCost:
    sizes = svdf_sizes(call)
    per_filter = 3.0 * sizes.inputs + 6.0 * sizes.memory + 30
    flash = 400 + sizes.filters * (sizes.inputs + 4 + sizes.memory * call.operand(TIME).dtype.itemsize)
    return KernelCost(sizes.batches * sizes.filters * per_filter, flash)


def _reference_svdf(params: Params, arguments: Arguments) -> None:
    """arenite_svdf_s8 and arenite_svdf_s8_s16 in numpy."""
    batches, inputs, units, rank, memory = (
        integer(params, name) for name in ("batches", "inputs", "units", "rank", "memory")
    )
    filters = units * rank
    features = deinterleaved(array(arguments, "features"), filters, inputs, _GROUP)
    products = exact_product(array(arguments, "input").reshape(batches, inputs), features)
    products = products + array(arguments, "feature_biases")[:filters].astype(np.int64)
    past = array(arguments, "state").reshape(batches, filters, memory)
    first = (integer(params, "feature_multiplier"), integer(params, "feature_shift"))
    newest = newest_features(products, first, integer(params, "state_zero_point"), DType.of(past.dtype))
    past[:, :, :-1] = past[:, :, 1:].copy()
    past[:, :, -1] = newest
    time = array(arguments, "time").reshape(filters, memory).astype(np.int64)
    sums = (past.astype(np.int64) * time).sum(axis=2).reshape(batches, units, rank).sum(axis=2)
    sums = wrap_int32(sums + array(arguments, "biases").astype(np.int64))
    scaled = requantize(sums, integer(params, "multiplier"), integer(params, "shift"))
    low, high = integer(params, "clamp_low"), integer(params, "clamp_high")
    array(arguments, "output")[:] = clamp(scaled + integer(params, "output_zero_point"), low, high, np.int8).reshape(-1)


def _svdf_kernel(variant: str, info: KernelInfo, state: DType) -> Kernel:
    def keeps(call: OpCall) -> bool | str:
        found = call.operand(INPUT).dtype, call.operand(STATE).dtype
        return found == (DType.INT8, state) or f"found {found[0]} and {found[1]}"

    return Kernel(
        op="svdf",
        variant=variant,
        info=info,
        constraints=(
            Constraint(f"the input is int8 and the state {state}", keeps),
            Constraint("weights and bias are constant", _constant_weights),
        ),
        prepare=_prepare_svdf,
        cost=_cost_svdf,
        reference=_reference_svdf,
    )


KERNELS: tuple[Kernel, ...] = (
    _svdf_kernel("state_s8", SVDF_S8, DType.INT8),
    _svdf_kernel("state_s16", SVDF_S8_S16, DType.INT16),
)
