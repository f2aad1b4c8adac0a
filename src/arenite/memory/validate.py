"""Judges a plan from the buffers alone. It shares no code and no data structure with the solvers."""

from collections.abc import Iterator
from dataclasses import dataclass

from arenite.memory.problem import Buffer, Problem, Solution


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its kind, the buffers at fault (both, for an overlap) and a sentence for a person."""

    kind: str  # overlap | misaligned | moved | capacity | negative | missing | unknown | total | bound
    buffers: tuple[str, ...]
    text: str


def validate(problem: Problem, solution: Solution) -> list[Violation]:
    """Return every rule that the plan breaks; empty when the plan is valid."""
    known = {buffer.name for buffer in problem.buffers}
    placed = [(solution.offsets[b.name], b) for b in problem.buffers if b.name in solution.offsets]
    found = [Violation("missing", (n,), f"{n!r} has no offset") for n in sorted(known - set(solution.offsets))]
    found += [
        Violation("unknown", (n,), f"{n!r} is no buffer of the problem") for n in sorted(set(solution.offsets) - known)
    ]
    for offset, buffer in placed:
        found += _alone(problem, buffer, offset)
    found += _overlaps(placed)
    top = max((offset + buffer.nbytes for offset, buffer in placed if buffer.nbytes), default=0)
    if solution.nbytes != top:
        found.append(Violation("total", (), f"the plan claims {solution.nbytes} bytes, its buffers end at {top}"))
    if solution.lower_bound_nbytes > top:
        text = f"the plan ends at {top} bytes, below its own lower bound {solution.lower_bound_nbytes}"
        found.append(Violation("bound", (), text))
    return found


def _alone(problem: Problem, buffer: Buffer, offset: int) -> Iterator[Violation]:
    name, end = buffer.name, offset + buffer.nbytes
    if offset < 0:
        yield Violation("negative", (name,), f"{name!r} starts at {offset}, before the arena")
    if offset % buffer.alignment:
        yield Violation("misaligned", (name,), f"{name!r} at {offset} is not aligned to {buffer.alignment}")
    if buffer.offset is not None and offset != buffer.offset:
        yield Violation("moved", (name,), f"{name!r} is pinned at {buffer.offset} but was put at {offset}")
    if problem.capacity is not None and buffer.nbytes and end > problem.capacity:
        text = f"{name!r} at [{offset}, {end}) ends beyond the capacity of {problem.capacity} bytes"
        yield Violation("capacity", (name,), text)


def _overlaps(placed: list[tuple[int, Buffer]]) -> Iterator[Violation]:
    live: list[tuple[int, Buffer]] = []
    for offset, buffer in sorted(placed, key=lambda pair: pair[1].lifetime.first):
        live = [(o, b) for o, b in live if b.lifetime.end > buffer.lifetime.first]
        for other_offset, other in live:
            start = max(offset, other_offset)
            end = min(offset + buffer.nbytes, other_offset + other.nbytes)
            if start < end:
                steps = f"[{buffer.lifetime.first}, {min(buffer.lifetime.end, other.lifetime.end)})"
                text = f"{other.name!r} and {buffer.name!r} share bytes [{start}, {end}) during steps {steps}"
                yield Violation("overlap", (other.name, buffer.name), text)
        live.append((offset, buffer))
