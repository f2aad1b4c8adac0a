"""Padding that files have no words for: SAME says it of filters with rows and columns of zeros more."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Padding
from arenite.ir.graph import Node
from arenite.ir.opdef import OpCall
from arenite.ir.pattern import Mismatch
from arenite.ops.conv import conv_windows
from arenite.ops.windows import Window, spelled, window
from arenite.passes.base import Close, Equivalence, Pass, Work
from arenite.passes.fuse_pads import (
    CONVOLUTIONS,
    PADS,
    REFUSALS,
    UNREAD,
    margins_of,
    windows_over,
)
from arenite.passes.trim_taps import SHARED, Cut, macs_of, size_of, zeros_of

ENLARGED = Reason(
    "enlarged",
    "{padding} pads for {into} what {subject} asks for, since filters got zeros at their border, {before} taps became "
    "{after}: {macs} multiply-accumulates more",
)
FILTER_COMPUTED = Reason("filter-computed", "the filter of '{reader}' is computed")
NO_FILTER = Reason(
    "no-filter", "'{reader}' ({op}) would pad otherwise than SAME and VALID, and has no filter for zeros"
)
OUTPUTS_DIFFER = Reason("outputs-differ", "SAME gives '{reader}' {same} windows along the {along}, not {count}")
TOO_MANY = Reason("too-many-taps", "'{reader}' would need more than twice its {taps} taps along the {along}")


@dataclass(frozen=True)
class _Plan:
    """What becomes of a reader: its padding, and the zeros before and after its taps along height and width."""

    padding: Padding
    zeros: tuple[Cut, Cut] = ((0, 0), (0, 0))


@dataclass(frozen=True)
class PadWithTaps(Pass):
    """Enlarges constant filters by zeros until SAME pads as is wanted.

    Candidates are pads, and convolutions with explicit padding: of size 8, 3 taps with stride 2 and one pixel of
    padding before are 4 taps, the last of them 0, for which SAME pads as much. A dimension gets the fewest zeros that
    do, and never more than it has taps. Pads go if all their readers can do without, as for fuse-pads.

    Integers stay the same, bit for bit: the zeros are stored as the filter's zero point. Floats do where all inputs are
    finite (zero times infinity is no number), up to the sign of zero and the order in which a library adds.

    Attributes:
        tolerance: of the last bits of floats; less than one step of any quantized output.
    """

    tolerance: float = 1e-5

    name: ClassVar[str] = "pad-with-taps"
    summary: ClassVar[str] = "Lets SAME pad what a file has no words for, by zeros at the border of filters."
    reasons: ClassVar[tuple[Reason, ...]] = (
        ENLARGED,
        *REFUSALS,
        NO_FILTER,
        OUTPUTS_DIFFER,
        TOO_MANY,
        FILTER_COMPUTED,
        SHARED,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op in PADS:
                candidate, plans = work.consider(node), _plans_of_readers(node)
            elif node.op in CONVOLUTIONS and isinstance(getattr(node.attrs, "padding", None), tuple):
                candidate, plans = work.consider(node), _own_plan(node)
            else:
                continue
            if isinstance(plans, Mismatch):
                candidate.missed(plans.reason, **plans.arguments)
                continue
            macs, before = _macs(plans, work), _sizes(plans)
            for reader, plan in plans.items():
                _enlarge(reader, plan, work)
            if node not in plans:
                work.rewriter.replace(node, [node.operand(0)], carry_to=plans)
            into = ", ".join(f"'{reader.name}'" for reader in plans)
            padding = ", ".join(dict.fromkeys(plan.padding.name for plan in plans.values()))
            more = _macs(plans, work) - macs
            candidate.passed(ENLARGED, into=into, padding=padding, before=before, after=_sizes(plans), macs=more)


def _macs(readers: Iterable[Node], work: Work) -> int:
    return sum(macs_of(reader, work) for reader in readers)


def _sizes(readers: Iterable[Node]) -> str:
    return ", ".join(dict.fromkeys(size_of(reader) for reader in readers if reader.op in CONVOLUTIONS))


def _plans_of_readers(pad: Node) -> dict[Node, _Plan] | Mismatch:
    """How each reader of a pad does without it."""
    margins = margins_of(pad)
    if isinstance(margins, Mismatch):
        return margins
    plans = {}
    for use in pad.result.uses:
        windows = windows_over(pad, use.node, use.index, margins)
        plan = windows if isinstance(windows, Mismatch) else _plan(use.node, windows)
        if isinstance(plan, Mismatch):
            return plan
        plans[use.node] = plan
    return plans or Mismatch(UNREAD)


def _own_plan(convolution: Node) -> dict[Node, _Plan] | Mismatch:
    plan = _plan(convolution, conv_windows(OpCall.of(convolution)))
    return plan if isinstance(plan, Mismatch) else {convolution: plan}


def _plan(reader: Node, windows: tuple[Window, Window]) -> _Plan | Mismatch:
    """How SAME or VALID places such windows."""
    padding = spelled(windows)
    if isinstance(padding, Padding):
        return _Plan(padding)
    if reader.op not in CONVOLUTIONS:
        return Mismatch(NO_FILTER, {"reader": reader.name, "op": reader.op})
    weights = reader.operand(1)
    zeros = []
    for along, each in zip(("height", "width"), windows, strict=True):
        found = _zeros(each)
        if isinstance(found, Mismatch):
            return Mismatch(found.reason, {**found.arguments, "reader": reader.name, "along": along})
        zeros.append(found)
    if weights.constant is None:
        return Mismatch(FILTER_COMPUTED, {"reader": reader.name})
    if len(weights.uses) != 1:
        return Mismatch(SHARED, {"value": weights.name, "count": len(weights.uses)})
    return _Plan(Padding.SAME, (zeros[0], zeros[1]))


def _zeros(along: Window) -> Cut | Mismatch:
    """The fewest taps more, before and after those that are there, for which SAME lets these see what they see."""
    same = -(-along.size // along.stride)
    if same != along.output:
        return Mismatch(OUTPUTS_DIFFER, {"same": same, "count": along.output})
    for more in range(along.filter + 1):
        placed = window(along.size, along.filter + more, along.stride, along.dilation, Padding.SAME)
        before, rest = divmod(placed.pad_before - along.pad_before, along.dilation)
        if rest == 0 and 0 <= before <= more:
            return before, more - before
    return Mismatch(TOO_MANY, {"taps": along.filter})


def _enlarge(reader: Node, plan: _Plan, work: Work) -> None:
    attrs: Any = reader.attrs
    work.rewriter.set_attrs(reader, replace(attrs, padding=plan.padding))
    if not any(map(any, plan.zeros)):
        return
    weights, (rows, columns) = reader.operand(1), plan.zeros
    taps = np.asarray(weights.constant)
    first, height, width, last = taps.shape
    dims = (first, sum(rows) + height, sum(columns) + width, last)
    array = np.broadcast_to(zeros_of(weights), dims).copy()
    array[:, rows[0] : rows[0] + height, columns[0] : columns[0] + width] = taps
    type_ = replace(weights.type, shape=dims)
    work.rewriter.set_operand(reader, 1, work.rewriter.constant(weights.name, array, type_))
