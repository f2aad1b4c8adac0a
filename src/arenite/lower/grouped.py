"""Convolutions, depthwise convolutions and matrix products as one: a convolution in groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from arenite._base.fixedpoint import Int64Array
from arenite.ir.opdef import OpCall
from arenite.lower.program import ParamValue
from arenite.lower.weighted import number
from arenite.lower.windowed import param_windows, window_params
from arenite.ops.conv import conv_windows, patches
from arenite.ops.weighted import INPUT, WEIGHT, Numbers, exact_product
from arenite.ops.windows import Window


@dataclass(frozen=True)
class GroupedConvolution:
    """A node as a convolution in groups: weights (outputs, filter height, filter width, inputs of a group)."""

    batches: int
    windows: tuple[Window, Window]
    channels: int
    groups: int
    weight: Numbers

    @property
    def macs(self) -> int:
        height, width = self.windows
        return self.batches * height.output * width.output * int(self.weight.size)

    def params(self) -> dict[str, ParamValue]:
        """The fields that kernels of grouped convolutions have."""
        height, width = self.windows
        return {
            "batches": self.batches,
            "input_height": height.size,
            "input_width": width.size,
            "input_channels": self.channels,
            "output_height": height.output,
            "output_width": width.output,
            "output_channels": self.weight.shape[0],
            "groups": self.groups,
            **window_params(height, width),
        }


def _of_conv2d(call: OpCall) -> GroupedConvolution:
    data, weight = call.operand(INPUT).dims, _weight(call)
    return GroupedConvolution(data[0], conv_windows(call), data[3], data[3] // weight.shape[3], weight)


def _of_depthwise(call: OpCall) -> GroupedConvolution:
    data, weight = call.operand(INPUT).dims, _weight(call)
    return GroupedConvolution(data[0], conv_windows(call), data[3], data[3], weight.transpose(3, 1, 2, 0))


def _of_dense(call: OpCall) -> GroupedConvolution:
    weight = _weight(call)
    outputs, inputs = weight.shape
    point = Window(1, 1, 1, 1, 1, 0, 0)
    rows = call.operand(INPUT).nelem // inputs
    return GroupedConvolution(rows, (point, point), inputs, 1, weight.reshape(outputs, 1, 1, inputs))


def _weight(call: OpCall) -> Numbers:
    weight = call.constant(WEIGHT)
    assert weight is not None, "constraints were checked"
    return weight


OF: Mapping[str, Callable[[OpCall], GroupedConvolution]] = MappingProxyType(
    {"conv2d": _of_conv2d, "depthwise_conv2d": _of_depthwise, "fully_connected": _of_dense}
)
"""By op: a node with constant weights as a convolution in groups."""


def grouped_sums(params: Mapping[str, ParamValue], data: Numbers, weight: Numbers) -> Int64Array:
    """Sums (pixels, outputs) of centred data, flat, and weights (outputs, height, width, inputs of a group)."""
    windows = param_windows(params)
    channels, outputs, groups = (number(params, n) for n in ("input_channels", "output_channels", "groups"))
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    seen = patches(data.reshape(shape), windows)
    taken, share = channels // groups, outputs // groups
    found = []
    for group in range(groups):
        rows = seen[..., group * taken : (group + 1) * taken].reshape(-1, weight[0].size)
        found.append(exact_product(rows, weight[group * share : (group + 1) * share].reshape(share, -1)))
    return np.concatenate(found, axis=-1)


def grouped_weights(params: Mapping[str, ParamValue], packed: Numbers) -> Numbers:
    """Weights as they lie in memory, as those that `grouped_sums` takes."""
    windows = param_windows(params)
    return packed.reshape(number(params, "output_channels"), windows[0].filter, windows[1].filter, -1)
