"""Pooling over NHWC: average_pool2d and max_pool2d."""

from dataclasses import dataclass

from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class Pool2dAttrs(Attrs):
    """Attributes of both pools. Pairs are (height, width)."""

    filter: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: Padding = Padding.VALID
    activation: Activation = Activation.NONE


OPS: tuple[OpDef, ...] = ()
