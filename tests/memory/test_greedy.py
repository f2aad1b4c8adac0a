import random
import time

import numpy as np
from hypothesis import assume, given

from arenite.memory import Buffer, Lifetime, Problem, Solution, validate
from arenite.memory.bound import sections_bound
from arenite.memory.greedy import greedy, orders, place
from arenite.memory.sections import make_sections
from memory.oracle import first_fit, problems


@given(problems())
def test_every_order_and_fit_gives_a_valid_plan(problem: Problem) -> None:
    sections = make_sections(problem)
    assume(sections.buffers)
    for name, order in orders(sections):
        for best_fit in (False, True):
            offsets = place(sections, order, best_fit)
            placed = {b.name: b.offset or 0 for b in problem.buffers}
            placed |= {b.name: int(o) for b, o in zip(sections.buffers, offsets, strict=True)}
            top = int((offsets + sections.nbytes).max())
            assert validate(problem, Solution(placed, top, 0, name)) == []


@given(problems())
def test_first_fit_is_the_lowest_free_offset(problem: Problem) -> None:
    sections = make_sections(problem)
    assume(sections.buffers)
    for _, order in orders(sections):
        offsets = place(sections, order, best_fit=False)
        placed: list[tuple[int, Buffer]] = []
        for index in order:
            buffer = sections.buffers[index]
            expected = first_fit(placed, buffer) if buffer.offset is None else buffer.offset
            assert offsets[index] == expected
            placed.append((expected, buffer))


def test_best_fit_takes_the_tightest_gap() -> None:
    life = Lifetime(0, 1)
    walls = [Buffer("w0", 1, life, 1, 10), Buffer("w1", 1, life, 1, 15), Buffer("w2", 1, life, 1, 30)]
    sections = make_sections(Problem((*walls, Buffer("x", 4, life))))
    order = np.arange(4)
    assert place(sections, order, best_fit=True)[3] == 11
    assert place(sections, order, best_fit=False)[3] == 0


def test_five_thousand_buffers_take_seconds() -> None:
    rng = random.Random(7)
    buffers = []
    for index in range(5000):
        first = rng.randrange(5000)
        lifetime = Lifetime(first, first + rng.randrange(1, 400))
        buffers.append(Buffer(f"b{index}", rng.randrange(1, 100_000), lifetime, 16))
    sections = make_sections(Problem(tuple(buffers)))
    bound = sections_bound(sections)
    began = time.process_time()
    _, nbytes, _ = greedy(sections, bound)
    assert time.process_time() - began < 10
    assert bound <= nbytes < 1.3 * bound
