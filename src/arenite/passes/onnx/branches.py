"""Control flow that is decided beforehand: the taken branch of an If, a Loop that runs once or never."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.rules import attrs_of

TAKEN = Reason("branch-taken", "the condition of {subject} is {condition}, so that branch took its place")
UNREAD = Reason("unread-results", "nobody reads {count} results of {subject}, so its branches do not compute them")
RUNS = Reason("runs", "{subject} runs {count} times, so its body took its place")
NOT_KNOWN = Reason("condition-unknown", "the condition of {subject}, %{value}, is not known beforehand")
COUNT_UNKNOWN = Reason("trip-count-unknown", "how often {subject} runs is not known beforehand")
GROWS = Reason("grows", "{subject} runs {count} times: written out, it would take more nodes")
ILL_FORMED = Reason("ill-formed", "{subject} is not as its operator asks: {problem}")


@dataclass(frozen=True)
class InlineBranches(Pass):
    """Puts into the place of an If or Loop what it is known to run. Candidates are all If and Loop, nested ones too.

    Nobody looks into a branch that is not taken.
    """

    name: ClassVar[str] = "inline-branches"
    summary: ClassVar[str] = "Keeps the taken branch of an If, and the body of a Loop that runs once."
    reasons: ClassVar[tuple[Reason, ...]] = (TAKEN, UNREAD, RUNS, NOT_KNOWN, COUNT_UNKNOWN, GROWS, ILL_FORMED)

    def apply(self, work: Work) -> None:
        _graph(work, Facts(work.graph, work.registry))


def _graph(work: Work, facts: Facts) -> None:
    for node in work.graph.nodes:
        if node.op in ("onnx.If", "onnx.Loop") and node.regions:
            candidate = work.consider(node)
            try:
                outcome = _if(node, work, facts) if node.op == "onnx.If" else _loop(node, work, facts)
            except (OpError, IndexError) as error:
                outcome = Mismatch(ILL_FORMED, {"problem": str(error)})
            if outcome.reason in (TAKEN, UNREAD, RUNS):
                candidate.passed(outcome.reason, **outcome.arguments)
            else:
                candidate.missed(outcome.reason, **outcome.arguments)
        if node.graph is work.graph:
            for region in node.regions:
                _graph(work.nested(region), facts)


def _if(node: Node, work: Work, facts: Facts) -> Mismatch:
    condition = node.operand(0)
    constant = condition.constant
    known = facts.of(condition).integers if constant is None else tuple(map(int, constant.reshape(-1)[:1]))
    if not known:
        return _unread(node, work) or Mismatch(NOT_KNOWN, {"value": condition.name})
    taken = bool(known[0])
    region = node.regions[attrs_of(node).region("then_branch" if taken else "else_branch")]
    if len(region.outputs) < len(node.results):
        return Mismatch(ILL_FORMED, {"problem": f"its branch gives {len(region.outputs)} results"})
    _inline(node, region, list(region.outputs)[: len(node.results)], work)
    return Mismatch(TAKEN, {"condition": taken})


def _inline(node: Node, region: Graph, outputs: Sequence[Value], work: Work) -> None:
    """Move the nodes of a region before the node that holds it; `outputs` take the place of its results."""
    rewriter = work.rewriter
    moved = list(region.nodes)
    region.outputs = []
    rewriter.adopt(region, node)
    for inner in moved:
        rewriter.add_origin(inner, node.origin)
    for result, given in zip(node.results, outputs, strict=True):
        value = given
        if not rewriter.may_replace(result, value):
            copy = rewriter.insert(
                node,
                "onnx.Identity",
                [value],
                [value.type],
                OnnxAttrs(),
                name=f"{node.name}_result",
                origin=node.origin,
            )
            value = copy.result
        rewriter.replace_value(result, value)
    rewriter.erase(node)


def _unread(node: Node, work: Work) -> Mismatch | None:
    """Drop the results that nobody reads, from the branches too."""
    unread = [index for index, value in enumerate(node.results) if not value.is_read]
    fits = all(len(region.outputs) == len(node.results) for region in node.regions)
    if not unread or not fits or len(unread) == len(node.results):
        return None
    for region in node.regions:
        region.outputs = [value for index, value in enumerate(region.outputs) if index not in unread]
    work.rewriter.drop_results(node, unread)
    return Mismatch(UNREAD, {"count": len(unread)})


def _loop(node: Node, work: Work, facts: Facts) -> Mismatch:
    count, condition = node.optional_operand(0), node.optional_operand(1)
    start = True if condition is None else _known(condition, facts)
    most = _known(count, facts) if count is not None else None
    if start is not None and not start:
        most = 0
    if most is None or (start is None and most != 0):
        return Mismatch(COUNT_UNKNOWN)
    body = node.regions[attrs_of(node).region("body")]
    initial = [node.operand(index) for index in range(2, len(node.operands))]
    n_scans = len(node.results) - len(initial)
    if len(body.inputs) != len(initial) + 2 or len(body.outputs) != len(node.results) + 1 or n_scans < 0:
        return Mismatch(ILL_FORMED, {"problem": "its body has other inputs or outputs than it"})
    if most <= 0 and not n_scans:
        _inline_nothing(node, initial, work)
        return Mismatch(RUNS, {"count": 0})
    if most != 1:
        return Mismatch(GROWS, {"count": most})
    _inline_once(node, body, initial, work)
    return Mismatch(RUNS, {"count": 1})


def _known(value: Value, facts: Facts) -> int | None:
    found = facts.of(value).integers
    return found[0] if found else None


def _inline_nothing(node: Node, initial: Sequence[Value], work: Work) -> None:
    body = Graph("none")
    _inline(node, body, initial, work)


def _inline_once(node: Node, body: Graph, initial: Sequence[Value], work: Work) -> None:
    rewriter = work.rewriter
    number = rewriter.constant(f"{node.name}_iteration", np.array(0, np.int64))
    runs = rewriter.constant(f"{node.name}_runs", np.array(True))
    carried, scanned = list(body.outputs)[1 : 1 + len(initial)], list(body.outputs)[1 + len(initial) :]
    given = dict(zip(body.inputs, (number, runs, *initial), strict=True))
    body.outputs = []
    for formal, actual in given.items():
        for use in formal.uses:
            assert use.node.graph is not None
            rewriter.nested(use.node.graph).set_operand(use.node, use.index, actual)
        for graph in formal.output_of:
            graph.outputs = [actual if value is formal else value for value in graph.outputs]
    stacked = [_stacked(node, given.get(value, value), body, work) for value in scanned]
    _inline(node, body, [*(given.get(value, value) for value in carried), *stacked], work)


def _stacked(node: Node, value: Value, body: Graph, work: Work) -> Value:
    """A value with one more leading dimension, computed at the end of the loop's body."""
    rewriter = work.rewriter.nested(body)
    axes = rewriter.constant(f"{node.name}_axes", np.array([0], np.int64))
    by_operand = getattr(work.registry, "opset", lambda domain: 13)("") >= 13
    operands, attrs = ([value, axes], OnnxAttrs()) if by_operand else ([value], OnnxAttrs.of(axes=(0,)))
    unknown = TensorType(value.type.dtype, None)
    made = rewriter.insert(
        None, "onnx.Unsqueeze", operands, [unknown], attrs, name=f"{node.name}_scan", origin=node.origin
    )
    return made.result
