"""Kernels of pad, padv2 and concatenation. A reshape is a view and makes no call."""

import math

import numpy as np

from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.movement import COPY_ROWS, PAD
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
from arenite.lower.kernel import Kernel, KernelCost, Prepared, ResultRef
from arenite.ops.movement import concatenation_axis, pad_amounts, pad_value

LOOPS = 4
"""Dimensions that the pad kernel walks over, the row of bytes included."""


def _pad_element(call: OpCall) -> bytes | None:
    """The bytes of the element that padding is made of; None when the network computes it (operand 2 of padv2)."""
    if not call.has(2):
        return np.array(pad_value(call), call.operand(0).dtype.numpy).tobytes()
    value = call.constant(2)
    return None if value is None else value.tobytes()


def _padded_runs(call: OpCall) -> list[tuple[int, int, int]]:
    """(size, bytes before, bytes after), outermost first; the last size is in bytes.

    A dimension without padding becomes one with the dimension around it.
    """
    source = call.operand(0)
    runs = [(source.dtype.itemsize, 0, 0)]
    padded_nbytes = source.dtype.itemsize
    for size, (before, after) in reversed(list(zip(source.dims, pad_amounts(call), strict=True))):
        inner_size, inner_before, inner_after = runs[0]
        outer = (size, before * padded_nbytes, after * padded_nbytes)
        if inner_before == inner_after == 0:
            runs[0] = (inner_size * size, outer[1], outer[2])
        else:
            runs.insert(0, outer)
        padded_nbytes *= before + size + after
    return runs


def _prepare_pad(call: OpCall) -> tuple[Prepared, ...]:
    element = _pad_element(call)
    assert element is not None, "a constraint asks for a constant"
    runs = _padded_runs(call)
    runs = [(1, 0, 0)] * (LOOPS - len(runs)) + runs
    params: Filled = {
        "sizes": tuple(size for size, _, _ in runs[:-1]),
        "row_nbytes": runs[-1][0],
        "before_nbytes": tuple(before for _, before, _ in runs),
        "after_nbytes": tuple(after for _, _, after in runs),
        "value": element[0],
    }
    return (Prepared(params, {"input": bytes_of(call, 0), "output": ResultRef()}),)


def _pad_reference(params: Params, arguments: Arguments) -> None:
    sizes, row = integers(params, "sizes"), integer(params, "row_nbytes")
    x = array(arguments, "input").reshape(*sizes, row)
    before, after = integers(params, "before_nbytes"), integers(params, "after_nbytes")
    for level in reversed(range(LOOPS)):
        width = [(0, 0)] * level + [(before[level], after[level])]
        x = np.pad(x, width, constant_values=integer(params, "value"))
        x = x.reshape(*x.shape[: max(level - 1, 0)], -1)
    array(arguments, "output")[:] = x


def _pad_cost(call: OpCall) -> KernelCost:
    runs = _padded_runs(call)
    rows = math.prod(size for size, _, _ in runs[:-1])
    return KernelCost(instructions=call.results[0].nbytes * 2 + rows * 30, flash_nbytes=200)


def _few_runs(call: OpCall) -> bool | str:
    found = len(_padded_runs(call))
    return found <= LOOPS or f"{found} in {call.operand(0)}"


def _paddings_are_constant(call: OpCall) -> bool | str:
    return call.constant(1) is not None or "paddings that the network computes"


def _padded_with_equal_bytes(call: OpCall) -> bool | str:
    element = _pad_element(call)
    if element is None:
        return "a value that the network computes"
    return len(set(element)) == 1 or f"{list(element)} for {call.operand(0)}"


def _prepare_concatenation(call: OpCall) -> tuple[Prepared, ...]:
    axis, result = concatenation_axis(call), call.results[0]
    rows = math.prod(result.dims[:axis])
    stride_nbytes = math.prod(result.dims[axis:]) * result.dtype.itemsize
    calls, offset_nbytes = [], 0
    for index in range(len(call.operands)):
        row_nbytes = math.prod(call.operand(index).dims[axis:]) * result.dtype.itemsize
        params: Filled = {"rows": rows, "row_nbytes": row_nbytes, "stride_nbytes": stride_nbytes}
        arguments: Given = {"input": bytes_of(call, index), "output": ResultRef(0, offset_nbytes)}
        if rows * row_nbytes:
            calls.append(Prepared(params, arguments))
        offset_nbytes += row_nbytes
    return tuple(calls)


def _copy_reference(params: Params, arguments: Arguments) -> None:
    rows, row_nbytes = integer(params, "rows"), integer(params, "row_nbytes")
    places = np.add.outer(np.arange(rows) * integer(params, "stride_nbytes"), np.arange(row_nbytes))
    array(arguments, "output")[places] = array(arguments, "input").reshape(rows, row_nbytes)


def _concatenation_cost(call: OpCall) -> KernelCost:
    rows = math.prod(call.results[0].dims[: concatenation_axis(call)])
    instructions = call.results[0].nbytes * 2 + rows * len(call.operands) * 20
    return KernelCost(instructions=instructions, flash_nbytes=60 * len(call.operands))


def _nothing_repeats(call: OpCall) -> bool | str:
    repeated = [index for index in range(len(call.operands)) if repeats_one_element(call, index)]
    return not repeated or f"operand {repeated[0]}, {call.operand(repeated[0])}"


_NOTHING_REPEATS = Constraint(
    f"no constant operand of {PATTERN_NBYTES} bytes or more repeats one element", _nothing_repeats
)


def _pad_kernel(op: str) -> Kernel:
    return Kernel(
        op,
        "rows",
        PAD,
        (
            Constraint("the paddings are constant", _paddings_are_constant),
            Constraint(
                "padding is made of equal bytes, known now: elements of one byte, or zeros", _padded_with_equal_bytes
            ),
            Constraint(
                f"after merging dimensions without padding into those around them, at most {LOOPS} are left",
                _few_runs,
            ),
        ),
        _prepare_pad,
        _pad_cost,
        _pad_reference,
    )


KERNELS: tuple[Kernel, ...] = (
    _pad_kernel("pad"),
    _pad_kernel("padv2"),
    Kernel(
        "concatenation",
        "rows",
        COPY_ROWS,
        (_NOTHING_REPEATS,),
        _prepare_concatenation,
        _concatenation_cost,
        _copy_reference,
    ),
)
