"""TFLite's first quantization, uint8: what means the same on int8 is done there."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node, Value
from arenite.ops.unsigned import lower_codes, lower_type
from arenite.passes.base import Pass, Work

LEGALIZED = Reason("legalized", "{subject} works on uint8, and means the same on int8, 128 lower")
OWN_ROUNDING = Reason("own-rounding", "{op} rounds otherwise on uint8, for which it has kernels of its own")

BYTES_ALONE = Reason("bytes-alone", "{op} moves bytes, or has a table of them: uint8 does as well as int8")

SAME_ON_INT8 = frozenset(
    {
        *("add", "sub", "mul", "softmax", "max_pool2d", "minimum", "maximum", "prelu", "log_softmax"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("mean", "sum", "reduce_max", "reduce_min"),
    }
)
"""Ops that compute with differences from zero points, or with order: the same 128 lower."""

_ROUND_OTHERWISE = frozenset({"conv2d", "depthwise_conv2d", "fully_connected", "average_pool2d", "resize_bilinear"})


@dataclass(frozen=True)
class LegalizeUint8(Pass):
    """Puts ops on uint8 between conversions to int8 and back, where they mean the same there.

    Candidates are the nodes that take quantized uint8, and give it or truth values, conversions apart. Convolutions,
    matrix products, average pools and interpolation stay: they round otherwise on uint8, and weights have zero points.
    """

    name: ClassVar[str] = "legalize-uint8"
    summary: ClassVar[str] = "Lets ops on uint8 that mean the same on int8 work there."
    reasons: ClassVar[tuple[Reason, ...]] = (LEGALIZED, OWN_ROUNDING, BYTES_ALONE)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "quantize" or not _works_on_uint8(node):
                continue
            candidate = work.consider(node)
            if node.op in SAME_ON_INT8:
                _legalize(work, node)
                candidate.passed(LEGALIZED)
            else:
                candidate.missed(OWN_ROUNDING if node.op in _ROUND_OTHERWISE else BYTES_ALONE, op=node.op)


def _is_uint8(value: Value) -> bool:
    q = value.type.quantization
    return value.type.dtype is DType.UINT8 and q is not None and q.is_per_tensor


def _works_on_uint8(node: Node) -> bool:
    given = bool(node.results) and all(_is_uint8(value) or value.type.dtype is DType.BOOL for value in node.results)
    return given and any(map(_is_uint8, node.present_operands))


def _legalize(work: Work, node: Node) -> None:
    # None of these ops has operands that may be absent.
    operands = [_as_int8(work, node, value) if _is_uint8(value) else value for value in node.present_operands]
    lowered = [lower_type(value.type) for value in node.results]
    twin = work.rewriter.insert(node, node.op, operands, lowered, node.attrs, name=node.name, origin=node.origin)
    back = [
        work.rewriter.insert(
            node, "quantize", [low], [high.type], Attrs(), name=f"{high.name}/uint8", origin=node.origin
        ).result
        if _is_uint8(high)
        else low
        for low, high in zip(twin.results, node.results, strict=True)
    ]
    work.rewriter.replace(node, back)


def _as_int8(work: Work, before: Node, value: Value) -> Value:
    """The value 128 lower: what it was made of, a constant, or a conversion."""
    type_ = lower_type(value.type)
    producer = value.producer
    if producer is not None and producer.op == "quantize" and producer.operand(0).type == type_:
        return producer.operand(0)
    if value.is_constant:
        return work.rewriter.constant(f"{value.name}/int8", lower_codes(np.asarray(value.constant)), type_)
    name = f"{value.name}/int8"
    return work.rewriter.insert(before, "quantize", [value], [type_], Attrs(), name=name, origin=before.origin).result
