"""What the rules of simplification share: outcomes, and what a rule is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Work
from arenite.passes.onnx.fact import Fact
from arenite.passes.onnx.facts import Facts

REMOVED = Reason("no-op", "{subject} gives %{value} unchanged ({why}), so it was removed")
OUTPUT_NAME = Reason("output-name", "{subject} changes nothing, but gives the output %{output} of a graph its name")


@dataclass(frozen=True)
class Done:
    """A rule changed the graph."""

    reason: Reason
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """What a rule works on besides the node.

    Attributes:
        facts: of all values; kept true by rewriting.
        signed_zeros: whether -0.0 and 0.0 are different numbers.
    """

    work: Work
    facts: Facts
    signed_zeros: bool = True

    def fact(self, value: Value | None) -> Fact:
        return Fact() if value is None else self.facts.of(value)

    @property
    def opset(self) -> int:
        return self.facts.opset

    def remove(self, node: Node, source: Value, why: str) -> Done | Mismatch:
        """Let readers of the node's first result read `source`, and remove the node."""
        result = node.results[0]
        if not self.work.rewriter.may_replace(result, source):
            return Mismatch(OUTPUT_NAME, {"output": result.name})
        heirs = [use.node for use in result.uses] if source.producer is None else [source.producer]
        name = source.name
        self.work.rewriter.replace_value(result, source)
        for heir in heirs:
            self.work.rewriter.add_origin(heir, node.origin)
        self.work.rewriter.erase(node)
        return Done(REMOVED, {"value": name, "why": why})

    def replace(
        self, node: Node, op: str, operands: Sequence[Value | None], attrs: OnnxAttrs, origin: Sequence[str] = ()
    ) -> Node:
        """Put a new node with one result in the place of a node; it takes its name."""
        old = node.results[0]
        rewriter = self.work.rewriter
        new = rewriter.insert(
            node, op, operands, [self.facts.of(old).type], attrs, name=node.name, origin=(*node.origin, *origin)
        )
        self.facts.state(new.results[0], self.facts.of(old))
        rewriter.replace_value(old, new.results[0], take_name=True)
        rewriter.erase(node)
        return new

    def integers(self, name: str, items: Sequence[int]) -> Value:
        """A new constant list of int64."""
        array: Array = np.array(items, np.int64)
        return self.work.rewriter.constant(name, array)


Attempt = Callable[[Node, Site], Done | Mismatch]


@dataclass(frozen=True)
class Rule:
    """One simplification.

    Attributes:
        operators: that it concerns; those outside the default domain as `domain::Operator`.
        attempt: makes the change, or says why not.
        reasons: that it may give, besides those of `Site.remove`.
    """

    operators: frozenset[str]
    attempt: Attempt
    reasons: tuple[Reason, ...]


def dies_with(value: Value, node: Node) -> bool:
    """Whether only `node` reads a value."""
    return not value.output_of and all(use.node is node for use in value.uses)


def attrs_of(node: Node) -> OnnxAttrs:
    return node.attrs if isinstance(node.attrs, OnnxAttrs) else OnnxAttrs()


def holder(graph: Graph, value: Value) -> bool:
    """Whether a graph computes a value itself."""
    return value.producer is not None and value.producer.graph is graph
