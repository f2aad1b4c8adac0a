"""Transposes before matrix products and reductions: columns of weights, constants and axes take their order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from arenite._base.remarks import Reason
from arenite.ir.content import in_sequence, is_splat
from arenite.ir.graph import Node, Use, Value
from arenite.ir.opdef import OpCall, OpError, Trait
from arenite.ir.pattern import INTERMEDIATE_IS_OUTPUT, Mismatch
from arenite.ops.dense import dense_attrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.reduce import ReduceAttrs, reduce_axes
from arenite.passes.base import Close, Equivalence, Pass, Work
from arenite.passes.fuse_pads import UNREAD
from arenite.passes.reshaping import reshape_instead, reshaped
from arenite.passes.transposes import COMPUTED, order_of, untransposed
from arenite.passes.trim_taps import SHARED

ABSORBED = Reason("absorbed", "{into} read what {subject} transposed: weights and axes have its order now")
OTHER_READER = Reason(
    "other-reader", "%{value} reaches '{reader}' ({op}), which has neither weights nor axes to permute"
)
KEEPS_DIMS = Reason("keeps-dims", "'{reader}' keeps the leading dimensions of %{value}, which {subject} moves")
WEIGHTS_COMPUTED = Reason("weights-computed", "the weights of '{reader}' are computed")
PER_CHANNEL = Reason("per-channel", "the weights of '{reader}' are quantized per column")
MIXES_ROWS = Reason(
    "mixes-rows", "{subject} moves elements from one row of '{reader}' to another, not within rows alone"
)
AXES_COMPUTED = Reason("axes-computed", "the axes of '{reader}' are computed")
REORDERS = Reason("reorders", "what '{reader}' leaves of %{value} has another order without {subject}")

_REDUCTIONS = frozenset({"mean", "sum", "reduce_max", "reduce_min"})

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AbsorbTransposes(Pass):
    """Removes transposes that reach fully connected layers and reductions alone. Candidates are the transposes.

    Between may lie reshapes, elementwise ops of which all other operands are constant, and concatenations of rows;
    before reductions elementwise ops alone. Bit-exact for integers; floats are added in another order.

    Attributes:
        tolerance: of the last bits of floats; less than one step of any quantized output.
    """

    tolerance: float = 1e-5

    name: ClassVar[str] = "absorb-transposes"
    summary: ClassVar[str] = "Permutes weights and axes in place of what they work on."
    reasons: ClassVar[tuple[Reason, ...]] = (
        ABSORBED,
        COMPUTED,
        UNREAD,
        INTERMEDIATE_IS_OUTPUT,
        OTHER_READER,
        KEEPS_DIMS,
        WEIGHTS_COMPUTED,
        PER_CHANNEL,
        MIXES_ROWS,
        SHARED,
        AXES_COMPUTED,
        REORDERS,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op != "transpose":
                continue
            candidate, order = work.consider(node), order_of(node)
            found = Mismatch(COMPUTED) if order is None else _reached(node, order, work)
            if isinstance(found, Mismatch):
                candidate.missed(found.reason, **found.arguments)
                continue
            _Removal(node, found, work).run()
            into = ", ".join(f"'{each.node.name}'" for each in found if isinstance(each, _Dense | _Reduction))
            candidate.passed(ABSORBED, into=into)


@dataclass(frozen=True)
class _Step:
    """A node on the way.

    Attributes:
        index, source: the operand by which it is reached.
        whole: whether that has the dimensions which the transpose gave it.
        columns: where in a row of what is not transposed, along the last dimension, its elements come from; None: as
            the transpose moves them, whatever the rows are.
    """

    node: Node
    index: int
    source: Value
    whole: bool
    columns: Indices | None = None


@dataclass(frozen=True)
class _Dense(_Step):
    """A matrix product: column i of its weights becomes column `columns[i]`."""


@dataclass(frozen=True)
class _Beside(_Step):
    """An elementwise op with constants, which are moved alike."""


@dataclass(frozen=True)
class _Joined(_Step):
    """A concatenation of rows; `columns` are those of its result."""


@dataclass(frozen=True)
class _Reduction(_Step):
    """A reduction, and the dimensions that it then takes."""

    axes: tuple[int, ...] = ()


def _reached(transpose: Node, order: tuple[int, ...], work: Work) -> list[_Step] | Mismatch:
    """Every node up to those that end the ways from a transpose, each after the one whose result it reads."""
    steps: list[_Step] = []
    pending: list[tuple[Value, bool, Indices | None]] = [(transpose.result, True, None)]
    seen: set[Node] = set()
    while pending:
        value, whole, columns = pending.pop()
        if value.output_of:
            return Mismatch(INTERMEDIATE_IS_OUTPUT, {"value": value.name})
        if not value.uses:
            return Mismatch(UNREAD)
        for use in value.uses:
            step = _step(_Step(use.node, use.index, value, whole, columns), transpose, order, work)
            if isinstance(step, Mismatch):
                return step
            if use.node in seen:
                return _other_reader(step)
            seen.add(use.node)
            steps.append(step)
            if not isinstance(step, _Dense | _Reduction):
                pending.append((use.node.result, whole and not _is_view(use.node, work), step.columns))
    return _shared(steps) or steps


def _step(at: _Step, transpose: Node, order: tuple[int, ...], work: Work) -> _Step | Mismatch:
    """What a reader of a value that is to have another order does with it."""
    reader, dims = at.node, transpose.operand(0).type.dims
    if at.index == 0:
        if reader.op == "fully_connected":
            return _dense(at, dims, order)
        if reader.op in _REDUCTIONS and at.whole:
            return _reduction(at, dims, order)
        if _is_view(reader, work):
            return at
    if _is_elementwise(at, work):
        return _beside(at, dims, order)
    if reader.op == "concatenation" and not at.whole:
        return _joined(at, dims, order)
    return _other_reader(at)


def _other_reader(at: _Step) -> Mismatch:
    return Mismatch(OTHER_READER, {"value": at.source.name, "reader": at.node.name, "op": at.node.op})


def _is_view(node: Node, work: Work) -> bool:
    definition = work.registry.get(node.op)
    return definition is not None and definition.has(Trait.VIEW) and _same_numbers(node)


def _same_numbers(node: Node) -> bool:
    before, after = node.operand(0).type, node.result.type
    return after.is_static and (before.dtype, before.quantization) == (after.dtype, after.quantization)


def _is_elementwise(at: _Step, work: Work) -> bool:
    """Whether an op gives for each element of what it reads one, by constants at most."""
    node, definition = at.node, work.registry.get(at.node.op)
    if definition is None or not definition.has(Trait.ELEMENTWISE) or len(node.results) != 1:
        return False
    others = [value for index, value in enumerate(node.operands) if index != at.index]
    if not all(value is not None and value.is_constant and _is_plain(value) for value in others):
        return False
    return at.source.type.shape == node.result.type.shape and _is_plain(node.result)


def _is_plain(value: Value) -> bool:
    return value.type.quantization is None or value.type.quantization.is_per_tensor


def _beside(at: _Step, dims: tuple[int, ...], order: tuple[int, ...]) -> _Step | Mismatch:
    if at.whole or all(value is at.source or value.type.nelem == 1 for value in at.node.present_operands):
        return _Beside(*_fields(at), at.columns)
    columns = _columns(at, dims, order, at.source.type.dims[-1])
    return Mismatch(MIXES_ROWS, {"reader": at.node.name}) if columns is None else _Beside(*_fields(at), columns)


def _joined(at: _Step, dims: tuple[int, ...], order: tuple[int, ...]) -> _Step | Mismatch:
    node, rank, attrs = at.node, at.source.type.rank, at.node.attrs
    assert isinstance(attrs, ConcatenationAttrs)
    if attrs.axis % rank != rank - 1 or not node.result.type.is_static:
        return _other_reader(at)
    columns = _columns(at, dims, order, at.source.type.dims[-1])
    if columns is None:
        return Mismatch(MIXES_ROWS, {"reader": node.name})
    before = sum(value.type.dims[-1] for value in node.present_operands[: at.index])
    joined = np.arange(node.result.type.dims[-1], dtype=np.int64)
    joined[before : before + len(columns)] = before + columns
    return _Joined(*_fields(at), joined)


def _columns(at: _Step, dims: tuple[int, ...], order: tuple[int, ...], inputs: int) -> Indices | None:
    """Where the elements of a row of so many come from; None: not from that row alone."""
    if at.columns is None:
        return columns_of(dims, order, inputs)
    return at.columns if len(at.columns) == inputs else None


def _dense(at: _Step, dims: tuple[int, ...], order: tuple[int, ...]) -> _Dense | Mismatch:
    reader, weights = at.node, at.node.operand(1)
    names = {"reader": reader.name}
    if at.whole and dense_attrs(OpCall.of(reader)).keep_dims:
        return Mismatch(KEEPS_DIMS, {**names, "value": at.source.name})
    if weights.constant is None:
        return Mismatch(WEIGHTS_COMPUTED, names)
    if weights.type.quantization is not None and weights.type.quantization.axis == 1:
        return Mismatch(PER_CHANNEL, names)
    columns = _columns(at, dims, order, weights.type.dims[1])
    return Mismatch(MIXES_ROWS, names) if columns is None else _Dense(*_fields(at), columns)


def _fields(at: _Step) -> tuple[Node, int, Value, bool]:
    return at.node, at.index, at.source, at.whole


def columns_of(dims: Sequence[int], order: Sequence[int], inputs: int) -> Indices | None:
    """Where in a row of what is transposed the elements of a row of the result come from; None: not from there alone.

    Dimensions of 1, and leading ones that stay in front, move nothing. The others move elements within blocks, of
    which a row must have a whole number: where it has less than a block, the first of these dimensions takes elements
    out of it.

    Args:
        dims: before.
        order: for each dimension afterwards, which it was before.
        inputs: elements of a row.
    """
    counting = [axis for axis in order if dims[axis] != 1]
    before = sorted(counting)
    fixed = next((i for i, (one, other) in enumerate(zip(before, counting, strict=True)) if one != other), len(before))
    block = math.prod(dims[axis] for axis in before[fixed:])
    if block == 0 or inputs % block:
        return None
    moved = np.arange(block, dtype=np.int64).reshape([dims[axis] for axis in before[fixed:]])
    within = moved.transpose([before.index(axis) - fixed for axis in counting[fixed:]]).reshape(-1)
    columns: Indices = (np.arange(0, inputs, block, dtype=np.int64)[:, None] + within).reshape(-1)
    return columns


def _shared(steps: Sequence[_Step]) -> Mismatch | None:
    """Weights and constants that others read, or in another order: a copy would come on top."""
    moved: dict[Use, bytes] = {}
    for step in steps:
        way = b"" if step.columns is None else step.columns.tobytes()
        moved.update({Use(step.node, index): way for index, _ in _moved(step)})
    for value in (value for step in steps for _, value in _moved(step)):
        if value.output_of or len({moved.get(use) for use in value.uses}) > 1:
            return Mismatch(SHARED, {"value": value.name, "count": len(value.uses) + len(value.output_of)})
    return None


def _moved(step: _Step) -> list[tuple[int, Value]]:
    """What a node reads whose elements take another order: operands and their places."""
    if isinstance(step, _Dense):
        return [(1, step.node.operand(1))]
    if isinstance(step, _Beside):
        others = [(index, value) for index, value in enumerate(step.node.present_operands) if index != step.index]
        return [(index, value) for index, value in others if value.type.nelem > 1]
    return []


def _reduction(at: _Step, dims: tuple[int, ...], order: tuple[int, ...]) -> _Reduction | Mismatch:
    names = {"reader": at.node.name}
    try:
        axes = reduce_axes(OpCall.of(at.node))
    except OpError:
        return Mismatch(AXES_COMPUTED, names)
    left = [axis for position, axis in enumerate(order) if position not in axes and dims[axis] != 1]
    if left != sorted(left):
        return Mismatch(REORDERS, {**names, "value": at.source.name})
    return _Reduction(*_fields(at), axes=tuple(sorted(order[axis] for axis in axes)))


class _Removal:
    """Takes a transpose away, with the nodes up to those that make up for it."""

    def __init__(self, transpose: Node, steps: Sequence[_Step], work: Work) -> None:
        self._transpose = transpose
        self._steps = steps
        self._work = work
        order = order_of(transpose)
        assert order is not None, "it was found"
        self._order = order
        self._dims = transpose.operand(0).type.dims
        self._instead = {transpose.result: transpose.operand(0)}
        self._permuted: dict[Value, Value] = {}

    def run(self) -> None:
        passed = [self._transpose]
        for step in self._steps:
            source = self._instead[step.source]
            if isinstance(step, _Dense):
                self._multiply(step, source)
            elif isinstance(step, _Reduction):
                self._reduce(step, source)
            else:
                self._instead[step.node.result] = self._remade(step, source)
                passed.append(step.node)
        for node in reversed(passed):
            self._work.rewriter.erase(node)

    def _remade(self, step: _Step, source: Value) -> Value:
        """The same node over a value in another order. Names go with what they stood for."""
        node, type_ = step.node, step.node.result.type
        if _is_view(node, self._work):
            return reshaped(node, source, type_, self._work)
        if step.whole:
            type_ = replace(type_, shape=self._dims)
        operands = list(node.operands)
        operands[step.index] = source
        for index, value in _moved(step):
            operands[index] = self._permuted_by(step, value)
        made = self._work.rewriter.insert(
            node, node.op, operands, [type_], node.attrs, name=node.name, origin=node.origin
        )
        return made.result

    def _permuted_by(self, step: _Step, value: Value) -> Value:
        """A constant in another order; one for all that read it."""
        if value not in self._permuted:
            array = np.asarray(value.constant)
            if step.columns is None:
                array = untransposed(array, self._order)
            elif array.shape[-1] != 1 and not is_splat(array):
                array = in_sequence(array[..., np.argsort(step.columns)])
            type_ = replace(value.type, shape=array.shape)
            self._permuted[value] = self._work.rewriter.constant(value.name, array, type_)
        return self._permuted[value]

    def _multiply(self, step: _Dense, source: Value) -> None:
        rewriter, weights = self._work.rewriter, step.node.operand(1)
        rewriter.set_operand(step.node, 0, source)
        rewriter.set_operand(step.node, 1, self._permuted_by(step, weights))
        rewriter.add_origin(step.node, self._transpose.origin)

    def _reduce(self, step: _Reduction, source: Value) -> None:
        rewriter, node, attrs = self._work.rewriter, step.node, step.node.attrs
        assert isinstance(attrs, ReduceAttrs)
        axes = rewriter.constant(f"{node.name}/axes", np.array(step.axes, np.int32))
        dims = tuple(
            1 if axis in step.axes else dim
            for axis, dim in enumerate(self._dims)
            if attrs.keep_dims or axis not in step.axes
        )
        rewriter.add_origin(node, self._transpose.origin)
        if dims == node.result.type.dims:
            rewriter.set_operand(node, 0, source)
            rewriter.set_operand(node, 1, axes)
            return
        type_ = replace(node.result.type, shape=dims)
        made = rewriter.insert(node, node.op, [source, axes], [type_], attrs, name=node.name, origin=node.origin)
        reshape_instead(node, made.result, self._work, origin=made.origin)
