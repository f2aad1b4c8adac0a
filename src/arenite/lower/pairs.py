"""Kernels of functions of two operands: minimum, maximum, squared_difference, div, prelu, and int32 arithmetic."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import INT32_MAX, INT32_MIN, requantize, wrap_int32
from arenite.ir.opdef import OpCall
from arenite.kernels.families.pairs import ARITHMETIC_S32, DIV_S8, EXTREMUM, PRELU, SQUARED_DIFFERENCE
from arenite.lower.broadcast import BROADCASTS_IN_FEW_LOOPS, broadcast, gather
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.ops.arithmetic import ArithmeticAttrs, Scaling, arithmetic_clamp
from arenite.ops.binary import (
    SQUARED_DIFFERENCE_LEFT_SHIFT,
    div_scaling,
    divide_int32,
    integer_power,
    quotients,
    reciprocals,
    squared_difference_scalings,
)
from arenite.ops.clamps import activation_range_float
from arenite.ops.constraints import per_tensor
from arenite.ops.rectifiers import prelu_scalings

PAIR: Given = {"a": OperandRef(0), "b": OperandRef(1), "output": ResultRef()}
_OPERATIONS = ("add", "sub", "mul", "div", "squared_difference", "pow")
_BITS = {DType.INT8: 8, DType.INT16: 16, DType.INT32: 32, DType.INT64: 64}


def loops(call: OpCall) -> Mapping[str, ParamValue]:
    """Parameters of the loops over both operands."""
    found = broadcast(call.operand(0).dims, call.operand(1).dims)
    return {"sizes": found.sizes, "strides_a": found.strides_a, "strides_b": found.strides_b}


def zero_points(call: OpCall) -> Mapping[str, ParamValue]:
    """Parameters: of both operands and of the result."""
    return {
        "zero_point_a": per_tensor(call.operand(0), "operand 0").zero_point,
        "zero_point_b": per_tensor(call.operand(1), "operand 1").zero_point,
        "zero_point": per_tensor(call.results[0], "the result").zero_point,
    }


def scaling(params: Params, suffix: str = "") -> tuple[int, int]:
    """Multiplier and shift with a suffix, from parameters."""
    return integer(params, f"multiplier{suffix}"), integer(params, f"shift{suffix}")


def scaled(suffix: str, found: Scaling) -> Mapping[str, ParamValue]:
    """Multiplier and shift with a suffix, as parameters."""
    return {f"multiplier{suffix}": found.multiplier, f"shift{suffix}": found.shift}


def taken(params: Params, arguments: Arguments) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Both operands, element by element of the result, as int64."""
    sizes = integers(params, "sizes")
    a, b = (gather(array(arguments, name), sizes, integers(params, f"strides_{name}")) for name in "ab")
    return a, b


def centred(params: Params, arguments: Arguments) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The same, less the operands' zero points."""
    a, b = taken(params, arguments)
    return a - integer(params, "zero_point_a"), b - integer(params, "zero_point_b")


def stored(arguments: Arguments, values: npt.NDArray[Any], low: int | None = None, high: int | None = None) -> None:
    """Limits values to bounds, or to the output's type, and writes them."""
    output = array(arguments, "output")
    limits = np.iinfo(output.dtype)
    output[:] = np.clip(values, limits.min if low is None else low, limits.max if high is None else high)


def pair_cost(per_element: float, flash_nbytes: int) -> Callable[[OpCall], KernelCost]:
    """Instructions for each element of the result."""

    def cost(call: OpCall) -> KernelCost:
        results = math.prod(broadcast(call.operand(0).dims, call.operand(1).dims).sizes)
        return KernelCost(instructions=results * per_element, flash_nbytes=flash_nbytes)

    return cost


def _extremum(op: str, dtype: DType) -> Kernel:
    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        return (Prepared({**loops(call), "largest": int(op == "maximum")}, PAIR),)

    return Kernel(
        op,
        f"int{_BITS[dtype]}",
        EXTREMUM[_BITS[dtype]],
        (dtypes((dtype, dtype), dtype), BROADCASTS_IN_FEW_LOOPS),
        prepare,
        pair_cost(8, 120),
        _extremum_reference,
        in_place=(0, 1),
    )


def _extremum_reference(params: Params, arguments: Arguments) -> None:
    choose = np.maximum if integer(params, "largest") else np.minimum
    stored(arguments, choose(*taken(params, arguments)))


