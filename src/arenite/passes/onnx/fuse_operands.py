"""Nodes that scale and shift each channel by constants: BatchNormalization, Add, Sub, Mul, Div and Neg."""

from dataclasses import dataclass

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import Registry
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import is_absent
from arenite.passes.onnx.compute import narrowed
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.fuse_layers import Reals, reals

NOT_CONSTANT = Reason("not-constant", "%{value}, which {subject} scales or shifts by, is computed")
NOT_PER_CHANNEL = Reason(
    "not-per-channel", "%{value} {shape} differs along another dimension than that of the {channels} channels"
)
OTHER_CHANNELS = Reason("other-channels", "{subject} counts dimension 1 as channels, and the layer beside it another")
BROADCASTS = Reason(
    "broadcasts", "%{value} {shape} may give the result of {subject} more elements than its operand has"
)
DIVISOR = Reason("is-divisor", "{subject} divides by %{value}, which is computed")
NOT_FINITE = Reason("not-finite", "{subject} scales or shifts by {what} {number} of '{element}', which is not finite")
TRAINING = Reason("training", "{subject} is in training mode: it computes its own mean and variance")
PER_ELEMENT = Reason("per-element", "{subject} has its own mean and variance for each element, not each channel")
PARAMETERS = Reason("parameters", "{subject} has {found} of '{parameter}' for {channels} channels")
VARIANCE = Reason("variance", "channel {channel} of {subject} has the variance {variance}; with epsilon it is {total}")

AFFINE_REASONS = (
    NOT_CONSTANT,
    NOT_PER_CHANNEL,
    OTHER_CHANNELS,
    BROADCASTS,
    DIVISOR,
    NOT_FINITE,
    TRAINING,
    PER_ELEMENT,
    PARAMETERS,
    VARIANCE,
)

NORMALIZATION = "onnx.BatchNormalization"
BINARY = frozenset({"onnx.Add", "onnx.Sub", "onnx.Mul", "onnx.Div"})

NEGATION = "onnx.Neg"
_PARAMETERS = ("scale", "bias", "mean", "variance")
_TRAINING_SINCE = 14
_SPATIAL_UNTIL = 9


@dataclass(frozen=True)
class Channels:
    """Where the channels of a node's operand are, and how many dimensions it has.

    Attributes:
        count: how many channels.
        axis: the dimension, counted from the end.
        min_rank: the fewest dimensions of the operand.
        rank: how many it has; None when unknown.
        shape: its shape; None when unknown.
        is_sure: whether the operand has so many channels, and not only the result of the node.
    """

    count: int
    axis: int
    min_rank: int
    rank: int | None
    shape: tuple[Expr, ...] | None
    is_sure: bool

    def dim(self, axis: int) -> Expr | None:
        """A dimension, counted from the end; None when unknown."""
        if axis == self.axis and self.is_sure:
            return self.count
        return None if self.shape is None or -axis > len(self.shape) else self.shape[axis]


@dataclass(frozen=True)
class Affine:
    """result = (operand - center) * scale + shift, each for one channel or (without dimensions) for all.

    Attributes:
        spread: about how large the results of a normalization are; None of other nodes.
    """

    scale: Reals
    shift: Reals
    center: Reals
    spread: float | None = None


def is_affine(node: Node) -> bool:
    """Whether a node is worth reading as one."""
    if node.op == NORMALIZATION:
        return len(node.operands) == len(node.present_operands) == 5 and bool(node.results)
    count = 1 if node.op == NEGATION else 2
    whole = len(node.operands) == len(node.present_operands) == count and len(node.results) == 1
    return node.op in BINARY | {NEGATION} and whole


def data_operands(node: Node) -> tuple[Value, ...]:
    """What a node may scale or shift: its operands that are computed."""
    operands = node.operands[:1] if node.op == NORMALIZATION else node.operands
    return tuple(value for value in operands if value is not None and not value.is_constant)


def read_affine(node: Node, channels: Channels, registry: Registry) -> Affine | Mismatch:
    """What a node that `is_affine` does to its operand, or why that is no scale and shift of channels.

    Raises:
        OpError: an attribute is of the wrong type.
    """
    if node.op == NORMALIZATION:
        return _normalization(node, channels, registry)
    if node.op == NEGATION:
        return Affine(-np.ones(()), np.zeros(()), np.zeros(()))
    return _binary(node, channels)


