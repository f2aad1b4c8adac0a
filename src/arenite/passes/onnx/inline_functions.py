"""Calls of the model's own functions, written out where that costs nothing."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from arenite._base.remarks import Reason
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.onnx.facts import all_graphs

WRITTEN_OUT = Reason("written-out", "the body of function {function} took the place of {subject}, which called it")
CALLED_OFTEN = Reason(
    "called-often", "function {function} is called {calls} times: written out, it would take {grown} nodes more"
)
KEPT = Reason("kept-call", "{subject} calls function {function}, which cannot be written out here: {problem}")

MOST_GROWN = 8
"""How many nodes more there may be when all calls of one function are written out."""


@dataclass(frozen=True)
class InlineFunctions(Pass):
    """Puts bodies of functions into the place of calls. Candidates are all calls.

    Attributes:
        body: what a call computes, as a graph that reads nothing but its inputs; or why it cannot be written out.
        sizes: how many nodes the body of each function has, by op name.
    """

    body: Callable[[Node], Graph | str] = field(default=lambda node: "its body is not known")
    sizes: Mapping[str, int] = field(default_factory=dict)

    name: ClassVar[str] = "inline-functions"
    summary: ClassVar[str] = "Writes out the model's own functions where they are called once, or are small."
    reasons: ClassVar[tuple[Reason, ...]] = (WRITTEN_OUT, CALLED_OFTEN, KEPT)

    def apply(self, work: Work) -> None:
        if self.sizes:
            calls = Counter(node.op for graph in all_graphs(work.graph) for node in graph.nodes)
            self._graph(work, calls)

    def _graph(self, work: Work, calls: Mapping[str, int]) -> None:
        for node in work.graph.nodes:
            if node.op in self.sizes:
                candidate = work.consider(node)
                outcome = self._attempt(node, calls[node.op], work)
                candidate_says = candidate.passed if outcome.reason is WRITTEN_OUT else candidate.missed
                candidate_says(outcome.reason, **outcome.arguments)
            for region in node.regions if node.graph is work.graph else ():
                self._graph(work.nested(region), calls)

    def _attempt(self, node: Node, calls: int, work: Work) -> Mismatch:
        shown = node.op.rpartition("::")[2]
        size = self.sizes[node.op]
        # The body as it is, and a node for each call, go.
        grown = calls * size - size - calls
        if grown > MOST_GROWN:
            return Mismatch(CALLED_OFTEN, {"function": shown, "calls": calls, "grown": grown})
        body = self.body(node)
        if isinstance(body, str):
            return Mismatch(KEPT, {"function": shown, "problem": body})
        if len(node.operands) > len(body.inputs) or len(node.results) > len(body.outputs):
            return Mismatch(KEPT, {"function": shown, "problem": "it has fewer inputs or outputs than the call"})
        absent = [*node.operands, *[None] * (len(body.inputs) - len(node.operands))]
        if any(
            value is None and set(formal.output_of) - {body} for formal, value in zip(body.inputs, absent, strict=True)
        ):
            return Mismatch(KEPT, {"function": shown, "problem": "a nested graph gives an input that is not there"})
        _write_out(node, body, work)
        return Mismatch(WRITTEN_OUT, {"function": shown})


def _write_out(node: Node, body: Graph, work: Work) -> None:
    rewriter = work.rewriter
    graph = rewriter.copy_of(body, constants=True)
    actual: list[Value | None] = [*node.operands, *[None] * (len(graph.inputs) - len(node.operands))]
    given = dict(zip(graph.inputs, actual, strict=True))
    outputs = list(graph.outputs)
    graph.outputs = []
    for formal, value in given.items():
        for use in formal.uses:
            assert use.node.graph is not None
            rewriter.nested(use.node.graph).set_operand(use.node, use.index, value)
        for inner in formal.output_of:
            assert value is not None
            inner.outputs = [value if each is formal else each for each in inner.outputs]
    moved = list(graph.nodes)
    rewriter.adopt(graph, node)
    for each in moved:
        each.origin = node.origin
    for result, output in zip(node.results, outputs, strict=False):
        source = given.get(output, output)
        if source is None or not result.is_read:
            continue
        if not rewriter.may_replace(result, source):
            name, types = f"{node.name}_result", [source.type]
            copy = rewriter.insert(node, "onnx.Identity", [source], types, OnnxAttrs(), name=name, origin=node.origin)
            source = copy.result
        rewriter.replace_value(result, source)
    rewriter.erase(node)
