"""Canonicalization: of several ways to say the same, the shortest."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.content import is_same_throughout
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import NotApplicable, OpCall, OpError, Trait
from arenite.ir.pattern import Mismatch
from arenite.ir.printer import attr_text
from arenite.ir.types import TensorType
from arenite.ops.movement import ConcatenationAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.clamps import CLAMPS, both
from arenite.passes.reshaping import reshape_instead

SIMPLER_ATTRS = Reason("simpler-attributes", "the attributes of {subject} became simpler: {changes}")
SIMPLE_ATTRS = Reason("simple-attributes", "the attributes of {subject} have no simpler form")
REMOVED = Reason("no-op", "{subject} gives its operand unchanged ({why}), so it was removed")
SHORTCUT = Reason("reads-through", "{subject} reads %{value} instead, since the {op} between makes no difference")
CHANGES_TYPE = Reason("changes-type", "{subject} turns {before} into {after}")
OUTPUT_NAME = Reason("output-name", "{subject} changes nothing, but gives the output %{output} of the graph its name")
NOT_OF_VIEW = Reason("not-of-view", "{subject} reads %{value}, which comes from no op that only reshapes")
NOT_OF_ACTIVATION = Reason("not-of-activation", "{subject} reads %{value}, which comes from no activation")
CLAMPS_DIFFER = Reason("clamps-differ", "no single activation does what {first} and {second} do together")
RESCALES = Reason("rescales", "the activations {subject} and '{first}' have operands and results of different types")
PADDINGS_UNKNOWN = Reason("paddings-unknown", "the paddings of {subject} are not constant")
PADS = Reason("pads", "{subject} adds elements")
SEVERAL = Reason("several-values", "{subject} joins {count} values")
ONE_ELEMENT = Reason("one-element", "%{value} is {count} times the same, so {subject} reads one element and repeats it")
PER_CHANNEL = Reason("per-channel", "%{value} is the same throughout, but quantized per channel")
GIVES_SHAPE = Reason("gives-shape", "%{value} is the same throughout, but gives the result of {subject} its shape")
WANTS_SHAPE = Reason("wants-shape", "%{value} is the same throughout, but {subject} repeats no operand")
ACTIVATES = Reason("has-activation", "{subject} also applies {activation}")


@dataclass(frozen=True)
class Done:
    """A rule changed the graph."""

    reason: Reason
    arguments: dict[str, object]


@dataclass(frozen=True)
class Rule:
    """One simplification.

    Attributes:
        concerns: whether a node is worth a verdict.
        attempt: makes the change, or says why not.
    """

    concerns: Callable[[Node, Work], bool]
    attempt: Callable[[Node, Work], Done | Mismatch]


def _by_op(op: str) -> Callable[[Node, Work], bool]:
    return lambda node, work: node.op == op


def _by_trait(trait: Trait) -> Callable[[Node, Work], bool]:
    return lambda node, work: node.op in work.registry and work.registry[node.op].has(trait)


def _is_clamp(node: Node, work: Work) -> bool:
    return node.op in CLAMPS and _by_trait(Trait.ACTIVATION)(node, work)


def _remove(node: Node, work: Work, why: str) -> Done | Mismatch:
    """Let the node's readers read its operand 0, if that is of the same type."""
    source, result = node.operand(0), node.result
    if source.type != result.type:
        return Mismatch(CHANGES_TYPE, {"before": source.type, "after": result.type})
    if not work.rewriter.may_replace(result, source):
        return Mismatch(OUTPUT_NAME, {"output": result.name})
    readers = [use.node for use in result.uses]
    heirs = readers if source.producer is None else [source.producer]
    work.rewriter.replace(node, [source], carry_to=heirs)
    return Done(REMOVED, {"why": why})


def _read_through(node: Node, source: Value, work: Work) -> Done:
    between = node.operand(0).producer
    assert between is not None
    work.rewriter.set_operand(node, 0, source)
    work.rewriter.add_origin(node, between.origin)
    return Done(SHORTCUT, {"value": source.name, "op": between.op})


