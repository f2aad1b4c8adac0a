"""Broadcasting of two operands as strides over few dimensions."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite.ir.opdef import Constraint, OpCall

LOOPS = 4
"""Dimensions that the kernels walk over."""


@dataclass(frozen=True)
class Broadcast:
    """How two operands run along the result.

    Attributes:
        sizes: of the result, outermost first; padded with ones in front.
        strides_a, strides_b: in elements; 0 where the operand repeats.
    """

    sizes: tuple[int, ...]
    strides_a: tuple[int, ...]
    strides_b: tuple[int, ...]


def _runs(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[int, bool, bool]]:
    """(size, a has it, b has it) of the result's dimensions; neighbours of one kind are merged, those of 1 left out."""
    rank = max(len(a), len(b))
    runs: list[tuple[int, bool, bool]] = []
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    for size_a, size_b in pairs:
        size = size_b if size_a == 1 else size_a
        if size == 1:
            continue
        kind = (size_a == size, size_b == size)
        if runs and runs[-1][1:] == kind:
            runs[-1] = (runs[-1][0] * size, *kind)
        else:
            runs.append((size, *kind))
    return runs


def _strides(sizes: list[int], present: list[bool]) -> tuple[int, ...]:
    strides, step = [0] * len(sizes), 1
    for index in reversed(range(len(sizes))):
        if present[index]:
            strides[index], step = step, step * sizes[index]
    return tuple(strides)


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> Broadcast:
    """Strides of two shapes that broadcast, in at most `LOOPS` dimensions (see `broadcasts_in_few_loops`)."""
    runs = _runs(a, b)
    # Dimensions of 1 go in front; the strides along them do not matter.
    padded = [(1, False, False)] * (LOOPS - len(runs)) + runs
    sizes = [size for size, _, _ in padded]
    return Broadcast(
        tuple(sizes), _strides(sizes, [has for _, has, _ in padded]), _strides(sizes, [has for _, _, has in padded])
    )


def _few_loops(call: OpCall) -> bool | str:
    found = len(_runs(call.operand(0).dims, call.operand(1).dims))
    return found <= LOOPS or f"{found} in {call.operand(0)} and {call.operand(1)}"


BROADCASTS_IN_FEW_LOOPS = Constraint(
    f"after merging neighbours that broadcast alike, at most {LOOPS} dimensions are left", _few_loops
)


def gather(values: npt.NDArray[np.generic], sizes: tuple[int, ...], strides: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Elements of a flat array in the order in which nested loops with these strides read them, as int64."""
    index = np.zeros((), np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        index = np.add.outer(index, np.arange(size, dtype=np.int64) * stride)
    taken: npt.NDArray[np.int64] = np.asarray(values)[index.reshape(-1)].astype(np.int64)
    return taken
