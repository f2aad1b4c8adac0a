"""Makes scales and shifts of channels part of the weights and the bias of the layer beside them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.dialect import OLDEST_OPSET
from arenite.passes.base import Close, Equivalence, Pass, Work
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fuse_dequantized import Versions
from arenite.passes.onnx.fuse_layers import (
    CONV,
    LAYER_REASONS,
    MATMUL,
    MISFIT,
    NO_LAYER,
    TRANSPOSED,
    Layer,
    Limits,
    read_layer,
)
from arenite.passes.onnx.fuse_operands import (
    AFFINE_REASONS,
    BINARY,
    NEGATION,
    NORMALIZATION,
    Affine,
    Channels,
    data_operands,
    is_affine,
    read_affine,
)
from arenite.passes.onnx.fuse_places import Place, layer_above, layer_below
from arenite.passes.onnx.fuse_quantized import FEEDS_QUANTIZATION, leads_to_quantization
from arenite.passes.onnx.fuse_rebuild import REBUILD_REASONS, Plan, carry_out, plan_after, plan_before
from arenite.passes.onnx.fuse_windows import OLD_OPSET, read_windows

AFTER = Reason("fused-after", "{subject} became part of '{layer}', whose result it scaled or shifted")
BEFORE = Reason("fused-before", "{subject} became part of '{layer}', whose operand it scaled or shifted")
SEVERAL = Reason("several-readers", "%{value} is read in {count} places, and must stay as it is")
IS_OUTPUT = Reason("intermediate-is-output", "%{value} is an output of the graph, and must stay as it is")
OTHER_GRAPH = Reason("other-graph", "{subject} and '{layer}' are in different graphs, and may run differently often")
PADDED = Reason("padded", "'{layer}' pads with 0, which {subject} does not shift")
RAISES_PEAK = Reason("raises-peak", "with {subject} in '{layer}', more memory is taken at the peak")
OVERLAPS = Reason("overlaps", "a shift before '{layer}' is no constant after it, since at its borders less is summed")


@dataclass(frozen=True)
class _FuseIntoLayers(Pass):
    """Fuses scales and shifts of channels by constants into Conv, ConvTranspose, Gemm and MatMul.

    With the layer's weights w and bias b, and an operator x ↦ (x - m)·s + t per channel:

        after the layer:   w' = w·s        b' = (b - m)·s + t
        before it:         w' = w·s        b' = b + Σ w·(t - m·s)

    computed in float64 and rounded once. A MatMul of matrices that gets a bias becomes a Gemm. Where weights are
    dequantized, their scales take the factor after the layer. Where they are computed otherwise and have fewer
    elements than the result, they are multiplied by it instead of the result.

    Attributes:
        tolerance: how far results may be from those before.
        max_copy_nbytes: how many bytes the copies of weights may come to that several layers share.
        kept: names of nodes that stay, since more memory would be taken without them.
    """

    tolerance: float = 1e-4
    max_copy_nbytes: int = 4096
    kept: frozenset[str] = frozenset()

    fused: ClassVar[frozenset[str]]
    reasons: ClassVar[tuple[Reason, ...]] = (
        AFTER,
        BEFORE,
        SEVERAL,
        IS_OUTPUT,
        OTHER_GRAPH,
        OLD_OPSET,
        FEEDS_QUANTIZATION,
        PADDED,
        OVERLAPS,
        RAISES_PEAK,
        *LAYER_REASONS,
        *AFFINE_REASONS,
        *REBUILD_REASONS,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        _Fusing(self, work).run(work)


@dataclass(frozen=True)
class FuseBatchNorm(_FuseIntoLayers):
    """BatchNormalization: x ↦ (x - mean)·scale/√(variance + epsilon) + bias. Candidates are all of them."""

    name: ClassVar[str] = "fuse-batch-norm"
    summary: ClassVar[str] = "Makes BatchNormalization part of the convolution or product beside it."
    fused: ClassVar[frozenset[str]] = frozenset({NORMALIZATION})


@dataclass(frozen=True)
class FuseAffine(_FuseIntoLayers):
    """Add, Sub, Mul and Div by constants, and Neg. Candidates are those beside a layer.

    What is the same for all elements may also have nodes between it and the layer that only move elements.
    """

    name: ClassVar[str] = "fuse-affine"
    summary: ClassVar[str] = "Makes biases and factors of channels part of the convolution or product beside them."
    fused: ClassVar[frozenset[str]] = BINARY | {NEGATION}


class _Fusing:
    """One run over a graph and those nested in it."""

    def __init__(self, spec: _FuseIntoLayers, work: Work) -> None:
        self._fused, self._kept = spec.fused, spec.kept
        self._limits = Limits(spec.tolerance, spec.max_copy_nbytes)
        self._facts = Facts(work.graph, work.registry)
        self._quantized = leads_to_quantization(work.graph)
        self._versions: Versions = {}
        self._new: list[Node] = []
        self._done_count = 0

    def run(self, work: Work) -> None:
        left: dict[Node, Mismatch] = {}
        # Forwards, so that of several operators after a layer the first goes first; then backwards likewise.
        for node in work.graph.nodes:
            for region in node.regions:
                self.run(work.nested(region))
            self._try(node, left, work)
        # What several layers read may have fewer readers now, and a bias may be 0.
        done = 0
        while done != self._done_count:
            done = self._done_count
            for node in list(left):
                self._try(node, left, work)
        for node, after in reversed(left.items()):
            before = self._attempt(self._before, node, work)
            if before is None:
                continue
            mismatch = before if after.reason is NO_LAYER else after
            if mismatch.reason is not NO_LAYER or node.op == NORMALIZATION:
                work.consider(node).missed(mismatch.reason, **mismatch.arguments)

    def _try(self, node: Node, left: dict[Node, Mismatch], work: Work) -> None:
        """Fuse a node into the layer before it, and what is new then likewise; note what is left, and why."""
        self._new = [node]
        while self._new:
            each = self._new.pop()
            if each.op not in self._fused or not is_affine(each):
                continue
            mismatch = self._attempt(self._after, each, work)
            if mismatch is not None:
                left[each] = mismatch
            else:
                left.pop(each, None)

    def _attempt(self, attempt: Callable[[Node, Work], Mismatch | None], node: Node, work: Work) -> Mismatch | None:
        """Fuse a node by a method, or say why not."""
        if self._facts.opset < OLDEST_OPSET:
            return Mismatch(OLD_OPSET, {"opset": self._facts.opset})
        try:
            return attempt(node, work)
        except OpError as error:
            return Mismatch(MISFIT, {"layer": node.name, "problem": error})

    # After a layer

    def _after(self, node: Node, work: Work) -> Mismatch | None:
        """Fuse a node into the layer before it, or say why not."""
        place = layer_above(node)
        if place is None:
            return Mismatch(NO_LAYER)
        if (refused := _is_whole(place) or _apart(place.layer, node)) is not None:
            return refused
        layer = self._layer(place.layer)
        if isinstance(layer, Mismatch):
            return layer
        shape = self._facts.of(place.layer.result).shape
        channels = Channels(layer.n_out, layer.out_axis, layer.min_rank, layer.rank, shape, is_sure=True)
        if place.is_moved:
            channels = self._nowhere(place.values[0])
        affine = read_affine(node, channels, work.registry)
        if isinstance(affine, Mismatch):
            return affine
        plan = plan_after(layer, place.holder, affine, self._limits, self._facts)
        if isinstance(plan, Mismatch):
            return plan
        return self._done(node, plan, place, AFTER, work)

    # Before a layer

    def _before(self, node: Node, work: Work) -> Mismatch | None:
        """Fuse a node into the layer after it, or say why not."""
        place = layer_below(node)
        if place is None or not data_operands(node):
            return Mismatch(NO_LAYER)
        if (refused := _is_whole(place) or _apart(place.layer, node)) is not None:
            return refused
        layer = self._layer(place.layer)
        if isinstance(layer, Mismatch):
            return layer
        data = data_operands(node)[0]
        channels = self._nowhere(data) if place.is_moved else self._data_channels(layer, data)
        affine = read_affine(node, channels, work.registry)
        if isinstance(affine, Mismatch):
            return affine
        if (refused := self._border(layer, affine)) is not None:
            return refused
        plan = plan_before(layer, place.holder, affine, self._limits, self._facts)
        if isinstance(plan, Mismatch):
            return plan
        return self._done(node, plan, place, BEFORE, work)

    def _nowhere(self, data: Value) -> Channels:
        """Where elements were moved there are no channels: only what is the same for all can pass."""
        return Channels(1, 0, self._facts.of(data).rank or 0, None, None, is_sure=False)

    def _data_channels(self, layer: Layer, data: Value) -> Channels:
        fact = self._facts.of(data)
        rank = fact.rank
        if rank is None and layer.op != MATMUL:
            # What has fewer dimensions than the layer wants cannot have given it the last one.
            return Channels(layer.n_in, layer.in_axis, layer.min_rank - 1, layer.rank, None, is_sure=False)
        return Channels(layer.n_in, layer.in_axis, rank or 0, rank, fact.shape, is_sure=False)

    def _border(self, layer: Layer, affine: Affine) -> Mismatch | None:
        """Refuse shifts that padding would have to share."""
        if not np.any(affine.shift - affine.center * affine.scale):
            return None
        if layer.op == TRANSPOSED:
            return Mismatch(OVERLAPS, {"layer": layer.node.name})
        if layer.op != CONV:
            return None
        kernel = layer.dims[2:]
        shape = self._facts.of(layer.node.operand(0)).shape
        sizes: tuple[Expr | None, ...] = (None,) * len(kernel) if shape is None else shape[2:]
        try:
            windows = read_windows(layer.attrs, kernel, sizes)
        except OpError as error:
            return Mismatch(MISFIT, {"layer": layer.node.name, "problem": error})
        return Mismatch(PADDED, {"layer": layer.node.name}) if windows is None or windows.is_padded else None

    # Both

    def _layer(self, node: Node) -> Layer | Mismatch:
        if node.result in self._quantized:
            return Mismatch(FEEDS_QUANTIZATION, {"layer": node.name})
        return read_layer(node, self._facts)

    def _done(self, node: Node, plan: Plan, place: Place, reason: Reason, work: Work) -> Mismatch | None:
        if node.name in self._kept:
            return Mismatch(RAISES_PEAK, {"layer": plan.layer.node.name})
        candidate = work.consider(node)
        self._done_count += 1
        done = carry_out(plan, self._versions, work)
        layer = done.layer
        self._new.extend([] if done.scaled is None else [done.scaled])
        if reason is AFTER:
            # A product that became a Gemm gives another value now.
            is_beside = place.holder is None and not place.is_moved
            result = layer.result if is_beside else place.values[0]
            work.rewriter.set_type(result, node.results[0].type)
            work.rewriter.replace_value(node.results[0], result, take_name=True)
        else:
            reader = node.results[0].uses[0].node
            work.rewriter.set_operand(reader, 0, data_operands(node)[0])
        work.rewriter.add_origin(layer, node.origin)
        work.rewriter.erase(node)
        candidate.passed(reason, layer=layer.name)
        return None


def _is_whole(place: Place) -> Mismatch | None:
    """Refuse when somebody else needs a value as it is."""
    for value in reversed(place.values):
        if value.output_of:
            return Mismatch(IS_OUTPUT, {"value": value.name})
        if len(value.uses) != 1:
            return Mismatch(SEVERAL, {"value": value.name, "count": len(value.uses)})
    return None


def _apart(layer: Node, node: Node) -> Mismatch | None:
    return None if layer.graph is node.graph else Mismatch(OTHER_GRAPH, {"layer": layer.name})
