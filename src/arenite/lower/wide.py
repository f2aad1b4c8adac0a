"""Kernels of 16-bit functions: activations, arithmetic, softmax."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import quantize_multiplier, requantize
from arenite.ir.attrs import Activation
from arenite.ir.opdef import OpCall
from arenite.kernels.families.norm import SOFTMAX_S16
from arenite.kernels.families.wide import ADD_S16, MUL_S16, PIECEWISE_S16, RSQRT_S16, SIGMOID_S16
from arenite.lower.broadcast import BROADCASTS_IN_FEW_LOOPS
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.pairs import PAIR, loops, pair_cost, scaled, scaling, stored, taken
from arenite.lower.program import ConstantKind
from arenite.ops.activation import sigmoid_scaling_of, softmax_scaling
from arenite.ops.arithmetic import ADD_LEFT_SHIFT_INT16, Scaling, add_scalings, arithmetic_clamp, mul_scaling
from arenite.ops.clamps import activation_range
from arenite.ops.constraints import per_tensor
from arenite.ops.interpolated import (
    SigmoidScaling,
    sigmoid_stored,
    sigmoid_table,
    softmax_int16_rows,
    softmax_int16_tables,
)
from arenite.ops.rectifiers import leaky_relu_scalings
from arenite.ops.unary import RSQRT_EXTRA_BITS, abs_scaling, rsqrt_scaling, rsqrt_stored

_INT16 = dtypes((DType.INT16,), DType.INT16)
_PAIR_INT16 = dtypes((DType.INT16, DType.INT16), DType.INT16)
_ARGUMENTS: Given = {"input": OperandRef(0), "output": ResultRef()}
_ACTIVATIONS = {"relu": Activation.RELU, "relu6": Activation.RELU6}


def _slopes(call: OpCall) -> tuple[Scaling, Scaling]:
    """Below and above 0."""
    if call.op == "leaky_relu":
        return leaky_relu_scalings(call)
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    one = Scaling(*(abs_scaling(call) if call.op == "abs" else quantize_multiplier(source.scale / result.scale)))
    return one, one


def _prepare_piecewise(call: OpCall) -> tuple[Prepared, ...]:
    result = per_tensor(call.results[0], "the result")
    low, high = activation_range(_ACTIVATIONS.get(call.op, Activation.NONE), result, DType.INT16)
    below, above = _slopes(call)
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "zero_point_input": per_tensor(call.operand(0), "the input").zero_point,
        "mirror": int(call.op == "abs"),
        **scaled("_below", below),
        **scaled("_above", above),
        "zero_point": result.zero_point,
        "low": low,
        "high": high,
    }
    return (Prepared(params, _ARGUMENTS),)


def _piecewise_reference(params: Params, arguments: Arguments) -> None:
    x = array(arguments, "input").astype(np.int64) - integer(params, "zero_point_input")
    x = np.abs(x) if integer(params, "mirror") else x
    below, above = (requantize(x, *scaling(params, suffix)) for suffix in ("_below", "_above"))
    found = np.where(x < 0, below, above) + integer(params, "zero_point")
    stored(arguments, found, integer(params, "low"), integer(params, "high"))


def _prepare_rsqrt(call: OpCall) -> tuple[Prepared, ...]:
    multiplier, shift = rsqrt_scaling(call)
    # A shift by 31 leaves nothing, and so does any beyond.
    right = max(shift - RSQRT_EXTRA_BITS, -31)
    params: Filled = {"nelem": call.operand(0).nelem, "multiplier": multiplier, "shift": right}
    return (Prepared(params, _ARGUMENTS),)


def _rsqrt_reference(params: Params, arguments: Arguments) -> None:
    x = array(arguments, "input").astype(np.int64)
    found = rsqrt_stored(np.maximum(x, 1), integer(params, "multiplier"), integer(params, "shift") + RSQRT_EXTRA_BITS)
    stored(arguments, np.where(x > 0, found, 32767))


def _prepare_sigmoid(call: OpCall) -> tuple[Prepared, ...]:
    found = sigmoid_scaling_of(call)
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "multiplier": found.multiplier,
        "right": found.right,
        "tangent": int(call.op == "tanh"),
    }
    table = PreparedConstant(sigmoid_table().astype(np.uint16), ConstantKind.TABLE)
    return (Prepared(params, {**_ARGUMENTS, "table": table}),)


def _sigmoid_reference(params: Params, arguments: Arguments) -> None:
    found = SigmoidScaling(integer(params, "multiplier"), integer(params, "right"))
    table, tangent = array(arguments, "table").astype(np.int64), bool(integer(params, "tangent"))
    array(arguments, "output")[:] = sigmoid_stored(array(arguments, "input"), found, table, tangent=tangent)


def _prepare_softmax(call: OpCall) -> tuple[Prepared, ...]:
    depth = call.operand(0).dims[-1]
    multiplier, shift = softmax_scaling(call)
    tables = (PreparedConstant(table.astype(np.int16), ConstantKind.TABLE) for table in softmax_int16_tables())
    params: Filled = {"rows": call.operand(0).nelem // depth, "depth": depth, "multiplier": multiplier, "shift": shift}
    return (Prepared(params, {**_ARGUMENTS, **dict(zip(("exponentials", "reciprocals"), tables, strict=True))}),)


def _softmax_reference(params: Params, arguments: Arguments) -> None:
    rows = array(arguments, "input").reshape(-1, integer(params, "depth"))
    tables = (array(arguments, name).astype(np.int64) for name in ("exponentials", "reciprocals"))
    array(arguments, "output")[:] = softmax_int16_rows(rows, scaling(params), *tables).reshape(-1)


def _prepare_add(call: OpCall) -> tuple[Prepared, ...]:
    a, b, result = add_scalings(call)
    low, high = arithmetic_clamp(call)
    params: Filled = {
        **loops(call),
        "subtract": int(call.op == "sub"),
        **scaled("_a", a),
        **scaled("_b", b),
        **scaled("", result),
        "low": low,
        "high": high,
    }
    return (Prepared(params, PAIR),)


def _add_reference(params: Params, arguments: Arguments) -> None:
    a, b = taken(params, arguments)
    a = requantize(a << ADD_LEFT_SHIFT_INT16, *scaling(params, "_a"))
    b = requantize(b << ADD_LEFT_SHIFT_INT16, *scaling(params, "_b"))
    total = a - b if integer(params, "subtract") else a + b
    stored(arguments, requantize(total, *scaling(params)), integer(params, "low"), integer(params, "high"))


def _prepare_mul(call: OpCall) -> tuple[Prepared, ...]:
    low, high = arithmetic_clamp(call)
    return (Prepared({**loops(call), **scaled("", mul_scaling(call)), "low": low, "high": high}, PAIR),)


def _mul_reference(params: Params, arguments: Arguments) -> None:
    a, b = taken(params, arguments)
    stored(arguments, requantize(a * b, *scaling(params)), integer(params, "low"), integer(params, "high"))


def _cost(per_element: float, flash_nbytes: int) -> Callable[[OpCall], KernelCost]:
    return lambda call: KernelCost(instructions=call.operand(0).nelem * per_element, flash_nbytes=flash_nbytes)


KERNELS: tuple[Kernel, ...] = (
    *(
        Kernel(
            op,
            "int16",
            PIECEWISE_S16,
            (_INT16,),
            _prepare_piecewise,
            _cost(18, 150),
            _piecewise_reference,
            in_place=(0,),
        )
        for op in ("abs", "relu", "relu6", "leaky_relu")
    ),
    Kernel("rsqrt", "int16", RSQRT_S16, (_INT16,), _prepare_rsqrt, _cost(220, 400), _rsqrt_reference, in_place=(0,)),
    *(
        Kernel(
            op,
            "int16",
            SIGMOID_S16,
            (_INT16,),
            _prepare_sigmoid,
            _cost(22, 512 + 150),
            _sigmoid_reference,
            in_place=(0,),
        )
        for op in ("logistic", "tanh")
    ),
    Kernel(
        "softmax",
        "int16",
        SOFTMAX_S16,
        (_INT16,),
        _prepare_softmax,
        _cost(50, 2052 + 350),
        _softmax_reference,
        in_place=(0,),
    ),
    *(
        Kernel(
            op,
            "int16",
            ADD_S16,
            (_PAIR_INT16, BROADCASTS_IN_FEW_LOOPS),
            _prepare_add,
            pair_cost(40, 300),
            _add_reference,
            in_place=(0, 1),
        )
        for op in ("add", "sub")
    ),
    Kernel(
        "mul",
        "int16",
        MUL_S16,
        (_PAIR_INT16, BROADCASTS_IN_FEW_LOOPS),
        _prepare_mul,
        pair_cost(18, 200),
        _mul_reference,
        in_place=(0, 1),
    ),
)
