"""Kernels of read_variable and assign_variable."""

import numpy as np

from arenite.ir.opdef import OpCall
from arenite.kernels.families.movement import COPY_ROWS
from arenite.kernels.families.recurrent import ASSIGN
from arenite.lower.common import Arguments, Params, array
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind
from arenite.ops.state import CONTENTS, STATE


def _prepare_read(call: OpCall) -> tuple[Prepared, ...]:
    nbytes = call.results[0].nbytes
    params = {"rows": 1, "row_nbytes": nbytes, "stride_nbytes": nbytes}
    return (Prepared(params, {"input": OperandRef(STATE), "output": ResultRef()}),)


def _read_reference(params: Params, arguments: Arguments) -> None:
    array(arguments, "output")[:] = array(arguments, "input")


def _contents(call: OpCall) -> OperandRef | PreparedConstant:
    constant = call.constant(CONTENTS)
    if constant is None:
        return OperandRef(CONTENTS)
    return PreparedConstant(np.ascontiguousarray(constant).reshape(-1).view(np.uint8), ConstantKind.WEIGHTS)


def _prepare_assign(call: OpCall) -> tuple[Prepared, ...]:
    params = {"nbytes": call.operand(CONTENTS).nbytes}
    return (Prepared(params, {"input": _contents(call), "state": OperandRef(STATE)}),)


def _assign_reference(params: Params, arguments: Arguments) -> None:
    array(arguments, "state")[:] = array(arguments, "input")


def _cost(call: OpCall) -> KernelCost:
    copied = call.results[0] if call.results else call.operand(CONTENTS)
    return KernelCost(20.0 + copied.nbytes, 40)


KERNELS: tuple[Kernel, ...] = (
    Kernel("read_variable", "copy", COPY_ROWS, (), _prepare_read, _cost, _read_reference),
    Kernel("assign_variable", "copy", ASSIGN, (), _prepare_assign, _cost, _assign_reference),
)
