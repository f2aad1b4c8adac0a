"""Every codec: which operators of TFLite are ops of ours."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from arenite._base.collect import collect
from arenite.formats.tflite.codec import Codec


@cache
def codecs_by_builtin() -> Mapping[str, Codec]:
    """Codecs by the name of TFLite's operator."""
    found = collect("arenite.formats.tflite", "CODECS")
    return MappingProxyType({codec.builtin: codec for codec in found if isinstance(codec, Codec)})


@cache
def codecs_by_op() -> Mapping[str, Codec]:
    """Codecs by the name of our op."""
    return MappingProxyType({codec.op: codec for codec in codecs_by_builtin().values()})
