"""Kernels of mean."""

import math
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import requantize
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.reduce import MEAN_S8
from arenite.lower.broadcast import gather
from arenite.lower.common import Arguments, Filled, Params, array, dtypes, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.ops.reduce import mean_scaling, reduce_axes

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


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    scaling = mean_scaling(call)
    kept, kept_strides = _loops(call, reduced=False)
    reduced, reduced_strides = _loops(call, reduced=True)
    params: Filled = {
        "kept": kept,
        "kept_strides": kept_strides,
        "reduced": reduced,
        "reduced_strides": reduced_strides,
        "offset": scaling.offset,
        "multiplier": scaling.multiplier,
        "shift": scaling.shift,
        "zero_point": scaling.zero_point,
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _reference(params: Params, arguments: Arguments) -> None:
    kept, reduced = integers(params, "kept"), integers(params, "reduced")
    strides = (*integers(params, "kept_strides"), *integers(params, "reduced_strides"))
    x = gather(array(arguments, "input"), (*kept, *reduced), strides).reshape(math.prod(kept), -1)
    total = x.sum(axis=1) - integer(params, "offset")
    stored = requantize(total, integer(params, "multiplier"), integer(params, "shift")) + integer(params, "zero_point")
    array(arguments, "output")[:] = np.clip(stored, -128, 127)


def _cost(call: OpCall) -> KernelCost:
    results = math.prod(_loops(call, reduced=False)[0])
    return KernelCost(instructions=call.operand(0).nelem * 5 + results * 30, flash_nbytes=200)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "mean",
        "direct",
        MEAN_S8,
        (
            dtypes((DType.INT8,), DType.INT8),
            Constraint(
                f"at most {LOOPS} runs of neighbouring dimensions are kept, and at most {LOOPS} reduced", _few_runs
            ),
        ),
        _prepare,
        _cost,
        _reference,
    ),
)
