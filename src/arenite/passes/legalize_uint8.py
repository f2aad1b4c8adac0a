"""TFLite's first quantization, uint8: what means the same on int8 is done there."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node, Value
from arenite.ir.types import Quantization, TensorType
from arenite.passes.base import Pass, Work

LEGALIZED = Reason("legalized", "{subject} works on uint8, and means the same on int8, 128 lower")
OWN_ROUNDING = Reason("own-rounding", "{op} rounds otherwise on uint8, for which it has kernels of its own")

_SAME_ON_INT8 = frozenset({"add", "sub", "mul", "softmax", "max_pool2d"})
"""Ops that compute with differences from zero points, or with order: the same 128 lower."""

_OFFSET = 128


@dataclass(frozen=True)
class LegalizeUint8(Pass):
    """Puts ops on uint8 between conversions to int8 and back, where they mean the same there.

    Candidates are the nodes that take and give quantized uint8, conversions apart. Convolutions, matrix products and
    average pools stay: their rounding is another one on uint8, and their weights have zero points.
    """

    name: ClassVar[str] = "legalize-uint8"
    summary: ClassVar[str] = "Lets ops on uint8 that mean the same on int8 work there."
    reasons: ClassVar[tuple[Reason, ...]] = (LEGALIZED, OWN_ROUNDING)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "quantize" or not _works_on_uint8(node):
                continue
            candidate = work.consider(node)
            if node.op in _SAME_ON_INT8:
                _legalize(work, node)
                candidate.passed(LEGALIZED)
            else:
                candidate.missed(OWN_ROUNDING, op=node.op)


def _is_uint8(value: Value) -> bool:
    q = value.type.quantization
    return value.type.dtype is DType.UINT8 and q is not None and q.is_per_tensor


def _works_on_uint8(node: Node) -> bool:
    return any(map(_is_uint8, node.present_operands)) and all(map(_is_uint8, node.results)) and bool(node.results)


def _lower(type_: TensorType) -> TensorType:
    """The int8 type whose codes are 128 less."""
    q = type_.quantization
    assert q is not None
    return TensorType(DType.INT8, type_.shape, Quantization.per_tensor(q.scale, q.zero_point - _OFFSET))


def _legalize(work: Work, node: Node) -> None:
    # None of these ops has operands that may be absent.
    operands = [_as_int8(work, node, value) if _is_uint8(value) else value for value in node.present_operands]
    lowered = [_lower(value.type) for value in node.results]
    twin = work.rewriter.insert(node, node.op, operands, lowered, node.attrs, name=node.name, origin=node.origin)
    back = [
        work.rewriter.insert(
            node, "quantize", [low], [high.type], Attrs(), name=f"{high.name}/uint8", origin=node.origin
        ).result
        for low, high in zip(twin.results, node.results, strict=True)
    ]
    work.rewriter.replace(node, back)


def _as_int8(work: Work, before: Node, value: Value) -> Value:
    """The value 128 lower: what it was made of, a constant, or a conversion."""
    type_ = _lower(value.type)
    producer = value.producer
    if producer is not None and producer.op == "quantize" and producer.operand(0).type == type_:
        return producer.operand(0)
    if value.is_constant:
        codes = (np.asarray(value.constant).astype(np.int16) - _OFFSET).astype(np.int8)
        return work.rewriter.constant(f"{value.name}/int8", codes, type_)
    name = f"{value.name}/int8"
    return work.rewriter.insert(before, "quantize", [value], [type_], Attrs(), name=name, origin=before.origin).result
