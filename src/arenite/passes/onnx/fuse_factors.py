"""Merges factors that follow each other: x·a and then /b is x·(a/b)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.passes.base import Close, Equivalence, Pass, Work
from arenite.passes.onnx.fuse_operands import data_operands, is_affine
from arenite.passes.onnx.fuse_quantized import leads_to_quantization

MERGED = Reason("merged", "{subject} became part of '{first}', which scales by {factor} now")
SEVERAL = Reason("several-readers", "%{value} is read in {count} places, and must stay as it is")
IS_OUTPUT = Reason("intermediate-is-output", "%{value} is an output of the graph, and must stay as it is")
OTHER_GRAPH = Reason("other-graph", "{subject} and '{first}' are in different graphs")
NOT_FLOAT = Reason("not-float", "{subject} scales {dtype}, where rounding or wrapping comes between")
SEVERAL_FACTORS = Reason("several-factors", "{subject} or '{first}' scales by more than one number")
RANGE = Reason("range", "{first_factor} and then {factor} could leave the range of {dtype} in between, or together")
FEEDS_QUANTIZATION = Reason("feeds-quantization", "what {subject} gives is quantized later, maybe to another step then")

MUL, DIV = "onnx.Mul", "onnx.Div"
_FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64})


@dataclass(frozen=True)
class MergeFactors(Pass):
    """Merges Mul and Div by one constant number with a Mul or Div by one before it. Candidates are such pairs."""

    tolerance: float = 1e-4

    name: ClassVar[str] = "merge-factors"
    summary: ClassVar[str] = "Merges consecutive factors that are one number."
    reasons: ClassVar[tuple[Reason, ...]] = (
        MERGED,
        SEVERAL,
        IS_OUTPUT,
        OTHER_GRAPH,
        NOT_FLOAT,
        SEVERAL_FACTORS,
        RANGE,
        FEEDS_QUANTIZATION,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        _merge(work, leads_to_quantization(work.graph))


def _merge(work: Work, quantized: set[Value]) -> None:
    for node in work.graph.nodes:
        for region in node.regions:
            _merge(work.nested(region), quantized)
        first = _data(node).producer if _scales(node) else None
        if first is None or not _scales(first):
            continue
        candidate = work.consider(node)
        outcome = _attempt(first, node, work, quantized)
        if isinstance(outcome, Mismatch):
            candidate.missed(outcome.reason, **outcome.arguments)
        else:
            candidate.passed(MERGED, first=first.name, factor=outcome)


def _scales(node: Node) -> bool:
    """Whether a node multiplies by a constant or divides by one."""
    if node.op not in (MUL, DIV) or not is_affine(node) or len(data_operands(node)) != 1:
        return False
    return node.op == MUL or not node.operand(0).is_constant


def _data(node: Node) -> Value:
    return data_operands(node)[0]


def _constant(node: Node) -> Value:
    return next(value for value in node.present_operands if value.is_constant)


def _attempt(first: Node, node: Node, work: Work, quantized: set[Value]) -> Mismatch | float:
    """Merge two nodes, or say why not; the factor of both."""
    value = first.result
    if value.output_of:
        return Mismatch(IS_OUTPUT, {"value": value.name})
    if len(value.uses) != 1:
        return Mismatch(SEVERAL, {"value": value.name, "count": len(value.uses)})
    if first.graph is not node.graph:
        return Mismatch(OTHER_GRAPH, {"first": first.name})
    if node.result in quantized:
        return Mismatch(FEEDS_QUANTIZATION)
    one, other = _constant(first), _constant(node)
    dtype = one.type.dtype
    if dtype not in _FLOATS:
        return Mismatch(NOT_FLOAT, {"dtype": dtype})
    factors = [_factor(first), _factor(node)]
    # The one that stays must give its result as many dimensions as both did.
    if factors[0] is None or factors[1] is None or other.type.rank > one.type.rank:
        return Mismatch(SEVERAL_FACTORS, {"first": first.name})
    a, b = factors[0], factors[1]
    merged = a * b
    low, high = dtype.smallest_normal, 1 / dtype.smallest_normal
    # What is scaled far up and then down again might have become infinite, and far down 0.
    if not all(math.sqrt(low) <= abs(factor) <= math.sqrt(high) for factor in (a, b, merged)):
        return Mismatch(RANGE, {"first_factor": a, "factor": b, "dtype": dtype})
    stored = np.full(one.type.dims, merged if first.op == MUL else 1 / merged).astype(dtype.numpy)
    index = next(i for i, operand in enumerate(first.operands) if operand is one)
    work.rewriter.set_operand(first, index, work.rewriter.constant(one.name, stored))
    work.rewriter.set_type(value, node.result.type)
    work.rewriter.replace(node, [value], carry_to=[first], take_names=True)
    return merged


def _factor(node: Node) -> float | None:
    """What a node multiplies by when that is one number that is not 0."""
    array = np.asarray(_constant(node).constant)
    if array.size != 1:
        return None
    number = float(array.reshape(-1)[0])
    if node.op == DIV:
        return 1 / number if number else math.inf
    return number
