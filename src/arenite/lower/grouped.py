"""Convolutions, depthwise convolutions and matrix products as one: a convolution in groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from arenite.ir.opdef import OpCall
from arenite.lower.program import ParamValue
from arenite.lower.windowed import window_params
from arenite.ops.conv import conv_windows
from arenite.ops.weighted import INPUT, WEIGHT, Numbers
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
