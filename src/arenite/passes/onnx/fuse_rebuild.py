"""New weights and biases for layers, and how they get there."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import NARROW_ROUNDINGS, Work
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fuse_computed import COMPUTED_REASONS, Product, carry_out_product, plan_product
from arenite.passes.onnx.fuse_dequantized import (
    DEQUANTIZED_REASONS,
    Steps,
    Versions,
    carry_out_steps,
    chain_of,
    dequantized,
    plan_steps,
    put,
)
from arenite.passes.onnx.fuse_layers import (
    GEMM,
    MATMUL,
    Layer,
    Limits,
    Reals,
    reals,
    rounded,
    scaled,
)
from arenite.passes.onnx.fuse_operands import Affine, Channels, per_channel
from arenite.passes.onnx.fuse_places import SHARED, n_versions

COMPUTED_WEIGHTS = Reason(
    "computed-weights", "the weights %{value} of '{layer}' are computed, and cannot be scaled now"
)
COMPUTED_BIAS = Reason("computed-bias", "the bias %{value} of '{layer}' is computed, and cannot be changed now")
BIAS_SHAPE = Reason("bias-shape", "the bias %{value} of '{layer}' is not one number per channel")
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
    *(reason for reason in DEQUANTIZED_REASONS if reason is not SHARED),
    *COMPUTED_REASONS,
)


Weights = Array | Steps | Product


@dataclass(frozen=True)
class Plan:
    """New weights, or what they come from, and a new bias of a layer; None for what stays as it is.

    Attributes:
        holder: the Add that gives a MatMul its bias; None when the layer takes it.
    """

    layer: Layer
    holder: Node | None
    weights: Weights | None
    bias: Array | None


def plan_after(layer: Layer, holder: Node | None, affine: Affine, limits: Limits, facts: Facts) -> Plan | Mismatch:
    """What a layer becomes when its result need not be scaled and shifted any more."""
    old = _old_bias(layer, holder, facts)
    if isinstance(old, Mismatch):
        return old
    bias = ((0.0 if old is None else old) - affine.center) * affine.scale + affine.shift
    weights = _new_weights(layer, affine.scale, layer.out_factor, limits, facts)
    if isinstance(weights, Mismatch):
        return weights
    if affine.spread is not None:
        moved = (affine.center - (0.0 if old is None else old)) * affine.scale
        seen = [channel for channel in _amplified(layer, moved, affine.spread, limits) if layer.sees(channel)]
        if seen:
            return _amplifies(layer, seen[0], moved)
    return _plan(layer, holder, weights, bias, old)


def plan_before(layer: Layer, holder: Node | None, affine: Affine, limits: Limits, facts: Facts) -> Plan | Mismatch:
    """What a layer becomes when its data need not be scaled and shifted before."""
    shift = np.asarray(affine.shift - affine.center * affine.scale)
    if np.any(shift) and not layer.weight.is_constant:
        return Mismatch(COMPUTED_WEIGHTS, {"value": layer.weight.name, "layer": layer.node.name})
    weights = _new_weights(layer, affine.scale, layer.in_factor, limits, facts)
    if isinstance(weights, Mismatch):
        return weights
    if not np.any(shift):
        return Plan(layer, holder, weights, None)
    old = _old_bias(layer, holder, facts)
    if isinstance(old, Mismatch):
        return old
    amplified = _amplified(layer, shift, 1.0 if affine.spread is None else affine.spread, limits)
    if amplified:
        return _amplifies(layer, amplified[0], shift)
    bias = layer.response(shift) + (0.0 if old is None else old)
    return _plan(layer, holder, weights, bias, old)


def _plan(
    layer: Layer, holder: Node | None, weights: Weights | None, bias: Reals, old: Reals | None
) -> Plan | Mismatch:
    if np.all(bias == (0.0 if old is None else old)):
        return Plan(layer, holder, weights, None)
    if layer.op == MATMUL and holder is None and not (layer.rank == 2 and len(layer.dims) == 2):
        return Mismatch(NO_BIAS, {"layer": layer.node.name})
    if layer.n_out < 1:
        return Mismatch(CHANNELS_UNKNOWN, {"layer": layer.node.name})
    new = rounded(np.broadcast_to(bias, layer.n_out), layer.dtype)
    return _unstable(new, "bias", layer) or Plan(layer, holder, weights, new)


def _old_bias(layer: Layer, holder: Node | None, facts: Facts) -> Reals | Mismatch | None:
    """The bias that there is, one number for each channel or one for all."""
    value = _bias_value(layer, holder)
    if value is None:
        return None
    named = {"value": value.name, "layer": layer.node.name}
    known = reals(value) if value.is_constant else dequantized(value, facts.opset)
    if known is None:
        return Mismatch(COMPUTED_BIAS, named)
    shape = layer.rank if layer.op in (GEMM, MATMUL) else 1
    found = per_channel(value, Channels(layer.n_out, -1, shape or layer.min_rank, None, None, is_sure=True), known)
    if isinstance(found, Mismatch):
        return Mismatch(BIAS_SHAPE, named)
    return found * (layer.attrs.number("beta", 1.0) if layer.op == GEMM else 1.0)


def _bias_value(layer: Layer, holder: Node | None) -> Value | None:
    if holder is None:
        return layer.bias
    return next(value for value in holder.present_operands if value.is_constant)


def _new_weights(
    layer: Layer, scale: Reals, factor_of: Callable[[Reals], Reals], limits: Limits, facts: Facts
) -> Weights | Mismatch | None:
    if np.all(scale == 1):
        return None
    value = layer.weight
    named = {"value": value.name, "layer": layer.node.name}
    if not value.is_constant:
        # Runtimes know a layer of integers by scales that differ along the channels of its result alone.
        if factor_of == layer.in_factor and scale.ndim:
            return Mismatch(COMPUTED_WEIGHTS, named)
        if chain_of(value):
            return plan_steps(layer, factor_of(scale), limits, facts.opset)
        if factor_of == layer.in_factor:
            return Mismatch(COMPUTED_WEIGHTS, named)
        return plan_product(layer, factor_of(scale), facts)
    factor = factor_of(scale)
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


@dataclass(frozen=True)
class Done:
    """What carrying out a plan has made.

    Attributes:
        layer: the node that is the layer now.
        scaled: a node that is new, by which weights that are computed are scaled; None when there is none.
    """

    layer: Node
    scaled: Node | None


def carry_out(plan: Plan, versions: Versions, work: Work) -> Done:
    """Give a layer its new weights and bias."""
    scaled = _carry_out_weights(plan, versions, work)
    return Done(_carry_out_bias(plan, work), scaled)


def _carry_out_weights(plan: Plan, versions: Versions, work: Work) -> Node | None:
    layer, weights = plan.layer, plan.weights
    node, old = layer.node, layer.weight
    if isinstance(weights, Product):
        return carry_out_product(weights, layer, work)
    if isinstance(weights, Steps):
        carry_out_steps(weights, node, versions, work)
    elif weights is not None:
        key = old, hashlib.sha256(np.ascontiguousarray(weights).view(np.uint8).data).digest()
        if key in versions:
            work.rewriter.set_operand(node, 1, versions[key])
        else:
            put(node, 1, old.name, weights, work)
            versions[key] = node.operand(1)
    return None


def _carry_out_bias(plan: Plan, work: Work) -> Node:
    """The node that is the layer now."""
    layer, rewriter = plan.layer, work.rewriter
    node = layer.node
    if plan.bias is None:
        return node
    if plan.holder is not None:
        index = next(i for i, value in enumerate(plan.holder.present_operands) if value.is_constant)
        put(plan.holder, index, layer.weight.name, plan.bias, work)
        return node
    if layer.op == MATMUL:
        bias = rewriter.constant(f"{layer.weight.name}_bias", plan.bias)
        types = [node.result.type]
        gemm = rewriter.insert(
            node, GEMM, [*node.operands[:2], bias], types, OnnxAttrs(), name=node.name, origin=node.origin
        )
        rewriter.replace(node, gemm.results, take_names=True)
        return gemm
    put(node, 2, f"{layer.weight.name}_bias", plan.bias, work)
    # The new bias is multiplied by it already, if a Gemm has one.
    rewriter.set_attrs(node, layer.attrs.without("beta"))
    return node
