"""Named state becomes variables: handles disappear, and what runs once is run now."""

from dataclasses import dataclass
from typing import ClassVar

from arenite._base.errors import ModelError
from arenite._base.remarks import Reason
from arenite.interp.interpreter import Interpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node
from arenite.ir.opdef import Registry, Trait
from arenite.ir.pattern import Mismatch
from arenite.ops.state import VarHandleAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.copy_state import COPIED, give_copies

HANDLE = Reason("handle", "{subject} names state, which is the variable %{variable} now")
STARTED = Reason("started", "{subject} runs once, so it was run: what it assigns is what variables hold at first")
TOO_LATE = Reason("too-late", "{subject} runs once, but state is read or changed before it does")
NOT_RUN = Reason("not-run", "{subject} runs once, but cannot be run now: {problem}")


@dataclass(frozen=True)
class ResolveState(Pass):
    """Lets variables take the place of handles of named state, with initial contents computed now.

    Candidates are handles, nodes that run once, and nodes that read a variable though their op knows nothing of state.
    """

    name: ClassVar[str] = "resolve-state"
    summary: ClassVar[str] = "Lets variables with initial contents take the place of named state."
    reasons: ClassVar[tuple[Reason, ...]] = (HANDLE, STARTED, COPIED, TOO_LATE, NOT_RUN)

    def apply(self, work: Work) -> None:
        once = [node for node in work.graph.nodes if _has(node, work.registry, Trait.ONCE)]
        handles = [node for node in work.graph.nodes if _has(node, work.registry, Trait.HANDLE)]
        if once or handles:
            _resolve(work, once, handles)
        for node in work.graph.nodes:
            give_copies(work, node)


def _has(node: Node, registry: Registry, trait: Trait) -> bool:
    return node.op in registry and registry[node.op].has(trait)


def _resolve(work: Work, once: list[Node], handles: list[Node]) -> None:
    started = _start(work, once)
    if isinstance(started, Mismatch):
        for node in (*once, *handles):
            work.consider(node).missed(started.reason, **started.arguments)
        return
    variables = {
        # By the same name, under which what it holds is compared before and after.
        key: work.rewriter.variable(started.state_names[key], contents, started.state_types[key])
        for key, contents in started.named_state.items()
    }
    for node in handles:
        assert isinstance(node.attrs, VarHandleAttrs)
        variable = variables.get((node.attrs.container, node.attrs.shared_name))
        candidate = work.consider(node)
        if variable is None:
            work.rewriter.erase(node)
        else:
            work.rewriter.replace(node, [variable])
        candidate.passed(HANDLE, variable="(unused)" if variable is None else variable.name)
    for node in once:
        candidate = work.consider(node)
        work.rewriter.erase(node)
        candidate.passed(STARTED)


def _start(work: Work, once: list[Node]) -> Interpreter | Mismatch:
    """An interpreter that has run what runs once, or why there is none."""
    if once and _touched_before(work.graph, work.registry, once[-1]):
        return Mismatch(TOO_LATE)
    try:
        interpreter = Interpreter(clone_graph(work.graph), work.registry)
        interpreter.run_once()
    except ModelError as error:
        return Mismatch(NOT_RUN, {"problem": str(error)})
    return interpreter


def _touched_before(graph: Graph, registry: Registry, last: Node) -> bool:
    for node in graph.nodes:
        if node is last:
            return False
        if node.op in registry and registry[node.op].state:
            return True
    return False
