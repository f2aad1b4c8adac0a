"""What the planner is given and what it answers: plain values that know of no graph, model or kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from arenite._base.errors import ModelError

# With these bounds every sum of sizes, alignments and offsets stays far inside an int64.
MAX_NBYTES = 1 << 40
MAX_STEP = 1 << 62
MAX_BUFFERS = 100_000


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Schedule steps `[first, end)` during which a buffer holds its bytes; half-open, `0 <= first < end`."""

    first: int
    end: int

    def overlaps(self, other: "Lifetime") -> bool:
        """Whether some step belongs to both."""
        return self.first < other.end and other.first < self.end


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes that need a place in the arena.

    Attributes:
        name: unique within its problem; messages use it.
        nbytes: size; zero is allowed and conflicts with nothing.
        lifetime: the steps during which no other buffer may share its bytes.
        alignment: its offset is a multiple of this (bytes, at least 1).
        offset: where it must lie (a pinned buffer), or None when the planner chooses.
    """

    name: str
    nbytes: int
    lifetime: Lifetime
    alignment: int = 1
    offset: int | None = None


@dataclass(frozen=True)
class Problem:
    """Buffers to place in one arena.

    Attributes:
        buffers: in any order; the order breaks ties, so equal problems get equal plans.
        capacity: bytes that there are, or None; a plan may exceed it, and `validate` then says so.

    Raises:
        ModelError: two buffers share a name, a number is outside its range, a lifetime is empty, or pinned
            buffers are misaligned or collide. All such problems at once.
    """

    buffers: tuple[Buffer, ...]
    capacity: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "buffers", tuple(self.buffers))
        if problems := list(_problems(self)):
            raise ModelError(problems)


@dataclass(frozen=True)
class Solution:
    """Where every buffer lies, and how good that is.

    Attributes:
        offsets: buffer name to offset in bytes.
        nbytes: size of the arena: the largest offset plus size; buffers of zero bytes do not count.
        lower_bound_nbytes: no valid plan is smaller than this.
        method: which solver, order and fit made it.
        seconds: time spent (not compared: two equal plans may take different times).
        nodes: placements that the exact search tried; 0 when it did not run.
    """

    offsets: Mapping[str, int]
    nbytes: int
    lower_bound_nbytes: int
    method: str
    seconds: float = field(default=0.0, compare=False)
    nodes: int = 0

    @property
    def optimal(self) -> bool:
        """Whether the plan is proved to be as small as any."""
        return self.nbytes == self.lower_bound_nbytes

    @property
    def gap_nbytes(self) -> int:
        """Bytes between the plan and the lower bound."""
        return self.nbytes - self.lower_bound_nbytes


def _problems(problem: Problem) -> Iterator[str]:
    if len(problem.buffers) > MAX_BUFFERS:
        yield f"the memory plan has {len(problem.buffers)} buffers; at most {MAX_BUFFERS} are supported"
        return
    if problem.capacity is not None and not 0 <= problem.capacity <= MAX_NBYTES:
        yield f"arena capacity {problem.capacity} is outside [0, {MAX_NBYTES}] bytes"
    seen: set[str] = set()
    sound = True
    for buffer in problem.buffers:
        if buffer.name in seen:
            yield f"buffer {buffer.name!r} occurs more than once; names must be unique"
        seen.add(buffer.name)
        for text in _buffer_problems(buffer):
            sound = False
            yield f"buffer {buffer.name!r}: {text}"
    if sound:
        yield from _pinned_collisions(problem)


def _buffer_problems(buffer: Buffer) -> Iterator[str]:
    first, end = buffer.lifetime.first, buffer.lifetime.end
    if not 0 <= buffer.nbytes <= MAX_NBYTES:
        yield f"size {buffer.nbytes} is outside [0, {MAX_NBYTES}] bytes"
    if not 0 <= first <= MAX_STEP or not 0 <= end <= MAX_STEP:
        yield f"lifetime [{first}, {end}) leaves the schedule steps [0, {MAX_STEP}]"
    elif first >= end:
        yield f"lifetime [{first}, {end}) is empty; it must cover at least one step"
    if not 1 <= buffer.alignment <= MAX_NBYTES:
        yield f"alignment {buffer.alignment} is outside [1, {MAX_NBYTES}] bytes"
        return
    if buffer.offset is None:
        return
    if not 0 <= buffer.offset <= MAX_NBYTES:
        yield f"pinned offset {buffer.offset} is outside [0, {MAX_NBYTES}] bytes"
    elif buffer.offset % buffer.alignment:
        yield f"pinned offset {buffer.offset} is no multiple of its alignment {buffer.alignment}"


def _pinned_collisions(problem: Problem) -> Iterator[str]:
    pinned = [(b.offset, b) for b in problem.buffers if b.offset is not None and b.nbytes]
    pinned.sort(key=lambda pair: pair[0])
    active: list[tuple[int, Buffer]] = []
    for offset, buffer in pinned:
        active = [(start, other) for start, other in active if start + other.nbytes > offset]
        for start, other in active:
            if buffer.lifetime.overlaps(other.lifetime):
                yield (
                    f"pinned buffers {other.name!r} at [{start}, {start + other.nbytes}) and {buffer.name!r} at "
                    f"[{offset}, {offset + buffer.nbytes}) share bytes while both are live"
                )
        active.append((offset, buffer))
