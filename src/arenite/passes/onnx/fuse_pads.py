"""Makes a Pad part of the convolutions and pools that read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Use, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OLDEST_OPSET
from arenite.passes.base import Close, Equivalence, Pass, Work
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fuse_ranges import interval_of, is_whole
from arenite.passes.onnx.fuse_windows import OLD_OPSET, Windows, read_windows

FUSED = Reason("fused", "{subject} became the padding of {readers}")
MODE = Reason("mode", "{subject} pads in mode '{mode}', a convolution or pool only with a constant")
PADS_UNKNOWN = Reason("pads-unknown", "how much {subject} pads, or with what, is not known")
NEGATIVE = Reason("negative", "{subject} cuts off elements: a padding is negative")
OTHER_DIMS = Reason("other-dimensions", "{subject} pads the batch or the channels")
IS_OUTPUT = Reason("intermediate-is-output", "%{value} is an output of the graph, so {subject} would stay")
NOT_READ = Reason("not-read", "nobody reads what {subject} gives")
OTHER_READER = Reason("other-reader", "'{reader}' ({op}) reads what {subject} gives, and cannot pad by itself")
VALUE = Reason("value", "{subject} pads with {value}, '{reader}' ({op}) with {own}")
SIZES_UNKNOWN = Reason(
    "sizes-unknown", "the padding that '{reader}' has of its own depends on sizes that are not known"
)
CEIL = Reason("ceil-mode", "'{reader}' rounds its size up, and would leave out windows that start in padding")
COUNTS = Reason("does-not-count-padding", "'{reader}' does not count its own padding, but that of {subject}")
EMPTY_WINDOW = Reason("empty-window", "a window of '{reader}' might see nothing but padding")
INDICES = Reason("indices", "'{reader}' also gives where it found each maximum, counted with the padding")
MISFIT = Reason("misfit", "the attributes of '{reader}' do not fit: {problem}")

_PADS_ARE_OPERANDS_SINCE = 11
_CONVOLUTIONS = {"onnx.Conv": 1, "onnx.QLinearConv": 3, "onnx.ConvInteger": 1}
"""Which operand holds the weights."""
_POOLS = frozenset({"onnx.AveragePool", "onnx.MaxPool"})


@dataclass(frozen=True)
class _Padding:
    """What a Pad adds along the spatial dimensions."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class OnnxFusePads(Pass):
    """Fuses Pad into the convolutions and pools that read it, when all of them can take it. Candidates are the Pads."""

    tolerance: float = 1e-4

    name: ClassVar[str] = "onnx-fuse-pads"
    summary: ClassVar[str] = "Makes a Pad the padding of the convolutions and pools that read it."
    reasons: ClassVar[tuple[Reason, ...]] = (
        FUSED,
        OLD_OPSET,
        MODE,
        PADS_UNKNOWN,
        NEGATIVE,
        OTHER_DIMS,
        IS_OUTPUT,
        NOT_READ,
        OTHER_READER,
        VALUE,
        SIZES_UNKNOWN,
        CEIL,
        COUNTS,
        EMPTY_WINDOW,
        INDICES,
        MISFIT,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        _Fusing(Facts(work.graph, work.registry)).run(work)


class _Fusing:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def run(self, work: Work) -> None:
        for node in work.graph.nodes:
            for region in node.regions:
                self.run(work.nested(region))
            if node.op != "onnx.Pad" or not is_whole(node):
                continue
            candidate = work.consider(node)
            refused = self._fuse(node, work)
            if isinstance(refused, Mismatch):
                candidate.missed(refused.reason, **refused.arguments)
            else:
                candidate.passed(FUSED, readers=refused)

    def _fuse(self, node: Node, work: Work) -> Mismatch | str:
        """Fuse a Pad, or say why not; the names of the readers that took it."""
        if self._facts.opset < OLDEST_OPSET:
            return Mismatch(OLD_OPSET, {"opset": self._facts.opset})
        try:
            padding = self._padding(node)
        except OpError:
            padding = Mismatch(PADS_UNKNOWN)
        if isinstance(padding, Mismatch):
            return padding
        if node.result.output_of:
            return Mismatch(IS_OUTPUT, {"value": node.result.name})
        if not node.result.uses:
            return Mismatch(NOT_READ)
        found: list[tuple[Node, OnnxAttrs]] = []
        for use in node.result.uses:
            reader = {"reader": use.node.name, "op": use.node.op.removeprefix("onnx.")}
            try:
                attrs = self._taken(use, padding, work)
            except OpError as error:
                return Mismatch(MISFIT, {"reader": use.node.name, "problem": error})
            if isinstance(attrs, Mismatch):
                return Mismatch(attrs.reason, {**reader, **attrs.arguments})
            found.append((use.node, attrs))
        for reader_node, new in found:
            work.rewriter.set_attrs(reader_node, new)
            work.rewriter.set_operand(reader_node, 0, node.operand(0))
            work.rewriter.add_origin(reader_node, node.origin)
        work.rewriter.erase(node)
        return ", ".join(f"'{reader_node.name}'" for reader_node, _ in found)

    # The Pad

    def _padding(self, node: Node) -> _Padding | Mismatch:
        assert isinstance(node.attrs, OnnxAttrs)
        mode = node.attrs.text("mode", "constant")
        if mode != "constant":
            return Mismatch(MODE, {"mode": mode})
        old = self._facts.opset < _PADS_ARE_OPERANDS_SINCE
        pads = node.attrs.integers("pads") if old else self._integers(node, 1)
        value = node.attrs.number("value", 0.0) if old else _number(node.optional_operand(2))
        if pads is None or value is None:
            return Mismatch(PADS_UNKNOWN)
        rank = self._facts.of(node.operand(0)).rank
        axes: Sequence[int] | None = None
        if node.optional_operand(3) is not None:
            axes = self._integers(node, 3)
            if axes is None or rank is None or any(not -rank <= axis < rank for axis in axes):
                return Mismatch(PADS_UNKNOWN)
        half = len(pads) // 2
        rank = half if rank is None else rank
        where = range(rank) if axes is None else [axis % rank for axis in axes]
        if 2 * len(where) != len(pads) or len(set(where)) != len(where):
            return Mismatch(PADS_UNKNOWN)
        begins, ends = [0] * rank, [0] * rank
        for place, axis in enumerate(where):
            begins[axis], ends[axis] = pads[place], pads[half + place]
        if min((*begins, *ends), default=0) < 0:
            return Mismatch(NEGATIVE)
        if any((*begins[:2], *ends[:2])):
            return Mismatch(OTHER_DIMS)
        return _Padding(tuple(begins[2:]), tuple(ends[2:]), value)

    def _integers(self, node: Node, index: int) -> tuple[int, ...] | None:
        value = node.optional_operand(index)
        return None if value is None else self._facts.of(value).integers

    # Those who read it

    def _taken(self, use: Use, padding: _Padding, work: Work) -> OnnxAttrs | Mismatch:
        """The attributes of a reader that pads by itself, or why it cannot.

        Raises:
            OpError: its attributes do not fit.
        """
        node = use.node
        if use.index != 0 or (node.op not in _CONVOLUTIONS and node.op not in _POOLS):
            return Mismatch(OTHER_READER)
        assert isinstance(node.attrs, OnnxAttrs)
        windows = self._windows(node)
        if isinstance(windows, Mismatch):
            return windows
        if len(windows.kernel) != len(padding.begins):
            raise OpError(f"{len(windows.kernel)} spatial dimensions of {len(padding.begins)}")
        begins = tuple(map(sum, zip(windows.begins, padding.begins, strict=True)))
        ends = tuple(map(sum, zip(windows.ends, padding.ends, strict=True)))
        attrs = node.attrs.without("auto_pad").with_value("pads", (*begins, *ends))
        merged = Windows(windows.kernel, windows.strides, windows.dilations, begins, ends)
        if node.op in _CONVOLUTIONS:
            return _convolution(node, padding) or attrs
        if node.attrs.integer("ceil_mode", 0):
            return Mismatch(CEIL)
        # onnxruntime also wants a pool's padding to be less than its kernel.
        if any(pad >= length for pads in (begins, ends) for pad, length in zip(pads, merged.kernel, strict=True)):
            return Mismatch(EMPTY_WINDOW)
        if node.op == "onnx.MaxPool":
            return self._max_pool(node, padding, merged, work) or attrs
        if (refused := _average_pool(node, padding, windows)) is not None:
            return refused
        return attrs.with_value("count_include_pad", 1)

    def _windows(self, node: Node) -> Windows | Mismatch:
        assert isinstance(node.attrs, OnnxAttrs)
        kernel = node.attrs.integers("kernel_shape")
        if kernel is None and node.op in _CONVOLUTIONS:
            weights = node.optional_operand(_CONVOLUTIONS[node.op])
            kernel = None if weights is None else _all_known(self._facts.of(weights).shape)
        if kernel is None:
            return Mismatch(SIZES_UNKNOWN)
        shape = self._facts.of(node.operand(0)).shape
        sizes: tuple[Expr | None, ...] = (None,) * len(kernel) if shape is None else shape[2:]
        windows = read_windows(node.attrs, kernel, sizes)
        return Mismatch(SIZES_UNKNOWN) if windows is None else windows

    def _max_pool(self, node: Node, padding: _Padding, merged: Windows, work: Work) -> Mismatch | None:
        if len(node.results) > 1:
            return Mismatch(INDICES)
        if any(dilation != 1 for dilation in merged.dilations):
            return Mismatch(EMPTY_WINDOW)
        # Where each window sees an element too, what is no larger than any element makes no difference.
        pad = node.operand(0).producer
        assert pad is not None
        data = pad.operand(0)
        dtype = self._facts.of(data).dtype
        lowest = dtype.limits[0] if dtype is not None and dtype.is_integer else -np.inf
        if padding.value <= max(lowest, interval_of(data, work.registry).low):
            return None
        return Mismatch(VALUE, {"value": padding.value, "own": "what is less than every element"})


def _all_known(shape: tuple[Expr, ...] | None) -> tuple[int, ...] | None:
    """The spatial dimensions of a shape, when each is a number."""
    if shape is None:
        return None
    known = tuple(dim for dim in shape[2:] if isinstance(dim, int))
    return known if len(known) == len(shape[2:]) else None


def _number(value: Value | None) -> float | None:
    if value is None:
        return 0.0
    if value.constant is None or value.constant.size != 1:
        return None
    number = value.constant.reshape(-1).tolist()[0]
    return number if isinstance(number, (int, float)) else None


def _convolution(node: Node, padding: _Padding) -> Mismatch | None:
    own = 0.0 if node.op == "onnx.Conv" else _number(node.optional_operand(2))
    if padding.value != own:
        return Mismatch(VALUE, {"value": padding.value, "own": "its zero point" if own is None else own})
    return None


def _average_pool(node: Node, padding: _Padding, own: Windows) -> Mismatch | None:
    assert isinstance(node.attrs, OnnxAttrs)
    if padding.value != 0:
        return Mismatch(VALUE, {"value": padding.value, "own": 0})
    if own.is_padded and not node.attrs.integer("count_include_pad", 0):
        return Mismatch(COUNTS)
    return None
