"""Kernels of add, sub and mul."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import requantize
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.arithmetic import ADD_S8, ADD_TABLE_S8, MUL_S8
from arenite.lower.broadcast import BROADCASTS_IN_FEW_LOOPS, broadcast, gather
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.ops.arithmetic import ADD_LEFT_SHIFT, Scaling, add_scalings, arithmetic_clamp, mul_scaling
from arenite.ops.constraints import per_tensor

_INT8 = dtypes((DType.INT8, DType.INT8), DType.INT8)


def _zero_point(call: OpCall, index: int) -> int:
    return per_tensor(call.operand(index), f"operand {index}").zero_point


def _common(call: OpCall) -> Mapping[str, ParamValue]:
    loops = broadcast(call.operand(0).dims, call.operand(1).dims)
    low, high = arithmetic_clamp(call)
    return {
        "sizes": loops.sizes,
        "strides_a": loops.strides_a,
        "strides_b": loops.strides_b,
        "zero_point": per_tensor(call.results[0], "the result").zero_point,
        "low": low,
        "high": high,
    }


_PAIR: Given = {"a": OperandRef(0), "b": OperandRef(1), "output": ResultRef()}


def _prepare_add(call: OpCall) -> tuple[Prepared, ...]:
    a, b, result = add_scalings(call)
    params: Filled = {
        **_common(call),
        "zero_point_a": _zero_point(call, 0),
        "zero_point_b": _zero_point(call, 1),
        "multiplier_a": a.multiplier,
        "shift_a": a.shift,
        "multiplier_b": b.multiplier,
        "shift_b": b.shift,
        "multiplier": result.multiplier,
        "shift": result.shift,
    }
    return (Prepared(params, _PAIR),)


def _share(call: OpCall, index: int, scaling: Scaling) -> npt.NDArray[np.int64]:
    """Twice what each code of an operand adds to the sum, by its byte."""
    codes = np.arange(256).astype(np.uint8).view(np.int8).astype(np.int64)
    wide = (codes - _zero_point(call, index)) << ADD_LEFT_SHIFT
    return 2 * requantize(wide, scaling.multiplier, scaling.shift)


def _prepare_table(call: OpCall) -> tuple[Prepared, ...]:
    a, b, result = add_scalings(call)
    shares = {"table_a": _share(call, 0, a), "table_b": _share(call, 1, b) * (-1 if call.op == "sub" else 1)}
    params: Filled = {**_common(call), "multiplier": result.multiplier, "shift": result.shift}
    tables: Given = {
        name: PreparedConstant(share.astype(np.int32), ConstantKind.TABLE) for name, share in shares.items()
    }
    return (Prepared(params, {**_PAIR, **tables}),)


def _prepare_mul(call: OpCall) -> tuple[Prepared, ...]:
    scaling = mul_scaling(call)
    params: Filled = {
        **_common(call),
        "zero_point_a": _zero_point(call, 0),
        "zero_point_b": _zero_point(call, 1),
        "multiplier": scaling.multiplier,
        "shift": scaling.shift,
    }
    return (Prepared(params, _PAIR),)


def _operands(params: Params, arguments: Arguments) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both operands, element by element of the result."""
    sizes = integers(params, "sizes")
    a, b = (gather(array(arguments, name), sizes, integers(params, f"strides_{name}")) for name in "ab")
    return a, b


def _store(params: Params, arguments: Arguments, scaled: npt.NDArray[np.int64]) -> None:
    stored = scaled + integer(params, "zero_point")
    array(arguments, "output")[:] = np.clip(stored, integer(params, "low"), integer(params, "high"))


def _add_reference(params: Params, arguments: Arguments) -> None:
    total = np.zeros((), np.int64)
    for name, x in zip("ab", _operands(params, arguments), strict=True):
        wide = (x - integer(params, f"zero_point_{name}")) << ADD_LEFT_SHIFT
        total = total + requantize(wide, integer(params, f"multiplier_{name}"), integer(params, f"shift_{name}"))
    _store(params, arguments, requantize(total, integer(params, "multiplier"), integer(params, "shift")))


def _add_table_reference(params: Params, arguments: Arguments) -> None:
    a, b = _operands(params, arguments)
    doubled = array(arguments, "table_a").astype(np.int64)[a] + array(arguments, "table_b").astype(np.int64)[b]
    _store(params, arguments, requantize(doubled // 2, integer(params, "multiplier"), integer(params, "shift")))


def _mul_reference(params: Params, arguments: Arguments) -> None:
    a, b = _operands(params, arguments)
    product = (a - integer(params, "zero_point_a")) * (b - integer(params, "zero_point_b"))
    _store(params, arguments, requantize(product, integer(params, "multiplier"), integer(params, "shift")))


def _cost(per_element: float, flash_nbytes: int) -> Callable[[OpCall], KernelCost]:
    def cost(call: OpCall) -> KernelCost:
        results = math.prod(broadcast(call.operand(0).dims, call.operand(1).dims).sizes)
        return KernelCost(instructions=results * per_element, flash_nbytes=flash_nbytes)

    return cost


def _scaled_down(call: OpCall) -> bool | str:
    result = add_scalings(call)[2]
    return result.shift <= 0 or f"a shift by {result.shift}"


_BOTH = (0, 1)


def _table(op: str) -> Kernel:
    return Kernel(
        op,
        "table",
        ADD_TABLE_S8,
        (
            _INT8,
            BROADCASTS_IN_FEW_LOOPS,
            Constraint("the sum, 20 bits wider than its operands, is scaled by less than 1", _scaled_down),
        ),
        _prepare_table,
        _cost(12, 2 * 1024 + 150),
        _add_table_reference,
        in_place=_BOTH,
    )


KERNELS: tuple[Kernel, ...] = (
    _table("add"),
    _table("sub"),
    Kernel(
        "add",
        "direct",
        ADD_S8,
        (_INT8, BROADCASTS_IN_FEW_LOOPS),
        _prepare_add,
        _cost(40, 300),
        _add_reference,
        in_place=_BOTH,
    ),
    Kernel(
        "mul",
        "direct",
        MUL_S8,
        (_INT8, BROADCASTS_IN_FEW_LOOPS),
        _prepare_mul,
        _cost(13, 200),
        _mul_reference,
        in_place=_BOTH,
    ),
)
