"""Every codec: which operators of TFLite are ops of ours."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from arenite.formats.tflite import codecs_conv, codecs_dense, codecs_elementwise, codecs_movement
from arenite.formats.tflite.codec import Codec

_MODULES = (codecs_conv, codecs_dense, codecs_elementwise, codecs_movement)


@cache
def codecs_by_builtin() -> Mapping[str, Codec]:
    """Codecs by the name of TFLite's operator."""
    return MappingProxyType({codec.builtin: codec for module in _MODULES for codec in module.CODECS})


@cache
def codecs_by_op() -> Mapping[str, Codec]:
    """Codecs by the name of our op."""
    return MappingProxyType({codec.op: codec for codec in codecs_by_builtin().values()})
