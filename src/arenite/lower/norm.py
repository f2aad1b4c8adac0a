"""Kernels of l2_normalization, log_softmax, and softmax of 16 bits."""

from dataclasses import asdict

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.kernels.families.norm import L2_NORMALIZATION_S8, LOG_SOFTMAX_S8
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.ops.constraints import per_tensor
from arenite.ops.elementary import softmax_exponentials
from arenite.ops.norm import LogSoftmaxScaling, l2_rows, log_softmax_rows, log_softmax_scaling

_INT8 = dtypes((DType.INT8,), DType.INT8)
_ARGUMENTS: Given = {"input": OperandRef(0), "output": ResultRef()}


def _rows(call: OpCall) -> dict[str, ParamValue]:
    depth = call.operand(0).dims[-1]
    return {"rows": call.operand(0).nelem // depth, "depth": depth}


def _prepare_l2(call: OpCall) -> tuple[Prepared, ...]:
    zero_point = per_tensor(call.operand(0), "the input").zero_point
    return (Prepared({**_rows(call), "zero_point": zero_point}, _ARGUMENTS),)


def _l2_reference(params: Params, arguments: Arguments) -> None:
    rows = array(arguments, "input").reshape(-1, integer(params, "depth")).astype(np.int64)
    array(arguments, "output")[:] = l2_rows(rows - integer(params, "zero_point")).reshape(-1)


def _l2_cost(call: OpCall) -> KernelCost:
    rows = call.operand(0).nelem // call.operand(0).dims[-1]
    return KernelCost(instructions=call.operand(0).nelem * 25 + rows * 150, flash_nbytes=450)


def _prepare_log_softmax(call: OpCall) -> tuple[Prepared, ...]:
    exponentials = softmax_exponentials(per_tensor(call.operand(0), "the input").scale, 1.0).astype(np.int32)
    params: Filled = {**_rows(call), **asdict(log_softmax_scaling(call))}
    table = PreparedConstant(exponentials, ConstantKind.TABLE)
    return (Prepared(params, {**_ARGUMENTS, "exponentials": table}),)


def _log_softmax_reference(params: Params, arguments: Arguments) -> None:
    names = ("multiplier", "shift", "radius", "back_multiplier", "back_shift")
    scaling = LogSoftmaxScaling(*(integer(params, name) for name in names))
    rows = array(arguments, "input").reshape(-1, integer(params, "depth")).astype(np.int64)
    found = log_softmax_rows(rows, array(arguments, "exponentials").astype(np.int64), scaling)
    array(arguments, "output")[:] = found.reshape(-1)


def _log_softmax_cost(call: OpCall) -> KernelCost:
    rows = call.operand(0).nelem // call.operand(0).dims[-1]
    return KernelCost(instructions=call.operand(0).nelem * 40 + rows * 400, flash_nbytes=1024 + 700)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "l2_normalization",
        "direct",
        L2_NORMALIZATION_S8,
        (_INT8,),
        _prepare_l2,
        _l2_cost,
        _l2_reference,
        in_place=(0,),
    ),
    Kernel(
        "log_softmax",
        "table",
        LOG_SOFTMAX_S8,
        (_INT8,),
        _prepare_log_softmax,
        _log_softmax_cost,
        _log_softmax_reference,
        in_place=(0,),
    ),
)
