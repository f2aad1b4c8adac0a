"""Which numbers a value can be, as far as the operator that gives it says so."""

import math
import sys
from dataclasses import dataclass

from arenite.ir.graph import Node, Value
from arenite.ir.opdef import Registry
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry

RELU, CLIP = "onnx.Relu", "onnx.Clip"

ABSENT = sys.float_info.max
"""Stands for a bound that a Clip does not give: the largest finite number of whatever type."""

BOUNDS_ARE_OPERANDS_SINCE = 11
_OLD_ABSENT = 3.4028234663852886e38
_DEPTH = 8

_INTERVALS = {
    "onnx.Sigmoid": (0.0, 1.0),
    "onnx.HardSigmoid": (0.0, 1.0),
    "onnx.Softmax": (0.0, 1.0),
    "onnx.Abs": (0.0, math.inf),
    "onnx.Exp": (0.0, math.inf),
    "onnx.Sqrt": (0.0, math.inf),
    "onnx.Softplus": (0.0, math.inf),
    "onnx.Tanh": (-1.0, 1.0),
    "onnx.Softsign": (-1.0, 1.0),
}
_MOVES_WORDS = "Reshape Transpose Squeeze Unsqueeze Flatten Identity Slice Gather MaxPool GlobalMaxPool Expand Split"
_MOVES = frozenset(f"onnx.{word}" for word in _MOVES_WORDS.split())


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`, and NaN."""

    low: float
    high: float

    def contains(self, other: "Interval") -> bool:
        return self.low <= other.low and other.high <= self.high

    def clamped(self, to: "Interval") -> "Interval":
        """What becomes of this interval when its numbers are clamped to another."""
        return Interval(min(max(self.low, to.low), to.high), min(max(self.high, to.low), to.high))


EVERYTHING = Interval(-math.inf, math.inf)


def is_whole(node: Node) -> bool:
    """Whether a node of an operator with data and one result has both."""
    return node.optional_operand(0) is not None and len(node.results) == 1


def clamp_of(node: Node, registry: Registry) -> Interval | None:
    """What Relu or Clip clamps to; None for another node, or when it is not known.

    A Clip gives min(max(x, low), high): where low > high, that is high for every x.

    Raises:
        OpError: an attribute is of the wrong type.
    """
    if node.op == RELU:
        return Interval(0.0, math.inf)
    if node.op != CLIP:
        return None
    assert isinstance(node.attrs, OnnxAttrs)
    assert isinstance(registry, OnnxRegistry)
    if registry.opset("") < BOUNDS_ARE_OPERANDS_SINCE:
        low: float | None = node.attrs.number("min", -_OLD_ABSENT)
        high: float | None = node.attrs.number("max", _OLD_ABSENT)
    else:
        low, high = _bound(node, 1, -ABSENT), _bound(node, 2, ABSENT)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return None
    return Interval(min(low, high), high)


def _bound(node: Node, index: int, absent: float) -> float | None:
    value = node.optional_operand(index)
    if value is None:
        return absent
    if value.constant is None or value.constant.size != 1:
        return None
    # Integers stay such, as not all of them are floats.
    element = value.constant.reshape(-1).tolist()[0]
    return element if isinstance(element, (int, float)) else None


def interval_of(value: Value, registry: Registry) -> Interval:
    """Numbers that a value can be."""
    for _ in range(_DEPTH):
        node = value.producer
        if node is None or not node.present_operands or value is not node.results[0]:
            return EVERYTHING
        if node.op in _INTERVALS:
            return Interval(*_INTERVALS[node.op])
        if (clamp := clamp_of(node, registry)) is not None:
            return clamp
        if node.op not in _MOVES:
            return EVERYTHING
        value = node.present_operands[0]
    return EVERYTHING
