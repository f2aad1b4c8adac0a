"""Sliding windows over one spatial dimension, as TFLite places them."""

from dataclasses import dataclass

from arenite.ir.attrs import Margins, Padding
from arenite.ir.opdef import OpError


@dataclass(frozen=True)
class Window:
    """How a filter slides over one dimension of a known size.

    Attributes:
        size: elements of the input along the dimension.
        filter: taps.
        stride, dilation: steps between windows, and between the taps of one window.
        output: number of windows.
        pad_before, pad_after: elements that the windows reach beyond the input's start and end.
    """

    size: int
    filter: int
    stride: int
    dilation: int
    output: int
    pad_before: int
    pad_after: int


Along = Padding | tuple[int, int]
"""Padding along one dimension: a rule, or how much comes before and after."""


def along(padding: Padding | Margins, dimension: int) -> Along:
    """The padding of height (0) or width (1)."""
    return padding if isinstance(padding, Padding) else padding[dimension]


def window_geometry(size: int, filter: int, stride: int, dilation: int, padding: Along) -> tuple[int, int, int]:  # noqa: A002
    """Number of windows along one dimension, and how far they reach beyond the input.

    TFLite's padding.h: with `reach = (filter - 1) * dilation + 1`, SAME has `ceil(size / stride)` windows, VALID
    `ceil((size - reach + 1) / stride)`; of what the windows need beyond the input, the smaller half comes before.
    Explicit padding has the windows that VALID has on an input that is so much larger.

    `size` counts the elements along the dimension, `filter` the taps.

    Returns:
        `(output, pad_before, pad_after)`: what the windows reach beyond the input; VALID pads nothing.

    Raises:
        OpError: an argument is below 1, no whole window fits, or explicit padding holds whole windows.
    """
    if min(size, filter, stride, dilation) < 1:
        raise OpError(
            "size, filter, stride and dilation must be at least 1, "
            f"found size {size}, filter {filter}, stride {stride}, dilation {dilation}"
        )
    reach = (filter - 1) * dilation + 1
    if padding is Padding.SAME:
        output = -(-size // stride)
        total = max((output - 1) * stride + reach - size, 0)
        return output, total // 2, total - total // 2
    before, after = (0, 0) if padding is Padding.VALID else padding
    if not 0 <= min(before, after) <= max(before, after) < reach:
        raise OpError(
            f"padding must be at least 0 and less than what a window reaches over, {reach}, found ({before}, {after})"
        )
    output = -(-(before + size + after - reach + 1) // stride)
    if output < 1:
        adds = "VALID padding adds none" if padding is Padding.VALID else f"padding adds {before + after}"
        raise OpError(
            f"no window fits: {filter} taps with dilation {dilation} reach over {reach} elements, "
            f"the input has {size} and {adds}"
        )
    return output, before, max((output - 1) * stride + reach - size - before, 0)


def spelled(windows: tuple[Window, Window]) -> Padding | Margins:
    """The padding that places windows so: VALID or SAME where these do, else as it is."""
    for rule in (Padding.VALID, Padding.SAME):
        if all(_places(rule, each) for each in windows):
            return rule
    height, width = windows
    return (height.pad_before, height.pad_after), (width.pad_before, width.pad_after)


def _places(rule: Padding, wanted: Window) -> bool:
    try:
        return window(wanted.size, wanted.filter, wanted.stride, wanted.dilation, rule) == wanted
    except OpError:
        return False


def window(size: int, filter: int, stride: int, dilation: int, padding: Along) -> Window:  # noqa: A002
    """`window_geometry` with all its terms in one record. Raises as it does."""
    output, before, after = window_geometry(size, filter, stride, dilation, padding)
    return Window(size, filter, stride, dilation, output, before, after)
