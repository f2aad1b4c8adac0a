"""Kernels of relu, relu6, logistic, tanh and softmax."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall, Trait
from arenite.kernels.families.activation import SOFTMAX_S8, SOFTMAX_S8_S16
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.lookup import lookup_kernel
from arenite.lower.program import ConstantKind
from arenite.ops.activation import OPS, softmax_table
from arenite.ops.elementary import softmax_stored


def _prepare_softmax(call: OpCall) -> tuple[Prepared, ...]:
    shape = call.operand(0).dims
    table = PreparedConstant(softmax_table(call).astype(np.int32), ConstantKind.TABLE)
    arguments: Given = {"input": OperandRef(0), "exponentials": table, "output": ResultRef()}
    params: Filled = {"rows": call.operand(0).nelem // shape[-1], "depth": shape[-1]}
    return (Prepared(params, arguments),)


def _softmax_reference(params: Params, arguments: Arguments) -> None:
    codes = array(arguments, "input").reshape(-1, integer(params, "depth"))
    output = array(arguments, "output")
    stored = softmax_stored(codes, array(arguments, "exponentials").astype(np.int64), 8 * output.itemsize)
    output[:] = stored.reshape(-1)


def _softmax_cost(call: OpCall) -> KernelCost:
    rows = call.operand(0).nelem // call.operand(0).dims[-1]
    return KernelCost(instructions=call.operand(0).nelem * 35 + rows * 150, flash_nbytes=1024 + 300)


KERNELS: tuple[Kernel, ...] = (
    *(lookup_kernel(definition) for definition in OPS if definition.has(Trait.ELEMENTWISE)),
    Kernel(
        "softmax",
        "table",
        SOFTMAX_S8,
        (dtypes((DType.INT8,), DType.INT8),),
        _prepare_softmax,
        _softmax_cost,
        _softmax_reference,
        in_place=(0,),
    ),
    Kernel(
        "softmax",
        "table_16",
        SOFTMAX_S8_S16,
        (dtypes((DType.INT8,), DType.INT16),),
        _prepare_softmax,
        _softmax_cost,
        _softmax_reference,
    ),
)
