from itertools import product

import pytest

from arenite.ir.attrs import Padding
from arenite.ir.opdef import OpError
from arenite.ops.windows import window, window_geometry


def test_valid_windows_are_those_that_lie_inside() -> None:
    for size, taps, stride, dilation in product(range(1, 9), range(1, 5), range(1, 5), range(1, 4)):
        inside = [
            start for start in range(0, size, stride) if all(start + tap * dilation < size for tap in range(taps))
        ]
        if inside:
            assert window_geometry(size, taps, stride, dilation, Padding.VALID) == (len(inside), 0, 0)
        else:
            with pytest.raises(OpError, match="no window fits"):
                window_geometry(size, taps, stride, dilation, Padding.VALID)


def test_same_windows_cover_the_input_with_the_least_padding() -> None:
    for size, taps, stride, dilation in product(range(1, 9), range(1, 5), range(1, 5), range(1, 4)):
        output, before, after = window_geometry(size, taps, stride, dilation, Padding.SAME)
        assert output == len(range(0, size, stride))
        assert 0 <= after - before <= 1 or before == after == 0
        reached = (output - 1) * stride + (taps - 1) * dilation + 1
        assert before + after == max(reached - size, 0)


@pytest.mark.parametrize("arguments", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)])
def test_nothing_below_one(arguments: tuple[int, int, int, int]) -> None:
    with pytest.raises(OpError, match="at least 1"):
        window_geometry(*arguments, Padding.SAME)


def test_window_is_the_geometry_with_its_terms() -> None:
    found = window(5, 3, 2, 1, Padding.SAME)
    assert (found.size, found.filter, found.stride, found.dilation) == (5, 3, 2, 1)
    assert (found.output, found.pad_before, found.pad_after) == (3, 1, 1)
