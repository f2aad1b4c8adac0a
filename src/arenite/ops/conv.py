"""Convolutions over NHWC activations: conv2d (OHWI filter) and depthwise_conv2d (1HWO filter)."""

from dataclasses import dataclass

from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class Conv2dAttrs(Attrs):
    """Attributes of conv2d. Pairs are (height, width)."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding = Padding.VALID
    activation: Activation = Activation.NONE


@dataclass(frozen=True)
class DepthwiseConv2dAttrs(Attrs):
    """Attributes of depthwise_conv2d: `multiplier` outputs per input channel. Pairs are (height, width)."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding = Padding.VALID
    multiplier: int = 1
    activation: Activation = Activation.NONE


OPS: tuple[OpDef, ...] = ()
