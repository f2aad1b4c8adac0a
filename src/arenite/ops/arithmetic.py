"""Elementwise arithmetic of two operands with numpy broadcasting: add, mul."""

from dataclasses import dataclass

from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class ArithmeticAttrs(Attrs):
    """Attributes of add and mul."""

    activation: Activation = Activation.NONE


OPS: tuple[OpDef, ...] = ()