def _squared_difference(dtype: DType) -> Kernel:
    left = SQUARED_DIFFERENCE_LEFT_SHIFT[dtype]

    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        a, b, result = squared_difference_scalings(call)
        params = {**loops(call), **zero_points(call), **scaled("_a", a), **scaled("_b", b), **scaled("", result)}
        return (Prepared(params, PAIR),)

    def reference(params: Params, arguments: Arguments) -> None:
        a, b = centred(params, arguments)
        difference = requantize(a << left, *scaling(params, "_a")) - requantize(b << left, *scaling(params, "_b"))
        square = wrap_int32(difference * difference)
        stored(arguments, requantize(square, *scaling(params)) + integer(params, "zero_point"))

    return Kernel(
        "squared_difference",
        f"int{_BITS[dtype]}",
        SQUARED_DIFFERENCE[_BITS[dtype]],
        (dtypes((dtype, dtype), dtype), BROADCASTS_IN_FEW_LOOPS),
        prepare,
        pair_cost(45, 350),
        reference,
        in_place=(0, 1),
    )


def _prelu(dtype: DType) -> Kernel:
    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        below, above = prelu_scalings(call)
        params = {**loops(call), **zero_points(call), **scaled("_below", below), **scaled("_above", above)}
        return (Prepared(params, PAIR),)

    return Kernel(
        "prelu",
        f"int{_BITS[dtype]}",
        PRELU[_BITS[dtype]],
        (dtypes((dtype, DType.INT8), dtype), BROADCASTS_IN_FEW_LOOPS),
        prepare,
        pair_cost(25, 250),
        _prelu_reference,
        in_place=(0,),
    )


def _prelu_reference(params: Params, arguments: Arguments) -> None:
    x, alpha = centred(params, arguments)
    below = requantize(x * alpha, *scaling(params, "_below"))
    above = requantize(x, *scaling(params, "_above"))
    stored(arguments, np.where(x >= 0, above, below) + integer(params, "zero_point"))


def _prepare_div(call: OpCall) -> tuple[Prepared, ...]:
    low, high = arithmetic_clamp(call)
    params: Filled = {**loops(call), **zero_points(call), **scaled("", div_scaling(call)), "low": low, "high": high}
    table = PreparedConstant(reciprocals().astype(np.int32), ConstantKind.TABLE)
    return (Prepared(params, {**PAIR, "reciprocals": table}),)


def _div_reference(params: Params, arguments: Arguments) -> None:
    found = quotients(*centred(params, arguments), Scaling(*scaling(params))) + integer(params, "zero_point")
    stored(arguments, found, integer(params, "low"), integer(params, "high"))


def _prepare_s32(call: OpCall) -> tuple[Prepared, ...]:
    low, high = INT32_MIN, INT32_MAX
    if isinstance(call.attrs, ArithmeticAttrs):
        real_low, real_high = activation_range_float(call.attrs.activation)
        low, high = int(max(real_low, INT32_MIN)), int(min(real_high, INT32_MAX))
    params: Filled = {**loops(call), "operation": _OPERATIONS.index(call.op), "low": low, "high": high}
    return (Prepared(params, PAIR),)


def _s32_reference(params: Params, arguments: Arguments) -> None:
    a, b = taken(params, arguments)
    results: dict[str, Callable[[], npt.NDArray[np.int64]]] = {
        "add": lambda: wrap_int32(a + b),
        "sub": lambda: wrap_int32(a - b),
        "mul": lambda: wrap_int32(a * b),
        "div": lambda: divide_int32(a, b),
        "squared_difference": lambda: wrap_int32(wrap_int32(a - b) ** 2),
        "pow": lambda: integer_power(a, b),
    }
    found = results[_OPERATIONS[integer(params, "operation")]]()
    stored(arguments, found, integer(params, "low"), integer(params, "high"))


KERNELS: tuple[Kernel, ...] = (
    *(_extremum(op, dtype) for op in ("minimum", "maximum") for dtype in _BITS),
    _squared_difference(DType.INT8),
    _squared_difference(DType.INT16),
    _prelu(DType.INT8),
    _prelu(DType.INT16),
    Kernel(
        "div",
        "reciprocals",
        DIV_S8,
        (dtypes((DType.INT8, DType.INT8), DType.INT8), BROADCASTS_IN_FEW_LOOPS),
        _prepare_div,
        pair_cost(80, 1024 + 400),
        _div_reference,
        in_place=(0, 1),
    ),
    *(
        Kernel(
            op,
            "int32",
            ARITHMETIC_S32,
            (dtypes((DType.INT32, DType.INT32), DType.INT32), BROADCASTS_IN_FEW_LOOPS),
            _prepare_s32,
            pair_cost(25 if op == "div" else 10, 150),
            _s32_reference,
            in_place=(0, 1),
        )
        for op in _OPERATIONS
    ),
)
