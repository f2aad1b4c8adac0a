"""Ops that move bytes: reshape, pad, concatenation."""

from dataclasses import dataclass

from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class ReshapeAttrs(Attrs):
    """reshape(input, shape?): `new_shape` is what the file's options say; the operand, when constant, wins."""

    new_shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ConcatenationAttrs(Attrs):
    axis: int = 0
    activation: Activation = Activation.NONE


OPS: tuple[OpDef, ...] = ()
