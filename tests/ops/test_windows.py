from itertools import product

import pytest

from arenite.ir.attrs import Padding
from arenite.ir.opdef import OpError
from arenite.ops.windows import Window, spelled, window, window_geometry


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


def test_explicit_padding_has_the_windows_of_a_larger_input() -> None:
    for size, taps, stride, dilation in product(range(1, 6), range(1, 4), range(1, 4), range(1, 3)):
        reach = (taps - 1) * dilation + 1
        for before, after in product(range(reach), repeat=2):
            padded = size + before + after
            if padded < reach:
                with pytest.raises(OpError, match="no window fits"):
                    window_geometry(size, taps, stride, dilation, (before, after))
                continue
            output, start, end = window_geometry(size, taps, stride, dilation, (before, after))
            assert output == window_geometry(padded, taps, stride, dilation, Padding.VALID)[0]
            assert start == before
            assert end == max((output - 1) * stride + reach - size - before, 0) <= after
            # What no window reaches makes no difference.
            assert window_geometry(size, taps, stride, dilation, (start, end)) == (output, start, end)


@pytest.mark.parametrize("padding", [(-1, 0), (0, -1), (3, 0), (0, 3)])
def test_explicit_padding_holds_no_whole_window(padding: tuple[int, int]) -> None:
    with pytest.raises(OpError, match="less than what a window reaches over, 3"):
        window_geometry(5, 3, 1, 1, padding)


def test_padding_is_spelled_by_its_simplest_rule() -> None:
    def both(padding: Padding | tuple[int, int], size: int = 5, stride: int = 1) -> tuple[Window, Window]:
        return window(size, 3, stride, 1, padding), window(size, 3, stride, 1, padding)

    assert spelled(both((0, 0))) is spelled(both(Padding.VALID)) is Padding.VALID
    assert spelled(both((1, 1))) is spelled(both(Padding.SAME)) is Padding.SAME
    assert spelled(both((1, 1), size=6, stride=2)) == ((1, 0), (1, 0))
    assert spelled(both((0, 1), size=6, stride=2)) is Padding.SAME
