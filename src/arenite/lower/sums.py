"""Kernels of add_n and cumsum."""

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, requantize, wrap_int32
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.kernels.families.sums import ADD_N_F32, ADD_N_S8, ADD_N_S32, CUMSUM_F32, CUMSUM_S8, CUMSUM_S32, VALUES
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Array, Kernel, KernelCost, OperandRef, Prepared, Reference, ResultRef
from arenite.ops.sums import HALF_BITS, OPS, CumsumAttrs, cumsum_runs, sum_scaling
from arenite.ops.views import constant_operands, definition


def _scaled(call: OpCall) -> Filled:
    scaling = sum_scaling(call)
    return {"multiplier": scaling.multiplier, "shift": scaling.shift, "zero_point": scaling.zero_point}


def _prepare_add_n(call: OpCall) -> tuple[Prepared, ...]:
    count = len(call.operands)
    params: Filled = {"nelem": call.results[0].nelem, "count": count}
    if call.operand(0).dtype is DType.INT8:
        # Once for each value, and once for what the sum starts from.
        params |= {"offset": -(count + 1) * sum_scaling(call).source_zero_point} | _scaled(call)
    arguments: Given = {name: OperandRef(i) if i < count else None for i, name in enumerate(VALUES)}
    return (Prepared(params, {**arguments, "output": ResultRef()}),)


def _values(params: Params, arguments: Arguments) -> list[Array]:
    return [array(arguments, name) for name in VALUES[: integer(params, "count")]]


def _stored(params: Params, totals: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Array:
    scaled = requantize(wrap_int32(totals << HALF_BITS), integer(params, "multiplier"), integer(params, "shift"))
    return clamp(scaled + integer(params, "zero_point"), -128, 127, np.int8)


def _add_n_s8_reference(params: Params, arguments: Arguments) -> None:
    total = np.sum([value.astype(np.int64) for value in _values(params, arguments)], axis=0)
    array(arguments, "output")[:] = _stored(params, total + integer(params, "offset"))


def _add_n_plain_reference(params: Params, arguments: Arguments) -> None:
    output = array(arguments, "output")
    total = np.zeros(integer(params, "nelem"), output.dtype)
    with np.errstate(over="ignore"):
        for value in _values(params, arguments):
            total = total + value
    output[:] = total


def _add_n_cost(call: OpCall) -> KernelCost:
    each = 50 if call.operand(0).dtype is DType.FLOAT32 else 3
    return KernelCost(call.results[0].nelem * (20 + each * len(call.operands)), 200)


def _few_values(call: OpCall) -> bool | str:
    return len(call.operands) <= len(VALUES) or f"{len(call.operands)}"


def _all_of(dtype: DType) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        fits = all(t is not None and t.dtype is dtype for t in (*call.operands, *call.results))
        return fits or signature_text(call)

    return Constraint(f"operands and result are {dtype}", holds)


def _prepare_cumsum(call: OpCall) -> tuple[Prepared, ...]:
    assert isinstance(call.attrs, CumsumAttrs)
    outer, size, inner = cumsum_runs(call)
    params: Filled = {
        "outer": outer,
        "size": size,
        "inner": inner,
        "first": (size - 1) * inner if call.attrs.reverse else 0,
        "step": -inner if call.attrs.reverse else inner,
        "exclusive": int(call.attrs.exclusive),
    }
    if call.operand(0).dtype is DType.INT8:
        params |= {"source_zero_point": sum_scaling(call).source_zero_point} | _scaled(call)
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _running(params: Params, x: np.ndarray[tuple[int, ...], np.dtype[np.generic]], start: int) -> Array:
    """Sums along axis 1 of [outer, size, inner], added one by one."""
    backwards = integer(params, "step") < 0
    x = x[:, ::-1] if backwards else x
    sums, total = np.empty_like(x), np.full_like(x[:, 0], start)
    for i in range(x.shape[1]):
        before, total = total, total + x[:, i]
        sums[:, i] = before if integer(params, "exclusive") else total
    return sums[:, ::-1] if backwards else sums


def _shaped(params: Params, arguments: Arguments) -> Array:
    return array(arguments, "input").reshape([integer(params, name) for name in ("outer", "size", "inner")])


def _cumsum_s8_reference(params: Params, arguments: Arguments) -> None:
    zero_point = integer(params, "source_zero_point")
    x = _shaped(params, arguments).astype(np.int64) - zero_point
    sums = _running(params, x, -zero_point).astype(np.int64)
    array(arguments, "output")[:] = _stored(params, sums).reshape(-1)


def _cumsum_plain_reference(params: Params, arguments: Arguments) -> None:
    with np.errstate(over="ignore"):
        array(arguments, "output")[:] = _running(params, _shaped(params, arguments), 0).reshape(-1)


def _cumsum_cost(call: OpCall) -> KernelCost:
    return KernelCost(call.results[0].nelem * (60 if call.operand(0).dtype is DType.FLOAT32 else 25), 200)


_FEW_VALUES = Constraint(f"there are at most {len(VALUES)} values", _few_values)
_FIXED = constant_operands(definition(OPS, "cumsum"), 0)
_EACH = tuple(range(len(VALUES)))


def _add_n_kernel(variant: str, dtype: DType, info: KernelInfo, reference: Reference) -> Kernel:
    constraints = (_all_of(dtype), _FEW_VALUES)
    return Kernel("add_n", variant, info, constraints, _prepare_add_n, _add_n_cost, reference, in_place=_EACH)


def _cumsum_kernel(variant: str, dtype: DType, info: KernelInfo, reference: Reference) -> Kernel:
    constraints = (dtypes((dtype,), dtype), _FIXED)
    return Kernel("cumsum", variant, info, constraints, _prepare_cumsum, _cumsum_cost, reference, in_place=(0,))


KERNELS: tuple[Kernel, ...] = (
    _add_n_kernel("int8", DType.INT8, ADD_N_S8, _add_n_s8_reference),
    _add_n_kernel("int32", DType.INT32, ADD_N_S32, _add_n_plain_reference),
    _add_n_kernel("float", DType.FLOAT32, ADD_N_F32, _add_n_plain_reference),
    _cumsum_kernel("int8", DType.INT8, CUMSUM_S8, _cumsum_s8_reference),
    _cumsum_kernel("int32", DType.INT32, CUMSUM_S32, _cumsum_plain_reference),
    _cumsum_kernel("float", DType.FLOAT32, CUMSUM_F32, _cumsum_plain_reference),
)
