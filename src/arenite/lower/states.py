"""State: what is kept between invocations, in memory of its own beside the arena."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from arenite._base.errors import SelfCheckError
from arenite.interp.interpreter import initial_state
from arenite.ir.graph import Graph, Node
from arenite.ir.opdef import Registry
from arenite.lower.aliases import Aliases, is_view
from arenite.lower.bind import ConstantPool
from arenite.lower.program import ConstantKind, State

STATE_ALIGNMENT = 8
"""Of each state: no element is wider."""


def state_problems(graph: Graph, registry: Registry) -> Iterator[str]:
    """What about a graph's state cannot be compiled, a sentence each."""
    for output in graph.outputs:
        if output.is_variable:
            yield f"output '{output.name}' is state itself: give a copy of it (read_variable)"
    for node in graph.nodes:
        definition = registry.get(node.op)
        kept = () if definition is None else definition.state
        for index, value in enumerate(node.operands):
            if value is not None and value.is_variable and index not in kept:
                yield f"node '{node.name}' ({node.op}) reads the state '{value.name}' as if it were computed"


def make_states(graph: Graph, pool: ConstantPool) -> tuple[State, ...]:
    """A place for every variable, in order of first use; initial contents that are not one byte go into the pool."""
    states: list[State] = []
    offset = 0
    for index, variable in enumerate(v for v in graph.values() if v.is_variable):
        contents = np.frombuffer(initial_state(variable).tobytes(), np.uint8)
        uniform = contents.size == 0 or bool((contents == contents[0]).all())
        fill = int(contents[0]) if contents.size else 0
        initial = fill if uniform else pool.add(f"state_{index:02d}_initial", contents.copy(), ConstantKind.TABLE)
        states.append(State(variable.name, offset, contents.size, initial))
        offset += -(-contents.size // STATE_ALIGNMENT) * STATE_ALIGNMENT
    return tuple(states)


def check_order(graph: Graph, registry: Registry, aliases: Aliases, scheduled: Iterable[Node]) -> None:
    """Every access to state is scheduled, as often and in the order in which the graph has them.

    Whoever reads a copy that is none, but the state itself, counts too.

    Raises:
        SelfCheckError: one is missing, repeated, or comes before another that it should follow.
    """
    calls = (node for node in graph.nodes if not is_view(node, registry))
    wanted = [node for node in calls if _touches_state(node, aliases)]
    found = [node for node in dict.fromkeys(scheduled) if _touches_state(node, aliases)]
    if wanted != found:
        raise SelfCheckError(
            f"state is accessed by {_names(wanted)} in the graph, but by {_names(found)} in the schedule"
        )


def _touches_state(node: Node, aliases: Aliases) -> bool:
    return any(aliases.root(value).is_variable for value in node.present_operands)


def _names(nodes: Sequence[Node]) -> str:
    return ", ".join(f"'{node.name}'" for node in nodes) or "nobody"
