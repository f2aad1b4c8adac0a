"""Sliding windows between ops and kernels' parameters."""

from collections.abc import Mapping

from arenite.lower.program import ParamValue
from arenite.lower.weighted import number
from arenite.ops.windows import Window


def window_params(height: Window, width: Window) -> dict[str, ParamValue]:
    """The fields that every kernel with windows has."""
    return {
        "filter_height": height.filter,
        "filter_width": width.filter,
        "stride_height": height.stride,
        "stride_width": width.stride,
        "dilation_height": height.dilation,
        "dilation_width": width.dilation,
        "pad_top": height.pad_before,
        "pad_left": width.pad_before,
    }


def param_windows(params: Mapping[str, ParamValue]) -> tuple[Window, Window]:
    """The windows that a kernel's parameters describe: height, width."""
    found = []
    for side, before in (("height", "pad_top"), ("width", "pad_left")):
        size, output, taps, stride, dilation, pad = (
            number(params, name)
            for name in (
                f"input_{side}",
                f"output_{side}",
                f"filter_{side}",
                f"stride_{side}",
                f"dilation_{side}",
                before,
            )
        )
        end = (output - 1) * stride + (taps - 1) * dilation + 1
        found.append(Window(size, taps, stride, dilation, output, pad, max(end - pad - size, 0)))
    return found[0], found[1]
