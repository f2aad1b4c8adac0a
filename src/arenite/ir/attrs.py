"""Attributes of nodes: frozen dataclasses, never dicts of strings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType


class TensorAttr:
    """A tensor as an attribute's value. Equal are the same element type, shape and bits.

    Attributes:
        array: read-only.
    """

    __slots__ = ("array",)

    def __init__(self, array: npt.NDArray[np.generic]) -> None:
        self.array = array.view()
        self.array.flags.writeable = False

    def _key(self) -> tuple[object, ...]:
        contents = tuple(self.array.flat) if self.array.dtype == object else self.array.tobytes()
        return self.array.dtype, self.array.shape, contents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorAttr) and (self is other or self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"TensorAttr({self.array.dtype}{list(self.array.shape)})"


@dataclass(frozen=True)
class RegionRef:
    """A nested graph as an attribute's value: `Node.regions[index]`."""

    index: int


@dataclass(frozen=True)
class ProtoAttr:
    """An attribute's value that is kept as the file has it: what kind of message, and its bytes."""

    kind: str
    data: bytes


AttrValue = (
    bool
    | int
    | float
    | str
    | bytes
    | Enum
    | DType
    | None
    | TensorAttr
    | RegionRef
    | ProtoAttr
    | tuple["AttrValue", ...]
)
"""What a field of an attribute dataclass may hold: exactly what the text form can print and parse."""


@dataclass(frozen=True)
class Attrs:
    """Base of all attribute dataclasses; itself the attributes of an op that has none."""


@dataclass(frozen=True)
class ForeignAttrs(Attrs):
    """Attributes of an op that no family here knows: kept as read, so that it can be shown and written back.

    Attributes:
        fields: (name, value) in the source format's own terms.
    """

    fields: tuple[tuple[str, AttrValue], ...] = ()

    def as_mapping(self) -> Mapping[str, AttrValue]:
        return dict(self.fields)


class Padding(Enum):
    """TFLite's padding: SAME gives ceil(input / stride) outputs, VALID only whole windows."""

    SAME = "same"
    VALID = "valid"


Margins = tuple[tuple[int, int], tuple[int, int]]
"""What is padded before and after, along height and width: of windows that neither SAME nor VALID places."""


class Activation(Enum):
    """An activation fused into an op."""

    NONE = "none"
    RELU = "relu"
    RELU_N1_TO_1 = "relu_n1_to_1"
    RELU6 = "relu6"
    TANH = "tanh"
    SIGN_BIT = "sign_bit"
