"""Dead code elimination: mark from the outputs and the side effects, sweep the rest."""

from dataclasses import dataclass
from typing import ClassVar

from arenite._base.remarks import Reason
from arenite.passes.base import Pass, Work
from arenite.passes.invariants import NO_DEAD_NODES, Invariant
from arenite.passes.liveness import live_nodes, must_stay

DEAD = Reason("dead", "no output depends on {subject}, so it was removed")
SIDE_EFFECT = Reason(
    "side-effect",
    "no output depends on {subject}, but {op} has side effects, changes state, or is not known to have none",
)
SERVES_SIDE_EFFECT = Reason("serves-side-effect", "no output depends on {subject}, but a node that must stay does")


@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """Removes nodes that nothing needs, in nested graphs too. Candidates are the nodes that no output depends on."""

    name: ClassVar[str] = "dce"
    summary: ClassVar[str] = "Removes nodes that no output and no side effect depends on."
    reasons: ClassVar[tuple[Reason, ...]] = (DEAD, SIDE_EFFECT, SERVES_SIDE_EFFECT)
    establishes: ClassVar[tuple[Invariant, ...]] = (NO_DEAD_NODES,)

    def apply(self, work: Work) -> None:
        # Inner graphs first, so that what only their dead nodes read is dead too.
        for node in work.graph.nodes:
            for region in work.inner_graphs(node):
                self.apply(work.nested(region))
        live = live_nodes(work.graph, work.registry)
        for_outputs = live_nodes(work.graph, work.registry, effects=False)
        # Backwards, so that a node's readers are gone before it goes.
        for node in reversed(list(work.graph.nodes)):
            if node in for_outputs:
                continue
            candidate = work.consider(node)
            if node not in live:
                work.rewriter.erase(node)
                candidate.passed(DEAD)
            elif must_stay(node, work.registry):
                candidate.missed(SIDE_EFFECT, op=node.op)
            else:
                candidate.missed(SERVES_SIDE_EFFECT)
