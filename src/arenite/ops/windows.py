"""Sliding windows over one spatial dimension, as TFLite places them."""

from dataclasses import dataclass

from arenite.ir.attrs import Padding
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


def window_geometry(size: int, filter: int, stride: int, dilation: int, padding: Padding) -> tuple[int, int, int]:  # noqa: A002
    """Number of windows along one dimension, and how far they reach beyond the input.

    TFLite's padding.h: with `reach = (filter - 1) * dilation + 1`, SAME has `ceil(size / stride)` windows, VALID
    `ceil((size - reach + 1) / stride)`; of what the windows need beyond the input, the smaller half comes before.

    `size` counts the elements along the dimension, `filter` the taps.

    Returns:
        `(output, pad_before, pad_after)`; VALID pads nothing.

    Raises:
        OpError: an argument is below 1, or no whole window fits.
    """
    if min(size, filter, stride, dilation) < 1:
        raise OpError(
            "size, filter, stride and dilation must be at least 1, "
            f"found size {size}, filter {filter}, stride {stride}, dilation {dilation}"
        )
    reach = (filter - 1) * dilation + 1
    if padding is Padding.SAME:
        output = -(-size // stride)
    else:
        output = -(-(size - reach + 1) // stride)
        if output < 1:
            raise OpError(
                f"no window fits: {filter} taps with dilation {dilation} reach over {reach} elements, "
                f"the input has {size} and VALID padding adds none"
            )
    total = max((output - 1) * stride + reach - size, 0)
    return output, total // 2, total - total // 2


def window(size: int, filter: int, stride: int, dilation: int, padding: Padding) -> Window:  # noqa: A002
    """`window_geometry` with all its terms in one record. Raises as it does."""
    output, before, after = window_geometry(size, filter, stride, dilation, padding)
    return Window(size, filter, stride, dilation, output, before, after)
