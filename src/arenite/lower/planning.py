"""Chooses kernels and places buffers together: scratch is what they bargain over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.ir.graph import Graph, Node
from arenite.ir.opdef import Registry
from arenite.lower.aliases import Aliases
from arenite.lower.kernelset import KernelSet
from arenite.lower.liveness import find_buffers
from arenite.lower.placing import place
from arenite.lower.program import Buffer, Placement
from arenite.lower.select import Choice, Objective, select
from arenite.lower.steps import Step, make_steps

PRICE = 10.0
"""A percent of RAM must buy this many percent of time, by the kernels' estimates."""

MAX_BARGAINS = 8

Choices = Mapping[Node, Choice]


@dataclass(frozen=True)
class Plan:
    """Kernels chosen, buffers placed."""

    choices: Choices
    steps: tuple[Step, ...]
    aliases: Aliases
    buffers: tuple[Buffer, ...]
    placement: Placement

    @property
    def arena_nbytes(self) -> int:
        return self.placement.arena_nbytes

    @property
    def instructions(self) -> float:
        """By the kernels' estimates."""
        return sum(choice.cost.instructions for choice in self.choices.values())

    def room(self) -> dict[Node, int]:
        """Bytes of scratch that each node could take and still leave the arena as it is."""
        scratch = {name for step in self.steps for name in step.scratch.values()}
        change = np.zeros(len(self.steps) + 2, np.int64)
        for buffer in self.buffers:
            if buffer.name not in scratch:
                change[buffer.first] += buffer.nbytes
                change[buffer.end] -= buffer.nbytes
        live = np.cumsum(change)
        free: dict[Node, int] = {}
        for index, step in enumerate(self.steps):
            left = self.arena_nbytes - int(live[index])
            free[step.node] = min(left, free.get(step.node, left))
        # A node whose results have no elements makes no call.
        return {node: free.get(node, 0) for node in self.choices}


def make_plan(
    graph: Graph,
    nodes: Sequence[Node],
    registry: Registry,
    kernels: KernelSet,
    objective: Objective,
    alignment: int,
    ram_limit: int | None,
) -> Plan:
    """Kernels and buffers under an objective.

    Scratch fits into the arena at most steps, since another step is the peak. Where it does not, it raises the arena of
    the whole network: RAM is what a microcontroller runs out of first, so a kernel that wants it loses, unless speed is
    the objective and the time that it saves is worth it (`PRICE`).

    Raises:
        ModelError: nodes have no kernel.
        SelfCheckError: a plan failed its own check.
    """

    def attempt(choices: Choices) -> Plan:
        steps = make_steps(nodes, choices, (value.name for value in graph.values()))
        aliases = Aliases(graph, registry, steps)
        buffers = find_buffers(graph, steps, aliases, alignment)
        return Plan(choices, steps, aliases, buffers, place(buffers, alignment))

    def choose(room: Mapping[Node, int]) -> Plan:
        return attempt(select(nodes, kernels, objective, room))

    lean = attempt(select(nodes, kernels, Objective.RAM))
    room = lean.room()
    frugal = choose(room)
    if frugal.arena_nbytes > lean.arena_nbytes:
        # The free bytes lie in pieces: take only kernels that need no more scratch than the leanest.
        room = dict.fromkeys(nodes, 0)
        frugal = choose(room)
    if objective is not Objective.SPEED:
        return frugal
    wishes = select(nodes, kernels, objective)
    return _bargain(frugal, room, wishes, choose, ram_limit)


def _bargain(
    frugal: Plan,
    room: Mapping[Node, int],
    wishes: Choices,
    choose: Callable[[Mapping[Node, int]], Plan],
    ram_limit: int | None,
) -> Plan:
    """The fastest plan that is worth its RAM; each step of raising the arena lets more kernels have their scratch."""
    raises = sorted({c.cost.scratch_nbytes - room[n] for n, c in wishes.items() if c.cost.scratch_nbytes > room[n]})
    best = frugal
    for raised in raises[:: max(1, -(-len(raises) // MAX_BARGAINS))]:
        plan = choose({node: free + raised for node, free in room.items()})
        saved = 1.0 - plan.instructions / frugal.instructions if frugal.instructions else 0.0
        added = plan.arena_nbytes / frugal.arena_nbytes - 1.0 if frugal.arena_nbytes else 0.0
        fits = ram_limit is None or plan.arena_nbytes <= ram_limit
        if fits and saved >= PRICE * added and plan.instructions < best.instructions:
            best = plan
    return best
