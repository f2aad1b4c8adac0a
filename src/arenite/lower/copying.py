"""Kernels of the ops whose results are views of their operands: copies of rows of bytes by loops with strides."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.ir.types import TensorType
from arenite.kernels.families.copying import COPY_STRIDED
from arenite.lower.common import (
    PATTERN_NBYTES,
    Arguments,
    Filled,
    Given,
    Params,
    array,
    bytes_of,
    integer,
    integers,
    repeats_one_element,
)
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.loops import Loop, Nest, copy_instructions, nest_of, places, start_of
from arenite.lower.program import ConstantKind
from arenite.ops import layout, repeat, slicing, spatial
from arenite.ops.layout import pack_axis
from arenite.ops.movement import concatenation_axis
from arenite.ops.repeat import shape_of
from arenite.ops.spatial import padded_amounts
from arenite.ops.views import Views, constant_operands, definition, stand_in, view_of

LOOPS = 5
"""Loops of the C kernel."""
MAX_CALLS = 16
"""Into how many calls one copy with more loops may be cut."""


@dataclass(frozen=True)
class Copy:
    """One copy: from where to where.

    Attributes:
        source: what is read.
        result: index of the result.
        nest: its loops; strides of the input, then of the output.
        starts: bytes from the start of the input, and of the output.
    """

    source: OperandRef | PreparedConstant
    result: int
    nest: Nest
    starts: tuple[int, int]


Copies = Callable[[OpCall], tuple[Copy, ...]]


def _copy(
    source: OperandRef | PreparedConstant, views: tuple[Array, Array], bases: tuple[Array, Array], result: int = 0
) -> tuple[Copy, ...]:
    """The copy of one view to another of the same shape; none when there are no elements."""
    if views[0].size == 0:
        return ()
    starts = start_of(views[0], bases[0]), start_of(views[1], bases[1])
    return (Copy(source, result, nest_of(views, views[0].itemsize), starts),)


def _of_views(views: Views, data: int) -> Copies:
    def copies(call: OpCall) -> tuple[Copy, ...]:
        base, found = stand_in(call.operand(data)), list[Copy]()
        for index, view in enumerate(views(call, base)):
            target = stand_in(TensorType(call.operand(data).dtype, view.shape))
            found += _copy(bytes_of(call, data), (view, target), (base, target), index)
        return tuple(found)

    return copies


def _pack_copies(call: OpCall) -> tuple[Copy, ...]:
    target, found = stand_in(call.results[0]), list[Copy]()
    for index in range(len(call.operands)):
        base = stand_in(call.operand(index))
        view = view_of(np.moveaxis(target, pack_axis(call), 0), index)
        found += _copy(bytes_of(call, index), (base, view), (base, target))
    return tuple(found)


def _shape_copies(call: OpCall) -> tuple[Copy, ...]:
    dims = shape_of(call)
    constant = PreparedConstant(dims.view(np.uint8), ConstantKind.TABLE)
    return _copy(constant, (dims, dims), (dims, dims))


def _padding_copies(call: OpCall) -> tuple[Copy, ...]:
    base, target, value = (stand_in(tensor) for tensor in (call.operand(0), call.results[0], call.operand(2)))
    everywhere = np.broadcast_to(value.reshape(()), target.shape)
    pairs = zip(base.shape, padded_amounts(call), strict=True)
    inside = view_of(target, *(slice(before, before + dim) for dim, (before, _) in pairs))
    return (
        *_copy(bytes_of(call, 2), (everywhere, target), (value, target)),
        *_copy(bytes_of(call, 0), (base, inside), (base, target)),
    )


def _concatenation_copies(call: OpCall) -> tuple[Copy, ...]:
    """Of each operand; of one that repeats an element, a pattern again and again."""
    axis, target, found, offset = concatenation_axis(call), stand_in(call.results[0]), list[Copy](), 0
    rows = math.prod(target.shape[:axis])
    lines = target.reshape(rows, -1)
    for index in range(len(call.operands)):
        length = math.prod(call.operand(index).dims[axis:])
        place = lines[:, offset : offset + length]
        offset += length
        if not repeats_one_element(call, index):
            base = stand_in(call.operand(index)).reshape(rows, length)
            found += _copy(bytes_of(call, index), (base, place), (base, target))
            continue
        most = min(length, PATTERN_NBYTES // target.itemsize)
        width = next(size for size in range(most, 0, -1) if length % size == 0)
        constant = call.constant(index)
        assert constant is not None, "what repeats is constant"
        pattern = np.ascontiguousarray(constant.reshape(-1)[:width])
        pieces = place.reshape(rows, length // width, width)
        source = PreparedConstant(pattern.view(np.uint8), ConstantKind.WEIGHTS)
        found += _copy(source, (np.broadcast_to(pattern, pieces.shape), pieces), (pattern, target))
    return tuple(found)


def _any_repeats(call: OpCall) -> bool | str:
    return any(repeats_one_element(call, index) for index in range(len(call.operands))) or "none"


def _cast_copies(call: OpCall) -> tuple[Copy, ...]:
    base = stand_in(call.operand(0))
    return _copy(bytes_of(call, 0), (base, base), (base, base))


def _cut(copy: Copy) -> tuple[Copy, ...]:
    """Copies of at most LOOPS loops: the outermost loop becomes one copy for each time that it runs."""
    if len(copy.nest.loops) <= LOOPS:
        return (copy,)
    first, *rest = copy.nest.loops
    parts = (
        Copy(
            copy.source,
            copy.result,
            Nest(tuple(rest), copy.nest.row_nbytes),
            (copy.starts[0] + i * first.strides[0], copy.starts[1] + i * first.strides[1]),
        )
        for i in range(first.size)
    )
    return tuple(piece for part in parts for piece in _cut(part))


def _calls_of(copy: Copy) -> int:
    return int(np.prod([loop.size for loop in copy.nest.loops[:-LOOPS]], dtype=np.int64))


def _prepared(copy: Copy) -> Prepared:
    loops: tuple[Loop, ...] = copy.nest.padded(LOOPS)
    params: Filled = {
        "sizes": tuple(loop.size for loop in loops),
        "input_strides": tuple(loop.strides[0] for loop in loops),
        "output_strides": tuple(loop.strides[1] for loop in loops),
        "input_start": copy.starts[0],
        "output_start": copy.starts[1],
        "row_nbytes": copy.nest.row_nbytes,
    }
    arguments: Given = {"input": copy.source, "output": ResultRef(copy.result)}
    return Prepared(params, arguments)


def _reference(params: Params, arguments: Arguments) -> None:
    sizes, row = integers(params, "sizes"), integer(params, "row_nbytes")
    read = places(sizes, integers(params, "input_strides"), row) + integer(params, "input_start")
    written = places(sizes, integers(params, "output_strides"), row) + integer(params, "output_start")
    array(arguments, "output")[written] = array(arguments, "input")[read]


def _kernel(op: str, variant: str, copies: Copies, *constraints: Constraint) -> Kernel:
    def few_calls(call: OpCall) -> bool | str:
        most = max((_calls_of(copy) for copy in copies(call)), default=0)
        return most <= MAX_CALLS or f"{most} calls of {LOOPS} loops each, in {call.operand(0)}"

    def prepare(call: OpCall) -> tuple[Prepared, ...]:
        return tuple(_prepared(piece) for copy in copies(call) for piece in _cut(copy))

    def cost(call: OpCall) -> KernelCost:
        found = copies(call)
        instructions = sum(copy_instructions(copy.nest.rows, copy.nest.row_nbytes) for copy in found)
        return KernelCost(instructions, flash_nbytes=sum(100 * _calls_of(copy) for copy in found))

    few = Constraint(f"each copy is done in at most {MAX_CALLS} calls, after merging what lies side by side", few_calls)
    return Kernel(op, variant, COPY_STRIDED, (*constraints, few), prepare, cost, _reference)


def _same_dtype(call: OpCall) -> bool | str:
    return call.operand(0).dtype is call.results[0].dtype or signature_text(call)


def _shape_in_words(call: OpCall) -> bool | str:
    return call.results[0].dtype in (DType.INT32, DType.INT64) or f"{call.results[0]}"


_OPS = (*slicing.OPS, *layout.OPS, *repeat.OPS)
_VIEWS = {**slicing.VIEWS, **layout.VIEWS, **repeat.VIEWS}

KERNELS: tuple[Kernel, ...] = (
    *(
        _kernel(op, "copy", _of_views(views, data), constant_operands(definition(_OPS, op), data))
        for op, (views, data) in _VIEWS.items()
    ),
    _kernel("pack", "copy", _pack_copies),
    _kernel(
        "concatenation",
        "patterns",
        _concatenation_copies,
        Constraint(f"a constant operand of {PATTERN_NBYTES} bytes or more repeats one element", _any_repeats),
    ),
    _kernel("shape", "copy", _shape_copies, Constraint("the result is int32 or int64", _shape_in_words)),
    _kernel("padv2", "fill", _padding_copies, constant_operands(definition(spatial.OPS, "padv2"), 0, 2)),
    _kernel("cast", "copy", _cast_copies, Constraint("operand and result have the same dtype", _same_dtype)),
)
