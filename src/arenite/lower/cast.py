"""Kernels of cast. Casts between equal types are copies (see copying)."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.kernels.families.cast import CAST_F32_INTEGER, CAST_F32_WIDE, CAST_INTEGER, CAST_INTEGER_F32
from arenite.lower.common import Arguments, Filled, Params, array, bytes_of, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.ops.cast import converted

_SMALL = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.BOOL)
"""What int32 arithmetic can limit a float to."""
_INTEGERS = (*_SMALL, DType.UINT32, DType.INT64, DType.UINT64)
_SIGNED = (DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_WIDE = (DType.UINT32, DType.INT64)


def _pair(sources: tuple[DType, ...], results: tuple[DType, ...]) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        fits = call.operand(0).dtype in sources and call.results[0].dtype in results
        return fits or signature_text(call)

    return Constraint(f"it is from {_listed(sources)} to {_listed(results)}", holds)


def _listed(dtypes: tuple[DType, ...]) -> str:
    return ", ".join(dtype.value for dtype in dtypes)


def _dtype(nbytes: int, *, signed: bool) -> DType:
    (found,) = (d for d in _INTEGERS if d is not DType.BOOL and d.itemsize == nbytes and (d in _SIGNED) is signed)
    return found


def _of_input(call: OpCall) -> Filled:
    source = call.operand(0)
    return {
        "nelem": source.nelem,
        "input_nbytes": source.dtype.itemsize,
        "input_signed": int(source.dtype in _SIGNED),
    }


def _to_bool(call: OpCall) -> int:
    return int(call.results[0].dtype is DType.BOOL)


def _prepare_integer(call: OpCall) -> tuple[Prepared, ...]:
    params = _of_input(call) | {"output_nbytes": call.results[0].dtype.itemsize, "to_bool": _to_bool(call)}
    return (Prepared(params, {"input": bytes_of(call, 0), "output": ResultRef()}),)


def _prepare_from_float(call: OpCall) -> tuple[Prepared, ...]:
    dtype = call.results[0].dtype
    low, high = (0, 1) if dtype is DType.BOOL else dtype.limits
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "output_nbytes": dtype.itemsize,
        "low": low,
        "high": high,
        "to_bool": _to_bool(call),
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _prepare_wide(call: OpCall) -> tuple[Prepared, ...]:
    params: Filled = {"nelem": call.operand(0).nelem, "output_nbytes": call.results[0].dtype.itemsize}
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _prepare_to_float(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared(_of_input(call), {"input": bytes_of(call, 0), "output": ResultRef()}),)


def _loaded(params: Params, arguments: Arguments) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    dtype = _dtype(integer(params, "input_nbytes"), signed=bool(integer(params, "input_signed")))
    return array(arguments, "input").view(dtype.numpy)


def _integer_reference(params: Params, arguments: Arguments) -> None:
    x = _loaded(params, arguments)
    wanted = DType.BOOL if integer(params, "to_bool") else _dtype(integer(params, "output_nbytes"), signed=True)
    array(arguments, "output")[:] = converted(x, wanted).view(np.uint8)


def _from_float_reference(params: Params, arguments: Arguments) -> None:
    signed = integer(params, "low") < 0
    wanted = DType.BOOL if integer(params, "to_bool") else _dtype(integer(params, "output_nbytes"), signed=signed)
    array(arguments, "output")[:] = converted(array(arguments, "input"), wanted).view(np.uint8)


def _wide_reference(params: Params, arguments: Arguments) -> None:
    wanted = DType.INT64 if integer(params, "output_nbytes") == 8 else DType.UINT32
    array(arguments, "output")[:] = converted(array(arguments, "input"), wanted).view(np.uint8)


def _to_float_reference(params: Params, arguments: Arguments) -> None:
    array(arguments, "output")[:] = _loaded(params, arguments).astype(np.float32)


def _integer_cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=6 * call.operand(0).nelem, flash_nbytes=60)


def _float_cost(call: OpCall) -> KernelCost:
    # Without an FPU.
    return KernelCost(instructions=60 * call.operand(0).nelem, flash_nbytes=400)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "cast",
        "integer",
        CAST_INTEGER,
        (_pair(_INTEGERS, _INTEGERS),),
        _prepare_integer,
        _integer_cost,
        _integer_reference,
        in_place=(0,),
    ),
    Kernel(
        "cast",
        "from_float",
        CAST_F32_INTEGER,
        (_pair((DType.FLOAT32,), _SMALL),),
        _prepare_from_float,
        _float_cost,
        _from_float_reference,
        in_place=(0,),
    ),
    Kernel(
        "cast",
        "from_float_wide",
        CAST_F32_WIDE,
        (_pair((DType.FLOAT32,), _WIDE),),
        _prepare_wide,
        _float_cost,
        _wide_reference,
        in_place=(0,),
    ),
    Kernel(
        "cast",
        "to_float",
        CAST_INTEGER_F32,
        (_pair(_INTEGERS, (DType.FLOAT32,)),),
        _prepare_to_float,
        _float_cost,
        _to_float_reference,
        in_place=(0,),
    ),
)
