"""Exact planning: closes the gap between a plan and the lower bound from both sides, by repeated searches.

One search asks whether the buffers fit into a given number of bytes (see `search`). Its time is heavy-tailed:
most answers come soon for some order and rule, late or never for others. So many short searches with different
orders and rules run first, and every round doubles their length.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

from arenite.memory.problem import Problem
from arenite.memory.search import Search, Tables

MAX_EXACT_BUFFERS = 2000
_RULES = ("tight", "demand", "low", "early")
_SHUFFLES = 32


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the exact search found out.

    Attributes:
        offsets: buffer name to offset (pinned ones and empty ones left out) of a plan better than the one that
            was known, or None.
        nbytes: size of the best plan known.
        lower_bound_nbytes: no plan is smaller; equal to `nbytes` when that is proved optimal.
        nodes: placements and empty points tried.
        method: how the best plan was found; "" when none was.
    """

    offsets: dict[str, int] | None
    nbytes: int
    lower_bound_nbytes: int
    nodes: int
    method: str


@dataclass
class _Effort:
    """Limits and what has been used of them."""

    node_limit: int
    deadline: float
    nodes: int = 0
    dead: dict[bytes, int] = field(default_factory=dict)
    dead_capacity: int = 0
    timed_out: bool = False

    @property
    def over(self) -> bool:
        return self.timed_out or self.nodes >= self.node_limit


def improve(problem: Problem, nbytes: int, bound: int, node_limit: int, deadline: float = float("inf")) -> Certificate:
    """Look for a plan smaller than `nbytes`, down to `bound`, until a limit is reached.

    The answer depends on nothing but the arguments, so long as `deadline` (a value of `time.perf_counter`) is
    not what ends the search. A capacity that `nbytes` exceeds is aimed at before anything in between.
    """
    free = [b for b in problem.buffers if b.offset is None and b.nbytes]
    if not free or len(free) > MAX_EXACT_BUFFERS or nbytes <= bound:
        return Certificate(None, nbytes, bound, 0, "")
    return _Exact(problem, nbytes, bound, _Effort(node_limit, deadline)).run()


class _Exact:
    def __init__(self, problem: Problem, nbytes: int, bound: int, effort: _Effort) -> None:
        self.tables = Tables(problem)
        self.capacity = problem.capacity
        # Every arena size worth asking for is a sum of sizes and paddings, hence a multiple of this.
        self.grain = gcd(*(n for b in problem.buffers if b.nbytes for n in (b.nbytes, b.alignment, b.offset or 0)))
        pinned = [(b.offset, b.nbytes) for b in problem.buffers if b.offset is not None and b.nbytes]
        self.pinned_nbytes = max((offset + nbytes for offset, nbytes in pinned), default=0)
        self.nbytes = nbytes
        self.bound = self._rounded(max(bound, self.pinned_nbytes))
        self.effort = effort
        self.best: list[int] | None = None
        self.method = ""

    def run(self) -> Certificate:
        length = max(500, 3 * len(self.tables.buffers))
        round_number = 0
        while self.nbytes > self.bound and not self.effort.over:
            for target in self._targets():
                if self.bound <= target < self.nbytes:
                    self._attempt(target, length << round_number // 2, round_number)
            round_number += 1
        offsets = None
        if self.best is not None:
            offsets = {b.name: offset for b, offset in zip(self.tables.buffers, self.best, strict=True)}
        return Certificate(offsets, self.nbytes, self.bound, self.effort.nodes, self.method)

    def _targets(self) -> Iterator[int]:
        """Sizes to ask for in one round: the bound, the capacity, then halfway for as long as that succeeds."""
        yield self.bound
        if self.capacity is not None and self.nbytes > self.capacity:
            yield self.capacity
        while self.nbytes > self.bound and not self.effort.over:
            before = (self.nbytes, self.bound)
            yield self._rounded((self.nbytes + self.bound) // 2 - self.grain + 1)
            if (self.nbytes, self.bound) == before:
                return

    def _rounded(self, nbytes: int) -> int:
        return -(-nbytes // self.grain) * self.grain

    def _attempt(self, target: int, length: int, round_number: int) -> None:
        """Ask for one size, with every rule and order, until there is an answer."""
        effort = self.effort
        if target > effort.dead_capacity:
            effort.dead.clear()
        effort.dead_capacity = target
        for name, rank in _ranks(self.tables, round_number):
            for rule in _RULES:
                if effort.over:
                    return
                limit = min(length, effort.node_limit - effort.nodes)
                search = Search(self.tables, target, rank, rule, limit, effort.dead, effort.deadline)
                outcome = search.run()
                effort.nodes += outcome.nodes
                if outcome.offsets is not None:
                    self._found(outcome.offsets, f"exact search, {name}, {rule} sections")
                    return
                if outcome.impossible:
                    self.bound = self._rounded(target + 1)
                    return
                effort.timed_out = outcome.nodes < limit

    def _found(self, offsets: list[int], method: str) -> None:
        ends = (offset + nbytes for offset, nbytes in zip(offsets, self.tables.size, strict=True))
        self.best = list(offsets)
        self.nbytes = max(self.pinned_nbytes, *ends)
        self.method = method


def _ranks(tables: Tables, round_number: int) -> Iterator[tuple[str, list[int]]]:
    """Orders in which to try the buffers at a point; after the first round also random mixtures of them."""
    sections, size = tables.sections, tables.size
    totals = sections.sums(sections.nbytes)
    spans = list(zip(tables.lo, tables.hi, strict=True))
    length = [hi - lo for lo, hi in spans]
    area = [n * m for n, m in zip(size, length, strict=True)]
    contention = [int(totals[lo:hi].max()) for lo, hi in spans]
    everyone = range(len(size))
    keys = {
        "by contention, lifetime": [(-contention[i], -length[i], -area[i]) for i in everyone],
        "by contention, area": [(-contention[i], -area[i], -length[i]) for i in everyone],
        "by area": [(-area[i], -contention[i], -length[i]) for i in everyone],
        "by size": [(-size[i], -length[i], 0) for i in everyone],
        "by contention, size": [(-contention[i], -size[i], -length[i]) for i in everyone],
        "by start": [(tables.lo[i], -size[i], -length[i]) for i in everyone],
    }
    for name, key in keys.items():
        yield name, _rank(key)
    for shuffle in range(_SHUFFLES if round_number else 0):
        # Each mixture has its own weights for size and lifetime, and some noise; contention leads in every other.
        draw = random.Random(round_number * _SHUFFLES + shuffle)
        by_size, by_length = draw.random(), draw.random()
        noise = [draw.uniform(0.7, 1.4) for _ in everyone]
        weights = [size[i] ** by_size * length[i] ** by_length * noise[i] for i in everyone]
        leading = contention if shuffle % 2 else [0] * len(size)
        yield f"mixture {round_number}.{shuffle}", _rank([(-leading[i], -weights[i], 0) for i in everyone])


def _rank(key: Sequence[tuple[float, float, float]]) -> list[int]:
    rank = [0] * len(key)
    for position, index in enumerate(sorted(range(len(key)), key=key.__getitem__)):
        rank[index] = position
    return rank
