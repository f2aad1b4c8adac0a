"""Control flow that is decided beforehand: the taken branch of an If, a Loop whose few trips are known."""

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
from arenite.passes.onnx.facts import Facts, all_graphs
from arenite.passes.onnx.rules import attrs_of

TAKEN = Reason("branch-taken", "the condition of {subject} is {condition}, so that branch took its place")
UNREAD = Reason("unread-results", "nobody reads {count} results of {subject}, so its branches do not compute them")
RUNS = Reason("runs", "{subject} runs {count} times, so its body took its place")
NOT_KNOWN = Reason("condition-unknown", "the condition of {subject}, %{value}, is not known beforehand")
COUNT_UNKNOWN = Reason("trip-count-unknown", "how often {subject} runs is not known beforehand")
GROWS = Reason("grows", "{subject} runs {count} times: written out, it would take {grown} nodes more")
MAY_STOP = Reason("may-stop", "{subject} runs {count} times at most, and computes itself when it stops")
ILL_FORMED = Reason("ill-formed", "{subject} is not as its operator asks: {problem}")

MOST_GROWN = 8
"""How many nodes more there may be when a loop is written out."""
MOST_FOLDED = 64
"""The same where all that it reads is constant, so that its nodes may fold."""


@dataclass(frozen=True)
class InlineBranches(Pass):
    """Puts into the place of an If or Loop what it is known to run. Candidates are all If and Loop, nested ones too.

    Nobody looks into a branch that is not taken.
    """

    name: ClassVar[str] = "inline-branches"
    summary: ClassVar[str] = "Keeps the taken branch of an If, and writes out a Loop that runs a few times."
    reasons: ClassVar[tuple[Reason, ...]] = (TAKEN, UNREAD, RUNS, NOT_KNOWN, COUNT_UNKNOWN, GROWS, MAY_STOP, ILL_FORMED)

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
    last = _passed_on(body.outputs[0])
    if last.constant is not None and not last.constant.any():
        most = min(most, 1)
    elif most > 1 and last is not body.inputs[1] and last.constant is None:
        return Mismatch(MAY_STOP, {"count": most})
    grown = _grown(body, most, n_scans)
    if most < 1 or grown > (MOST_FOLDED if _all_known(node, initial, body) else MOST_GROWN):
        return Mismatch(GROWS, {"count": most, "grown": grown})
    _inline_trips(node, body, most, initial, work)
    return Mismatch(RUNS, {"count": most})


def _passed_on(value: Value) -> Value:
    """What a value is, before each Identity."""
    while value.producer is not None and value.producer.op == "onnx.Identity":
        value = value.producer.operand(0)
    return value


def _grown(body: Graph, count: int, n_scans: int) -> int:
    """How many nodes more there are when a loop is written out. What one trip gives is stacked by one node."""
    each = sum(len(graph) for graph in all_graphs(body))
    return 0 if count == 1 else (count - 1) * each + n_scans * (count + 1) - 1


def _all_known(node: Node, initial: Sequence[Value], body: Graph) -> bool:
    """Whether a loop depends on constants only, so that its nodes may fold."""
    own = set(body.inputs)
    for graph in all_graphs(body):
        own.update(graph.inputs)
        own.update(value for inner in graph.nodes for value in inner.results)
    read = [value for graph in all_graphs(body) for inner in graph.nodes for value in inner.present_operands]
    return all(value.is_constant or value in own for value in (*read, *body.outputs)) and all(
        value.is_constant for value in initial
    )


def _known(value: Value, facts: Facts) -> int | None:
    found = facts.of(value).integers
    return found[0] if found else None


def _inline_nothing(node: Node, initial: Sequence[Value], work: Work) -> None:
    body = Graph("none")
    _inline(node, body, initial, work)


def _inline_trips(node: Node, body: Graph, count: int, initial: Sequence[Value], work: Work) -> None:
    """Put the body, as often as it runs, into the place of the loop."""
    rewriter = work.rewriter
    runs = rewriter.constant(f"{node.name}_runs", np.array(True))
    carried = list(initial)
    rows: list[list[Value]] = [[] for _ in node.results[len(initial) :]]
    copies = [rewriter.copy_of(body) for _ in range(count - 1)]
    for trip, copy in enumerate([*copies, body]):
        number = rewriter.constant(f"{node.name}_iteration", np.array(trip, np.int64))
        outputs = _applied(copy, (number, runs, *carried), work)[1:]
        carried, scanned = outputs[: len(initial)], outputs[len(initial) :]
        for row, value in zip(rows, scanned, strict=True):
            row.append(value)
        if copy is not body:
            moved = list(copy.nodes)
            rewriter.adopt(copy, node)
            for inner in moved:
                rewriter.add_origin(inner, node.origin)
    _inline(node, body, [*carried, *(_stacked(node, row, body, work) for row in rows)], work)


def _applied(body: Graph, actual: Sequence[Value], work: Work) -> list[Value]:
    """Let a body read `actual` in the place of its inputs; what it gives then."""
    given = dict(zip(body.inputs, actual, strict=True))
    outputs = [given.get(value, value) for value in body.outputs]
    body.outputs = []
    for formal, value in given.items():
        for use in formal.uses:
            assert use.node.graph is not None
            work.rewriter.nested(use.node.graph).set_operand(use.node, use.index, value)
        for graph in formal.output_of:
            graph.outputs = [value if each is formal else each for each in graph.outputs]
    return outputs


def _stacked(node: Node, row: Sequence[Value], body: Graph, work: Work) -> Value:
    """Values with one more leading dimension, joined along it at the end of a loop's last trip."""
    rewriter = work.rewriter.nested(body)
    by_operand = getattr(work.registry, "opset", lambda domain: 13)("") >= 13
    axes = rewriter.constant(f"{node.name}_axes", np.array([0], np.int64))
    unknown = TensorType(row[0].type.dtype, None)

    def made(op: str, operands: Sequence[Value], attrs: OnnxAttrs) -> Value:
        inserted = rewriter.insert(None, op, operands, [unknown], attrs, name=f"{node.name}_scan", origin=node.origin)
        return inserted.result

    attrs = OnnxAttrs() if by_operand else OnnxAttrs.of(axes=(0,))
    raised = [made("onnx.Unsqueeze", [value, axes] if by_operand else [value], attrs) for value in row]
    return raised[0] if len(raised) == 1 else made("onnx.Concat", raised, OnnxAttrs.of(axis=0))
