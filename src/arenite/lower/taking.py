"""Kernels of the ops that take elements from fixed or computed places: tables of places, gathers, space to batch."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.copying import GATHER, SPACE_TO_BATCH, TAKE
from arenite.lower.common import Arguments, Filled, Params, array, bytes_of, integer, integers
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.loops import copy_instructions
from arenite.lower.program import ConstantKind
from arenite.ops import resize, spatial
from arenite.ops.gather import plan_of
from arenite.ops.resize import nearest_positions
from arenite.ops.spatial import POSITIONS, Positions, Table, blocks_of, stored_zero
from arenite.ops.views import constant_operands, definition

MAX_DEPTH = 5
"""Indices in a vector, for the C kernel."""
MAX_TABLE_NELEM = 1 << 20
"""Of a table of places."""


@dataclass(frozen=True)
class _Grid:
    """Cells of bytes in rows and columns, all of it repeated; tables in bytes."""

    outer: int
    outer_nbytes: int
    rows: Table
    columns: Table
    cell_nbytes: int


def _step(table: Table) -> int | None:
    """The difference between neighbours, if it is always the same."""
    steps = np.unique(np.diff(table))
    return int(steps[0]) if len(steps) == 1 else None


def _grid(tables: list[Table], element_nbytes: int) -> _Grid:
    """Tables of places, of any number, as rows and columns: what lies side by side becomes a cell."""
    start = int(sum(table[0] for table in tables))
    left = [table - table[0] for table in tables if len(table) > 1]
    cell = element_nbytes
    while left and _step(left[-1]) == cell:
        cell *= len(left.pop())
    outer, outer_nbytes = 1, 0
    while len(left) > 2:
        step = _step(left[0])
        if len(left) == 3 and step is not None and step >= 0:
            outer, outer_nbytes = len(left.pop(0)), step
        else:
            left[:2] = [np.add.outer(left[0], left[1]).reshape(-1)]
    left = [np.zeros(1, np.int64)] * (2 - len(left)) + left
    return _Grid(outer, outer_nbytes, left[0] + start, left[1], cell)


def _short_tables(call: OpCall) -> bool | str:
    return sum(call.results[0].dims) <= MAX_TABLE_NELEM or f"{call.results[0]}"


SHORT_TABLES = Constraint(
    f"the dimensions of the result, for which there are tables, add up to at most {MAX_TABLE_NELEM}", _short_tables
)


def _take_kernel(op: str, positions: Positions) -> Kernel:
    def grid(call: OpCall) -> _Grid:
        itemsize = call.operand(0).dtype.itemsize
        return _grid([table * itemsize for table in positions(call)], itemsize)

    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        if call.results[0].nelem == 0:
            return ()
        found = grid(call)
        places = np.concatenate([found.rows, found.columns]).astype(np.int32)
        params: Filled = {
            "outer": found.outer,
            "outer_nbytes": found.outer_nbytes,
            "rows": len(found.rows),
            "columns": len(found.columns),
            "cell_nbytes": found.cell_nbytes,
        }
        table = PreparedConstant(places, ConstantKind.TABLE)
        return (Prepared(params, {"input": bytes_of(call, 0), "places": table, "output": ResultRef()}),)

    def cost(call: OpCall) -> KernelCost:
        if call.results[0].nelem == 0:
            return KernelCost(0, 0)
        found = grid(call)
        cells = found.outer * len(found.rows) * len(found.columns)
        tables_nbytes = 4 * (len(found.rows) + len(found.columns))
        return KernelCost(copy_instructions(cells, found.cell_nbytes), 100 + tables_nbytes)

    constraints = (constant_operands(definition((*spatial.OPS, *resize.OPS), op), 0), SHORT_TABLES)
    return Kernel(op, "table", TAKE, constraints, prepare, cost, _take_reference)


def _take_reference(params: Params, arguments: Arguments) -> None:
    rows, places = integer(params, "rows"), array(arguments, "places").astype(np.int64)
    outer = np.arange(integer(params, "outer"), dtype=np.int64) * integer(params, "outer_nbytes")
    cells = np.add.outer(np.add.outer(outer, places[:rows]), places[rows:])
    taken = np.add.outer(cells, np.arange(integer(params, "cell_nbytes")))
    array(arguments, "output")[:] = array(arguments, "input")[taken.reshape(-1)]


def _prepare_gather(call: OpCall) -> tuple[Prepared, ...]:
    plan, itemsize = plan_of(call), call.operand(0).dtype.itemsize
    if call.results[0].nelem == 0:
        return ()
    idle = MAX_DEPTH - len(plan.limits)
    params: Filled = {
        "batches": plan.batches,
        "outer": plan.outer,
        "outer_nbytes": plan.outer_step * itemsize,
        "count": plan.count,
        "depth": len(plan.limits),
        "limits": (*plan.limits, *(1,) * idle),
        "strides": (*(step * itemsize for step in plan.steps), *(0,) * idle),
        "row_nbytes": plan.slice_nelem * itemsize,
    }
    constant = call.constant(1)
    indices: OperandRef | PreparedConstant = OperandRef(1)
    if constant is not None:
        indices = PreparedConstant(constant.astype(np.int32).reshape(-1), ConstantKind.TABLE)
    return (Prepared(params, {"input": bytes_of(call, 0), "indices": indices, "output": ResultRef()}),)


def _gather_reference(params: Params, arguments: Arguments) -> None:
    batches, outer, depth = (integer(params, name) for name in ("batches", "outer", "depth"))
    vectors = array(arguments, "indices").astype(np.int64).reshape(batches, 1, integer(params, "count"), depth)
    limits, strides = np.array(integers(params, "limits")), np.array(integers(params, "strides"))
    inside = np.clip(vectors, 0, limits[:depth] - 1) * strides[:depth]
    starts = np.arange(batches * outer).reshape(batches, outer, 1) * integer(params, "outer_nbytes")
    taken = np.add.outer(starts + inside.sum(axis=3), np.arange(integer(params, "row_nbytes")))
    array(arguments, "output")[:] = array(arguments, "input")[taken.reshape(-1)]


def _gather_cost(call: OpCall) -> KernelCost:
    plan = plan_of(call)
    slices = plan.batches * plan.outer * plan.count
    row_nbytes = plan.slice_nelem * call.operand(0).dtype.itemsize
    instructions = copy_instructions(slices, row_nbytes) + slices * 8 * len(plan.limits)
    constant = call.constant(1)
    return KernelCost(instructions, 150 + (0 if constant is None else 4 * constant.size))


def _few_indices(call: OpCall) -> bool | str:
    depth = len(plan_of(call).limits)
    return depth <= MAX_DEPTH or f"{depth}"


def _indices_in_words(call: OpCall) -> bool | str:
    return call.constant(1) is not None or call.operand(1).dtype is DType.INT32 or f"{call.operand(1)}"


def _prepare_to_batch(call: OpCall) -> tuple[Prepared, ...]:
    source, result = call.operand(0), call.results[0]
    if result.nelem == 0:
        return ()
    blocks = blocks_of(call, "paddings")
    # One spatial dimension is the height of an image that is one pixel wide.
    spatial = (*source.dims[1:-1], 1)[:2]
    block = (*blocks.shape, 1)[:2]
    (top, _), (left, _) = (*blocks.pairs, (0, 0))[:2]
    output = (*result.dims[1:-1], 1)[:2]
    params: Filled = {
        "batch": source.dims[0],
        "height": spatial[0],
        "width": spatial[1],
        "depth_nbytes": source.dims[-1] * source.dtype.itemsize,
        "block_height": block[0],
        "block_width": block[1],
        "top": top,
        "left": left,
        "output_height": output[0],
        "output_width": output[1],
        "value": stored_zero(call) & 0xFF,
    }
    return (Prepared(params, {"input": bytes_of(call, 0), "output": ResultRef()}),)


def _to_batch_reference(params: Params, arguments: Arguments) -> None:
    names = ("batch", "height", "width", "depth_nbytes")
    batch, height, width, depth = (integer(params, name) for name in names)
    down, across = integer(params, "block_height"), integer(params, "block_width")
    canvas = np.full(
        (batch, integer(params, "output_height") * down, integer(params, "output_width") * across, depth),
        integer(params, "value"),
        np.uint8,
    )
    top, left = integer(params, "top"), integer(params, "left")
    canvas[:, top : top + height, left : left + width] = array(arguments, "input").reshape(batch, height, width, depth)
    phases = [canvas[:, i::down, j::across].reshape(-1) for i in range(down) for j in range(across)]
    array(arguments, "output")[:] = np.concatenate(phases)


def _to_batch_cost(call: OpCall) -> KernelCost:
    depth_nbytes = call.results[0].dims[-1] * call.results[0].dtype.itemsize
    pixels = math.prod(call.results[0].dims[:-1])
    return KernelCost(copy_instructions(pixels, depth_nbytes) + 5 * pixels, 250)


def _equal_bytes(call: OpCall) -> bool | str:
    zero = stored_zero(call)
    return call.operand(0).dtype.itemsize == 1 or zero == 0 or f"{zero} in {call.operand(0)}"


_POSITIONS: dict[str, Callable[[OpCall], tuple[Table, ...]]] = {
    **POSITIONS,
    "resize_nearest_neighbor": nearest_positions,
}
_GATHER_CONSTRAINTS = (
    Constraint(f"a vector has at most {MAX_DEPTH} indices", _few_indices),
    Constraint("indices that the network computes are int32", _indices_in_words),
)

KERNELS: tuple[Kernel, ...] = (
    *(_take_kernel(op, positions) for op, positions in _POSITIONS.items()),
    Kernel("gather", "index", GATHER, _GATHER_CONSTRAINTS, _prepare_gather, _gather_cost, _gather_reference),
    Kernel("gather_nd", "index", GATHER, _GATHER_CONSTRAINTS, _prepare_gather, _gather_cost, _gather_reference),
    Kernel(
        "space_to_batch_nd",
        "blocks",
        SPACE_TO_BATCH,
        (
            constant_operands(definition(spatial.OPS, "space_to_batch_nd"), 0),
            Constraint("padding is made of equal bytes: elements of one byte, or zeros", _equal_bytes),
        ),
        _prepare_to_batch,
        _to_batch_cost,
        _to_batch_reference,
    ),
)
