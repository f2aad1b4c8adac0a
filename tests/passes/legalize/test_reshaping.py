"""Orders through reshapes and transposes, against what numpy does with the elements."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.passes.legalize.orders import UNIT, Order, channels_last, counting, moved, moves_nothing, without_units
from arenite.passes.legalize.reshaping import how_to_move, kept_order, with_fewest

Array = npt.NDArray[Any]


def laid(array: Array, order: Order) -> Array:
    return array.transpose(without_units(order)).reshape(moved(array.shape, order))


@st.composite
def orders(draw: st.DrawFn, rank: int) -> Order:
    order = list(draw(st.permutations(range(rank))))
    for _ in range(draw(st.integers(0, 2))):
        order.insert(draw(st.integers(0, len(order))), UNIT)
    return tuple(order)


@st.composite
def factored(draw: st.DrawFn, most: int = 5) -> list[int]:
    """Dimensions from factors, some of them merged, ones among them."""
    return draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 6]), min_size=1, max_size=most))


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two shapes of as many elements."""
    atoms = draw(st.lists(st.sampled_from([1, 2, 2, 3, 5]), min_size=1, max_size=6))

    def merged() -> list[int]:
        found = [1]
        for atom in atoms:
            if draw(st.booleans()):
                found.append(atom)
            else:
                found[-1] *= atom
        return found[1:] if found[0] == 1 and len(found) > 1 and draw(st.booleans()) else found

    return merged(), merged()


def test_orders_through_reshapes() -> None:
    assert kept_order((0, 2, 3, 1), [2, 6, 5, 7], [2, 3, 2, 5, 7]) == (0, 3, 4, 1, 2)
    assert kept_order((0, 3, 4, 1, 2), [2, 3, 2, 5, 7], [2, 6, 5, 7]) == (0, 2, 3, 1)
    assert kept_order((0, 3, 4, 2, 1), [2, 3, 2, 5, 7], [2, 6, 5, 7]) is None
    assert kept_order((0, 2, 1), [2, 6, 5], [2, 6, 1, 5]) == (0, 2, 3, 1)
    assert kept_order((0, 1), [1, 6], [1, 6, 1, 1]) == (0, 1, 2, 3)
    assert kept_order((0, 1), [1, 6], [1, 6, 1, 1], wish=(0, 2, 3, 1)) == (0, 2, 3, 1)
    assert kept_order((1, 0), [0, 6], [3, 0]) == (0, 1)


@given(reshapes(), st.data())
def test_a_reshape_keeps_an_order_exactly_where_one_is_kept(shapes: tuple[list[int], list[int]], data: Any) -> None:
    before, after = shapes
    order = data.draw(orders(len(before)))
    wish = data.draw(st.none() | st.permutations(range(len(after))).map(tuple))
    x = np.arange(math.prod(before)).reshape(before)
    kept = kept_order(order, before, after, wish)
    tensor = laid(x, order)
    fitting = [
        each
        for each in itertools.permutations(range(len(after)))
        if np.array_equal(tensor.reshape(moved(after, each)), laid(x.reshape(after), each))
    ]
    assert (kept in fitting) if kept is not None else not fitting
    if wish in fitting:
        assert kept == wish


@given(factored(7), st.data())
def test_a_transpose_has_as_few_dimensions_as_can_be(dims: list[int], data: Any) -> None:
    known, wanted = data.draw(orders(len(dims))), data.draw(orders(len(dims)))
    x = np.arange(math.prod(dims)).reshape(dims)
    if moves_nothing(known, wanted, dims):
        return
    move = how_to_move(known, wanted, dims)
    for each in (move, with_fewest(move)):
        found = laid(x, known).reshape(each.dims).transpose(each.perm).reshape(moved(dims, wanted))
        assert np.array_equal(found, laid(x, wanted))
    assert len(with_fewest(move).dims) == _fewest(counting(known, dims), counting(wanted, dims))


def _fewest(lying: Sequence[int], asked: Sequence[int]) -> int:
    """Runs that keep together."""
    return 1 + sum(asked.index(b) != asked.index(a) + 1 for a, b in itertools.pairwise(lying))


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_channels_go_last(rank: int) -> None:
    assert channels_last(rank)[-1] == 1
    assert sorted(channels_last(rank)) == list(range(rank))
