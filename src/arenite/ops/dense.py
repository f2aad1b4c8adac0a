"""fully_connected: a matrix product with an OI weight matrix."""

from dataclasses import dataclass

from arenite.ir.attrs import Activation, Attrs
from arenite.ir.opdef import OpDef


@dataclass(frozen=True)
class FullyConnectedAttrs(Attrs):
    """Attributes of fully_connected.

    Attributes:
        keep_dims: the result keeps the input's leading dimensions; else they are flattened into one.
    """

    activation: Activation = Activation.NONE
    keep_dims: bool = False


OPS: tuple[OpDef, ...] = ()
