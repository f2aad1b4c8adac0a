import pytest

from arenite._base.errors import ModelError
from arenite.memory import Buffer, Lifetime, Problem


def test_lifetimes_are_half_open() -> None:
    assert not Lifetime(0, 2).overlaps(Lifetime(2, 3))
    assert not Lifetime(2, 3).overlaps(Lifetime(0, 2))
    assert Lifetime(0, 3).overlaps(Lifetime(2, 3))
    assert Lifetime(0, 9).overlaps(Lifetime(4, 5))


@pytest.mark.parametrize(
    ("buffer", "words"),
    [
        (Buffer("x", -1, Lifetime(0, 1)), "size -1"),
        (Buffer("x", 1 << 41, Lifetime(0, 1)), "size"),
        (Buffer("x", 1, Lifetime(1, 1)), "empty"),
        (Buffer("x", 1, Lifetime(3, 1)), "empty"),
        (Buffer("x", 1, Lifetime(-1, 1)), "steps"),
        (Buffer("x", 1, Lifetime(0, 1 << 63)), "steps"),
        (Buffer("x", 1, Lifetime(0, 1), 0), "alignment 0"),
        (Buffer("x", 1, Lifetime(0, 1), 16, 8), "no multiple"),
        (Buffer("x", 1, Lifetime(0, 1), 1, -4), "pinned offset -4"),
    ],
)
def test_a_bad_buffer_is_refused_by_name(buffer: Buffer, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        Problem((Buffer("good", 4, Lifetime(0, 1)), buffer))
    assert len(caught.value.problems) == 1
    assert "'x'" in caught.value.problems[0]
    assert words in caught.value.problems[0]


def test_all_problems_are_reported_together() -> None:
    life = Lifetime(0, 1)
    with pytest.raises(ModelError) as caught:
        Problem((Buffer("a", 1, life), Buffer("a", 1, life), Buffer("b", -1, Lifetime(2, 2))), capacity=-1)
    assert len(caught.value.problems) == 4


def test_colliding_pins_name_both_buffers() -> None:
    with pytest.raises(ModelError, match=r"'low'.*'high'"):
        Problem((Buffer("high", 4, Lifetime(0, 2), 1, 7), Buffer("low", 8, Lifetime(1, 3), 1, 0)))


def test_pins_that_only_touch_are_fine() -> None:
    Problem(
        (
            Buffer("a", 8, Lifetime(0, 2), 1, 0),
            Buffer("above", 4, Lifetime(0, 2), 1, 8),
            Buffer("later", 8, Lifetime(2, 3), 1, 0),
            Buffer("nothing", 0, Lifetime(0, 3), 1, 4),
        )
    )
