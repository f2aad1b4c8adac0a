"""Kernels of select_v2, arg_max and arg_min."""

import math

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.kernels.families.choice import ARG_MAX_F32, ARG_MAX_INTEGER, ARG_MAX_S8, SELECT
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Filled, Given, Params, array, bytes_of, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.lower.loops import Loop, Nest, copy_instructions, nest_of, places
from arenite.ops.choice import OPS, arg_axis, first_of
from arenite.ops.views import broadcast_view, constant_operands, definition, stand_in

LOOPS = 4
"""Loops of the select kernel."""

_OPERANDS = ("condition", "x", "y")


def _nest(call: OpCall) -> Nest:
    shape = call.results[0].dims
    views = [broadcast_view(stand_in(call.operand(index)), shape) for index in range(len(_OPERANDS))]
    return nest_of(views, call.results[0].dtype.itemsize, held=(True, False, False))


def _prepare_select(call: OpCall) -> tuple[Prepared, ...]:
    if call.results[0].nelem == 0:
        return ()
    nest = _nest(call)
    idle = (Loop(1, (0,) * len(_OPERANDS)),) * (LOOPS - len(nest.loops))
    loops = (*idle, *nest.loops)
    params: Filled = {"sizes": tuple(loop.size for loop in loops), "row_nbytes": nest.row_nbytes}
    for index, name in enumerate(_OPERANDS):
        params[f"{name}_strides"] = tuple(loop.strides[index] for loop in loops)
    arguments: Given = {name: bytes_of(call, index) for index, name in enumerate(_OPERANDS)}
    return (Prepared(params, {**arguments, "output": ResultRef()}),)


def _select_reference(params: Params, arguments: Arguments) -> None:
    sizes, row = integers(params, "sizes"), integer(params, "row_nbytes")
    which = array(arguments, "condition")[places(sizes, integers(params, "condition_strides"), 1)]
    first, second = (
        array(arguments, name)[places(sizes, integers(params, f"{name}_strides"), row)].reshape(-1, row)
        for name in ("x", "y")
    )
    array(arguments, "output")[:] = np.where(which[:, None] != 0, first, second).reshape(-1)


def _select_cost(call: OpCall) -> KernelCost:
    nest = _nest(call)
    return KernelCost(copy_instructions(nest.rows, nest.row_nbytes) + 5 * nest.rows, 150)


def _few_loops(call: OpCall) -> bool | str:
    found = len(_nest(call).loops)
    return found <= LOOPS or f"{found} in {', '.join(str(call.operand(index)) for index in range(len(_OPERANDS)))}"


def _runs(call: OpCall) -> tuple[int, int, int]:
    axis, dims = arg_axis(call), call.operand(0).dims
    return math.prod(dims[:axis]), dims[axis], math.prod(dims[axis + 1 :])


_NARROW = (DType.INT8, DType.UINT8, DType.BOOL)
_WIDER = (DType.INT16, DType.UINT16, DType.INT32, DType.UINT32)
_INDICES = (DType.INT32, DType.INT64)


def _searches(sources: tuple[DType, ...]) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        fits = call.operand(0).dtype in sources and call.results[0].dtype in _INDICES
        return fits or signature_text(call)

    listed = [", ".join(dtype.value for dtype in dtypes) for dtypes in (sources, _INDICES)]
    return Constraint(f"the input is {listed[0]}, the result {' or '.join(listed[1].split(', '))}", holds)


def _arg_kernel(op: str, variant: str, info: KernelInfo, sources: tuple[DType, ...]) -> Kernel:
    least = op == "arg_min"

    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        (outer, size, inner), dtype = _runs(call), call.operand(0).dtype
        params: Filled = {"outer": outer, "size": size, "inner": inner}
        params["output_nbytes"] = call.results[0].dtype.itemsize
        if dtype is DType.FLOAT32:
            params["least"] = int(least)
        else:
            params["flip"] = _flip(dtype, least=least)
        if info is ARG_MAX_INTEGER:
            params |= {"input_nbytes": dtype.itemsize, "input_signed": int(dtype in (DType.INT16, DType.INT32))}
        source = bytes_of(call, 0) if info is ARG_MAX_INTEGER else OperandRef(0)
        return (Prepared(params, {"input": source, "output": ResultRef()}),)

    constraints = (_searches(sources), constant_operands(definition(OPS, op), 0))
    return Kernel(op, variant, info, constraints, prepare, _arg_cost, _arg_reference)


def _flip(dtype: DType, *, least: bool) -> int:
    """What makes the order of loaded elements that of signed numbers, greatest first wanted."""
    order = {DType.UINT8: -128, DType.BOOL: -128, DType.UINT32: -(2**31)}.get(dtype, 0)
    return order ^ (-1 if least else 0)


def _arg_reference(params: Params, arguments: Arguments) -> None:
    shape = tuple(integer(params, name) for name in ("outer", "size", "inner"))
    x, output = array(arguments, "input"), array(arguments, "output")
    if "input_nbytes" in params:
        sign = "i" if integer(params, "input_signed") else "u"
        # As in C, 32 bits are loaded as a signed number.
        x = x.view(f"{sign}{integer(params, 'input_nbytes')}").astype(np.int32)
    if "flip" in params:
        x = x.astype(np.int32) ^ integer(params, "flip")
    least = "least" in params and bool(integer(params, "least"))
    index = first_of(np.moveaxis(x.reshape(shape), 1, 0), np.less if least else np.greater)
    output[:] = index.reshape(-1).astype(f"i{integer(params, 'output_nbytes')}").view(np.uint8)


def _arg_cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=6 * call.operand(0).nelem + 15 * call.results[0].nelem, flash_nbytes=120)


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "select_v2",
        "rows",
        SELECT,
        (
            Constraint(
                f"after merging neighbours that broadcast alike, at most {LOOPS} dimensions are left", _few_loops
            ),
        ),
        _prepare_select,
        _select_cost,
        _select_reference,
    ),
    *(
        _arg_kernel(op, variant, info, sources)
        for op in ("arg_max", "arg_min")
        for variant, info, sources in (
            ("int8", ARG_MAX_S8, _NARROW),
            ("integer", ARG_MAX_INTEGER, _WIDER),
            ("float32", ARG_MAX_F32, (DType.FLOAT32,)),
        )
    ),
)
