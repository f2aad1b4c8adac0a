"""State between passes of files: nodes read copies of it, so that a value is the same wherever it is read.

In a file any operator may read a variable where it lies. What it reads depends on where it stands among those that
change the variable, which no pass asks of a value; so each gets a copy first, and gives it back last.
"""

from dataclasses import dataclass
from typing import ClassVar

from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node
from arenite.ir.opdef import Trait
from arenite.ir.snapshots import could_read_in_place
from arenite.passes.base import Pass, Work
from arenite.passes.reshaping import reshape_instead

COPIED = Reason("copied", "{subject} reads the variable %{variable}, so it was given a copy of it")
IN_PLACE = Reason("in-place", "nobody changes %{variable} while the copy of {subject} is read, so it is read itself")
CHANGED = Reason("changed", "%{variable} changes while the copy of {subject} is read, so a reshape makes it")


@dataclass(frozen=True)
class CopyState(Pass):
    """Gives nodes copies of the variables that they read. Candidates are those whose op knows nothing of state."""

    name: ClassVar[str] = "copy-state"
    summary: ClassVar[str] = "Gives nodes that read state copies of it (files alone, undone by read-in-place)."
    reasons: ClassVar[tuple[Reason, ...]] = (COPIED,)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            give_copies(work, node)


@dataclass(frozen=True)
class ReadInPlace(Pass):
    """Lets state be read where it lies. Candidates are the copies of variables, for which no file has words."""

    name: ClassVar[str] = "read-in-place"
    summary: ClassVar[str] = "Lets state be read where it lies, not by a copy (files alone)."
    reasons: ClassVar[tuple[Reason, ...]] = (IN_PLACE, CHANGED)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            definition = work.registry.get(node.op)
            if definition is not None and definition.has(Trait.SNAPSHOT) and node.operand(0).is_variable:
                _give_back(work, node)


def give_copies(work: Work, node: Node) -> None:
    """Let a node whose op knows nothing of state read a copy."""
    definition = work.registry.get(node.op)
    if definition is None:
        return
    for index, value in enumerate(node.operands):
        if value is None or not value.is_variable or index in definition.state:
            continue
        candidate = work.consider(node)
        copy = work.rewriter.insert(
            node, "read_variable", [value], [value.type], Attrs(), name=f"{value.name}/copy", origin=node.origin
        )
        work.rewriter.set_operand(node, index, copy.result)
        candidate.passed(COPIED, variable=value.name)


def _give_back(work: Work, node: Node) -> None:
    candidate, variable = work.consider(node), node.operand(0)
    if could_read_in_place(node, work.registry):
        work.rewriter.replace(node, [variable])
        candidate.passed(IN_PLACE, variable=variable.name)
        return
    reshape_instead(node, variable, work)
    candidate.passed(CHANGED, variable=variable.name)
