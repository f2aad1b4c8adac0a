"""Tensors beside others whose dimensions lie in other orders."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arenite.driver.layouts import alike


@given(st.permutations(range(4)), st.tuples(*[st.integers(1, 3)] * 4))
def test_a_tensor_is_found_in_whatever_order_it_lies(order: list[int], dims: tuple[int, ...]) -> None:
    reference = np.random.default_rng(0).standard_normal(dims)
    found = alike(reference, reference.transpose(order))
    assert found is not None
    np.testing.assert_array_equal(found, reference)


def test_dimensions_of_size_one_may_come_and_go() -> None:
    reference = np.arange(6.0).reshape(1, 2, 3)
    found = alike(reference, reference.transpose(0, 2, 1).reshape(1, 1, 3, 2))
    assert found is not None
    np.testing.assert_array_equal(found, reference)


def test_other_elements_stay_others() -> None:
    reference = np.arange(8.0).reshape(2, 2, 2)
    wrong = reference.copy()
    wrong[1, 0, 1] = 50
    found = alike(reference, wrong.transpose(2, 0, 1))
    assert found is not None
    assert np.count_nonzero(found != reference) == 1


def test_what_has_no_such_order_is_not_compared() -> None:
    assert alike(np.zeros((2, 6)), np.zeros((3, 4))) is None
    assert alike(np.zeros(4), np.zeros(5)) is None
    assert alike(np.zeros(4, np.float32), np.zeros(4)) is None
    assert alike(np.zeros((2, 2, 2, 2, 2)), np.zeros((2, 2, 4, 2))) is None
    np.testing.assert_array_equal(alike(np.zeros((2,) * 5), np.ones((2,) * 5)), np.ones((2,) * 5))
