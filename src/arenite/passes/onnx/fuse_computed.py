"""Weights that are computed: a factor of the result's channels becomes one of them, where they have fewer elements."""

import math
from dataclasses import dataclass

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Work
from arenite.passes.onnx.compute import narrowed
from arenite.passes.onnx.expr import Expr, Poly, product, sub
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fuse_dequantized import SEVERAL_AXES, put
from arenite.passes.onnx.fuse_layers import MATMUL, Layer, Reals, reals, rounded
from arenite.passes.onnx.fuse_operands import data_operands, is_affine

NOT_FEWER = Reason(
    "not-fewer",
    "the weights %{value} of '{layer}' are computed, and to scale their {weights} elements is not seen to be less than "
    "to scale {results} results",
)
FACTOR_RANGE = Reason(
    "factor-range", "the weights of '{layer}' are computed, and could leave the range of {dtype} if scaled by {factor}"
)
STACKS = Reason(
    "stacks", "'{layer}' multiplies stacks of matrices, both computed: runtimes know attention by the factor behind it"
)

COMPUTED_REASONS = (NOT_FEWER, FACTOR_RANGE, STACKS)

MUL = "onnx.Mul"


@dataclass(frozen=True)
class Product:
    """A factor that weights take.

    Attributes:
        factor: broadcasts to them.
        taker: the Mul that gives the weights and takes the factor too; None: another one comes behind.
    """

    factor: Array
    taker: Node | None


def plan_product(layer: Layer, factor: Reals, facts: Facts) -> Product | Mismatch:
    """How weights that are computed take a factor that broadcasts to them."""
    named = {"value": layer.weight.name, "layer": layer.node.name}
    small: Reals = np.asarray(narrowed(factor), np.float64)
    if sum(dim != 1 for dim in small.shape) > 1:
        return Mismatch(SEVERAL_AXES, named)
    if (bad := _out_of_range(small, layer)) is not None:
        return Mismatch(FACTOR_RANGE, {"layer": layer.node.name, "dtype": layer.dtype, "factor": bad})
    if (merged := _merged(layer, small)) is not None:
        return merged
    if layer.op == MATMUL and len(layer.dims) != 2:
        return Mismatch(STACKS, {"layer": layer.node.name})
    weights, results = (facts.of(value).shape for value in (layer.weight, layer.node.result))
    assert weights is not None
    if results is None or not _is_more(product(results), product(weights)):
        shown = "an unknown number of" if results is None else product(results)
        return Mismatch(NOT_FEWER, {**named, "weights": product(weights), "results": shown})
    return Product(rounded(small, layer.dtype), None)


def _is_more(one: Expr, other: Expr) -> bool:
    """Whether one is more than the other, when sizes that are not known are 1 or more."""
    rest = sub(one, other)
    if isinstance(rest, int):
        return rest > 0
    growing = Poly(tuple(term for term in rest.terms if term[0]))
    return growing.is_natural and sum(factor for _, factor in rest.terms) > 0


def _out_of_range(factor: Reals, layer: Layer) -> float | None:
    """A factor by which weights might become infinite, or too small, although the results would not."""
    low, high = math.sqrt(layer.dtype.smallest_normal), math.sqrt(layer.dtype.largest)
    size = np.abs(factor)
    bad = factor[(size != 0) & ~((size >= low) & (size <= high))]
    return float(bad[0]) if bad.size else None


def _merged(layer: Layer, factor: Reals) -> Product | None:
    """The factor as part of that by which weights are multiplied already."""
    node, weight = layer.weight.producer, layer.weight
    if node is None or node.op != MUL or not is_affine(node) or len(data_operands(node)) != 1:
        return None
    if len(weight.uses) != 1 or weight.output_of:
        return None
    old = reals(node.operand(_constant_at(node)))
    new = np.asarray(old * factor)
    if new.size > max(old.size, factor.size) or any(_out_of_range(each, layer) is not None for each in (old, new)):
        return None
    return Product(rounded(new, layer.dtype), node)


def _constant_at(node: Node) -> int:
    return next(index for index, value in enumerate(node.present_operands) if value.is_constant)


def carry_out_product(plan: Product, layer: Layer, work: Work) -> Node | None:
    """Let a layer's weights take a factor; the node that is new, if there is one.

    It is put just before the layer: what is alive besides is the layer's data, but not yet its result, which is larger.
    """
    node, weight = layer.node, layer.weight
    if plan.taker is not None:
        put(plan.taker, _constant_at(plan.taker), "", plan.factor, work)
        return None
    factor = work.rewriter.constant(f"{node.name}_factor", plan.factor)
    name = f"{node.name}_weights"
    scaled = work.rewriter.insert(
        node, MUL, [weight, factor], [weight.type], OnnxAttrs(), name=name, origin=node.origin
    )
    work.rewriter.set_operand(node, 1, scaled.result)
    return scaled
