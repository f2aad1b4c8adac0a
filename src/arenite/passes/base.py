"""What a pass is, and how it reports: each candidate it looks at ends as passed or missed, with a reason."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

from arenite._base.remarks import Reason, Remark, RemarkKind
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import Registry, Trait
from arenite.ir.rewriter import Rewriter
from arenite.passes.invariants import Invariant


@dataclass(frozen=True)
class BitExact:
    """Outputs stay the same, bit for bit."""

    def __str__(self) -> str:
        return "bit-exact"


@dataclass(frozen=True)
class Close:
    """Outputs change by at most `tolerance`, as max|difference| / max|reference| per output.

    In a graph of floats narrower than float32, `NARROW_ROUNDINGS` roundings of theirs are allowed where that is more.
    """

    tolerance: float

    def __str__(self) -> str:
        return f"close({self.tolerance!r})"


@dataclass(frozen=True)
class Lossy:
    """Outputs change; by how much is measured and reported."""

    def __str__(self) -> str:
        return "lossy"


NARROW_ROUNDINGS = 32
"""How many roundings to a narrow float type may come together in a result."""

Equivalence = BitExact | Close | Lossy


@dataclass(frozen=True)
class Context:
    """What passes are given besides the graph.

    Attributes:
        registry: the ops.
        sink: receives each remark as it is made.
        max_changes: the pass ends once it has said of so many changes that it made them; None: it does all.
    """

    registry: Registry
    sink: Callable[[Remark], None] = lambda remark: None
    max_changes: int | None = None


class _EnoughError(Exception):
    """A pass has made as many changes as it may."""


@dataclass(frozen=True)
class PassResult:
    """What a pass did.

    Attributes:
        changed: whether the graph is another one now.
        candidates: how many it looked at; as many remarks are passed or missed.
        remarks: in the order in which they were made.
    """

    changed: bool
    candidates: int
    remarks: tuple[Remark, ...]

    def count(self, kind: RemarkKind) -> int:
        return sum(remark.kind is kind for remark in self.remarks)


class Candidate:
    """A node or value that a pass looks at, which gets one verdict."""

    def __init__(self, pass_name: str, subject: str, origin: tuple[str, ...], say: Callable[[Remark], None]) -> None:
        self._pass_name = pass_name
        self._subject = subject
        self._origin = origin
        self._say = say

    def passed(self, reason: Reason, **arguments: object) -> None:
        """Say what was changed, once it is: the graph must be sound."""
        self._decide(RemarkKind.PASSED, reason, arguments)

    def missed(self, reason: Reason, **arguments: object) -> None:
        self._decide(RemarkKind.MISSED, reason, arguments)

    def _decide(self, kind: RemarkKind, reason: Reason, arguments: dict[str, object]) -> None:
        self._say(Remark(kind, self._pass_name, reason, self._subject, arguments, self._origin))


class Work:
    """One run of a pass over one graph: what it changes the graph by and speaks through.

    Attributes:
        graph: the graph, which only `rewriter` changes.
        registry: the ops.
    """

    def __init__(self, pass_name: str, graph: Graph, context: Context) -> None:
        self.graph = graph
        self.registry = context.registry
        self.rewriter = Rewriter(graph)
        self._pass_name = pass_name
        self._sink = context.sink
        self._max_changes = context.max_changes
        self._considered: list[str] = []
        self._remarks: list[Remark] = []

    def nested(self, graph: Graph) -> "Work":
        """The same work on a graph that a node of this one holds."""
        inner = copy(self)
        inner.graph, inner.rewriter = graph, self.rewriter.nested(graph)
        return inner

    def inner_graphs(self, node: Node) -> tuple[Graph, ...]:
        """The graphs that a node holds and that share values with this one; what runs once is a graph of its own."""
        definition = self.registry.get(node.op)
        return () if definition is not None and definition.has(Trait.ONCE) else node.regions

    def consider(self, subject: Node | Value) -> Candidate:
        """Count a candidate, which must then get its one verdict."""
        self._considered.append(subject.name)
        origin = _origin(subject)
        return Candidate(self._pass_name, subject.name, origin, self._remark)

    def note(self, subject: Node | Value, reason: Reason, **arguments: object) -> None:
        """State a fact that was found."""
        self._remark(Remark(RemarkKind.ANALYSIS, self._pass_name, reason, subject.name, arguments, _origin(subject)))

    def result(self) -> PassResult:
        return PassResult(self.rewriter.changed > 0, len(self._considered), tuple(self._remarks))

    def _remark(self, remark: Remark) -> None:
        self._remarks.append(remark)
        self._sink(remark)
        if self._max_changes is not None and self.result().count(RemarkKind.PASSED) >= self._max_changes:
            raise _EnoughError


def _origin(subject: Node | Value) -> tuple[str, ...]:
    return subject.origin if isinstance(subject, Node) else ()


@dataclass(frozen=True)
class Pass(ABC):
    """A transformation of graphs; options are its fields.

    Attributes:
        name: kebab-case.
        summary: one sentence.
        reasons: every reason that its remarks may give, for the documentation.
        requires: what must hold of the graph before.
        establishes: what holds of the graph afterwards.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reasons: ClassVar[tuple[Reason, ...]]
    requires: ClassVar[tuple[Invariant, ...]] = ()
    establishes: ClassVar[tuple[Invariant, ...]] = ()

    @property
    def equivalence(self) -> Equivalence:
        """How its result relates to what it was given."""
        return BitExact()

    def run(self, graph: Graph, context: Context) -> PassResult:
        """Transform the graph in place."""
        work = Work(self.name, graph, context)
        if context.max_changes != 0:
            with suppress(_EnoughError):
                self.apply(work)
        return work.result()

    @abstractmethod
    def apply(self, work: Work) -> None:
        """Look at every candidate, and change those that may be."""
