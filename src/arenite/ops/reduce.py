"""Reductions: mean over constant axes (operand 1, int32)."""

from dataclasses import dataclass

from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class ReduceAttrs(Attrs):
    """Attributes of reductions; the axes are operand 1."""

    keep_dims: bool = False


OPS: tuple[OpDef, ...] = ()
