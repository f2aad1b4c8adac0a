"""Branch and bound for one question: do these buffers fit into this many bytes?

The search keeps, for every buffer that is not placed, the lowest offset it may still get (`floor`). At each
node it picks a point: a section of time and the lowest floor of the buffers that are live in it, such that no
such buffer reaches into a section with a lower floor. Then either one of them lies exactly there (one branch
each) or none does, and the floor of all of them rises to the next offset that is possible at all.

Why that is complete: if the open buffers of a node can be placed at all, take a placement with the least sum
of offsets. In it every buffer lies at its floor or rests on another open buffer, since otherwise it could move
down. So the lowest buffer above the point lies at the point, or at its own floor, or rests on an open buffer
that is not live in the section.

A branch is cut when in some section the lowest floor plus all bytes still to be placed exceed the capacity;
when the open buffers are the same, with the same floors, as in a node that failed before; or when the point
was left empty though a buffer fits there under everything that is still to come. When the open buffers
fall apart into groups that never meet in time, each group is searched alone.

The ideas of canonical placements, section sums, dominance and decomposition in time are those of M. Moffitt,
"MiniMalloc", ASPLOS 2023; the branching on points, which need not go by rising offset, is our own.
"""

import hashlib
import time
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np
from numpy.typing import NDArray

from arenite.memory.bound import largest_in_section
from arenite.memory.problem import Buffer, Problem
from arenite.memory.sections import Ints, make_sections

_PLACED = 1 << 60  # floor of a buffer that is placed, or that belongs to another group
_CLOCK_NODES = 256
_MAX_DEAD = 500_000  # about 100 bytes each


