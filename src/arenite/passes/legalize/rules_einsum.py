"""Einsum of one operand, or of two: sums, then a product element by element, or of matrices."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from arenite.ir.graph import Node, Value
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.legalize.formulas import say
from arenite.passes.legalize.orders import UNIT, without_units
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Rule
from arenite.passes.legalize.rules_dense import connected
from arenite.passes.legalize.site import Site, attributes
from arenite.passes.onnx.einsum import Letters, read_equation


def _einsum(site: Site, node: Node) -> None:
    """Of any number of operands there is at most a product of two: others are refused."""
    values = node.present_operands
    text = attributes(node).text("equation")
    equation = read_equation(text, [site.rank(value) for value in values])
    if any(len(set(letters)) != len(letters) for letters in equation.operands):
        raise RefusedError(f"the equation '{text}' takes a diagonal, which has no counterpart")
    if len(values) > 2:
        raise RefusedError(f"the equation must have one operand or two, but '{text}' has {len(values)}")
    if len(values) == 1:
        core, letters = _summed(site, values[0], equation.operands[0], equation.result)
    else:
        sizes: dict[str, set[int]] = {}
        for value, each in zip(values, equation.operands, strict=True):
            for letter, size in zip(each, site.dims(value), strict=True):
                sizes.setdefault(letter, set()).add(size)
        if any(len(found) > 1 for found in sizes.values()):
            raise RefusedError(f"the dimensions of the equation '{text}' must be of one size in both operands")
        core, letters = _Product(site, values, equation.operands, equation.result).said()
    site.put(node.results[0], core, tuple(equation.result.index(letter) for letter in letters))


def _summed(site: Site, value: Value, letters: Letters, result: Letters) -> tuple[Value, Letters]:
    """A value as it lies, without the dimensions that the result has not."""
    core, order = site.lie(value)
    core = site.reshaped(core, [dim for dim, axis in zip(core.type.dims, order, strict=True) if axis != UNIT])
    lying = tuple(letters[axis] for axis in without_units(order))
    gone = [place for place, letter in enumerate(lying) if letter not in result]
    if gone:
        core = say(site, "sum", core, site.ints("axes", gone), attrs=ReduceAttrs())
    return core, tuple(letter for letter in lying if letter in result)


class _Product:
    """Of two operands: letters of both are kept (batch) or summed over, others are of one operand alone."""

    def __init__(self, site: Site, values: Sequence[Value], letters: Sequence[Letters], result: Letters) -> None:
        self._site, self._values, self._letters = site, values, letters
        # Dimensions in the sequence in which the first operand lies.
        first = [letters[0][axis] for axis in self._lying(0)]
        second = [letters[1][axis] for axis in self._lying(1)]
        self._batch = [letter for letter in first if letter in second and letter in result]
        self._inner = [letter for letter in first if letter in second and letter not in result]
        self._left = [letter for letter in first if letter not in second and letter in result]
        self._right = [letter for letter in second if letter not in first and letter in result]

    def said(self) -> tuple[Value, Letters]:
        """The product, and its dimensions as they lie."""
        site = self._site
        if not self._inner:
            x = self._operand(0, [*self._batch, *self._left])
            y = self._operand(1, [*self._batch, *self._right])
            lead, n_left = x.type.dims[: len(self._batch)], len(self._left)
            x = site.reshaped(x, (*x.type.dims, *(1,) * len(self._right)))
            y = site.reshaped(y, (*lead, *(1,) * n_left, *y.type.dims[len(lead) :]))
            return say(site, "mul", x, y), (*self._batch, *self._left, *self._right)
        if not self._batch:
            for weights, rows, own, others in ((1, 0, self._right, self._left), (0, 1, self._left, self._right)):
                whole = set(self._letters[weights]) == {*own, *self._inner}
                lies = bool(weights) or self._lies(rows, [*others, *self._inner])
                if whole and lies and site.constant(self._values[weights]) is not None:
                    return self._connected(weights, rows, own, others)
        return self._multiplied()

    def _connected(self, weights: int, rows: int, own: Sequence[str], others: Sequence[str]) -> tuple[Value, Letters]:
        stored = self._operand(weights, [*own, *self._inner])
        assert stored.constant is not None
        matrix = np.asarray(stored.constant).reshape(self._count(own), self._count(self._inner))
        data = self._operand(rows, [*others, *self._inner])
        core = connected(self._site, self._site.reshaped(data, (*self._sizes(others), matrix.shape[1])), matrix)
        return self._site.reshaped(core, self._sizes([*others, *own])), (*others, *own)

    def _multiplied(self) -> tuple[Value, Letters]:
        cores, adjoint = [], []
        for index, own in enumerate((self._left, self._right)):
            ways = ([*self._batch, *own, *self._inner], [*self._batch, *self._inner, *own])
            # An operand that lies neither way is moved to where the sum runs over what lies side by side.
            inner_last = self._lies(index, ways[0]) or not self._lies(index, ways[1])
            sizes = [*self._sizes(self._batch), self._count(own), self._count(self._inner)]
            sizes = sizes if inner_last else [*sizes[:-2], sizes[-1], sizes[-2]]
            cores.append(self._site.reshaped(self._operand(index, ways[0] if inner_last else ways[1]), sizes))
            adjoint.append(inner_last if index else not inner_last)
        core = say(self._site, "batch_matmul", *cores, attrs=BatchMatmulAttrs(*adjoint))
        letters = (*self._batch, *self._left, *self._right)
        return self._site.reshaped(core, self._sizes(letters)), letters

    def _operand(self, index: int, wanted: Sequence[str]) -> Value:
        """An operand with its dimensions in a sequence, those that are not in it summed over."""
        gone = [letter for letter in self._letters[index] if letter not in wanted]
        core = self._site.get(self._values[index], self._order(index, [*wanted, *gone]))
        if not gone:
            return core
        axes = self._site.ints("axes", list(range(len(wanted), core.type.rank)))
        return say(self._site, "sum", core, axes, attrs=ReduceAttrs())

    def _lies(self, index: int, wanted: Sequence[str]) -> bool:
        gone = [letter for letter in self._letters[index] if letter not in wanted]
        return self._site.lies(self._values[index], self._order(index, [*wanted, *gone]))

    def _order(self, index: int, letters: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._letters[index].index(letter) for letter in letters)

    def _lying(self, index: int) -> tuple[int, ...]:
        value = self._values[index]
        orders = self._site.orders(value)
        return without_units(orders[0]) if orders else tuple(range(self._site.rank(value)))

    def _sizes(self, letters: Iterable[str]) -> list[int]:
        return [self._size(letter) for letter in letters]

    def _size(self, letter: str) -> int:
        index = 0 if letter in self._letters[0] else 1
        return self._site.dims(self._values[index])[self._letters[index].index(letter)]

    def _count(self, letters: Iterable[str]) -> int:
        return math.prod(self._sizes(letters))


RULES = (
    Rule(
        "Einsum",
        _einsum,
        says="`sum`, `mul`, `fully_connected` or `batch_matmul`; of one operand or two, without diagonals",
    ),
)
