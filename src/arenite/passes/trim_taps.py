"""Cuts rows and columns of zeros off the border of filters; the windows stay where they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpCall
from arenite.ir.pattern import Mismatch
from arenite.ops.conv import conv_windows
from arenite.ops.windows import Window, spelled, window
from arenite.passes.base import Close, Equivalence, Pass, Work

TRIMMED = Reason(
    "trimmed",
    "the filter of {subject} lost the zeros at its border, {after} taps of {before} are left: {macs} "
    "multiply-accumulates less",
)
FILTER_COMPUTED = Reason("filter-computed", "the filter of {subject} is computed, or shapes are not known")
SHARED = Reason(
    "shared-weights", "%{value} is read in {count} places, and another copy of it would make the model larger"
)
NO_ZEROS = Reason("no-zero-taps", "no row or column at the border of the filter of {subject} is all zero")
NO_MARGIN = Reason(
    "no-margin",
    "without the zeros at the border of the filter, windows of {subject} would begin later than the input, end before "
    "it does, or lie in padding alone",
)
FASTER_WHOLE = Reason("faster-whole", "kernels take the {taps} taps of {subject} faster than the {left} without zeros")

_FAST = 3
_HAVE_FAST = (DType.INT8, DType.UINT8, DType.INT16)
_FAST_FILTER = 0.5
"""What a depthwise filter of 3x3 costs, for which kernels have a loop of its own: less than one tap elsewhere."""
_WHOLE_TAP = 0.5
"""What a tap of a filter costs that covers the whole input: it is a matrix product, others work on pairs of pixels."""
_SHORT_ROW = 16
_GATHERED, _GATHERED_ROW = 0.7, 12.0
"""What kernels of conv2d take for each element of a window and each row, beside products, where rows are shorter."""

Mask = npt.NDArray[np.bool_]
Cut = tuple[int, int]
"""How many taps go at the beginning and at the end of one dimension."""


@dataclass(frozen=True)
class TrimTaps(Pass):
    """Cuts taps that are zero in every channel off the border of constant filters. Candidates are the convolutions.

    The padding shrinks with the filter, so that each tap that is left sees what it saw. Integers stay the same, bit
    for bit. Floats do where all inputs are finite (zero times infinity is no number, and is left out now), up to the
    order in which a library adds.

    Attributes:
        tolerance: of the last bits of floats; less than one step of any quantized output.
    """

    tolerance: float = 1e-5

    name: ClassVar[str] = "trim-taps"
    summary: ClassVar[str] = "Cuts rows and columns of zeros off the border of filters."
    reasons: ClassVar[tuple[Reason, ...]] = (
        TRIMMED,
        FILTER_COMPUTED,
        NO_ZEROS,
        SHARED,
        NO_MARGIN,
        FASTER_WHOLE,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op not in ("conv2d", "depthwise_conv2d"):
                continue
            candidate, macs, before = work.consider(node), macs_of(node, work), size_of(node)
            cuts = _cuts(node)
            if isinstance(cuts, Mismatch):
                candidate.missed(cuts.reason, **cuts.arguments)
                continue
            _trim(node, cuts, work)
            candidate.passed(TRIMMED, before=before, after=size_of(node), macs=macs - macs_of(node, work))


def size_of(convolution: Node) -> str:
    """Height and width of a filter, for messages."""
    return "x".join(map(str, (convolution.operand(1).type.shape or ())[1:3]))


def macs_of(node: Node, work: Work) -> int:
    """Multiply-accumulates of a node; 0 where shapes are not known."""
    cost = work.registry[node.op].cost
    assert callable(cost), "it computes"
    known = all(value.type.is_static for value in (*node.present_operands, node.result))
    return cost(OpCall.of(node)).macs if known else 0


def _cuts(node: Node) -> tuple[Cut, Cut] | Mismatch:
    """What goes along height and width: at least one tap."""
    weights = node.operand(1)
    if weights.constant is None or not (node.operand(0).type.is_static and weights.type.is_static):
        return Mismatch(FILTER_COMPUTED)
    used = _used_taps(weights)
    zeros = _border(used, 1), _border(used, 0)
    if not any(map(any, zeros)):
        return Mismatch(NO_ZEROS)
    if len(weights.uses) != 1:
        return Mismatch(SHARED, {"value": weights.name, "count": len(weights.uses)})
    windows = conv_windows(OpCall.of(node))
    most = _possible(windows[0], zeros[0]), _possible(windows[1], zeros[1])
    if not any(map(any, most)):
        return Mismatch(NO_MARGIN)
    best = min(_choices(windows, most), key=lambda cuts: _weight(node, *_placed(windows, cuts)))
    if not any(map(any, best)):
        left = "x".join(str(each.filter) for each in _placed(windows, most))
        return Mismatch(FASTER_WHOLE, {"taps": size_of(node), "left": left})
    return best


def _used_taps(weights: Value) -> Mask:
    """Which taps (height, width) of a constant filter, OHWI or 1HWO, are not zero in every channel."""
    array = np.asarray(weights.constant)
    used: Mask = np.not_equal(array, zeros_of(weights)).any(axis=(0, 3))
    return used


def zeros_of(weights: Value) -> npt.NDArray[np.generic]:
    """What stands for 0 in a filter of four dimensions, as stored: one element, or one along the quantized axis."""
    quantization, dtype = weights.type.quantization, weights.type.dtype.numpy
    if quantization is None:
        return np.zeros((1, 1, 1, 1), dtype)
    dims = [-1 if axis == quantization.axis else 1 for axis in range(4)]
    return np.array(quantization.zero_points).reshape(dims).astype(dtype)


def _border(taps: Mask, across: int) -> Cut:
    """How many taps before the first and after the last that is used are not; both are all where none is."""
    used = np.logical_or.reduce(taps, axis=across)
    if not used.any():
        return len(used), len(used)
    return int(np.argmax(used)), int(np.argmax(used[::-1]))


def _possible(along: Window, zeros: Cut) -> Cut:
    """As much of the zeros as can go.

    With `reach = (filter - 1) * dilation + 1`, each tap at the beginning takes `dilation` of the padding there, which
    may not become less than 0; each at the end takes as much of what lies behind the last window, where no further
    window may fit in. Padding stays less than what a window reaches over.
    """
    reach = (along.filter - 1) * along.dilation + 1
    room = along.output * along.stride - 1 - along.size - along.pad_before + reach
    first = min(zeros[0], along.pad_before // along.dilation, (reach - along.pad_after - 1) // along.dilation)
    last = min(zeros[1], room // along.dilation, (reach - along.pad_before - 1) // along.dilation)
    return first, min(last, along.filter - 1 - first)


def _choices(windows: tuple[Window, Window], most: tuple[Cut, Cut]) -> Iterator[tuple[Cut, Cut]]:
    """All that can go, so much that three taps are left, or nothing."""
    options = []
    for along, cut in zip(windows, most, strict=True):
        going = max(along.filter - _FAST, 0)
        first = min(going, cut[0])
        options.append((cut, (first, min(going - first, cut[1])), (0, 0)))
    for rows in options[0]:
        for columns in options[1]:
            yield rows, columns


def _placed(windows: tuple[Window, Window], cuts: tuple[Cut, Cut]) -> tuple[Window, Window]:
    """The same windows, by a filter without some taps."""
    height, width = (_without(along, cut) for along, cut in zip(windows, cuts, strict=True))
    return height, width


def _weight(node: Node, height: Window, width: Window) -> float:
    """What a pixel's taps cost, in multiply-accumulates of the slower kind."""
    weights, data = node.operand(1).type.dims, node.operand(0).type
    if node.op == "conv2d":
        row, outputs = width.filter * weights[3], weights[0] + weights[0] % 2
        each = row * outputs + (row * _GATHERED + _GATHERED_ROW if row < _SHORT_ROW else 0)
        whole = all(w.filter == w.size and not w.pad_before + w.pad_after for w in (height, width))
        return height.filter * each * (_WHOLE_TAP if whole else 1)
    fast = height.filter == width.filter == _FAST and width.dilation == 1 and width.stride <= 2
    return _FAST_FILTER if fast and data.dtype in _HAVE_FAST else height.filter * width.filter


def _trim(node: Node, cuts: tuple[Cut, Cut], work: Work) -> None:
    weights, windows = node.operand(1), conv_windows(OpCall.of(node))
    kept = [slice(first, along.filter - last) for along, (first, last) in zip(windows, cuts, strict=True)]
    array = np.ascontiguousarray(np.asarray(weights.constant)[:, kept[0], kept[1]])
    placed = _placed(windows, cuts)
    attrs: Any = node.attrs
    dilation = tuple(each.dilation if each.filter > 1 else 1 for each in placed)
    work.rewriter.set_operand(
        node, 1, work.rewriter.constant(weights.name, array, replace(weights.type, shape=array.shape))
    )
    work.rewriter.set_attrs(node, replace(attrs, padding=spelled(placed), dilation=dilation))


def _without(along: Window, cut: Cut) -> Window:
    """Windows along one dimension without taps at their beginning and end."""
    before, after = along.pad_before - cut[0] * along.dilation, max(along.pad_after - cut[1] * along.dilation, 0)
    taps = along.filter - sum(cut)
    return window(along.size, taps, along.stride, along.dilation if taps > 1 else 1, (before, after))
