"""Merges Relu and Clip with what comes before them."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fuse_ranges import (
    ABSENT,
    BOUNDS_ARE_OPERANDS_SINCE,
    CLIP,
    RELU,
    Interval,
    clamp_of,
    interval_of,
    is_whole,
)

NEEDLESS = Reason("needless", "{subject} gives what it is given, which is in [{low}, {high}] already")
SHORTCUT = Reason("covers", "{subject} does all that '{first}' before it did")
MERGED = Reason("merged", "'{kept}' clamps to [{low}, {high}] now, as '{first}' and then {subject} did")
UNKNOWN_BOUNDS = Reason("unknown-bounds", "the bounds of {subject} are computed, or no numbers")
NO_CLAMP = Reason("no-clamp", "what is before {subject} neither clamps nor keeps what this one changes")
OUTPUT_NAME = Reason("output-name", "{subject} changes nothing, but gives the output %{output} of the graph its name")
SEVERAL = Reason("several-readers", "%{value} is read in {count} places, so '{first}' would stay")
IS_OUTPUT = Reason("intermediate-is-output", "%{value} is an output of the graph, so '{first}' would stay")
OTHER_GRAPH = Reason("other-graph", "{subject} and '{first}' are in different graphs")
SIGNED_ZERO = Reason(
    "signed-zero", "{subject} and '{first}' give zeros of other signs than one Clip to [{low}, {high}] would"
)
DTYPE_UNKNOWN = Reason("dtype-unknown", "the element type of {subject} is not known, so no bound can be written")

_ZERO = Interval(0.0, 0.0)
_IDENTITY_FROM_ZERO = frozenset({"onnx.LeakyRelu", "onnx.Elu", "onnx.Celu"})


@dataclass(frozen=True)
class MergeClamps(Pass):
    """Merges Relu and Clip with clamps before them, and drops those whose operand is in range already.

    Clamping to [a, b] and then to [c, d] is clamping to [a, b] clamped to [c, d]. LeakyRelu, Elu and Celu change
    nothing that is not negative, and a Relu undoes a LeakyRelu. Candidates are all of these.
    """

    name: ClassVar[str] = "merge-clamps"
    summary: ClassVar[str] = "Merges consecutive clamps, and drops those that have nothing to clamp."
    reasons: ClassVar[tuple[Reason, ...]] = (
        NEEDLESS,
        SHORTCUT,
        MERGED,
        UNKNOWN_BOUNDS,
        NO_CLAMP,
        OUTPUT_NAME,
        SEVERAL,
        IS_OUTPUT,
        OTHER_GRAPH,
        SIGNED_ZERO,
        DTYPE_UNKNOWN,
    )

    def apply(self, work: Work) -> None:
        _merge(work, Facts(work.graph, work.registry))


def _merge(work: Work, facts: Facts) -> None:
    for node in work.graph.nodes:
        for region in node.regions:
            _merge(work.nested(region), facts)
        if node.op not in (RELU, CLIP) and node.op not in _IDENTITY_FROM_ZERO:
            continue
        if not is_whole(node):
            continue
        # What took the place of the clamp before may be one again.
        while _simplify(node, work, facts):
            pass


def _simplify(node: Node, work: Work, facts: Facts) -> bool:
    """Merge a node with what is before it, if possible, and say so; whether to try again."""
    candidate = work.consider(node)
    try:
        outcome = _attempt(node, work, facts)
    except OpError:
        outcome = Mismatch(UNKNOWN_BOUNDS)
    if outcome.reason in (NEEDLESS, SHORTCUT, MERGED):
        candidate.passed(outcome.reason, **outcome.arguments)
        return node.graph is work.graph
    candidate.missed(outcome.reason, **outcome.arguments)
    return False


def _attempt(node: Node, work: Work, facts: Facts) -> Mismatch:
    """Simplify a node, or not; what to say of it."""
    clamp = clamp_of(node, work.registry)
    if node.op in _IDENTITY_FROM_ZERO:
        clamp = Interval(0.0, float("inf"))
    if clamp is None:
        return Mismatch(UNKNOWN_BOUNDS)
    data = node.operand(0)
    known = interval_of(data, work.registry)
    if clamp.contains(known) and not _turns_zeros(known, clamp, known):
        return _drop(node, known, work)
    first = data.producer
    if first is None or node.op in _IDENTITY_FROM_ZERO or not is_whole(first):
        return Mismatch(NO_CLAMP)
    if node.op == RELU and first.op == "onnx.LeakyRelu":
        assert isinstance(first.attrs, OnnxAttrs)
        before: Interval | None = Interval(-float("inf"), float("inf")) if _keeps_sign(first.attrs) else None
    else:
        before = clamp_of(first, work.registry)
    if before is None:
        return Mismatch(NO_CLAMP)
    if (refused := _needed(data, first, node)) is not None:
        return refused
    both = before.clamped(clamp)
    if _turns_zeros(before, clamp, both):
        return Mismatch(SIGNED_ZERO, {"first": first.name, "low": both.low, "high": both.high})
    if both == clamp:
        work.rewriter.set_operand(node, 0, first.operand(0))
        work.rewriter.add_origin(node, first.origin)
        work.rewriter.erase(first)
        return Mismatch(SHORTCUT, {"first": first.name})
    return _rewrite(first, node, both, work, facts)


def _turns_zeros(before: Interval, clamp: Interval, both: Interval) -> bool:
    """Whether the sign of a zero may depend on whether two clamps are one.

    Where the first moves all zeros away, and the second makes one zero of everything, its sign is that of the bound;
    the one clamp would let -0.0 through. And which of -0.0 and 0.0 is larger, nobody says.
    """
    made = both == _ZERO and not before.contains(_ZERO)
    bounds = (before.low, before.high, clamp.low, clamp.high)
    return made or any(bound == 0 and math.copysign(1, bound) < 0 for bound in bounds)


def _keeps_sign(attrs: OnnxAttrs) -> bool:
    """Whether a LeakyRelu gives nothing positive of what is negative."""
    return attrs.number("alpha", 0.01) > 0


def _drop(node: Node, known: Interval, work: Work) -> Mismatch:
    data = node.operand(0)
    if not work.rewriter.may_replace(node.result, data):
        return Mismatch(OUTPUT_NAME, {"output": node.result.name})
    readers = [use.node for use in node.result.uses]
    heirs = readers if data.producer is None else [data.producer]
    work.rewriter.replace(node, [data], carry_to=heirs)
    return Mismatch(NEEDLESS, {"low": known.low, "high": known.high})


def _needed(data: Value, first: Node, node: Node) -> Mismatch | None:
    """Refuse when the node before must stay for others."""
    if data.output_of:
        return Mismatch(IS_OUTPUT, {"value": data.name, "first": first.name})
    if len(data.uses) != 1:
        return Mismatch(SEVERAL, {"value": data.name, "count": len(data.uses), "first": first.name})
    return None if first.graph is node.graph else Mismatch(OTHER_GRAPH, {"first": first.name})


def _rewrite(first: Node, node: Node, both: Interval, work: Work, facts: Facts) -> Mismatch:
    """Let one Clip do what two clamps did."""
    kept = node if node.op == CLIP else first
    bounds = _written(kept, both, work, facts)
    if bounds is None:
        return Mismatch(DTYPE_UNKNOWN)
    said = {"kept": kept.name, "low": both.low, "high": both.high, "first": first.name}
    for index, value in enumerate(bounds, 1):
        # What stands for a bound that is not given stays, but an infinite one does not: it lets infinities through.
        old = kept.optional_operand(index)
        if value is not None or (old is not None and np.isinf(_number(old))):
            while len(kept.operands) < index:
                work.rewriter.set_operand(kept, len(kept.operands), None)
            work.rewriter.set_operand(kept, index, value)
    work.rewriter.drop_absent(kept, 1)
    if kept is node:
        work.rewriter.set_operand(node, 0, first.operand(0))
        work.rewriter.add_origin(node, first.origin)
        work.rewriter.erase(first)
    else:
        work.rewriter.set_type(first.result, node.result.type)
        work.rewriter.replace(node, [first.result], carry_to=[first], take_names=True)
    return Mismatch(MERGED, said)


def _written(kept: Node, both: Interval, work: Work, facts: Facts) -> tuple[Value | None, ...] | None:
    """Operands for bounds, or none when they went into attributes; None when their type is not known."""
    if facts.opset < BOUNDS_ARE_OPERANDS_SINCE:
        assert isinstance(kept.attrs, OnnxAttrs)
        attrs = kept.attrs.with_value("min", float(both.low)).with_value("max", float(both.high))
        work.rewriter.set_attrs(kept, attrs)
        return ()
    dtype = _dtype(kept, facts)
    if dtype is None:
        return None
    found: list[Value | None] = []
    for index, number, name in ((1, both.low, "min"), (2, both.high, "max")):
        old = kept.optional_operand(index)
        if number == (-ABSENT if index == 1 else ABSENT):
            found.append(None)
        elif old is not None and _number(old) == number:
            found.append(old)
        elif abs(number) == ABSENT:
            found.append(
                work.rewriter.constant(f"{kept.name}_{name}", _array(math.copysign(dtype.largest, number), dtype))
            )
        else:
            found.append(work.rewriter.constant(f"{kept.name}_{name}", _array(number, dtype)))
    return tuple(found)


def _number(bound: Value) -> float:
    element: float = np.ravel(np.asarray(bound.constant)).tolist()[0]
    return element


def _array(number: float, dtype: DType) -> Array:
    array: Array = np.array(number, dtype.numpy)
    return array


def _dtype(kept: Node, facts: Facts) -> DType | None:
    for value in kept.present_operands:
        dtype = facts.of(value).dtype
        if dtype is not None:
            return dtype
    return None
