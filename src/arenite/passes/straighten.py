"""Copies that keep every element in its place: they are views, or nothing at all."""

from dataclasses import dataclass
from typing import ClassVar

from arenite._base.remarks import Reason
from arenite.ir.graph import Node
from arenite.ir.opdef import OpCall
from arenite.ops import layout, repeat, slicing
from arenite.ops.views import stand_in
from arenite.passes.base import Pass, Work
from arenite.passes.reshaping import reshape_instead

REMOVED = Reason("removed", "{subject} gives its operand unchanged, so it was removed")
RESHAPES = Reason(
    "reshapes", "{subject} keeps all elements in their order, so it became a reshape, which copies nothing"
)
MOVES = Reason("moves", "{subject} moves, repeats or leaves out elements")
SEVERAL = Reason("several-values", "{subject} has {count} values to copy")
COMPUTED = Reason("computed", "what {subject} takes depends on %{value}, which is not constant")
UNKNOWN_SHAPE = Reason("unknown-shape", "the shape of %{value} is not known")

_VIEWS = {**slicing.VIEWS, **layout.VIEWS, **repeat.VIEWS}


@dataclass(frozen=True)
class Straighten(Pass):
    """Turns copies that keep every element in its place into reshapes. Candidates are the ops that only copy."""

    name: ClassVar[str] = "straighten"
    summary: ClassVar[str] = "Removes copies that change nothing, and turns those that change a shape into reshapes."
    reasons: ClassVar[tuple[Reason, ...]] = (REMOVED, RESHAPES, MOVES, SEVERAL, COMPUTED, UNKNOWN_SHAPE)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op in _VIEWS or node.op == "pack":
                _straighten(node, work)


def _straighten(node: Node, work: Work) -> None:
    candidate, data = work.consider(node), _VIEWS[node.op][1] if node.op in _VIEWS else 0
    count = max(len(node.results), len(node.operands) if node.op == "pack" else 1)
    if count > 1:
        candidate.missed(SEVERAL, count=count)
        return
    for index, value in enumerate(node.present_operands):
        if index != data and not value.is_constant:
            candidate.missed(COMPUTED, value=value.name)
            return
    source, result = node.operand(data), node.result
    if not (source.type.is_static and result.type.is_static):
        candidate.missed(UNKNOWN_SHAPE, value=source.name if result.type.is_static else result.name)
    elif not _keeps_order(node):
        candidate.missed(MOVES)
    elif source.type == result.type and work.rewriter.may_replace(result, source):
        heirs = [use.node for use in result.uses] if source.producer is None else [source.producer]
        work.rewriter.replace(node, [source], carry_to=heirs)
        candidate.passed(REMOVED)
    else:
        reshape_instead(node, source, work)
        candidate.passed(RESHAPES)


def _keeps_order(node: Node) -> bool:
    """Whether the result's bytes are the operand's, in the same order."""
    if node.op == "pack":
        return True
    call, (views, data) = OpCall.of(node), _VIEWS[node.op]
    base = stand_in(call.operand(data))
    (view,) = views(call, base)
    return view.size == base.size and view.flags.c_contiguous
