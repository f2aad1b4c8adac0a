"""Any function of one 8-bit operand as a table that its op's own meaning fills."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, OpCall, OpDef, signature_text
from arenite.kernels.families.activation import LOOKUP_8
from arenite.lower.common import Arguments, Given, Params, array
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind

_BYTES = (DType.INT8, DType.UINT8, DType.BOOL)
_PAIRS = tuple(((source,), result) for source in _BYTES for result in _BYTES)


def table_of(definition: OpDef, call: OpCall) -> Array:
    """The op's result for each of the 256 values of a byte, in ascending order of the bytes."""
    codes = np.arange(256).astype(np.uint8).view(call.operand(0).dtype.numpy)
    everything = replace(
        call,
        operands=(replace(call.operand(0), shape=(256,)),),
        results=(replace(call.results[0], shape=(256,)),),
        constants=(),
    )
    (results,) = definition.evaluate(everything, (codes,))
    return results


def _takes_and_gives_bytes(call: OpCall) -> bool | str:
    return (call.operand(0).dtype in _BYTES and call.results[0].dtype in _BYTES) or signature_text(call)


def lookup_kernel(definition: OpDef) -> Kernel:
    """The kernel that looks up every element of an elementwise op."""

    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        table = PreparedConstant(table_of(definition, call).view(np.uint8), ConstantKind.TABLE)
        arguments: Given = {"input": OperandRef(0), "table": table, "output": ResultRef()}
        return (Prepared({"nelem": call.operand(0).nelem}, arguments),)

    return Kernel(
        definition.name,
        "table",
        LOOKUP_8,
        (Constraint("operand and result are int8, uint8 or bool", _takes_and_gives_bytes, _PAIRS),),
        prepare,
        _cost,
        _reference,
        in_place=(0,),
    )


def _reference(params: Params, arguments: Arguments) -> None:
    table: npt.NDArray[np.generic] = array(arguments, "table")
    array(arguments, "output")[:] = table[array(arguments, "input")]


def _cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=call.operand(0).nelem * 6, flash_nbytes=256 + 40)
