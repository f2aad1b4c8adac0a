"""Channels that are the same number everywhere: removed, and what they add goes into the next layer's bias."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ir.types import Quantization, TensorType
from arenite.ops.weighted import quantization_of
from arenite.passes.base import Pass, Work
from arenite.passes.ranges import POOLS, Int64, Ranges, bias_of, is_exact, pads, weights_of

REMOVED = Reason(
    "removed", "{count} of {total} channels of {subject} are constant or unused, so they went into the biases after it"
)
ALL_USED = Reason("all-used", "no channel of {subject} is constant or unused")
NEEDED = Reason("needed", "the constant channels of {subject} cannot go into the bias of '{reader}': {why}")
IS_OUTPUT = Reason("is-output", "{count} channels of {subject} are constant, but it is an output of the graph")
OTHER_READER = Reason(
    "other-reader", "{count} channels of {subject} are constant, but '{reader}' ({op}) has no bias to take them in"
)
FOLLOWS = Reason("follows-input", "the channels of {subject} are those of its operand, which decides on them")

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FoldChannels(Pass):
    """Removes output channels of int8 convolutions that are constant, or that nothing depends on.

    Through depthwise convolutions and pools, which treat each channel alone, up to the convolutions that read them:
    these lose the channels' weights, and their biases gain what the channels contributed. Candidates are the
    convolutions of int8. Bit-exact, since sums are exact; a channel that is not 0 contributes less at a padded border,
    and stays.
    """

    name: ClassVar[str] = "fold-channels"
    summary: ClassVar[str] = "Removes constant channels, and adds what they contribute to the biases that follow."
    reasons: ClassVar[tuple[Reason, ...]] = (REMOVED, ALL_USED, NEEDED, IS_OUTPUT, OTHER_READER, FOLLOWS)

    def apply(self, work: Work) -> None:
        layers = [node for node in work.graph.nodes if node.op not in POOLS and is_exact(node, work.registry)]
        totals = {node: node.result.type.dims[3] for node in layers}
        problems: dict[Node, Mismatch] = {}
        while _sweep(layers, work, problems):
            pass
        for node in layers:
            candidate, left = work.consider(node), node.result.type.dims[3]
            if left < totals[node]:
                candidate.passed(REMOVED, count=totals[node] - left, total=totals[node])
            else:
                problem = problems.get(node, Mismatch(FOLLOWS))
                candidate.missed(problem.reason, **problem.arguments)


def _sweep(layers: list[Node], work: Work, problems: dict[Node, Mismatch]) -> bool:
    """Remove what can be from each conv2d; whether anything was."""
    removed = False
    ranges = Ranges(work.graph, work.registry)
    for node in layers:
        if node.op != "conv2d":
            continue
        plan = _Plan(ranges, work)
        going = plan.removable(node.result)
        if going.all():
            going[0] = False
        if going.any():
            _keep_outputs(node, ~going, work)
            plan.remove(node.result, ~going)
            ranges = Ranges(work.graph, work.registry)
            removed = True
        else:
            problems[node] = plan.problem or Mismatch(ALL_USED)
    return removed


class _Plan:
    """What becomes of the channels of one value, and of the values that have the same channels."""

    def __init__(self, ranges: Ranges, work: Work) -> None:
        self._ranges = ranges
        self._work = work
        self.problem: Mismatch | None = None

    def removable(self, value: Value) -> Mask:
        """Which channels nobody needs."""
        found = np.ones(value.type.dims[3], np.bool_)
        constant = int(self._ranges.of(value).is_constant.sum())
        if value.output_of:
            self._object(constant, IS_OUTPUT, count=constant)
            return ~found
        for use in value.uses:
            found &= self._by_reader(use.node, value, constant)
        return found if value.uses else ~found

    def _by_reader(self, reader: Node, value: Value, constant: int) -> Mask:
        nothing = np.zeros(value.type.dims[3], np.bool_)
        if not is_exact(reader, self._work.registry):
            self._object(constant, OTHER_READER, count=constant, reader=reader.name, op=reader.op)
            return nothing
        if reader.op == "conv2d":
            return self._absorbed(reader, value)
        below = self.removable(reader.result)
        groups: Mask = np.asarray(below.reshape(len(nothing), -1).all(axis=1))
        return groups

    def _absorbed(self, reader: Node, value: Value) -> Mask:
        """Which channels a conv2d can do without: their weights are 0, or what they contribute is constant."""
        weights, known = weights_of(reader), self._ranges.of(value)
        unused: Mask = np.logical_not(weights.any(axis=(0, 1, 2)))
        zero = quantization_of(value.type).zero_point
        constant = known.is_constant
        if pads(reader):
            partial = constant & (known.low != zero)
            self._object(
                int((partial & ~unused).sum()), NEEDED, reader=reader.name, why="at its border they count less"
            )
            constant = constant & ~partial
        bias = bias_of(reader) + _contribution(weights, known.low - zero, constant)
        if np.abs(bias).max() >= 1 << 31:
            self._object(1, NEEDED, reader=reader.name, why="it would not fit 32 bits")
            return unused
        return np.logical_or(unused, constant)

    def _object(self, many: int, reason: Reason, **arguments: object) -> None:
        if many and self.problem is None:
            self.problem = Mismatch(reason, arguments)

    def remove(self, value: Value, keep: Mask) -> None:
        """Leave channels out of all that read a value, which has lost them already."""
        known = self._ranges.of(value)
        for use in value.uses:
            reader = use.node
            if reader.op == "conv2d":
                self._absorb(reader, value, keep, known.low, ~keep & known.is_constant)
            else:
                below = np.repeat(keep, reader.result.type.dims[3] // len(keep))
                if reader.op in POOLS:
                    _retype(reader.result, below, self._work)
                else:
                    _keep_outputs(reader, below, self._work)
                self.remove(reader.result, below)

    def _absorb(self, reader: Node, value: Value, keep: Mask, constants: Int64, going: Mask) -> None:
        weights = weights_of(reader)
        zero = quantization_of(value.type).zero_point
        added = _contribution(weights, constants - zero, going)
        work, filter_ = self._work, reader.operand(1)
        kept = np.asarray(filter_.constant)[..., keep]
        type_ = replace(filter_.type, shape=kept.shape)
        work.rewriter.set_operand(reader, 1, work.rewriter.constant(filter_.name, np.ascontiguousarray(kept), type_))
        if added.any():
            bias = (bias_of(reader) + added).astype(np.int32)
            work.rewriter.set_operand(reader, 2, work.rewriter.constant(*_bias(reader, bias)))
        assert value.producer is not None, "it has lost channels"
        work.rewriter.add_origin(reader, value.producer.origin)


def _contribution(weights: Int64, centred: Int64, channels: Mask) -> Int64:
    """What constant input channels of an OHWI filter add to each sum."""
    found: Int64 = weights.sum(axis=(1, 2)) @ np.where(channels, centred, 0)
    return found


def _bias(reader: Node, bias: Array) -> tuple[str, Array, TensorType]:
    given = reader.optional_operand(2)
    if given is not None:
        return given.name, bias.reshape(given.type.dims), given.type
    weight, data = quantization_of(reader.operand(1).type), quantization_of(reader.operand(0).type).scale
    scales = tuple(float(np.float32(data) * np.float32(scale)) for scale in weight.scales)
    quantization = Quantization(scales, (0,) * len(scales), None if weight.is_per_tensor else 0)
    return f"{reader.name}/bias", bias, TensorType(DType.INT32, bias.shape, quantization)


def _keep_outputs(node: Node, keep: Mask, work: Work) -> None:
    """Leave output channels out of a layer: weights, scales, bias and the result's type."""
    axis = 0 if node.op == "conv2d" else 3
    for index, along in ((1, axis), (2, -1)):
        value = node.optional_operand(index)
        if value is None:
            continue
        array = np.ascontiguousarray(np.compress(keep, np.asarray(value.constant), axis=along % value.type.rank))
        type_ = TensorType(value.type.dtype, array.shape, _kept_scales(value.type.quantization, keep))
        work.rewriter.set_operand(node, index, work.rewriter.constant(value.name, array, type_))
    _retype(node.result, keep, work)


def _kept_scales(quantization: Quantization | None, keep: Mask) -> Quantization | None:
    if quantization is None or quantization.is_per_tensor:
        return quantization
    pairs = zip(quantization.scales, quantization.zero_points, keep, strict=True)
    kept = [(scale, zero_point) for scale, zero_point, stays in pairs if stays]
    return Quantization(tuple(scale for scale, _ in kept), tuple(zero for _, zero in kept), quantization.axis)


def _retype(value: Value, keep: Mask, work: Work) -> None:
    dims = (*value.type.dims[:3], int(keep.sum()))
    work.rewriter.set_type(value, replace(value.type, shape=dims))
