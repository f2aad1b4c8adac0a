"""Functions of one operand: relu, relu6, logistic, softmax (over the last dimension)."""

from dataclasses import dataclass

from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class SoftmaxAttrs(Attrs):
    """softmax(beta * x) over the last dimension."""

    beta: float = 1.0


OPS: tuple[OpDef, ...] = ()
