"""Dilated convolutions as exporters write them: images are cut into blocks, convolved, and put together again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.attrs import Margins, Padding
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.pattern import (
    INTERMEDIATE_IS_OUTPUT,
    NOT_COMPUTED,
    OTHER_OP,
    SEVERAL_READERS,
    Mismatch,
)
from arenite.ops.conv import conv_attrs, conv_windows
from arenite.ops.movement import ReshapeAttrs
from arenite.ops.spatial import Blocks, blocks_of
from arenite.ops.windows import Window, spelled, window
from arenite.passes.base import Close, Equivalence, Pass, Work

FUSED = Reason("fused", "{subject} and '{first}' became the dilation of '{into}': {dilation}")
BLOCKS_UNKNOWN = Reason("blocks-unknown", "the blocks, paddings or crops of '{node}' are computed")
BLOCKS_DIFFER = Reason(
    "blocks-differ", "{subject} puts together blocks of {after}, but '{first}' cut blocks of {before}"
)
STRIDED = Reason("strided", "'{into}' has stride {stride}, which between blocks no dilated convolution has")
LAYOUTS_DIFFER = Reason(
    "layouts-differ", "between '{first}' and {subject}, shapes change otherwise than by one dimension of 1 for '{into}'"
)
TYPES_DIFFER = Reason("types-differ", "%{before} and %{after} should differ in shape alone")
UNFIT_FILTER = Reason("unfit-filter", "'{into}' has a filter that is computed, not finite, or quantized beside floats")
CROPS_MORE = Reason(
    "crops-more",
    "{subject} crops {crops}, '{into}' pads less: there are no windows that begin later",
)
TOO_WIDE = Reason("too-wide", "dilated, '{into}' has whole windows of padding: {problem}")
NOT_SAME = Reason("not-same", "'{into}' would pad {padding}; a file has SAME alone; compiled, it is fused")

_CONVOLUTIONS = frozenset({"conv2d", "depthwise_conv2d"})
_VIEWS = frozenset({"reshape", "expand_dims", "squeeze"})


@dataclass(frozen=True)
class _Chain:
    """space_to_batch_nd, maybe a view to four dimensions, a convolution, maybe a view back, batch_to_space_nd."""

    first: Node
    entry: Node | None
    convolution: Node
    exit: Node | None
    last: Node


@dataclass(frozen=True)
class _Fused:
    """What the convolution becomes: pairs are (height, width); shapes of its input and its result."""

    dilation: tuple[int, int]
    padding: Padding | Margins
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True)
class FuseDilations(Pass):
    """Makes one dilated convolution of a convolution between space_to_batch_nd and batch_to_space_nd.

    Candidates are the nodes batch_to_space_nd. Every result is the sum of the same products, for what blocks are padded
    with is what convolutions take for outside: bit-exact on integers. Floats are added in an order that depends on
    shapes where a library multiplies matrices, so that their last bits may differ. A convolution along one dimension,
    which views make one of images, is one too. What else reads the blocks keeps them.

    Attributes:
        explicit: whether windows may be placed otherwise than by SAME and VALID, for which .tflite has no words.
        tolerance: of the last bits of floats; less than one step of any quantized output.
    """

    explicit: bool = True
    tolerance: float = 1e-5

    name: ClassVar[str] = "fuse-dilations"
    summary: ClassVar[str] = "Makes dilated convolutions of those that work on blocks of images."
    reasons: ClassVar[tuple[Reason, ...]] = (
        FUSED,
        NOT_COMPUTED,
        OTHER_OP,
        SEVERAL_READERS,
        INTERMEDIATE_IS_OUTPUT,
        BLOCKS_UNKNOWN,
        LAYOUTS_DIFFER,
        TYPES_DIFFER,
        BLOCKS_DIFFER,
        STRIDED,
        UNFIT_FILTER,
        CROPS_MORE,
        TOO_WIDE,
        NOT_SAME,
    )

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op != "batch_to_space_nd":
                continue
            candidate = work.consider(node)
            chain = _chain(node)
            fused = self._fused(chain) if isinstance(chain, _Chain) else chain
            if isinstance(fused, Mismatch):
                candidate.missed(fused.reason, **fused.arguments)
                continue
            assert isinstance(chain, _Chain)
            _fuse(chain, fused, work)
            candidate.passed(FUSED, first=chain.first.name, into=chain.convolution.name, dilation=list(fused.dilation))

    def _fused(self, chain: _Chain) -> _Fused | Mismatch:
        found = _blocks(chain)
        if isinstance(found, Mismatch):
            return found
        cut, joined = found
        call, into = OpCall.of(chain.convolution), {"into": chain.convolution.name}
        attrs, own = conv_attrs(call), conv_windows(call)
        if attrs.stride != (1, 1):
            return Mismatch(STRIDED, {**into, "stride": list(attrs.stride)})
        if not _fit_filter(chain.convolution):
            return Mismatch(UNFIT_FILTER, into)
        margins = _margin(cut, joined, own, 0), _margin(cut, joined, own, 1)
        if min(map(min, margins)) < 0:
            return Mismatch(CROPS_MORE, {**into, "crops": _listed(joined.pairs)})
        dilation = (attrs.dilation[0] * cut.shape[0], attrs.dilation[1] * cut.shape[1])
        before = _with_unit(chain.first.operand(0).type.dims, _unit(chain))
        try:
            height, width = (window(before[1 + i], own[i].filter, 1, dilation[i], margins[i]) for i in range(2))
        except OpError as problem:
            return Mismatch(TOO_WIDE, {**into, "problem": str(problem)})
        padding = spelled((height, width))
        if isinstance(padding, tuple) and not self.explicit:
            return Mismatch(NOT_SAME, {**into, "padding": _listed(padding)})
        channels = chain.convolution.result.type.dims[3]
        return _Fused(dilation, padding, before, (before[0], height.output, width.output, channels))


def _chain(last: Node) -> _Chain | Mismatch:
    """The nodes from a batch_to_space_nd back to its space_to_batch_nd."""
    found = _source(last, _CONVOLUTIONS, sole=True)
    if isinstance(found, Mismatch):
        return found
    convolution, leaving = found
    found = _source(convolution, frozenset({"space_to_batch_nd"}), sole=False)
    if isinstance(found, Mismatch):
        return found
    return _Chain(found[0], found[1], convolution, leaving, last)


def _source(reader: Node, wanted: frozenset[str], *, sole: bool) -> tuple[Node, Node | None] | Mismatch:
    """The node whose result a node reads, and the view through which it does; `sole`: nobody else reads them."""
    view: Node | None = None
    while True:
        value = reader.operand(0)
        producer = value.producer
        if producer is None:
            return Mismatch(NOT_COMPUTED, {"value": value.name})
        if producer.op not in wanted and (view is not None or producer.op not in _VIEWS):
            arguments = {"found": producer.name, "op": producer.op, "expected": ", ".join(sorted(wanted))}
            return Mismatch(OTHER_OP, arguments)
        if sole and value.output_of:
            return Mismatch(INTERMEDIATE_IS_OUTPUT, {"value": value.name})
        if sole and len(value.uses) != 1:
            return Mismatch(SEVERAL_READERS, {"value": value.name, "count": len(value.uses)})
        if producer.op in wanted:
            return producer, view
        view = reader = producer


def _blocks(chain: _Chain) -> tuple[Blocks, Blocks] | Mismatch:
    """How images are cut and joined, along height and width."""
    names = {"first": chain.first.name}
    found = []
    for node, pairs in ((chain.first, "paddings"), (chain.last, "crops")):
        try:
            found.append(blocks_of(OpCall.of(node), pairs))
        except OpError:
            return Mismatch(BLOCKS_UNKNOWN, {"node": node.name})
    cut, joined = found
    if cut.shape != joined.shape:
        return Mismatch(BLOCKS_DIFFER, {**names, "before": list(cut.shape), "after": list(joined.shape)})
    convolution = chain.convolution
    for before, after in ((chain.first.operand(0), convolution.operand(0)), (convolution.result, chain.last.result)):
        if (before.type.dtype, before.type.quantization) != (after.type.dtype, after.type.quantization):
            return Mismatch(TYPES_DIFFER, {"before": before.name, "after": after.name})
    unit = _unit(chain)
    if unit is None and (chain.entry or chain.exit):
        return Mismatch(LAYOUTS_DIFFER, {**names, "into": convolution.name})
    if unit is not None:
        cut, joined = (
            Blocks(_put(each.shape, unit - 1, 1), _put(each.pairs, unit - 1, (0, 0))) for each in (cut, joined)
        )
    return cut, joined


def _unit(chain: _Chain) -> int | None:
    """The dimension of 1 that the convolution has and the blocks lack; None where both have four dimensions."""
    cut, joined = chain.first.result.type.dims, chain.last.operand(0).type.dims
    data, result = chain.convolution.operand(0).type.dims, chain.convolution.result.type.dims
    return next((u for u in (1, 2) if (_with_unit(cut, u), _with_unit(joined, u)) == (data, result)), None)


def _with_unit(dims: tuple[int, ...], unit: int | None) -> tuple[int, ...]:
    return dims if unit is None else _put(dims, unit, 1)


def _put(items: tuple[Any, ...], index: int, item: object) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index:])


def _margin(cut: Blocks, joined: Blocks, own: tuple[Window, Window], i: int) -> tuple[int, int]:
    """What the dilated convolution pads along one dimension.

    An image of a block pads by whole blocks; what is cropped in front are windows that begin later.
    """
    block, (top, bottom), (first, last) = cut.shape[i], cut.pairs[i], joined.pairs[i]
    return top + block * own[i].pad_before - first, bottom + block * own[i].pad_after - last


def _fit_filter(convolution: Node) -> bool:
    """Zeros times infinity is no number, and outside it is nothing. Beside integers, the range of all floats counts."""
    if not convolution.result.type.dtype.is_float:
        return True
    weights = convolution.operand(1)
    return weights.type.dtype.is_float and weights.constant is not None and bool(np.isfinite(weights.constant).all())


def _fuse(chain: _Chain, fused: _Fused, work: Work) -> None:
    convolution, last, attrs = chain.convolution, chain.last, chain.convolution.attrs
    source, result = chain.first.operand(0), convolution.result
    if chain.entry is not None:
        source = _reshaped(source, fused.before, convolution, chain.entry, work)
    work.rewriter.set_operand(convolution, 0, source)
    found: Any = attrs
    work.rewriter.set_attrs(convolution, replace(found, dilation=fused.dilation, padding=fused.padding))
    work.rewriter.set_type(result, replace(result.type, shape=fused.after))
    if chain.exit is not None:
        result = _reshaped(result, last.result.type.dims, last, chain.exit, work)
    work.rewriter.replace(last, [result], carry_to=[convolution], take_names=True)
    for node in (chain.exit, chain.entry, chain.first):
        if node is not None:
            work.rewriter.add_origin(convolution, node.origin)
            if not node.result.is_read:
                work.rewriter.erase(node)


def _reshaped(value: Value, dims: tuple[int, ...], before: Node, instead: Node, work: Work) -> Value:
    """The value in another shape, by a node that takes the place of another view."""
    type_ = replace(value.type, shape=dims)
    node = work.rewriter.insert(
        before, "reshape", [value], [type_], ReshapeAttrs(dims), name=instead.name, origin=instead.origin
    )
    return node.result


def _listed(pairs: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(pair) for pair in pairs]
