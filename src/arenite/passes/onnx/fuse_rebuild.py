"""New weights and biases for layers, and how they get there."""

import hashlib
from dataclasses import dataclass

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import NARROW_ROUNDINGS, Work
from arenite.passes.onnx.fuse_layers import (
    GEMM,
    MATMUL,
    Layer,
    Reals,
    rounded,
    scaled,
)
from arenite.passes.onnx.fuse_operands import Affine, Channels, per_channel
from arenite.passes.onnx.fuse_places import n_versions

COMPUTED_WEIGHTS = Reason(
    "computed-weights", "the weights %{value} of '{layer}' are computed, and cannot be scaled now"
)
COMPUTED_BIAS = Reason("computed-bias", "the bias %{value} of '{layer}' is computed, and cannot be changed now")
BIAS_SHAPE = Reason("bias-shape", "the bias %{value} of '{layer}' is not one number per channel")
SHARED = Reason(
    "shared-weights", "'{layer}' shares the weights %{value}; copies would take {nbytes} bytes more, {limit} at most"
)
NO_BIAS = Reason("no-bias", "'{layer}' is no product of two matrices, and takes no bias")
CHANNELS_UNKNOWN = Reason("channels-unknown", "it is not known how many channels '{layer}' gives")
NOT_STABLE = Reason("not-stable", "element {element} of the {what} of '{layer}' would be {number} in {dtype}")
UNDERFLOW = Reason("underflow", "the weights of '{layer}' would become so small that {dtype} loses their precision")
AMPLIFIES = Reason(
    "amplifies-rounding",
    "channel {channel}: {subject} moves its operand by {moved}, which is much more than is left; '{layer}' would round "
    "before that",
)

REBUILD_REASONS = (
    COMPUTED_WEIGHTS,
    COMPUTED_BIAS,
    BIAS_SHAPE,
    SHARED,
    NO_BIAS,
    CHANNELS_UNKNOWN,
    NOT_STABLE,
    UNDERFLOW,
    AMPLIFIES,
)


@dataclass(frozen=True)
class Limits:
    """As the pass's attributes."""

    tolerance: float
    max_copy_nbytes: int


@dataclass(frozen=True)
class Plan:
    """New weights and a new bias of a layer; None for what stays as it is.

    Attributes:
        holder: the Add that gives a MatMul its bias; None when the layer takes it.
    """

    layer: Layer
    holder: Node | None
    weights: Array | None
    bias: Array | None


def plan_after(layer: Layer, holder: Node | None, affine: Affine, limits: Limits) -> Plan | Mismatch:
    """What a layer becomes when its result need not be scaled and shifted any more."""
    old = _old_bias(layer, holder)
    if isinstance(old, Mismatch):
        return old
    bias = ((0.0 if old is None else old) - affine.center) * affine.scale + affine.shift
    weights = _new_weights(layer, affine.scale, layer.out_factor(affine.scale), limits)
    if isinstance(weights, Mismatch):
        return weights
    if affine.spread is not None:
        moved = (affine.center - (0.0 if old is None else old)) * affine.scale
        seen = [channel for channel in _amplified(layer, moved, affine.spread, limits) if layer.sees(channel)]
        if seen:
            return _amplifies(layer, seen[0], moved)
    return _plan(layer, holder, weights, bias, old)


def plan_before(layer: Layer, holder: Node | None, affine: Affine, limits: Limits) -> Plan | Mismatch:
    """What a layer becomes when its data need not be scaled and shifted before."""
    shift = np.asarray(affine.shift - affine.center * affine.scale)
    if np.any(shift) and not layer.weight.is_constant:
        return Mismatch(COMPUTED_WEIGHTS, {"value": layer.weight.name, "layer": layer.node.name})
    weights = _new_weights(layer, affine.scale, layer.in_factor(affine.scale), limits)
    if isinstance(weights, Mismatch):
        return weights
    if not np.any(shift):
        return Plan(layer, holder, weights, None)
    old = _old_bias(layer, holder)
    if isinstance(old, Mismatch):
        return old
    amplified = _amplified(layer, shift, 1.0 if affine.spread is None else affine.spread, limits)
    if amplified:
        return _amplifies(layer, amplified[0], shift)
    bias = layer.response(shift) + (0.0 if old is None else old)
    return _plan(layer, holder, weights, bias, old)


def _plan(layer: Layer, holder: Node | None, weights: Array | None, bias: Reals, old: Reals | None) -> Plan | Mismatch:
    if np.all(bias == (0.0 if old is None else old)):
        return Plan(layer, holder, weights, None)
    if layer.op == MATMUL and holder is None and not (layer.rank == 2 and len(layer.dims) == 2):
        return Mismatch(NO_BIAS, {"layer": layer.node.name})
    if layer.n_out < 1:
        return Mismatch(CHANNELS_UNKNOWN, {"layer": layer.node.name})
    new = rounded(np.broadcast_to(bias, layer.n_out), layer.dtype)
    return _unstable(new, "bias", layer) or Plan(layer, holder, weights, new)


