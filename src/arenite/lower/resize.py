"""Kernels of resize_bilinear. Resizing to the nearest is a matter of places (see taking)."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.kernels.families.resize import (
    RESIZE_BILINEAR_F32,
    RESIZE_BILINEAR_S8,
    RESIZE_BILINEAR_S16,
    RESIZE_BILINEAR_U8,
)
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind
from arenite.lower.taking import SHORT_TABLES
from arenite.ops.resize import (
    FRACTION_BITS,
    OPS,
    Between,
    ResizeAttrs,
    between_float,
    between_integer,
    in_float,
    round_interpolated,
    rounded_up,
)
from arenite.ops.views import constant_operands, definition


def _neighbours(call: OpCall) -> tuple[tuple[Between, int], ...]:
    """Of rows, then of columns: neighbours, and elements from one row or column of the input to the next."""
    assert isinstance(call.attrs, ResizeAttrs)
    source, result = call.operand(0).dims, call.results[0].dims
    between = between_float if in_float(call.operand(0).dtype) else between_integer
    steps = (source[2] * source[3], source[3])
    return tuple((between(source[axis], result[axis], call.attrs), steps[axis - 1]) for axis in (1, 2))


def _sizes(call: OpCall) -> Filled:
    source, result = call.operand(0).dims, call.results[0].dims
    return {
        "batch": source[0],
        "image_nelem": source[1] * source[2] * source[3],
        "rows": result[1],
        "columns": result[2],
        "depth": source[3],
    }


def _prepare_integer(call: OpCall) -> tuple[Prepared, ...]:
    tables = [np.stack([b.lower * step, b.upper * step, b.fraction], axis=1) for b, step in _neighbours(call)]
    places = PreparedConstant(np.concatenate(tables).astype(np.int32).reshape(-1), ConstantKind.TABLE)
    arguments: Given = {"input": OperandRef(0), "places": places, "output": ResultRef()}
    return (Prepared(_sizes(call), arguments),)


def _prepare_real(call: OpCall) -> tuple[Prepared, ...]:
    neighbours = _neighbours(call)
    tables = [np.stack([b.lower * step, b.upper * step], axis=1) for b, step in neighbours]
    places = PreparedConstant(np.concatenate(tables).astype(np.int32).reshape(-1), ConstantKind.TABLE)
    fractions = np.concatenate([b.fraction for b, _ in neighbours]).astype(np.float32)
    arguments: Given = {
        "input": OperandRef(0),
        "places": places,
        "fractions": PreparedConstant(fractions, ConstantKind.TABLE),
        "output": ResultRef(),
    }
    return (Prepared(_sizes(call), arguments),)


def _integer_reference(params: Params, arguments: Arguments) -> None:
    rows, depth, one = integer(params, "rows"), integer(params, "depth"), 1 << FRACTION_BITS
    x = array(arguments, "input").astype(np.int64).reshape(integer(params, "batch"), -1)
    table = array(arguments, "places").astype(np.int64).reshape(-1, 3)
    (low_row, high_row, down), (left, right, across) = table[:rows].T, table[rows:].T
    lines = [
        sum(
            x[:, np.add.outer(np.add.outer(row, column), np.arange(depth))] * weight[None, None, :, None]
            for column, weight in ((left, one - across), (right, across))
        )
        for row in (low_row, high_row)
    ]
    along = down[None, :, None, None]
    total = lines[0] * (one - along) + lines[1] * along
    array(arguments, "output")[:] = round_interpolated(total).reshape(-1)


def _real_reference(params: Params, arguments: Arguments) -> None:
    rows, depth, one = integer(params, "rows"), integer(params, "depth"), np.float32(1)
    x = array(arguments, "input").astype(np.float32).reshape(integer(params, "batch"), -1)
    table = array(arguments, "places").astype(np.int64).reshape(-1, 2)
    fractions = array(arguments, "fractions")
    down, across = fractions[:rows][None, :, None, None], fractions[rows:][None, None, :, None]
    total = np.zeros((), np.float32)
    first = True
    for column, right in ((table[rows:, 0], one - across), (table[rows:, 1], across)):
        for row, along in ((table[:rows, 0], one - down), (table[:rows, 1], down)):
            term = x[:, np.add.outer(np.add.outer(row, column), np.arange(depth))] * along * right
            total, first = (term if first else total + term), False
    output = array(arguments, "output")
    output[:] = rounded_up(total, DType.of(output.dtype)).reshape(-1)


def _cost(per_element: float) -> Callable[[OpCall], KernelCost]:
    def cost(call: OpCall) -> KernelCost:
        result = call.results[0]
        return KernelCost(per_element * result.nelem, 250 + 12 * (result.dims[1] + result.dims[2]))

    return cost


_FIXED = constant_operands(definition(OPS, "resize_bilinear"), 0)


def _kernel(variant: str, dtype: DType, info: KernelInfo, per_element: float) -> Kernel:
    real = in_float(dtype)
    return Kernel(
        "resize_bilinear",
        variant,
        info,
        (dtypes((dtype,), dtype), _FIXED, SHORT_TABLES),
        _prepare_real if real else _prepare_integer,
        _cost(per_element),
        _real_reference if real else _integer_reference,
    )


KERNELS: tuple[Kernel, ...] = (
    _kernel("table", DType.INT8, RESIZE_BILINEAR_S8, 20),
    _kernel("int16", DType.INT16, RESIZE_BILINEAR_S16, 30),
    _kernel("uint8", DType.UINT8, RESIZE_BILINEAR_U8, 650),
    _kernel("float", DType.FLOAT32, RESIZE_BILINEAR_F32, 600),
)
