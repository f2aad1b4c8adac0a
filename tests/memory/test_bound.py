from hypothesis import given

from arenite.memory import Buffer, Lifetime, Problem
from arenite.memory.bound import lower_bound
from arenite.memory.sections import make_sections
from memory.oracle import every_order, optimum, problems


def test_the_bound_is_the_largest_sum_of_live_bytes() -> None:
    problem = Problem((Buffer("a", 4, Lifetime(0, 3)), Buffer("b", 5, Lifetime(2, 5)), Buffer("c", 6, Lifetime(3, 4))))
    assert lower_bound(problem) == 11
    assert lower_bound(Problem(())) == 0


def test_alignment_sharpens_the_bound() -> None:
    """Of 17, 18 and 30 bytes at multiples of 16, all but the topmost fill 32; best is to put 17 on top."""
    life = Lifetime(0, 1)
    aligned = [Buffer(f"b{n}", n, life, 16) for n in (17, 18, 30)]
    assert lower_bound(Problem(tuple(aligned))) == 32 + 32 + 17


def test_a_pinned_buffer_is_never_undercut() -> None:
    assert lower_bound(Problem((Buffer("p", 4, Lifetime(0, 1), 1, 100), Buffer("q", 4, Lifetime(0, 1))))) == 104


@given(problems())
def test_the_bound_is_sound(problem: Problem) -> None:
    raw = max(
        (
            sum(b.nbytes for b in problem.buffers if b.lifetime.first <= step < b.lifetime.end)
            for step in {b.lifetime.first for b in problem.buffers}
        ),
        default=0,
    )
    assert raw <= lower_bound(problem) <= optimum(problem)


@given(problems(most=5))
def test_the_oracle_agrees_with_every_permutation(problem: Problem) -> None:
    assert optimum(problem) == every_order(problem)


@given(problems())
def test_sections_keep_who_meets_whom(problem: Problem) -> None:
    sections = make_sections(problem)
    for i, a in enumerate(sections.buffers):
        assert 0 <= sections.lo[i] < sections.hi[i] <= sections.count
        for j, b in enumerate(sections.buffers):
            meet = sections.lo[i] < sections.hi[j] and sections.lo[j] < sections.hi[i]
            assert meet == a.lifetime.overlaps(b.lifetime)
