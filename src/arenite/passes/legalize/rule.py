"""What a rule of legalization is: how one operator of ONNX is said in the core dialect."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from arenite.ir.graph import Node, Value
from arenite.passes.legalize.site import Site
from arenite.passes.onnx.facts import Facts


class Flow(Enum):
    """What the operator asks of the order of its first operand, for inputs of the graph to come in that order."""

    NONE = auto()  # nothing, or ONNX's own order
    PLANE = auto()  # channels last
    VIEW = auto()  # what its result is wanted in, as far as a reshape keeps it
    THROUGH = auto()  # whatever its result is wanted in: both have the same dimensions, or broadcast


@dataclass(frozen=True)
class Rule:
    """How nodes of one operator become nodes of the core dialect.

    Attributes:
        operator: as in a node's op, without `onnx.`: `Conv`, `com.microsoft::Gelu`.
        apply: emits nodes and says what the results are. Raises RefusedError.
        flow: what it asks of its first operand's order.
        says: which ops nodes become, for the documentation; in Markdown.
        around: where nodes before and behind are said together with a node, the values before and behind all of
            them: they have the same elements in ONNX's sequence.
    """

    operator: str
    apply: Callable[[Site, Node], None]
    flow: Flow = Flow.NONE
    says: str = ""
    around: Callable[[Facts, Node], tuple[Value, Value] | None] | None = None
