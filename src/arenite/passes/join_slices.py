"""Slices that are joined again: a concatenation of neighbouring pieces is one piece, or the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.pattern import Mismatch
from arenite.ops import slicing
from arenite.ops.movement import ConcatenationAttrs, concatenation_axis
from arenite.ops.views import stand_in
from arenite.passes.base import Pass, Work

WHOLE = Reason("whole", "{subject} joins all pieces of %{source} in order, so %{source} took its place")
ONE_SLICE = Reason("one-slice", "{subject} joins neighbouring pieces of %{source}, so it became one slice of it")
FLATTENED = Reason("flattened", "{subject} now joins what concatenations joined before it")
UNJOINED = Reason("unjoined", "{subject} takes apart what '{inner}' joined, so its operands took its place")
NOT_PIECES = Reason("not-pieces", "%{value}, an operand of {subject}, is no slice of a value")
OTHER_SOURCE = Reason("other-source", "{subject} joins pieces of %{one} and of %{other}")
NOT_NEIGHBOURS = Reason("not-neighbours", "the pieces of %{source} that {subject} joins do not follow each other")
ACTIVATES = Reason("has-activation", "{subject} also applies {activation}")
NOT_JOINED = Reason("not-joined", "{subject} takes apart %{value}, which is no mere concatenation")
SIZES_DIFFER = Reason("sizes-differ", "{subject} cuts along another axis or elsewhere than '{inner}' joined")
OUTPUT_NAME = Reason("output-name", "{subject} is not needed, but gives an output of the graph its name")

_SPLITS = frozenset({"split", "split_v"})


@dataclass(frozen=True)
class JoinSlices(Pass):
    """Candidates are the concatenations, and the splits."""

    name: ClassVar[str] = "join-slices"
    summary: ClassVar[str] = "Lets slices and concatenations that undo each other vanish."
    reasons: ClassVar[tuple[Reason, ...]] = (
        WHOLE,
        ONE_SLICE,
        FLATTENED,
        UNJOINED,
        NOT_PIECES,
        OTHER_SOURCE,
        NOT_NEIGHBOURS,
        ACTIVATES,
        NOT_JOINED,
        SIZES_DIFFER,
        OUTPUT_NAME,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "concatenation":
                _join(node, work)
            elif node.op in _SPLITS:
                _split(node, work)


@dataclass(frozen=True)
class _Piece:
    """Part of a value: where it begins along each dimension, and its size."""

    source: Value
    begin: tuple[int, ...]
    dims: tuple[int, ...]


def _piece(value: Value) -> _Piece | None:
    """What a value is a piece of, without steps; None when it is none."""
    node = value.producer
    if node is None or node.op not in slicing.VIEWS:
        return None
    views, data = slicing.VIEWS[node.op]
    source = node.operand(data)
    if not source.type.is_static:
        return None
    base = stand_in(source.type)
    try:
        view = views(OpCall.of(node), base)[node.results.index(value)]
    except OpError:  # begin or size is not constant
        return None
    if view.strides != base.strides or view.shape != value.type.shape or not view.size:
        return None
    distance = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    begin = np.unravel_index(distance // base.itemsize, base.shape) if base.ndim else ()
    return _Piece(source, tuple(int(index) for index in begin), view.shape)


def _join(node: Node, work: Work) -> None:
    candidate, attrs = work.consider(node), node.attrs
    assert isinstance(attrs, ConcatenationAttrs)
    if attrs.activation is not Activation.NONE:
        candidate.missed(ACTIVATES, activation=attrs.activation.value)
        return
    if (made := _flattened(node, work)) is not None:
        candidate.passed(FLATTENED)
        _join(made, work)
        return
    whole = _joined(node)
    if isinstance(whole, Mismatch):
        candidate.missed(whole.reason, **whole.arguments)
        return
    source = whole.source
    pieces = [_producer(value) for value in node.present_operands]
    origin = [name for each in pieces for name in each.origin]
    if source.type == node.result.type:
        if not work.rewriter.may_replace(node.result, source):
            candidate.missed(OUTPUT_NAME)
            return
        heirs = [use.node for use in node.result.uses] if source.producer is None else [source.producer]
        work.rewriter.add_origin(node, origin)
        work.rewriter.replace(node, [source], carry_to=heirs)
        candidate.passed(WHOLE, source=source.name)
    else:
        _slice(node, whole, origin, work)
        candidate.passed(ONE_SLICE, source=source.name)
    for each in dict.fromkeys(pieces):
        if not any(value.is_read for value in each.results):
            work.rewriter.erase(each)


def _flattened(node: Node, work: Work) -> Node | None:
    """Let a concatenation join the operands of those that it alone reads; the new one, None where there are none."""
    inner = [each for value in node.present_operands if (each := _inner(node, value)) is not None]
    if not inner:
        return None
    operands: list[Value | None] = []
    for value in node.present_operands:
        operands.extend(_producer(value).operands if value.producer in inner else [value])
    origin = [name for each in (*inner, node) for name in each.origin]
    made = work.rewriter.insert(node, node.op, operands, [node.result.type], node.attrs, name=node.name, origin=origin)
    work.rewriter.replace(node, [made.result], take_names=True)
    for each in inner:
        work.rewriter.erase(each)
    return made


def _producer(value: Value) -> Node:
    assert value.producer is not None, "a piece comes from a node"
    return value.producer


def _inner(node: Node, value: Value) -> Node | None:
    """The concatenation along the same axis that computes a value for the node alone."""
    inner = value.producer
    if inner is None or inner.op != "concatenation" or len(value.uses) != 1 or value.output_of:
        return None
    attrs = inner.attrs
    assert isinstance(attrs, ConcatenationAttrs)
    if attrs.activation is not Activation.NONE or value.type.quantization != node.result.type.quantization:
        return None
    same = concatenation_axis(OpCall.of(inner)) == concatenation_axis(OpCall.of(node))
    return inner if same else None


def _joined(node: Node) -> _Piece | Mismatch:
    """The one piece that the operands make together."""
    axis = concatenation_axis(OpCall.of(node))
    pieces: list[_Piece] = []
    for value in node.present_operands:
        piece = _piece(value)
        if piece is None:
            return Mismatch(NOT_PIECES, {"value": value.name})
        pieces.append(piece)
    first = pieces[0]
    expected = list(first.begin)
    for piece in pieces:
        if piece.source is not first.source:
            return Mismatch(OTHER_SOURCE, {"one": first.source.name, "other": piece.source.name})
        if list(piece.begin) != expected:
            return Mismatch(NOT_NEIGHBOURS, {"source": first.source.name})
        expected[axis] += piece.dims[axis]
    if len(pieces) < 2:
        return Mismatch(NOT_PIECES, {"value": node.operand(0).name})
    return _Piece(first.source, first.begin, node.result.type.dims)


def _slice(node: Node, piece: _Piece, origin: Sequence[str], work: Work) -> None:
    begin, size = (
        work.rewriter.constant(f"{node.name}/{what}", np.array(numbers, np.int32))
        for what, numbers in (("begin", piece.begin), ("size", piece.dims))
    )
    made = work.rewriter.insert(
        node,
        "slice",
        [piece.source, begin, size],
        [node.result.type],
        Attrs(),
        name=node.name,
        origin=[*origin, *node.origin],
    )
    work.rewriter.replace(node, [made.result], take_names=True)


def _split(node: Node, work: Work) -> None:
    candidate, (_, data) = work.consider(node), slicing.VIEWS[node.op]
    value = node.operand(data)
    inner = value.producer
    if inner is None or inner.op != "concatenation":
        candidate.missed(NOT_JOINED, value=value.name)
        return
    attrs = inner.attrs
    assert isinstance(attrs, ConcatenationAttrs)
    if attrs.activation is not Activation.NONE:
        candidate.missed(NOT_JOINED, value=value.name)
    elif [result.type for result in node.results] != [each.type for each in inner.present_operands]:
        # The types say the axis, too: along any other one, pieces would be as long as the whole is along this.
        candidate.missed(SIZES_DIFFER, inner=inner.name)
    elif not work.rewriter.may_replace_all(node.results, inner.present_operands):
        candidate.missed(OUTPUT_NAME)
    else:
        readers = [use.node for result in node.results for use in result.uses]
        work.rewriter.replace(node, inner.present_operands, carry_to=readers)
        if not inner.result.is_read:
            work.rewriter.erase(inner)
        candidate.passed(UNJOINED, inner=inner.name)
