"""Kernels of mean, sum, reduce_max, reduce_min."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import requantize
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.reduce import MEAN_S8, MEAN_S16, REDUCE_EXTREMUM_S8
from arenite.lower.broadcast import gather
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.lower.program import ParamValue
from arenite.ops.reduce import mean_scaling, reduce_axes, sum_scaling

LOOPS = 3
"""Runs of kept, and of reduced dimensions that the kernel walks over."""


@dataclass(frozen=True)
class _Run:
    """Neighbouring dimensions that are all kept or all reduced: elements, and elements from one to the next."""

    reduced: bool
    size: int
    stride: int


def _runs(call: OpCall) -> list[_Run]:
    axes, runs, stride = reduce_axes(call), list[_Run](), 1
    for axis, size in reversed(list(enumerate(call.operand(0).dims))):
        reduced = axis in axes
        if runs and runs[0].reduced == reduced:
            runs[0] = _Run(reduced, runs[0].size * size, runs[0].stride)
        elif size != 1:
            runs.insert(0, _Run(reduced, size, stride))
        stride *= size
    return runs


def _loops(call: OpCall, reduced: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of the kept or the reduced runs, padded with ones in front."""
    runs = [run for run in _runs(call) if run.reduced == reduced]
    runs = [_Run(reduced, 1, 0)] * (LOOPS - len(runs)) + runs
    return tuple(run.size for run in runs), tuple(run.stride for run in runs)


def _few_runs(call: OpCall) -> bool | str:
    runs = _runs(call)
    found = max(sum(run.reduced for run in runs), sum(not run.reduced for run in runs))
    return found <= LOOPS or f"{found} in {call.operand(0)} over axes {list(reduce_axes(call))}"


_ARGUMENTS: Given = {"input": OperandRef(0), "output": ResultRef()}


def _walk(call: OpCall) -> dict[str, ParamValue]:
    """Parameters of the loops."""
    kept, kept_strides = _loops(call, reduced=False)
    reduced, reduced_strides = _loops(call, reduced=True)
    return {
        "kept": kept,
        "kept_strides": kept_strides,
        "reduced": reduced,
        "reduced_strides": reduced_strides,
    }


def _prepare_sum(call: OpCall) -> tuple[Prepared, ...]:
    scaling = mean_scaling(call) if call.op == "mean" else sum_scaling(call)
    params: Filled = {**_walk(call), "multiplier": scaling.multiplier, "shift": scaling.shift}
    if call.operand(0).dtype is DType.INT8:
        params |= {"offset": scaling.offset, "zero_point": scaling.zero_point}
    return (Prepared(params, _ARGUMENTS),)


def _prepare_extremum(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({**_walk(call), "largest": int(call.op == "reduce_max")}, _ARGUMENTS),)


def _taken(params: Params, arguments: Arguments) -> npt.NDArray[np.int64]:
    """What goes into each result, one row each."""
    kept, reduced = integers(params, "kept"), integers(params, "reduced")
    strides = (*integers(params, "kept_strides"), *integers(params, "reduced_strides"))
    return gather(array(arguments, "input"), (*kept, *reduced), strides).reshape(math.prod(kept), -1)


def _sum_reference(params: Params, arguments: Arguments) -> None:
    output = array(arguments, "output")
    total, zero_point = _taken(params, arguments).sum(axis=1), 0
    if "offset" in params:
        total, zero_point = total - integer(params, "offset"), integer(params, "zero_point")
    stored = requantize(total, integer(params, "multiplier"), integer(params, "shift")) + zero_point
    limits = np.iinfo(output.dtype)
    output[:] = np.clip(stored, limits.min, limits.max)


def _extremum_reference(params: Params, arguments: Arguments) -> None:
    taken = _taken(params, arguments)
    array(arguments, "output")[:] = taken.max(axis=1) if integer(params, "largest") else taken.min(axis=1)


def _cost(call: OpCall) -> KernelCost:
    results = math.prod(_loops(call, reduced=False)[0])
    return KernelCost(instructions=call.operand(0).nelem * 5 + results * 30, flash_nbytes=200)


_FEW_RUNS = Constraint(
    f"at most {LOOPS} runs of neighbouring dimensions are kept, and at most {LOOPS} reduced", _few_runs
)
_INT8, _INT16 = dtypes((DType.INT8,), DType.INT8), dtypes((DType.INT16,), DType.INT16)

KERNELS: tuple[Kernel, ...] = (
    *(
        Kernel(op, variant, info, (signature, _FEW_RUNS), _prepare_sum, _cost, _sum_reference)
        for op in ("mean", "sum")
        for variant, info, signature in (("direct", MEAN_S8, _INT8), ("int16", MEAN_S16, _INT16))
    ),
    *(
        Kernel(op, "direct", REDUCE_EXTREMUM_S8, (_INT8, _FEW_RUNS), _prepare_extremum, _cost, _extremum_reference)
        for op in ("reduce_max", "reduce_min")
    ),
)
