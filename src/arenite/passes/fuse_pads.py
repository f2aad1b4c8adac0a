"""Fuses zero padding into the windows of the op that reads it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Margins, Padding
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.pattern import INTERMEDIATE_IS_OUTPUT, Mismatch
from arenite.ops.conv import conv_windows
from arenite.ops.pool import pool_windows
from arenite.ops.windows import Window, spelled, window
from arenite.passes.base import Pass, Work
from arenite.passes.bounds import least_element

FUSED = Reason("fused", "{subject} became the padding of {into}: {padding}")
UNREAD = Reason("unread", "nobody reads the result of {subject}")
AMOUNTS_UNKNOWN = Reason("amounts-unknown", "the amounts or the value that {subject} pads with are not constant")
NOT_SPATIAL = Reason("not-spatial", "{subject} pads {amounts}; windows pad height and width only")
ZERO_POINTS_DIFFER = Reason(
    "zero-points-differ", "{subject} turns {before} into {after}, but the padding of windows changes no quantization"
)
NOT_ZERO = Reason("not-zero", "{subject} pads with {value}, but the windows of '{reader}' pad with {zero}")
OTHER_READER = Reason("other-reader", "{subject} is read by '{reader}' ({op}) too, whose windows cannot pad")
UNFIT_FILTER = Reason(
    "unfit-filter", "'{reader}' has a filter that is computed, not finite, or quantized beside floats"
)
NOT_LEAST = Reason(
    "not-least", "{subject} pads with {value}, which may be the largest of a window of '{reader}', whose own never is"
)
COUNTS = Reason(
    "padding-counts",
    "'{reader}' averages over the zeros that {subject} adds; what its own windows pad does not count",
)
TOO_WIDE = Reason("too-wide", "{subject} gives '{reader}' whole windows of padding: {problem}")
NOT_SAME = Reason(
    "not-same",
    "'{reader}' would pad {padding}, which is no SAME (with stride 2, SAME begins later where the size is even); "
    "a file has no other; compiled, it is fused",
)

REFUSALS = (
    UNREAD,
    INTERMEDIATE_IS_OUTPUT,
    AMOUNTS_UNKNOWN,
    NOT_SPATIAL,
    ZERO_POINTS_DIFFER,
    OTHER_READER,
    NOT_ZERO,
    UNFIT_FILTER,
    NOT_LEAST,
    COUNTS,
    TOO_WIDE,
)
"""Why `margins_of` and `windows_over` refuse a pad, or why it has no windows to go into."""

CONVOLUTIONS = frozenset({"conv2d", "depthwise_conv2d"})
POOLS = frozenset({"average_pool2d", "max_pool2d"})
PADS = frozenset({"pad", "padv2"})


@dataclass(frozen=True)
class FusePads(Pass):
    """Fuses pad and padv2 into the windows of all their readers, or of none. Candidates are those nodes.

    Bit-exact: convolutions take what is outside for 0, which stored is the zero point; max pools for nothing, which
    is the same where the padding is never larger than the input.

    Attributes:
        explicit: whether windows may be placed otherwise than by SAME and VALID, for which .tflite has no words.
    """

    explicit: bool = True

    name: ClassVar[str] = "fuse-pads"
    summary: ClassVar[str] = "Makes zero padding part of the convolutions and pools that read it."
    reasons: ClassVar[tuple[Reason, ...]] = (
        FUSED,
        *REFUSALS,
        NOT_SAME,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op not in PADS:
                continue
            candidate = work.consider(node)
            paddings = self._paddings(node)
            if isinstance(paddings, Mismatch):
                candidate.missed(paddings.reason, **paddings.arguments)
                continue
            _fuse(node, paddings, work)
            into = ", ".join(f"'{reader.name}'" for reader in paddings)
            candidate.passed(FUSED, into=into, padding=", ".join(dict.fromkeys(map(_text, paddings.values()))))

    def _paddings(self, node: Node) -> dict[Node, Padding | Margins] | Mismatch:
        """What each reader pads afterwards."""
        margins = margins_of(node)
        if isinstance(margins, Mismatch):
            return margins
        found = {}
        for use in node.result.uses:
            reader = use.node
            windows = windows_over(node, reader, use.index, margins)
            if isinstance(windows, Mismatch):
                return windows
            found[reader] = spelled(windows)
            if isinstance(found[reader], tuple) and not self.explicit:
                return Mismatch(NOT_SAME, {"reader": reader.name, "padding": _text(found[reader])})
        return found or Mismatch(UNREAD)


def margins_of(node: Node) -> Margins | Mismatch:
    """What a node pads along height and width."""
    source, result, amounts = node.operand(0), node.result, node.operand(1)
    if result.output_of:
        return Mismatch(INTERMEDIATE_IS_OUTPUT, {"value": result.name})
    if not all(value.is_constant for value in node.present_operands[1:]):
        return Mismatch(AMOUNTS_UNKNOWN)
    if (source.type.dtype, source.type.quantization) != (result.type.dtype, result.type.quantization):
        return Mismatch(ZERO_POINTS_DIFFER, {"before": source.type, "after": result.type})
    pairs = np.asarray(amounts.constant).tolist()
    if len(pairs) != 4 or any(pairs[0]) or any(pairs[3]) or min(map(min, pairs)) < 0:
        return Mismatch(NOT_SPATIAL, {"amounts": pairs})
    (top, bottom), (left, right) = pairs[1:3]
    return (top, bottom), (left, right)


def windows_over(node: Node, reader: Node, index: int, margins: Margins) -> tuple[Window, Window] | Mismatch:
    """The windows of a reader over what the node pads, or why it cannot have them."""
    if reader.op not in CONVOLUTIONS | POOLS or index != 0:
        return Mismatch(OTHER_READER, {"reader": reader.name, "op": reader.op})
    try:
        windows = _over_unpadded(reader, margins)
    except OpError as problem:
        return Mismatch(TOO_WIDE, {"reader": reader.name, "problem": str(problem)})
    check = _convolution_problem if reader.op in CONVOLUTIONS else _pool_problem
    return check(node, reader, windows) or windows


def _over_unpadded(reader: Node, margins: Margins) -> tuple[Window, Window]:
    """The reader's windows, when the margins are its own.

    Raises:
        OpError: some would lie outside.
    """
    own = _windows_of(reader)
    found = [
        window(
            each.size - before - after,
            each.filter,
            each.stride,
            each.dilation,
            (before + each.pad_before, after + each.pad_after),
        )
        for each, (before, after) in zip(own, margins, strict=True)
    ]
    return found[0], found[1]


def _windows_of(reader: Node) -> tuple[Window, Window]:
    return conv_windows(OpCall.of(reader)) if reader.op in CONVOLUTIONS else pool_windows(OpCall.of(reader))


def _convolution_problem(node: Node, reader: Node, windows: tuple[Window, Window]) -> Mismatch | None:
    value, zero = _value(node), _zero(node.operand(0))
    if value != zero:
        return Mismatch(NOT_ZERO, {"reader": reader.name, "value": value, "zero": zero})
    weights = reader.operand(1)
    if not node.result.type.dtype.is_float:
        return None
    # Zeros times infinity is no number, and outside it is nothing. Beside integers, the range of all floats counts.
    finite = weights.type.dtype.is_float and weights.constant is not None and np.isfinite(weights.constant).all()
    return None if finite else Mismatch(UNFIT_FILTER, {"reader": reader.name})


def _pool_problem(node: Node, reader: Node, windows: tuple[Window, Window]) -> Mismatch | None:
    if not any(each.pad_before or each.pad_after for each in windows):
        return None
    if reader.op == "average_pool2d":
        return Mismatch(COUNTS, {"reader": reader.name})
    value = _value(node)
    if not value <= least_element(node.operand(0)):
        return Mismatch(NOT_LEAST, {"reader": reader.name, "value": value})
    return None


def _value(node: Node) -> float:
    """What is padded with, as stored."""
    if node.op == "padv2":
        return float(np.asarray(node.operand(2).constant).reshape(-1)[0])
    return _zero(node.result)


def _zero(value: Value) -> float:
    quantization = value.type.quantization
    return 0 if quantization is None else quantization.zero_points[0]


def _fuse(node: Node, paddings: Mapping[Node, Padding | Margins], work: Work) -> None:
    for reader, padding in paddings.items():
        attrs: Any = reader.attrs
        work.rewriter.set_attrs(reader, replace(attrs, padding=padding))
    work.rewriter.replace(node, [node.operand(0)], carry_to=paddings)


def _text(padding: Padding | Margins) -> str:
    if isinstance(padding, Padding):
        return padding.name
    return " and ".join(_sides(padding))


def _sides(margins: Margins) -> Iterator[str]:
    for (before, after), (first, last) in zip(margins, (("above", "below"), ("left", "right")), strict=True):
        yield f"{before} {first}, {after} {last}"
