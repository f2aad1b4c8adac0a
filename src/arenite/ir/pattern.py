"""Declarative patterns over nodes and the values they read. A pattern that does not match says why.

RELU_AFTER_CONV = Pattern(
    NodePattern("relu", trait=Trait.ACTIVATION, operands=(NodePattern("conv", ops=CONVS, sole=True),)),
    conditions=(Condition(SCALE_DIFFERS, same_scale),),
)
match RELU_AFTER_CONV.match(node, registry):
    case Match() as m: fuse(m["conv"], m["relu"])
    case Mismatch(reason, arguments): ...
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import Registry, Trait

OPERAND_ABSENT = Reason("operand-absent", "operand {index} of {subject} is absent")
NOT_COMPUTED = Reason("not-computed", "{subject} reads %{value}, which no node computes")
OTHER_OP = Reason("other-op", "{subject} reads the result of '{found}' ({op}), which is none of {expected}")
SEVERAL_READERS = Reason("several-readers", "%{value} is read in {count} places, so its producer must stay as it is")
INTERMEDIATE_IS_OUTPUT = Reason("intermediate-is-output", "%{value} is an output of the graph and must keep its value")

STRUCTURE_REASONS = (OPERAND_ABSENT, NOT_COMPUTED, OTHER_OP, SEVERAL_READERS, INTERMEDIATE_IS_OUTPUT)
"""What a pattern's structure may answer; conditions add their own."""


@dataclass(frozen=True)
class Mismatch:
    """The first thing that keeps a node from matching, as a remark says it."""

    reason: Reason
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Match:
    """The node that each part of a pattern stands for."""

    nodes: Mapping[str, Node]

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]


@dataclass(frozen=True)
class NodePattern:
    """A node, by op or trait, and the nodes that compute its operands.

    Attributes:
        name: what the match calls it.
        ops: names of ops; empty for any.
        trait: what the op must have.
        operands: for the first operands: what computes it, or None for anything.
        sole: it has one result, with one reader, that is no graph output: the node may be changed.
    """

    name: str
    ops: frozenset[str] = frozenset()
    trait: Trait | None = None
    operands: tuple["NodePattern | None", ...] = ()
    sole: bool = False

    def accepts(self, node: Node, registry: Registry) -> bool:
        """Whether op and trait are right."""
        if self.ops and node.op not in self.ops:
            return False
        return self.trait is None or (node.op in registry and registry[node.op].has(self.trait))

    def describe(self) -> str:
        return ", ".join(sorted(self.ops)) or (f"the {self.trait.name} ops" if self.trait else "any op")


@dataclass(frozen=True)
class Condition:
    """A requirement beyond structure.

    Attributes:
        reason: what to say when it fails.
        holds: True, or what fills the reason's places.
    """

    reason: Reason
    holds: Callable[[Match], bool | Mapping[str, object]]


@dataclass(frozen=True)
class Pattern:
    """A tree of nodes, found from its last one, and what must hold of them."""

    root: NodePattern
    conditions: tuple[Condition, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every answer but Match."""
        return STRUCTURE_REASONS + tuple(dict.fromkeys(condition.reason for condition in self.conditions))

    def is_candidate(self, node: Node, registry: Registry) -> bool:
        """Whether the node can be the root: only then is a mismatch worth a remark."""
        return self.root.accepts(node, registry)

    def match(self, node: Node, registry: Registry) -> Match | Mismatch:
        """Match a candidate."""
        nodes: dict[str, Node] = {}
        mismatch = _match_node(self.root, node, registry, nodes)
        if mismatch is not None:
            return mismatch
        found = Match(nodes)
        for condition in self.conditions:
            answer = condition.holds(found)
            if answer is not True:
                return Mismatch(condition.reason, answer if isinstance(answer, Mapping) else {})
        return found


def _match_node(pattern: NodePattern, node: Node, registry: Registry, nodes: dict[str, Node]) -> Mismatch | None:
    nodes[pattern.name] = node
    for index, expected in enumerate(pattern.operands):
        if expected is None:
            continue
        value = node.optional_operand(index)
        if value is None:
            return Mismatch(OPERAND_ABSENT, {"index": index})
        producer = value.producer
        if producer is None:
            return Mismatch(NOT_COMPUTED, {"value": value.name})
        if not expected.accepts(producer, registry):
            arguments = {"found": producer.name, "op": producer.op, "expected": expected.describe()}
            return Mismatch(OTHER_OP, arguments)
        mismatch = (_shared(value) if expected.sole else None) or _match_node(expected, producer, registry, nodes)
        if mismatch is not None:
            return mismatch
    return None


def _shared(value: Value) -> Mismatch | None:
    producer = value.producer
    assert producer is not None
    assert producer.graph is not None
    if value in producer.graph.outputs:
        return Mismatch(INTERMEDIATE_IS_OUTPUT, {"value": value.name})
    if len(value.uses) != 1 or len(producer.results) != 1:
        return Mismatch(SEVERAL_READERS, {"value": value.name, "count": len(value.uses)})
    return None