def _old_bias(layer: Layer, holder: Node | None) -> Reals | Mismatch | None:
    """The bias that there is, one number for each channel or one for all."""
    value = _bias_value(layer, holder)
    if value is None:
        return None
    named = {"value": value.name, "layer": layer.node.name}
    if not value.is_constant:
        return Mismatch(COMPUTED_BIAS, named)
    shape = layer.rank if layer.op in (GEMM, MATMUL) else 1
    found = per_channel(value, Channels(layer.n_out, -1, shape or layer.min_rank, None, None, is_sure=True))
    if isinstance(found, Mismatch):
        return Mismatch(BIAS_SHAPE, named)
    return found * (layer.attrs.number("beta", 1.0) if layer.op == GEMM else 1.0)


def _bias_value(layer: Layer, holder: Node | None) -> Value | None:
    if holder is None:
        return layer.bias
    return next(value for value in holder.present_operands if value.is_constant)


def _new_weights(layer: Layer, scale: Reals, factor: Reals, limits: Limits) -> Array | Mismatch | None:
    if np.all(scale == 1):
        return None
    value = layer.weight
    named = {"value": value.name, "layer": layer.node.name}
    if not value.is_constant:
        return Mismatch(COMPUTED_WEIGHTS, named)
    copies = value.type.nbytes * (n_versions(layer) - 1)
    if copies > limits.max_copy_nbytes:
        return Mismatch(SHARED, {**named, "nbytes": copies, "limit": limits.max_copy_nbytes})
    weights = scaled(np.asarray(value.constant), factor)
    if (unstable := _unstable(weights, "weights", layer)) is not None:
        return unstable
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest < layer.dtype.smallest_normal and np.any(scale) and np.any(np.asarray(value.constant)):
        return Mismatch(UNDERFLOW, {"layer": layer.node.name, "dtype": layer.dtype})
    return weights


def _unstable(array: Array, what: str, layer: Layer) -> Mismatch | None:
    good = np.isfinite(array)
    if good.all():
        return None
    element = [int(index) for index in np.argwhere(~good)[0]]
    number = float(array[tuple(element)])
    return Mismatch(
        NOT_STABLE,
        {"element": element, "what": what, "layer": layer.node.name, "number": number, "dtype": layer.dtype},
    )


def _amplified(layer: Layer, moved: Reals, spread: float, limits: Limits) -> list[int]:
    """Channels where a difference would be taken of numbers, rounded before, that are much larger than it.

    What is moved by so much was rounded by about unit·|moved|; what is left is about as large as `spread`.
    """
    unit = layer.dtype.unit_roundoff
    allowed = max(limits.tolerance, NARROW_ROUNDINGS * unit) * spread
    return [int(channel) for channel in np.flatnonzero(unit * np.abs(moved) > allowed)]


def _amplifies(layer: Layer, channel: int, moved: Reals) -> Mismatch:
    shown = float(np.asarray(moved).reshape(-1)[channel])
    return Mismatch(AMPLIFIES, {"channel": channel, "moved": shown, "layer": layer.node.name})


Versions = dict[tuple[Value, bytes], Value]
"""Weights that came from others, by what they came from and their bytes."""


def carry_out(plan: Plan, versions: Versions, work: Work) -> Node:
    """Give a layer its new weights and bias; the node that is the layer now."""
    layer, rewriter = plan.layer, work.rewriter
    node, old = layer.node, layer.weight
    if plan.weights is not None:
        key = old, hashlib.sha256(np.ascontiguousarray(plan.weights).view(np.uint8).data).digest()
        if key in versions:
            rewriter.set_operand(node, 1, versions[key])
        else:
            _put(node, 1, old.name, plan.weights, work)
            versions[key] = node.operand(1)
    if plan.bias is None:
        return node
    if plan.holder is not None:
        index = next(i for i, value in enumerate(plan.holder.present_operands) if value.is_constant)
        _put(plan.holder, index, layer.weight.name, plan.bias, work)
        return node
    if layer.op == MATMUL:
        bias = rewriter.constant(f"{layer.weight.name}_bias", plan.bias)
        types = [node.result.type]
        gemm = rewriter.insert(
            node, GEMM, [*node.operands[:2], bias], types, OnnxAttrs(), name=node.name, origin=node.origin
        )
        rewriter.replace(node, gemm.results, take_names=True)
        return gemm
    _put(node, 2, f"{layer.weight.name}_bias", plan.bias, work)
    # The new bias is multiplied by it already, if a Gemm has one.
    rewriter.set_attrs(node, layer.attrs.without("beta"))
    return node


def _put(node: Node, index: int, name: str, array: Array, work: Work) -> None:
    """Let a node read a new constant, under the name of the one before if nobody reads that any more."""
    old = node.optional_operand(index)
    new = work.rewriter.constant(name if old is None else old.name, array)
    work.rewriter.set_operand(node, index, new)
    if old is not None and not old.is_read:
        work.rewriter.swap_names(old, new)
