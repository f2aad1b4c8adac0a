"""Simplification of onnx graphs: of several ways to say the same, the shortest."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import is_onnx, split_op
from arenite.passes.base import Pass, Work
from arenite.passes.onnx import rules_layers, rules_movement, rules_noop, rules_quantized, rules_slices, rules_views
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.rules import Done, Rule, Site
from arenite.passes.purity import why_impure

SAME_SIZES = Reason("same-sizes", "{subject} computes the sizes {sizes}, which %{value} holds already")
ILL_FORMED = Reason("ill-formed", "{subject} has attributes that its operator does not take: {problem}")

ABSENT_END = Reason(
    "absent-end", "{subject} names {count} absent operands at its end no more: to leave them out is the same"
)

RULES: tuple[Rule, ...] = (
    *rules_noop.RULES,
    *rules_views.RULES,
    *rules_movement.RULES,
    *rules_layers.RULES,
    *rules_slices.RULES,
    *rules_quantized.RULES,
)

Scope = dict[Hashable, Value]


@dataclass(frozen=True)
class OnnxSimplify(Pass):
    """Applies the rules, in nested graphs too. A candidate is a node together with a rule that concerns it.

    Attributes:
        ignore_signed_zeros: whether -0.0 may become 0.0: then x + 0 is x.
    """

    ignore_signed_zeros: bool = False

    name: ClassVar[str] = "onnx-simplify"
    summary: ClassVar[str] = "Removes nodes that change nothing, and joins views, transposes and slices."
    reasons: ClassVar[tuple[Reason, ...]] = tuple(
        dict.fromkeys((SAME_SIZES, ILL_FORMED, ABSENT_END, *(reason for rule in RULES for reason in rule.reasons)))
    )

    def apply(self, work: Work) -> None:
        by_operator: dict[str, list[Rule]] = {}
        for rule in RULES:
            for operator in rule.operators:
                by_operator.setdefault(operator, []).append(rule)
        facts = Facts(work.graph, work.registry)
        _Simplifying(by_operator, facts, signed_zeros=not self.ignore_signed_zeros).graph(work, [])


def _drop_absent(node: Node, work: Work) -> None:
    """Leave out absent operands at the end, where the operator says that all of them are optional."""
    if not node.operands or node.operands[-1] is not None or not isinstance(work.registry, OnnxRegistry):
        return
    schema = work.registry.schema(node.op) if is_onnx(node.op) else None
    count = len(node.operands)
    if schema is None or schema.min_input >= count:
        return
    work.rewriter.drop_absent(node, schema.min_input)
    if len(node.operands) < count:
        work.consider(node).passed(ABSENT_END, count=count - len(node.operands))


class _Simplifying:
    def __init__(self, rules: dict[str, list[Rule]], facts: Facts, *, signed_zeros: bool) -> None:
        self._rules = rules
        self._signed_zeros = signed_zeros
        self._facts = facts

    def graph(self, work: Work, outer: list[Scope]) -> None:
        sizes: Scope = {}
        scopes = [*outer, sizes]
        site = Site(work, self._facts, self._signed_zeros)
        for node in work.graph.nodes:
            _drop_absent(node, work)
            while self._node(node, site):
                pass
            if node.graph is work.graph:
                self._known_sizes(node, site, scopes)
                for region in node.regions:
                    self.graph(work.nested(region), scopes)

    def _node(self, node: Node, site: Site) -> bool:
        """Apply the first rule that can be; when none can, say of each why. Whether to try again."""
        domain, operator = split_op(node.op) if is_onnx(node.op) else ("?", "")
        rules = self._rules.get(f"{domain}::{operator}" if domain else operator, ())
        mismatches = []
        for rule in rules:
            try:
                outcome = rule.attempt(node, site)
            except (OpError, IndexError) as error:
                outcome = Mismatch(ILL_FORMED, {"problem": str(error)})
            if isinstance(outcome, Done):
                site.work.consider(node).passed(outcome.reason, **outcome.arguments)
                return node.graph is site.work.graph
            mismatches.append(outcome)
        for mismatch in mismatches:
            site.work.consider(node).missed(mismatch.reason, **mismatch.arguments)
        return False

    def _known_sizes(self, node: Node, site: Site, scopes: list[Scope]) -> None:
        """Let a value take the place of another that is the same list of sizes, however either was computed."""
        if len(node.results) != 1 or why_impure(node, site.work.registry) is not None:
            return
        fact = self._facts.of(node.result)
        sizes = fact.vector
        if not sizes or fact.integers is not None or fact.dtype is None:
            return
        key = (fact.dtype, fact.shape, sizes)
        found = next((scope[key] for scope in scopes if key in scope), None)
        if found is None:
            scopes[-1][key] = node.result
            return
        candidate = site.work.consider(node)
        outcome = site.remove(node, found, "it holds the same sizes")
        if isinstance(outcome, Mismatch):
            candidate.missed(outcome.reason, **outcome.arguments)
        else:
            shown = ", ".join(map(str, sizes))
            candidate.passed(SAME_SIZES, sizes=f"[{shown}]", value=outcome.arguments["value"])
