"""Transposes: two in a row are one, one that undoes another is none, and many ops let them pass."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs
from arenite.ir.content import in_sequence
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import Trait
from arenite.ir.pattern import Mismatch
from arenite.passes.base import Pass, Work
from arenite.passes.reordered import AMOUNTS_COMPUTED, NOT_BY_DIMENSION, REORDER, Reordered, data_operands
from arenite.passes.reshaping import reshape_instead

COMPOSED = Reason("composed", "{subject} now does what '{first}' did first, too: {perm}")
CANCELLED = Reason("cancelled", "{subject} undid '{first}', so both vanished")
RESHAPES = Reason("reshapes", "{subject} and '{first}' together move no element, so they became a reshape")
SUNK = Reason("sunk", "{subject} works on what {transposes} transposed, and its result is transposed instead")
COMPUTED = Reason("computed", "the order of dimensions of {subject} is not constant, or it changes the type besides")
INPUT_LAYOUT = Reason(
    "input-layout", "{subject} reads the graph input %{value}, whose layout is the user's; something must change it"
)
NO_PARTNER = Reason("no-partner", "{subject} reads %{value}, which comes from no transpose")
OUTPUT_NAME = Reason("output-name", "{subject} undoes '{first}', but gives the output %{output} of the graph its name")
ORDERS_DIFFER = Reason("orders-differ", "the operands of {subject} are transposed differently, or it is not known how")
NOT_ALL = Reason("not-all-transposed", "%{value}, an operand of {subject}, is neither transposed nor constant")
PER_CHANNEL = Reason("per-channel", "%{value}, an operand of {subject}, is quantized per channel")
NO_GAIN = Reason("no-gain", "a transpose after {subject} would cost as much as the ones before it")


@dataclass(frozen=True)
class SimplifyTransposes(Pass):
    """Composes, cancels and sinks transposes.

    Candidates are the transposes, and what reads one: elementwise ops, pads, slices and concatenations. An op is moved
    before the transposes of its operands where at least one transpose goes: two operands were transposed alike, or all
    that reads the result are transposes.
    """

    name: ClassVar[str] = "simplify-transposes"
    summary: ClassVar[str] = "Makes one transpose of several, or none."
    reasons: ClassVar[tuple[Reason, ...]] = (
        COMPOSED,
        CANCELLED,
        RESHAPES,
        SUNK,
        COMPUTED,
        INPUT_LAYOUT,
        NO_PARTNER,
        OUTPUT_NAME,
        ORDERS_DIFFER,
        NOT_ALL,
        PER_CHANNEL,
        NO_GAIN,
        AMOUNTS_COMPUTED,
        NOT_BY_DIMENSION,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "transpose":
                _compose(node, work)
            elif _lets_pass(node, work) and any(_transposes(value) for value in data_operands(node)):
                _sink(node, work)


def _lets_pass(node: Node, work: Work) -> bool:
    definition = work.registry.get(node.op)
    moves = definition is not None and (definition.has(Trait.ELEMENTWISE) or node.op in REORDER)
    return moves and len(node.results) == 1


def _transposes(value: Value) -> Node | None:
    node = value.producer
    return node if node is not None and node.op == "transpose" else None


def order_of(node: Node) -> tuple[int, ...] | None:
    """For each dimension of a transpose's result, the operand's; None when it is not known, or types differ besides."""
    perm, source, result = node.operand(1), node.operand(0), node.result
    if not perm.is_constant or not (source.type.is_static and result.type.is_static):
        return None
    quantization = source.type.quantization
    if quantization is not None and not quantization.is_per_tensor:
        return None
    if (source.type.dtype, quantization) != (result.type.dtype, result.type.quantization):
        return None
    rank = source.type.rank
    order = tuple(int(axis) % rank for axis in np.ravel(np.asarray(perm.constant))) if rank else ()
    return order if sorted(order) == list(range(rank)) else None


def _compose(node: Node, work: Work) -> None:
    candidate, order, middle = work.consider(node), order_of(node), node.operand(0)
    first = _transposes(middle)
    before = None if first is None else order_of(first)
    if order is None:
        candidate.missed(COMPUTED)
    elif before is None:
        reason = INPUT_LAYOUT if middle in work.graph.inputs else NO_PARTNER
        candidate.missed(reason, value=middle.name)
    else:
        assert first is not None, "it has an order"
        both, source = tuple(before[axis] for axis in order), first.operand(0)
        undone = both == tuple(range(len(both)))
        if undone and not work.rewriter.may_replace(node.result, source):
            candidate.missed(OUTPUT_NAME, first=first.name, output=node.result.name)
            return
        work.rewriter.add_origin(node, first.origin)
        if undone:
            heirs = [use.node for use in node.result.uses] if source.producer is None else [source.producer]
            work.rewriter.replace(node, [source], carry_to=heirs)
            candidate.passed(CANCELLED, first=first.name)
        elif _moves_nothing(both, source.type.dims):
            reshape_instead(node, source, work)
            candidate.passed(RESHAPES, first=first.name)
        else:
            work.rewriter.set_operand(node, 0, source)
            work.rewriter.set_operand(node, 1, _perm(both, work, node))
            candidate.passed(COMPOSED, first=first.name, perm=list(both))
        _drop_if_unread(first, work)


def _moves_nothing(order: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether all dimensions that count stay in order."""
    counting = [axis for axis in order if dims[axis] != 1]
    return counting == sorted(counting)