def _facet(node: Node, work: Work) -> Done | Mismatch:
    facet = work.registry[node.op].canonicalize
    assert not isinstance(facet, NotApplicable), "the rule concerns ops that have it"
    attrs = facet(node)
    if attrs is None or attrs == node.attrs:
        return Mismatch(SIMPLE_ATTRS)
    changes = _changes(node.attrs, attrs)
    work.rewriter.set_attrs(node, attrs)
    return Done(SIMPLER_ATTRS, {"changes": changes})


def _changes(before: Attrs, after: Attrs) -> str:
    """Each attribute that changed, as `dilation (2, 2) → (1, 1)`."""
    texts = [(f.name, attr_text(getattr(before, f.name)), attr_text(getattr(after, f.name))) for f in fields(after)]
    return ", ".join(f"{name} {old} → {new}" for name, old, new in texts if old != new)


def _has_facet(node: Node, work: Work) -> bool:
    return node.op in work.registry and not isinstance(work.registry[node.op].canonicalize, NotApplicable)


def _view(node: Node, work: Work) -> Done | Mismatch:
    return _remove(node, work, "it has its shape already")


def _reshape_of_view(node: Node, work: Work) -> Done | Mismatch:
    source = node.operand(0)
    inner = source.producer
    if inner is None or not _by_trait(Trait.VIEW)(inner, work):
        return Mismatch(NOT_OF_VIEW, {"value": source.name})
    origin = inner.operand(0)
    if (origin.type.dtype, origin.type.quantization) != (source.type.dtype, source.type.quantization):
        return Mismatch(CHANGES_TYPE, {"before": origin.type, "after": source.type})
    return _read_through(node, origin, work)


def _other_view_of_view(node: Node, work: Work) -> Done | Mismatch:
    """A squeeze or expand_dims of a view: a reshape says both."""
    source = node.operand(0)
    inner = source.producer
    if inner is None or not _by_trait(Trait.VIEW)(inner, work):
        return Mismatch(NOT_OF_VIEW, {"value": source.name})
    origin, result = inner.operand(0), node.result.type
    if (origin.type.dtype, origin.type.quantization) != (result.dtype, result.quantization) or not result.is_static:
        return Mismatch(CHANGES_TYPE, {"before": origin.type, "after": result})
    reshape_instead(node, origin, work, origin=(*inner.origin, *node.origin))
    return Done(SHORTCUT, {"value": origin.name, "op": inner.op})


def _is_other_view(node: Node, work: Work) -> bool:
    return node.op in ("squeeze", "expand_dims")


def _splat(node: Node, work: Work) -> Done | Mismatch:
    """One element where an operand has many that are the same, if the other one still gives the result its shape."""
    index = next(i for i, value in enumerate(node.present_operands) if _is_splat(value))
    value, other = node.operand(index), node.operand(1 - index)
    if value.type.quantization is not None and not value.type.quantization.is_per_tensor:
        return Mismatch(PER_CHANNEL, {"value": value.name})
    if other.type.shape != node.result.type.shape:
        return Mismatch(GIVES_SHAPE, {"value": value.name})
    assert value.constant is not None
    type_ = replace(value.type, shape=(1,) * value.type.rank)
    if not _takes(node, index, type_, work):
        return Mismatch(WANTS_SHAPE, {"value": value.name})
    element = value.constant.reshape(-1)[:1].reshape(type_.dims)
    work.rewriter.set_operand(node, index, work.rewriter.constant(value.name, element.copy(), type_))
    return Done(ONE_ELEMENT, {"value": value.name, "count": value.type.nelem})


def _takes(node: Node, index: int, type_: TensorType, work: Work) -> bool:
    """Whether the node's op broadcasts an operand of this type."""
    call = OpCall.of(node)
    operands = tuple(type_ if i == index else operand for i, operand in enumerate(call.operands))
    try:
        work.registry[node.op].infer(replace(call, operands=operands, constants=()))
    except OpError:
        return False
    return True


