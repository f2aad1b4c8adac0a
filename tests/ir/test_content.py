"""Constants by their contents: what is the same throughout is kept once."""

import numpy as np
import pytest

from arenite.ir.content import SPLAT_NELEM, compact
from arenite.ir.graph import Array


@pytest.mark.parametrize(
    ("array", "splat"),
    [
        (np.full(SPLAT_NELEM, 7, np.int8), True),
        (np.full(SPLAT_NELEM - 1, 7, np.int8), False),
        (np.arange(SPLAT_NELEM), False),
        (np.array(["a"] * SPLAT_NELEM, object), False),
        (np.broadcast_to(np.int8(7), (2,)), True),
        (np.broadcast_to(np.int8(7), (1 << 40,)), True),
    ],
    ids=["many", "few", "different", "strings", "repeated", "huge"],
)
def test_what_is_the_same_throughout_is_stored_once(array: Array, splat: bool) -> None:
    found = compact(array)
    assert found.shape == array.shape
    assert any(found.strides) is not splat
    if array.size < 1 << 20:
        np.testing.assert_array_equal(found, array)


def test_a_view_does_not_keep_what_it_is_a_view_of() -> None:
    base = np.arange(1000)
    for array in (base[:3], base[::500], np.broadcast_to(base[:1], (80,)), np.broadcast_to(base[:1], (3,))):
        assert not np.shares_memory(compact(array), base)