def _perm(order: Sequence[int], work: Work, node: Node) -> Value:
    return work.rewriter.constant(f"{node.name}/perm", np.array(order, np.int32))


def _drop_if_unread(node: Node, work: Work) -> None:
    if not node.result.is_read:
        work.rewriter.erase(node)


@dataclass(frozen=True)
class _Sinking:
    """A node that may move: what it then reads and is, in which order that is transposed, what goes."""

    operands: tuple[Value | None, ...]
    attrs: Attrs
    order: tuple[int, ...]
    transposes: tuple[Node, ...]


def _sink(node: Node, work: Work) -> None:
    candidate = work.consider(node)
    plan = _plan(node, work)
    if isinstance(plan, Mismatch):
        candidate.missed(plan.reason, **plan.arguments)
        return
    result = node.result
    source = replace(result.type, shape=_untransposed(result.type.dims, plan.order))
    moved = work.rewriter.insert(node, node.op, plan.operands, [source], plan.attrs, name=node.name, origin=node.origin)
    origin = [name for transpose in plan.transposes for name in transpose.origin]
    after = work.rewriter.insert(
        node,
        "transpose",
        [moved.result, _perm(plan.order, work, node)],
        [result.type],
        Attrs(),
        name=f"{node.name}/transpose",
        origin=origin,
    )
    work.rewriter.replace(node, [after.result], take_names=True)
    for transpose in plan.transposes:
        _drop_if_unread(transpose, work)
    candidate.passed(SUNK, transposes=", ".join(f"'{each.name}'" for each in plan.transposes))


def _plan(node: Node, work: Work) -> _Sinking | Mismatch:
    transposes = tuple(dict.fromkeys(found for v in data_operands(node) if (found := _transposes(v)) is not None))
    orders = {order_of(each) for each in transposes}
    (order, *others) = orders
    if order is None or others:
        return Mismatch(ORDERS_DIFFER)
    if not node.result.type.is_static or node.result.type.rank != len(order):
        return Mismatch(ORDERS_DIFFER)
    remade = REORDER[node.op](node, order, work) if node.op in REORDER else Reordered(node.attrs, {})
    if isinstance(remade, Mismatch):
        return remade
    data, operands = data_operands(node), list(node.operands)
    for index, value in enumerate(operands):
        if value not in data:
            operands[index] = remade.operands.get(index)
            continue
        assert value is not None, "it is data"
        moved = _untransposed_operand(value, order, work)
        if isinstance(moved, Mismatch):
            return moved
        operands[index] = moved
    going = [each for each in transposes if not each.result.output_of and all(u.node is node for u in each.result.uses)]
    readers = [use.node for use in node.result.uses]
    meets = bool(readers) and not node.result.output_of
    meets = meets and all(each.op == "transpose" and order_of(each) for each in readers)
    return _Sinking(tuple(operands), remade.attrs, order, transposes) if len(going) >= 2 - meets else Mismatch(NO_GAIN)


def _untransposed_operand(value: Value, order: tuple[int, ...], work: Work) -> Value | Mismatch:
    transpose = _transposes(value)
    if transpose is not None:
        return transpose.operand(0)
    if not value.is_constant:
        return Mismatch(NOT_ALL, {"value": value.name})
    if value.type.quantization is not None and not value.type.quantization.is_per_tensor:
        return Mismatch(PER_CHANNEL, {"value": value.name})
    if value.type.nelem == 1:
        return value
    array = untransposed(np.asarray(value.constant), order)
    return work.rewriter.constant(value.name, array, replace(value.type, shape=array.shape))


def untransposed(array: Array, order: Sequence[int]) -> Array:
    """A constant beside what was transposed, for before that; it may have fewer dimensions. A splat stays one."""
    expanded = array[(None,) * (len(order) - array.ndim)]
    return in_sequence(expanded.transpose(np.argsort(order)))


def _untransposed(dims: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    return tuple(dims[position] for position in np.argsort(order))
