"""Plans across several memories, against every way of sharing buffers out among them."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.errors import ModelError
from arenite.memory import Buffer, Lifetime, Problem, Region, plan_in_regions, validate
from memory.oracle import optimum, problems

# Both are multiples of every alignment.
LOW, HIGH = 1 << 10, 1 << 12
NO_PINS = problems(most=5, pins=False)


def least_in_last(problem: Problem, first: int) -> int:
    """Bytes that the second memory needs, when the first has `first`: over every way of sharing out."""
    needs = []
    for picks in product((False, True), repeat=len(problem.buffers)):
        parts = [
            [b for b, taken in zip(problem.buffers, picks, strict=True) if taken is side] for side in (False, True)
        ]
        low, high = (optimum(replace(problem, buffers=tuple(part))) for part in parts)
        if low <= first:
            needs.append(high)
    return min(needs)


@given(problem=NO_PINS, first=st.integers(1, 40))
def test_the_last_region_is_used_as_little_as_can_be(problem: Problem, first: int) -> None:
    found = plan_in_regions(problem, [Region(HIGH, 1000), Region(LOW, first)])
    needed = least_in_last(problem, first)
    assert found.solution.optimal
    assert found.fits
    assert found.regions == (Region(LOW, first), Region(HIGH, 1000))[: 2 if needed else 1]
    if needed:
        assert found.used_nbytes(found.regions[1]) == needed
    assert validate(found.problem, found.solution) == []
    for b in problem.buffers:
        start = found.solution.offsets[b.name]
        assert not b.nbytes or LOW <= start <= LOW + first - b.nbytes or HIGH <= start <= HIGH + 1000 - b.nbytes


@given(problem=NO_PINS, first=st.integers(1, 40), second=st.integers(1, 40))
def test_what_cannot_fit_is_told_from_what_can(problem: Problem, first: int, second: int) -> None:
    found = plan_in_regions(problem, [Region(LOW, first), Region(HIGH, second)])
    assert found.fits == (least_in_last(problem, first) <= second)


def test_regions_that_touch_are_one() -> None:
    problem = Problem((Buffer("a", 100, Lifetime(0, 1)),))
    found = plan_in_regions(problem, [Region(64, 60), Region(124, 60)])
    assert found.fits
    assert found.regions == (Region(64, 120),)
    assert found.used_nbytes(found.regions[0]) == 100
    assert not plan_in_regions(problem, [Region(64, 60), Region(125, 60)]).fits


def test_pins_are_addresses() -> None:
    buffers = (Buffer("a", 10, Lifetime(0, 2), offset=LOW), Buffer("b", 10, Lifetime(1, 3)))
    found = plan_in_regions(Problem(buffers), [Region(LOW, 15), Region(HIGH, 15)])
    assert dict(found.solution.offsets) == {
        "a": LOW,
        "b": HIGH,
        **{w.name: w.offset for w in found.problem.buffers[2:]},
    }


def test_every_wrong_region_and_pin_is_told_at_once() -> None:
    buffers = (Buffer("a", 10, Lifetime(0, 1), offset=LOW - 1), Buffer("b", 10, Lifetime(0, 1), offset=LOW + 55))
    with pytest.raises(ModelError) as caught:
        plan_in_regions(Problem(buffers), [Region(LOW, 60), Region(LOW + 50, 4), Region(HIGH, 0)])
    told = "\n".join(caught.value.problems)
    assert "[0x400, 0x43c) and [0x432, 0x436) overlap" in told
    assert "[0x1000, 0x1000) is empty" in told
    assert "'a' is pinned at 0x3ff, 10 bytes: that is in no region" in told
    assert "'b' is pinned at 0x437, 10 bytes: that is in no region" in told
    with pytest.raises(ModelError, match="no region is given"):
        plan_in_regions(Problem(()), [])
