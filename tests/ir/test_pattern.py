"""Patterns: what matches, and for what does not, the reason."""

import numpy as np
import pytest

from arenite._base.remarks import Reason
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Node
from arenite.ir.opdef import Trait
from arenite.ir.pattern import (
    INTERMEDIATE_IS_OUTPUT,
    NOT_COMPUTED,
    OPERAND_ABSENT,
    OTHER_OP,
    SEVERAL_READERS,
    STRUCTURE_REASONS,
    Condition,
    Match,
    Mismatch,
    NodePattern,
    Pattern,
)
from ir.support import PURE, REGISTRY, f32

NARROW = Reason("narrow", "{subject} has {width} columns")
NEG_OF_SUB = Pattern(
    NodePattern(
        "neg",
        frozenset({"t.neg"}),
        operands=(NodePattern("sub", frozenset({"t.sub"}), operands=(None, None), sole=True),),
    ),
    (Condition(NARROW, lambda m: m["sub"].result.type.dims[0] >= 4 or {"width": m["sub"].result.type.dims[0]}),),
)


def graph(width: int = 4, *, op: str = "t.sub", readers: int = 1, output: bool = False) -> Node:
    b = GraphBuilder()
    x = b.input("x", f32(width))
    inner = b.node(op, [x, x], [f32(width)], name="inner")
    neg = b.node("t.neg", [inner.result], [f32(width)], name="neg")
    for i in range(readers - 1):
        b.node("t.neg", [inner.result], [f32(width)], name=f"other{i}")
    b.output(neg.result, *([inner.result] if output else []))
    return neg


def test_match_names_its_nodes() -> None:
    neg = graph()
    found = NEG_OF_SUB.match(neg, REGISTRY)
    assert isinstance(found, Match)
    assert found["neg"] is neg
    assert found["sub"].name == "inner"


@pytest.mark.parametrize(
    ("node", "reason", "arguments"),
    [
        (graph(3), NARROW, {"width": 3}),
        (graph(op="t.div"), OTHER_OP, {"found": "inner", "op": "t.div", "expected": "t.sub"}),
        (graph(readers=2), SEVERAL_READERS, {"value": "inner", "count": 2}),
        (graph(output=True), INTERMEDIATE_IS_OUTPUT, {"value": "inner"}),
    ],
)
def test_mismatch_says_why(node: Node, reason: Reason, arguments: dict[str, object]) -> None:
    found = NEG_OF_SUB.match(node, REGISTRY)
    assert found == Mismatch(reason, arguments)
    assert "{" not in reason.text({"subject": node.name, **arguments})


def test_operand_without_a_node() -> None:
    b = GraphBuilder()
    c = b.constant("c", np.ones(4, np.float32))
    for operand, reason in ((b.input("x", f32(4)), NOT_COMPUTED), (c, NOT_COMPUTED), (None, OPERAND_ABSENT)):
        found = NEG_OF_SUB.match(b.node("t.neg", [operand], [f32(4)]), REGISTRY)
        assert isinstance(found, Mismatch)
        assert found.reason is reason


def test_a_node_with_two_results_is_not_sole() -> None:
    b = GraphBuilder()
    split = b.node("t.split", [b.input("x", f32(8))], [f32(4), f32(4)], name="split")
    neg = b.node("t.neg", [split.results[0]], [f32(4)])
    pattern = Pattern(NodePattern("neg", operands=(NodePattern("split", sole=True),)))
    found = pattern.match(neg, REGISTRY)
    assert isinstance(found, Mismatch)
    assert found.reason is SEVERAL_READERS


def test_candidates_by_trait() -> None:
    pattern = Pattern(NodePattern("any", trait=Trait.COMMUTATIVE))
    assert pattern.is_candidate(graph(op="t.sum"), REGISTRY) is False
    producer = graph(op="t.sum").operand(0).producer
    assert producer is not None
    assert pattern.is_candidate(producer, REGISTRY)
    assert Trait.COMMUTATIVE not in PURE


def test_reasons_are_data() -> None:
    assert NEG_OF_SUB.reasons == (*STRUCTURE_REASONS, NARROW)
    slugs = [reason.slug for reason in NEG_OF_SUB.reasons]
    assert len(set(slugs)) == len(slugs)
