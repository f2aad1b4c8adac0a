"""Kernels of resize_bilinear. Resizing to the nearest is a matter of places (see taking)."""

from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.kernels.families.resize import RESIZE_BILINEAR_F32, RESIZE_BILINEAR_S8
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
    round_interpolated,
)
from arenite.ops.views import constant_operands, definition


def _neighbours(call: OpCall) -> tuple[tuple[Between, int], ...]:
    """Of rows, then of columns: neighbours, and elements from one row or column of the input to the next."""
    assert isinstance(call.attrs, ResizeAttrs)
    source, result = call.operand(0).dims, call.results[0].dims
    between = between_integer if call.operand(0).dtype is DType.INT8 else between_float
    steps = (source[2] * source[3], source[3])
    return tuple((between(source[axis], result[axis], call.attrs), steps[axis - 1]) for axis in (1, 2))


def _sizes(call: OpCall, image: str) -> Filled:
    source, result = call.operand(0).dims, call.results[0].dims
    return {
        "batch": source[0],
        image: source[1] * source[2] * source[3],
        "rows": result[1],
        "columns": result[2],
        "depth": source[3],
    }


def _prepare_s8(call: OpCall) -> tuple[Prepared, ...]:
    tables = [np.stack([b.lower * step, b.upper * step, b.fraction], axis=1) for b, step in _neighbours(call)]
    places = PreparedConstant(np.concatenate(tables).astype(np.int32).reshape(-1), ConstantKind.TABLE)
    arguments: Given = {"input": OperandRef(0), "places": places, "output": ResultRef()}
    return (Prepared(_sizes(call, "image_nbytes"), arguments),)


def _prepare_f32(call: OpCall) -> tuple[Prepared, ...]:
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
    return (Prepared(_sizes(call, "image_nelem"), arguments),)


def _s8_reference(params: Params, arguments: Arguments) -> None:
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


def _f32_reference(params: Params, arguments: Arguments) -> None:
    rows, depth, one = integer(params, "rows"), integer(params, "depth"), np.float32(1)
    x = array(arguments, "input").reshape(integer(params, "batch"), -1)
    table = array(arguments, "places").astype(np.int64).reshape(-1, 2)
    fractions = array(arguments, "fractions")
    down, across = fractions[:rows][None, :, None, None], fractions[rows:][None, None, :, None]
    total = np.zeros((), np.float32)
    first = True
    for column, right in ((table[rows:, 0], one - across), (table[rows:, 1], across)):
        for row, along in ((table[:rows, 0], one - down), (table[:rows, 1], down)):
            term = x[:, np.add.outer(np.add.outer(row, column), np.arange(depth))] * along * right
            total, first = (term if first else total + term), False
    array(arguments, "output")[:] = total.reshape(-1)


def _cost(per_element: float) -> Callable[[OpCall], KernelCost]:
    def cost(call: OpCall) -> KernelCost:
        result = call.results[0]
        return KernelCost(per_element * result.nelem, 250 + 12 * (result.dims[1] + result.dims[2]))

    return cost


_FIXED = constant_operands(definition(OPS, "resize_bilinear"), 0)

KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "resize_bilinear",
        "table",
        RESIZE_BILINEAR_S8,
        (dtypes((DType.INT8,), DType.INT8), _FIXED, SHORT_TABLES),
        _prepare_s8,
        _cost(20),
        _s8_reference,
    ),
    Kernel(
        "resize_bilinear",
        "float",
        RESIZE_BILINEAR_F32,
        (dtypes((DType.FLOAT32,), DType.FLOAT32), _FIXED, SHORT_TABLES),
        _prepare_f32,
        _cost(600),
        _f32_reference,
    ),
)
