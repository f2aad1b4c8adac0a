"""The validator finds each fault that is planted into a valid plan, and nothing in the plan itself."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite.memory import Buffer, Lifetime, Problem, Solution, plan, validate
from memory.oracle import problems

PROBLEM = Problem(
    (
        Buffer("a", 16, Lifetime(0, 2), 16),
        Buffer("b", 10, Lifetime(1, 4)),
        Buffer("c", 16, Lifetime(2, 3), 16),
        Buffer("d", 6, Lifetime(1, 2), 2, 26),
    ),
    capacity=32,
)
OFFSETS = {"a": 0, "b": 16, "c": 0, "d": 26}


def solution(**changed: int) -> Solution:
    return Solution({**OFFSETS, **changed}, 32, 32, "by hand")


def kinds(problem: Problem, plan_: Solution) -> list[tuple[str, tuple[str, ...]]]:
    return [(v.kind, v.buffers) for v in validate(problem, plan_)]


def test_a_valid_plan_is_accepted() -> None:
    assert validate(PROBLEM, solution()) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"b": 15}, [("overlap", ("a", "b")), ("overlap", ("b", "c"))]),
        ({"b": 17}, [("overlap", ("b", "d"))]),
        ({"a": 1}, [("misaligned", ("a",)), ("overlap", ("a", "b"))]),
        ({"c": 16}, [("overlap", ("b", "c"))]),
        ({"d": 28}, [("moved", ("d",)), ("capacity", ("d",)), ("total", ())]),
        ({"a": -16}, [("negative", ("a",))]),
    ],
)
def test_a_moved_buffer_is_found(changed: dict[str, int], expected: list[tuple[str, tuple[str, ...]]]) -> None:
    found = kinds(PROBLEM, solution(**changed))
    assert sorted((kind, tuple(sorted(names))) for kind, names in found) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "buffer", "expected"),
    [
        ("a", Buffer("a", 17, Lifetime(0, 2), 16), ("overlap", ("a", "b"))),
        ("b", Buffer("b", 11, Lifetime(1, 4)), ("overlap", ("b", "d"))),
        ("c", Buffer("c", 16, Lifetime(1, 3), 16), ("overlap", ("a", "c"))),
        ("a", Buffer("a", 16, Lifetime(0, 3), 16), ("overlap", ("a", "c"))),
        ("b", Buffer("b", 10, Lifetime(1, 4), 32), ("misaligned", ("b",))),
    ],
)
def test_a_size_or_lifetime_one_too_large_is_found(
    name: str, buffer: Buffer, expected: tuple[str, tuple[str, ...]]
) -> None:
    changed = Problem(tuple(buffer if b.name == name else b for b in PROBLEM.buffers), 32)
    assert kinds(changed, solution()) == [expected]


def test_missing_and_unknown_buffers_are_found() -> None:
    offsets = {"a": 0, "b": 16, "c": 0, "e": 0}
    assert kinds(PROBLEM, Solution(offsets, 26, 26, "by hand")) == [("missing", ("d",)), ("unknown", ("e",))]


def test_false_totals_are_found() -> None:
    assert kinds(PROBLEM, replace(solution(), nbytes=31)) == [("total", ())]
    assert kinds(PROBLEM, replace(solution(), lower_bound_nbytes=33)) == [("bound", ())]


def test_a_plan_beyond_the_capacity_is_found() -> None:
    assert kinds(replace(PROBLEM, capacity=31), solution()) == [("capacity", ("d",))]


def test_the_text_names_both_buffers_and_their_bytes() -> None:
    (violation,) = validate(PROBLEM, solution(c=16))
    assert violation.text == "'b' and 'c' share bytes [16, 26) during steps [2, 3)"


@given(problems(), st.data())
def test_validator_agrees_with_a_byte_map(problem: Problem, data: st.DataObject) -> None:
    """Every byte of every step is owned by at most one buffer, or the validator says overlap."""
    assume(problem.buffers)
    offsets = {b.name: data.draw(st.integers(0, 40), b.name) for b in problem.buffers}
    owned = [
        (step, byte)
        for b in problem.buffers
        for step in range(b.lifetime.first, b.lifetime.end)
        for byte in range(offsets[b.name], offsets[b.name] + b.nbytes)
    ]
    found = validate(problem, Solution(offsets, 0, 0, "random"))
    assert any(v.kind == "overlap" for v in found) == (len(owned) != len(set(owned)))


@given(problems(), st.data())
def test_pushing_a_neighbour_in_is_always_found(problem: Problem, data: st.DataObject) -> None:
    """In any plan: a buffer moved to where one that it meets lies overlaps it, and both are named."""
    made = plan(problem)
    pairs = [
        (a.name, b.name)
        for a in problem.buffers
        for b in problem.buffers
        if a.name != b.name and a.nbytes and b.nbytes and a.lifetime.overlaps(b.lifetime)
    ]
    assume(pairs)
    moved, kept = data.draw(st.sampled_from(pairs))
    found = validate(problem, replace(made, offsets={**made.offsets, moved: made.offsets[kept]}))
    assert any(v.kind == "overlap" and set(v.buffers) == {moved, kept} for v in found)


def test_a_buffer_of_no_bytes_is_never_beyond_the_capacity() -> None:
    empty = Problem((Buffer("empty", 0, Lifetime(0, 1)),), capacity=8)
    assert validate(empty, Solution({"empty": 9}, 0, 0, "by hand")) == []
