"""Attributes of nodes: frozen dataclasses, never dicts of strings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from arenite._base.dtypes import DType

AttrValue = bool | int | float | str | bytes | Enum | DType | None | tuple["AttrValue", ...]
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


class Activation(Enum):
    """An activation fused into an op."""

    NONE = "none"
    RELU = "relu"
    RELU_N1_TO_1 = "relu_n1_to_1"
    RELU6 = "relu6"
    TANH = "tanh"
    SIGN_BIT = "sign_bit"
