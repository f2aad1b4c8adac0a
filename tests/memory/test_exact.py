"""The exact search against brute force, and on public instances that are hard on purpose."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.memory import Buffer, Lifetime, Problem, plan, validate
from arenite.memory.bound import lower_bound
from arenite.memory.csvfile import read_csv
from arenite.memory.exact import improve
from arenite.memory.search import Search, Tables
from memory.oracle import optimum, problems

UNLIMITED = 10_000_000


def upper_bound(problem: Problem) -> int:
    """A size that any problem fits into, far above the optimum."""
    ends = max((b.offset + b.nbytes for b in problem.buffers if b.offset is not None), default=0)
    return ends + sum(b.nbytes + b.alignment for b in problem.buffers)


@given(problems())
def test_plans_are_the_brute_force_optimum(problem: Problem) -> None:
    solution = plan(problem, UNLIMITED)
    assert solution.nbytes == optimum(problem)
    assert solution.optimal
    assert validate(problem, solution) == []


@given(problems())
def test_the_search_alone_finds_and_proves_the_optimum(problem: Problem) -> None:
    """Without the help of greedy and of the lower bound, from a bad plan down and from zero up."""
    found = improve(problem, upper_bound(problem), 0, UNLIMITED)
    if any(b.offset is None and b.nbytes for b in problem.buffers):
        assert found.nbytes == found.lower_bound_nbytes == optimum(problem)
    else:
        assert found.offsets is None


def test_an_empty_pinned_buffer_takes_no_bytes() -> None:
    life = Lifetime(0, 1)
    problem = Problem((Buffer("x", 1, life), Buffer("nothing", 0, life, 1, 2)))
    found = improve(problem, 9, 0, UNLIMITED)
    assert (found.nbytes, found.lower_bound_nbytes) == (1, 1)
    assert plan(problem).nbytes == 1


@given(problems(), st.sampled_from(["demand", "low", "tight", "early"]), st.randoms(use_true_random=False))
def test_every_rule_and_order_decides_every_size(problem: Problem, rule: str, shuffle: object) -> None:
    """One byte below the optimum is proved impossible, the optimum itself is found."""
    free = [b for b in problem.buffers if b.offset is None and b.nbytes]
    if not free:
        return
    rank = list(range(len(free)))
    shuffle.shuffle(rank)  # type: ignore[attr-defined]
    best = optimum(problem)
    pinned_end = max((b.offset + b.nbytes for b in problem.buffers if b.offset is not None and b.nbytes), default=0)
    tables = Tables(problem)
    fits = Search(tables, best, rank, rule, UNLIMITED, {}, float("inf")).run()
    assert fits.offsets is not None
    if best > pinned_end:
        fails = Search(tables, best - 1, rank, rule, UNLIMITED, {}, float("inf")).run()
        assert fails.impossible


@pytest.mark.slow
@settings(max_examples=15)
@given(problems(most=12, largest=40, alignments=(1, 4)))
def test_twelve_buffers_are_the_brute_force_optimum(problem: Problem) -> None:
    assert plan(problem, UNLIMITED).nbytes == optimum(problem)


@pytest.mark.slow
@settings(max_examples=3000)
@given(problems(most=7, alignments=(1, 1, 1, 2, 4, 6), largest=12))
def test_many_small_problems_are_the_brute_force_optimum(problem: Problem) -> None:
    found = improve(problem, upper_bound(problem), 0, UNLIMITED)
    if any(b.offset is None and b.nbytes for b in problem.buffers):
        assert found.nbytes == found.lower_bound_nbytes == optimum(problem)


@given(problems())
def test_equal_problems_get_equal_plans(problem: Problem) -> None:
    first, second = plan(problem, 200), plan(problem, 200)
    assert first == second
    assert list(first.offsets) == [b.name for b in problem.buffers]


@given(problems(), st.integers(0, 60))
def test_a_limit_stops_the_search_and_the_bound_stays_sound(problem: Problem, limit: int) -> None:
    found = improve(problem, upper_bound(problem), lower_bound(problem), limit)
    assert found.nodes <= limit
    if any(b.offset is None and b.nbytes for b in problem.buffers):
        assert found.lower_bound_nbytes <= optimum(problem) <= found.nbytes


def test_no_time_is_no_search_beyond_greedy(uneven: Problem) -> None:
    solution = plan(uneven, UNLIMITED, seconds_limit=0)
    assert solution.nodes == 0
    assert solution.method.startswith("greedy")


@pytest.fixture
def uneven() -> Problem:
    """A problem on which greedy leaves a gap: columns of unequal steps."""
    buffers = []
    for i in range(30):
        first = (i * 7) % 23
        buffers.append(Buffer(f"b{i}", 100 + (i * 37) % 91, Lifetime(first, first + 2 + (i * 5) % 9)))
    return Problem(tuple(buffers))


@pytest.mark.shared
def test_the_public_example_has_twelve_bytes(shared: Path) -> None:
    problem = read_csv(shared / "models" / "minimalloc" / "input.12.csv", 12)
    solution = plan(problem)
    assert solution.nbytes == 12
    assert validate(problem, solution) == []


@pytest.mark.shared
@pytest.mark.parametrize("name", list("ABCDFGHJK"))
def test_hard_instances_fit_within_the_default_effort(shared: Path, name: str) -> None:
    fits_within(shared, name, 50_000)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", list("EI"))
def test_the_hardest_instances_fit(shared: Path, name: str) -> None:
    fits_within(shared, name, 5_000_000)


def fits_within(shared: Path, name: str, node_limit: int) -> None:
    problem = read_csv(shared / "models" / "minimalloc" / f"{name}.1048576.csv", 1_048_576)
    bound = lower_bound(problem)
    found = improve(problem, 2 * bound, 1_048_576, node_limit)
    assert found.nbytes <= 1_048_576
    assert found.offsets is not None
    ends = {b.name: found.offsets[b.name] + b.nbytes for b in problem.buffers}
    assert max(ends.values()) == found.nbytes
    for i, a in enumerate(problem.buffers):
        for b in problem.buffers[:i]:
            meet = a.lifetime.overlaps(b.lifetime)
            assert not meet or ends[a.name] <= found.offsets[b.name] or ends[b.name] <= found.offsets[a.name]