class Tables:
    """What stays the same between searches of one problem. Pinned buffers are obstacles, not buffers.

    Raises:
        ValueError: every buffer is pinned or empty.
    """

    def __init__(self, problem: Problem) -> None:
        """Precompute who meets whom; memory grows with the square of the number of buffers."""
        pinned = [(b.offset, b) for b in problem.buffers if b.offset is not None and b.nbytes]
        sections = make_sections(Problem(tuple(b for b in problem.buffers if b.offset is None)))
        if not sections.buffers:
            raise ValueError("there is nothing to place")
        self.buffers = sections.buffers
        self.sections = sections
        self.size: list[int] = sections.nbytes.tolist()
        self.lo: list[int] = sections.lo.tolist()
        self.hi: list[int] = sections.hi.tolist()
        meets = (sections.lo[:, None] < sections.hi) & (sections.hi[:, None] > sections.lo)
        np.fill_diagonal(meets, val=False)
        self.neighbours = [np.flatnonzero(row) for row in meets]
        steps = np.arange(sections.count)
        self.live = [np.flatnonzero((sections.lo <= step) & (sections.hi > step)) for step in steps]
        self.live_flat = np.concatenate(self.live)
        self.live_starts = np.cumsum([0] + [len(live) for live in self.live])
        self.span = [_bits(lo, hi) for lo, hi in zip(self.lo, self.hi, strict=True)]
        self.obstacles = {i: blocks for i, b in enumerate(self.buffers) if (blocks := _obstacles(b, pinned))}
        # All offsets are multiples of the grain: buffers fill multiples of it, but for the topmost one.
        self.grain = gcd(*(b.alignment for b in self.buffers))
        self.alignment = None if (sections.alignment == self.grain).all() else sections.alignment
        padding = -sections.nbytes % self.grain
        self.filled_nbytes = sections.nbytes + padding
        self.filled: list[int] = self.filled_nbytes.tolist()
        self.section_padding = largest_in_section(sections, padding)

    def settle(self, floor: Ints, changed: Ints) -> None:
        """Raise the floors of `changed` in place to offsets that alignment and obstacles allow."""
        if self.alignment is not None:
            aligned = floor[changed]
            aligned += -aligned % self.alignment[changed]
            floor[changed] = np.minimum(aligned, _PLACED)
        if self.obstacles:
            for index in changed.tolist():
                if index in self.obstacles and floor[index] < _PLACED:
                    floor[index] = self._above_obstacles(index, int(floor[index]))

    def _above_obstacles(self, index: int, offset: int) -> int:
        alignment = self.buffers[index].alignment
        for start, end in self.obstacles[index]:
            if offset + self.size[index] > start and offset < end:
                offset = -(-end // alignment) * alignment
        return offset


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: `offsets` (one per buffer of the tables) when it fits; else whether that is proved."""

    offsets: list[int] | None
    impossible: bool
    nodes: int


@dataclass(slots=True)
class _Group:
    """Open buffers of sections `[lo, hi)` that no open buffer connects to any other section.

    `demand` is the bytes still to be placed per section; `crossing[s]` the number of open buffers that are live
    both in section s - 1 and in s. Both are indexed by absolute section and hold only inside `[lo, hi)`.
    """

    floor: Ints
    demand: Ints
    crossing: Ints
    lo: int
    hi: int


@dataclass(slots=True)
class _Frame:
    """A node of the search: a group, the point in it that was picked, and the branches tried so far."""

    group: _Group
    base: Ints  # the floors when the last buffer was placed, before points were left empty
    section: int
    level: int
    choices: list[int]
    siblings: list[_Group]  # groups that must all fit; this frame searches siblings[member]
    member: int
    parent: int  # depth of the frame whose branch made the siblings, -1 for the root
    tried: int = 0
    touched: int = 0  # sections in which the branch being tried changed floors
    premise: int = 0  # sections that this change was derived from, besides those of the buffers it changed
    blame: int = 0  # sections that the failures of the branches tried so far depend on


class Search:
    """One run: an order in which branches are tried, a rule that picks points, and limits."""

    def __init__(
        self,
        tables: Tables,
        capacity: int,
        rank: list[int],
        rule: str,
        node_limit: int,
        dead: dict[bytes, int],
        deadline: float,
    ) -> None:
        """Prepare a run.

        Args:
            tables: of the problem.
            capacity: bytes that must suffice.
            rank: per buffer; lower ranks are tried first.
            rule: picks the section to branch in. "demand": where most bytes are still to be placed; "low": with
                the lowest floor; "tight": with the least space left (both: of those, the most demand);
                "early": the earliest of the tightest.
            node_limit: placements and empty points to try.
            dead: groups known not to fit at this capacity (digest to the sections at fault); grows. To share
                between runs whose capacities never rise.
            deadline: value of `time.perf_counter` at which to stop.
        """
        self.tables = tables
        self.capacity = capacity
        self.rank = rank
        self.rule = rule
        self.node_limit = node_limit
        self.dead = dead
        self.deadline = deadline
        self.nodes = 0
        self.offsets = [0] * len(tables.buffers)
        self.stack: list[_Frame] = []
        self.highest_floor = capacity - tables.sections.nbytes
        self.section_capacity = capacity + tables.section_padding

    def run(self) -> Outcome:
        """Search until the buffers fit, all is tried, or a limit is reached."""
        groups = self._root()
        if groups is None:
            return Outcome(None, True, 0)
        self._open(groups, 0, -1, groups[0].floor)
        while self.stack:
            frame = self.stack[-1]
            if frame.tried > len(frame.choices):
                self._fail(frame)
                continue
            if self.nodes >= self.node_limit or self._late():
                return Outcome(None, False, self.nodes)
            self.nodes += 1
            frame.tried += 1
            if frame.tried > len(frame.choices):
                self._leave_empty(frame)
                continue
            children = self._place(frame, frame.choices[frame.tried - 1])
            if children:
                self._open(children, 0, len(self.stack) - 1, children[0].floor)
            elif children is not None and self._solved():
                return Outcome(self.offsets, False, self.nodes)
        return Outcome(None, True, self.nodes)

    def _late(self) -> bool:
        return self.nodes % _CLOCK_NODES == 0 and time.perf_counter() > self.deadline

    def _root(self) -> list[_Group] | None:
        tables = self.tables
        count = len(tables.buffers)
        floor = np.zeros(count, np.int64)
        tables.settle(floor, np.arange(count))
        crossing = np.zeros(tables.sections.count + 1, np.int64)
        for lo, hi in zip(tables.lo, tables.hi, strict=True):
            crossing[lo + 1 : hi] += 1
        whole = _Group(floor, tables.sections.sums(tables.filled_nbytes), crossing, 0, tables.sections.count)
        return None if self._overflow(whole) else self._split(whole)

    def _overflow(self, group: _Group) -> int:
        """Sections to blame when a buffer's floor is too high or a section overflows; 0 when all may fit."""
        floor = group.floor
        high = (floor > self.highest_floor) & (floor < _PLACED)
        if high.any():
            return self.tables.span[int(high.argmax())]
        floors, tops = self._tops(group)
        over = (tops > self.section_capacity[group.lo : group.hi]) & (floors < _PLACED)
        return self._reach(floor, group.lo + int(over.argmax())) if over.any() else 0

    def _reach(self, floor: Ints, section: int) -> int:
        """Sections on which the floors of the open buffers that are live in `section` depend."""
        live = self.tables.live[section]
        return self._spans(live[floor[live] < _PLACED])

    def _spans(self, which: NDArray[np.intp]) -> int:
        sections = self.tables.sections
        return _bits(int(sections.lo[which].min()), int(sections.hi[which].max()))

    def _tops(self, group: _Group) -> tuple[Ints, Ints]:
        """Per section of the group: the lowest floor, and where the open buffers end if stacked on it."""
        starts = self.tables.live_starts[group.lo : group.hi + 1]
        members = self.tables.live_flat[starts[0] : starts[-1]]
        floors: Ints = np.minimum.reduceat(group.floor[members], starts[:-1] - starts[0])
        return floors, floors + group.demand[group.lo : group.hi]

    def _open(self, siblings: list[_Group], member: int, parent: int, base: Ints) -> None:
        group = siblings[member]
        section, level, choices = self._pick(group)
        choices.sort(key=self.rank.__getitem__)
        self.stack.append(_Frame(group, base, section, level, choices, siblings, member, parent))

    def _pick(self, group: _Group) -> tuple[int, int, list[int]]:
        """The point to branch on: its section, its offset and the buffers whose floor it is."""
        tables = self.tables
        floors, tops = self._tops(group)
        where = self._favourite(floors, tops)
        while True:
            level = int(floors[where])
            live = tables.live[group.lo + where]
            choices: list[int] = live[group.floor[live] == level].tolist()
            for index in choices:
                first = tables.lo[index] - group.lo
                reach = floors[first : tables.hi[index] - group.lo]
                lowest = int(reach.argmin())
                if reach[lowest] < level:
                    where = first + lowest
                    break
            else:
                return group.lo + where, level, choices

    def _favourite(self, floors: Ints, tops: Ints) -> int:
        """The section that the rule asks for."""
        demand = np.where(floors < _PLACED, tops - floors, -1)
        if self.rule == "low":
            demand[floors > floors.min()] = -1
        elif self.rule in ("tight", "early"):
            highest = tops[demand >= 0].max()
            if self.rule == "early":
                return int(((tops == highest) & (demand >= 0)).argmax())
            demand[tops < highest] = -1
        return int(demand.argmax())

    def _fail(self, frame: _Frame) -> None:
        """No branch is left: go back to the last branch that this failure depends on."""
        blame = frame.blame | self._reach(frame.group.floor, frame.section)
        while True:
            # With points left empty since the last placement, a cut may have looked beyond this group.
            if frame.base is frame.group.floor and len(self.dead) < _MAX_DEAD:
                self.dead[_digest(frame.base)] = blame
            del self.stack[frame.parent + 1 :]
            if frame.parent < 0:
                return
            frame = self.stack[-1]
            if frame.touched & blame:
                frame.blame |= blame | frame.premise
                return

    def _solved(self) -> bool:
        """The last buffer of a group is placed: go on to its next sibling; True when none is left at all."""
        depth = len(self.stack) - 1
        while depth >= 0:
            frame = self.stack[depth]
            following = frame.member + 1
            if following < len(frame.siblings):
                del self.stack[depth:]
                self._open(frame.siblings, following, frame.parent, frame.siblings[following].floor)
                return False
            depth = frame.parent
        return True

    def _place(self, frame: _Frame, index: int) -> list[_Group] | None:
        """Put a buffer at the frame's point: the groups that remain, or None when they cannot fit."""
        tables, group = self.tables, frame.group
        lo, hi = tables.lo[index], tables.hi[index]
        floor = _raised(tables, group.floor, tables.neighbours[index], frame.level + tables.filled[index])
        floor[index] = _PLACED
        demand = group.demand.copy()
        demand[lo:hi] -= tables.filled[index]
        after = _Group(floor, demand, group.crossing, group.lo, group.hi)
        frame.touched, frame.premise = tables.span[index], 0
        if blame := self._overflow(after):
            frame.blame |= blame
            return None
        self.offsets[index] = frame.level
        if hi - lo > 1:
            after.crossing = group.crossing.copy()
            after.crossing[lo + 1 : hi] -= 1
        if hi - lo > 1 and not after.crossing[lo + 1 : hi].all():
            children = self._split(after)
        else:
            children = [after] if group.hi - group.lo > 1 or demand[lo] else []
        for child in children:
            if blame := self.dead.get(_digest(child.floor), 0):
                frame.blame |= blame
                return None
        return children

    def _split(self, group: _Group) -> list[_Group]:
        """Cut a group where no open buffer crosses; the smallest part first, since it fails soonest."""
        sections = self.tables.sections
        cuts = group.lo + 1 + np.flatnonzero(group.crossing[group.lo + 1 : group.hi] == 0)
        bounds = [group.lo, *cuts.tolist(), group.hi]
        parts: list[tuple[int, _Group]] = []
        for lo, hi in pairwise(bounds):
            if group.demand[lo]:
                inside = (sections.lo >= lo) & (sections.hi <= hi)
                floor = np.where(inside, group.floor, _PLACED)
                open_count = int((floor < _PLACED).sum())
                parts.append((open_count, _Group(floor, group.demand, group.crossing, lo, hi)))
        parts.sort(key=lambda part: part[0])
        return [part for _, part in parts]

    def _leave_empty(self, frame: _Frame) -> None:
        """Branch in which no buffer lies at the frame's point; opens a frame unless that cannot fit."""
        tables, group, section = self.tables, frame.group, frame.section
        room = int(self.section_capacity[section]) - int(group.demand[section])
        if frame.level + tables.grain > room:
            frame.blame |= self._reach(group.floor, section)
            return
        level, premise = self._next_level(frame)
        if level > room:
            frame.blame |= premise
            return
        floor = _raised(tables, group.floor, tables.live[section], level)
        after = _Group(floor, group.demand, group.crossing, group.lo, group.hi)
        blame = self._overflow(after)
        if blame or self._wasted(frame, floor):
            frame.blame |= blame | premise
            return
        frame.touched, frame.premise = 1 << section, premise
        self._open([after], 0, len(self.stack) - 1, frame.base)

    def _next_level(self, frame: _Frame) -> tuple[int, int]:
        """Lowest offset above the point at which a buffer live in its section can lie, and on what that depends."""
        tables, floor = self.tables, frame.group.floor
        own = floor[tables.live[frame.section]]
        ends = floor + tables.filled_nbytes
        first = min(tables.lo[index] for index in frame.choices)
        last = max(tables.hi[index] for index in frame.choices)
        lo, hi = tables.sections.lo, tables.sections.hi
        near = (lo < last) & (hi > first) & (floor < _PLACED)
        supports = near & ((lo > frame.section) | (hi <= frame.section)) & (ends > frame.level)
        level = min(int(own[own > frame.level].min(initial=_PLACED)), int(ends[supports].min(initial=_PLACED)))
        return level, self._spans(np.flatnonzero(near))

    def _wasted(self, frame: _Frame, floor: Ints) -> bool:
        """Whether a buffer that could have lain at the point would still fit there, under all that it meets."""
        for index in frame.choices:
            offset = int(frame.base[index])
            above = floor[self.tables.neighbours[index]]
            if offset < floor[index] and above.min(initial=_PLACED) >= offset + self.tables.size[index]:
                return True
        return False


def _raised(tables: Tables, floor: Ints, which: NDArray[np.intp], level: int) -> Ints:
    """A copy of `floor` in which those of `which` are at least `level`."""
    raised = floor.copy()
    raised[which] = np.maximum(floor[which], level)
    tables.settle(raised, which)
    return raised


def _bits(lo: int, hi: int) -> int:
    """A set of sections as the bits of an integer."""
    return (1 << hi) - (1 << lo)


def _digest(floor: Ints) -> bytes:
    return hashlib.blake2b(floor.tobytes(), digest_size=16).digest()


def _obstacles(buffer: Buffer, pinned: list[tuple[int, Buffer]]) -> list[tuple[int, int]]:
    """Byte ranges of the pinned buffers that `buffer` meets in time, by rising start."""
    return sorted((o, o + b.nbytes) for o, b in pinned if b.lifetime.overlaps(buffer.lifetime))