def _is_splat(value: Value) -> bool:
    return value.is_constant and is_same_throughout(np.asarray(value.constant))


def _reads_splat(node: Node, work: Work) -> bool:
    pair = len(node.operands) == len(node.present_operands) == 2
    return pair and _by_trait(Trait.ELEMENTWISE)(node, work) and any(map(_is_splat, node.present_operands))


def _activation_of_activation(node: Node, work: Work) -> Done | Mismatch:
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or not _is_clamp(inner, work):
        return Mismatch(NOT_OF_ACTIVATION, {"value": middle.name})
    source = inner.operand(0)
    if not source.type == middle.type == node.result.type:
        return Mismatch(RESCALES, {"first": inner.name})
    first, second = CLAMPS[inner.op], CLAMPS[node.op]
    merged = both(first, second)
    if merged is second:
        return _read_through(node, source, work)
    if merged is first:
        return _remove(node, work, f"{first.value} comes before it")
    return Mismatch(CLAMPS_DIFFER, {"first": first.value, "second": second.value})


def _pad(node: Node, work: Work) -> Done | Mismatch:
    paddings = node.operand(1)
    if not paddings.is_constant:
        return Mismatch(PADDINGS_UNKNOWN)
    if np.any(np.asarray(paddings.constant)):
        return Mismatch(PADS)
    return _remove(node, work, "all its paddings are 0")


def _concatenation(node: Node, work: Work) -> Done | Mismatch:
    assert isinstance(node.attrs, ConcatenationAttrs)
    if len(node.operands) != 1:
        return Mismatch(SEVERAL, {"count": len(node.operands)})
    if node.attrs.activation is not Activation.NONE:
        return Mismatch(ACTIVATES, {"activation": node.attrs.activation.value})
    return _remove(node, work, "it joins one value")


def _quantize(node: Node, work: Work) -> Done | Mismatch:
    return _remove(node, work, "its operand is quantized so already")


RULES = (
    Rule(_has_facet, _facet),
    Rule(_by_op("reshape"), _reshape_of_view),
    Rule(_is_other_view, _other_view_of_view),
    Rule(_by_trait(Trait.VIEW), _view),
    Rule(_is_clamp, _activation_of_activation),
    Rule(_reads_splat, _splat),
    Rule(_by_op("pad"), _pad),
    Rule(_by_op("concatenation"), _concatenation),
    Rule(_by_op("quantize"), _quantize),
)


@dataclass(frozen=True)
class Canonicalize(Pass):
    """Applies the simplifications above. A candidate is a node together with a rule that concerns it."""

    name: ClassVar[str] = "canonicalize"
    summary: ClassVar[str] = "Simplifies attributes, and removes nodes that change nothing."
    reasons: ClassVar[tuple[Reason, ...]] = (
        SIMPLER_ATTRS,
        SIMPLE_ATTRS,
        REMOVED,
        SHORTCUT,
        CHANGES_TYPE,
        OUTPUT_NAME,
        NOT_OF_VIEW,
        NOT_OF_ACTIVATION,
        CLAMPS_DIFFER,
        RESCALES,
        PADDINGS_UNKNOWN,
        PADS,
        SEVERAL,
        ONE_ELEMENT,
        PER_CHANNEL,
        GIVES_SHAPE,
        WANTS_SHAPE,
        ACTIVATES,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            while _simplify(node, work):
                pass


def _simplify(node: Node, work: Work) -> bool:
    """Apply the first rule that can be; when none can, say of each why. Whether to try again."""
    mismatches = []
    for rule in RULES:
        if not rule.concerns(node, work):
            continue
        outcome = rule.attempt(node, work)
        if isinstance(outcome, Done):
            work.consider(node).passed(outcome.reason, **outcome.arguments)
            return node.graph is work.graph
        mismatches.append(outcome)
    for mismatch in mismatches:
        work.consider(node).missed(mismatch.reason, **mismatch.arguments)
    return False