def _binary(node: Node, channels: Channels) -> Affine | Mismatch:
    first, second = node.operand(0), node.operand(1)
    if not first.is_constant and not second.is_constant:
        return Mismatch(NOT_CONSTANT, {"value": second.name})
    value = first if first.is_constant else second
    if node.op == "onnx.Div" and value is first:
        return Mismatch(DIVISOR, {"value": second.name})
    found = per_channel(value, channels)
    if isinstance(found, Mismatch):
        return found
    one, none = np.float64(1), np.float64(0)
    with np.errstate(divide="ignore"):
        scale, shift, center = {
            "onnx.Add": (one, found, none),
            "onnx.Sub": (-one, found, none) if value is first else (one, none, found),
            "onnx.Mul": (found, none, none),
            "onnx.Div": (1 / found, none, none),
        }[node.op]
    affine = Affine(np.asarray(scale), np.asarray(shift), np.asarray(center))
    return _finite(affine, value.name) or affine


def per_channel(value: Value, channels: Channels, known: Array | None = None) -> Reals | Mismatch:
    """A constant operand of a broadcasting node, or one that is `known`, as one number per channel, or one for all."""
    array = value.constant if known is None else known
    assert array is not None
    shown = {"value": value.name, "shape": list(array.shape)}
    if array.ndim > channels.min_rank:
        return Mismatch(BROADCASTS, shown)
    small = narrowed(array)
    for axis in range(-array.ndim, 0):
        dim = array.shape[axis]
        if dim != 1 and channels.dim(axis) != dim:
            return Mismatch(BROADCASTS, shown)
        if axis != channels.axis and small.shape[axis] != 1:
            return Mismatch(NOT_PER_CHANNEL, {**shown, "channels": channels.count})
    return np.asarray(small.astype(np.float64).reshape(-1 if small.size != 1 else ()))


def _normalization(node: Node, channels: Channels, registry: Registry) -> Affine | Mismatch:
    attrs = node.attrs
    assert isinstance(attrs, OnnxAttrs)
    opset = registry.opset("") if isinstance(registry, OnnxRegistry) else 1
    # Before opset 14, results besides the first are what says that it trains.
    if any(not is_absent(value) for value in node.results[1:]):
        return Mismatch(TRAINING)
    if opset >= _TRAINING_SINCE and attrs.integer("training_mode", 0):
        return Mismatch(TRAINING)
    if opset < _SPATIAL_UNTIL and attrs.integer("spatial", 1) == 0:
        return Mismatch(PER_ELEMENT)
    # The second dimension holds the channels, wherever the layer's are.
    if channels.rank is None or channels.axis != 1 - channels.rank:
        return Mismatch(OTHER_CHANNELS)
    found: dict[str, Reals] = {}
    for index, parameter in enumerate(_PARAMETERS, 1):
        value = node.operand(index)
        if not value.is_constant:
            return Mismatch(NOT_CONSTANT, {"value": value.name})
        found[parameter] = reals(value)
        if found[parameter].shape != (channels.count,):
            shape = list(found[parameter].shape)
            return Mismatch(PARAMETERS, {"found": shape, "parameter": parameter, "channels": channels.count})
    total = found["variance"] + float(np.float32(attrs.number("epsilon", 1e-5)))
    bad = np.flatnonzero(~(total > 0))
    if bad.size:
        channel = int(bad[0])
        variance = float(found["variance"][channel])
        return Mismatch(VARIANCE, {"channel": channel, "variance": variance, "total": float(total[channel])})
    spread = float(np.max(np.abs(found["scale"]) + np.abs(found["bias"]), initial=0.0))
    affine = Affine(found["scale"] / np.sqrt(total), found["bias"], found["mean"], spread)
    return _finite(affine, node.operand(1).name) or affine


def _finite(affine: Affine, name: str) -> Mismatch | None:
    for what, array in (("factor", affine.scale), ("shift", affine.shift), ("shift", affine.center)):
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            return Mismatch(NOT_FINITE, {"what": what, "number": int(bad[0]), "element": name})
    return None
