"""Fuses a clamping activation into the op that computes its operand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from arenite._base.remarks import Reason
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Node
from arenite.ir.opdef import Trait
from arenite.ir.pattern import Condition, Match, Mismatch, NodePattern, Pattern
from arenite.passes.base import Pass, Work
from arenite.passes.clamps import CLAMPS, both

FUSED = Reason("fused", "{subject} became the activation of '{into}'")
OTHER_TYPE = Reason(
    "types-differ", "{subject} turns {before} into {after}; a fused activation changes neither shape nor dtype"
)
SCALE = Reason(
    "scales-differ", "{subject} rescales from {before} to {after}; fused, values would be rounded once instead of twice"
)
ZERO_POINT = Reason(
    "zero-points-differ", "{subject} moves the zero point from {before} to {after}, which a fused activation cannot"
)
NOT_MERGEABLE = Reason(
    "not-mergeable", "'{into}' has the activation {has} already, and no single activation does what {both} do together"
)

FUSABLE = frozenset(
    {"conv2d", "depthwise_conv2d", "fully_connected", "add", "sub", "mul", "div", "average_pool2d", "max_pool2d"}
)
"""Ops with an activation that their kernels compute. TFLite-Micro's concatenation has the attribute, and refuses it."""


def _same_type(match: Match) -> bool | Mapping[str, object]:
    before, after = _types(match)
    same = before.dtype is after.dtype and before.shape == after.shape
    return same or {"before": before, "after": after}


def _same_scale(match: Match) -> bool | Mapping[str, object]:
    before, after = _types(match)
    one, other = before.quantization, after.quantization
    if one is None or other is None:
        return one is other or {"before": one or "floats", "after": other or "floats"}
    same = (one.scales, one.axis) == (other.scales, other.axis)
    return same or {"before": one, "after": other}


def _same_zero_point(match: Match) -> bool | Mapping[str, object]:
    before, after = (None if t.quantization is None else t.quantization.zero_points for t in _types(match))
    return before == after or {"before": before, "after": after}


def _mergeable(match: Match) -> bool | Mapping[str, object]:
    has, wanted = _activation(match["producer"].attrs), CLAMPS[match["activation"].op]
    if both(has, wanted) is not None:
        return True
    return {"into": match["producer"].name, "has": has.value, "both": f"{has.value} and {wanted.value}"}


def _types(match: Match) -> tuple[Any, Any]:
    node: Node = match["activation"]
    return node.operand(0).type, node.result.type


def _activation(attrs: Attrs) -> Activation:
    found: object = getattr(attrs, "activation", None)
    assert isinstance(found, Activation), f"{type(attrs).__name__} of a fusable op has an activation"
    return found


PATTERN = Pattern(
    NodePattern(
        "activation",
        ops=frozenset(CLAMPS),
        trait=Trait.ACTIVATION,
        operands=(NodePattern("producer", ops=FUSABLE, sole=True),),
    ),
    (
        Condition(OTHER_TYPE, _same_type),
        Condition(SCALE, _same_scale),
        Condition(ZERO_POINT, _same_zero_point),
        Condition(NOT_MERGEABLE, _mergeable),
    ),
)


@dataclass(frozen=True)
class FuseActivations(Pass):
    """Fuses relu and its kin into the op before. Candidates are the nodes whose op is an activation.

    Bit-exact: a float clamp is the same wherever it happens; a quantized one is when no rescaling comes between, since
    TFLite derives the clamp's bounds from the result's scale and zero point in both places alike.
    """

    name: ClassVar[str] = "fuse-activations"
    summary: ClassVar[str] = "Makes a clamping activation part of the op before it."
    reasons: ClassVar[tuple[Reason, ...]] = (FUSED, *PATTERN.reasons)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if not PATTERN.is_candidate(node, work.registry):
                continue
            candidate = work.consider(node)
            match = PATTERN.match(node, work.registry)
            if isinstance(match, Mismatch):
                candidate.missed(match.reason, **match.arguments)
            else:
                _fuse(match, work)
                candidate.passed(FUSED, into=match["producer"].name)


def _fuse(match: Match, work: Work) -> None:
    producer, node = match["producer"], match["activation"]
    merged = both(_activation(producer.attrs), CLAMPS[node.op])
    attrs: Any = producer.attrs
    work.rewriter.set_attrs(producer, replace(attrs, activation=merged))
    # The producer's result is now what the activation's was, and is called so.
    work.rewriter.replace(node, [producer.result], carry_to=[producer], take_names=True)
