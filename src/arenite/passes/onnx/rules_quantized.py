"""Rules for quantized tensors: what only moves dequantized elements need not be quantized again behind it."""

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.names import is_absent
from arenite.passes.onnx.rules import OUTPUT_NAME, Done, Rule, Site, attrs_of

AGAIN = Reason("quantized-again", "{subject} quantizes what '{inner}' dequantizes by the same steps: both went")
ALREADY = Reason(
    "rounded-already",
    "{subject} and '{inner}' round %{value} to the steps of '{first}', whose elements it only moves: both went",
)
NOT_MOVED = Reason("not-of-dequantized", "{subject} reads %{value}, which holds no dequantized elements, moved or not")
NOT_QUANTIZED = Reason("not-quantized-here", "{subject} reads %{value}, which no QuantizeLinear gives")
OTHER_STEPS = Reason(
    "other-steps", "{subject} has other steps than '{inner}', or those of one of them are computed or of several axes"
)

_MOVES = frozenset(
    f"onnx.{name}"
    for name in (
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather", "Concat", "Split", "Expand"),
        *("Tile", "DepthToSpace", "SpaceToDepth", "Identity", "MaxPool", "Relu"),
    )
)
"""What gives elements that it reads; 0, which Relu gives too, is a step of every quantization."""

_MOST_MOVES = 32
_BYTES = (DType.INT8, DType.UINT8)
_LEAST, _MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max) / 256


def _quantize(node: Node, site: Site) -> Done | Mismatch:
    """QuantizeLinear of what DequantizeLinear gives, with the same scale and zero point.

    It gives back the bytes that were dequantized: a byte less the zero point is an integer of 9 bits, which
    multiplication by the scale and division by it change by less than one part in 2**21.
    """
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.op != "onnx.DequantizeLinear":
        return Mismatch(NOT_MOVED, {"value": middle.name})
    source = inner.operand(0)
    if not _same_steps(inner, node, site):
        return Mismatch(OTHER_STEPS, {"inner": inner.name})
    if not site.work.rewriter.may_replace(node.results[0], source):
        return Mismatch(OUTPUT_NAME, {"output": node.results[0].name})
    heirs = [] if source.producer is None else [source.producer]
    site.work.rewriter.replace(node, [source], carry_to=heirs)
    return Done(AGAIN, {"inner": inner.name})


def _dequantize(node: Node, site: Site) -> Done | Mismatch:
    """DequantizeLinear(QuantizeLinear(moved)) where `moved` holds elements dequantized by the same steps.

    The move stays one of reals: runtimes know the layers around it by the pairs that are left, as onnxruntime does.
    """
    stored = node.operand(0)
    inner = stored.producer
    if inner is None or inner.op != "onnx.QuantizeLinear":
        return Mismatch(NOT_QUANTIZED, {"value": stored.name})
    if not _same_steps(inner, node, site):
        return Mismatch(OTHER_STEPS, {"inner": inner.name})
    moved = inner.operand(0)
    sources = _sources(moved)
    if not sources:
        return Mismatch(NOT_MOVED, {"value": moved.name})
    for source in sources:
        if not _same_steps(source, inner, site):
            return Mismatch(OTHER_STEPS, {"inner": source.name})
    if not site.work.rewriter.may_replace(node.results[0], moved):
        return Mismatch(OUTPUT_NAME, {"output": node.results[0].name})
    heir = moved.producer
    assert heir is not None
    name = moved.name
    site.work.rewriter.replace(node, [moved], carry_to=[heir])
    if not stored.is_read:
        site.work.rewriter.add_origin(heir, inner.origin)
        site.work.rewriter.erase(inner)
    return Done(ALREADY, {"inner": inner.name, "value": name, "first": sources[0].name})


def _sources(value: Value) -> list[Node]:
    """The DequantizeLinear nodes whose elements a value holds, moved; empty when it holds others, or is not moved."""
    found: dict[Node, None] = {}
    pending = [value]
    for count, each in enumerate(pending):
        node = each.producer
        if node is None or count > _MOST_MOVES:
            return []
        if node.op == "onnx.DequantizeLinear" and count:
            found[node] = None
            continue
        moved = _moved_by(node)
        if not moved:
            return []
        pending.extend(moved)
    return list(found)


def _moved_by(node: Node) -> list[Value]:
    """The operands whose elements a node gives; empty when it does anything else."""
    if node.op not in _MOVES:
        return []
    if node.op == "onnx.MaxPool" and (sum(not is_absent(value) for value in node.results) != 1 or _may_be_empty(node)):
        return []
    return list(node.present_operands) if node.op == "onnx.Concat" else [node.operand(0)]


def _may_be_empty(node: Node) -> bool:
    """Whether windows of a MaxPool may hold padding alone, of which the largest is no element."""
    attrs = attrs_of(node)
    kernel, pads = attrs.integers("kernel_shape") or (), attrs.integers("pads") or ()
    wide = any(pad >= size for pad, size in zip(pads, kernel * 2, strict=False))
    dilated = any(step != 1 for step in attrs.integers("dilations") or ())
    return wide or dilated or attrs.integer("ceil_mode", 0) != 0


def _same_steps(first: Node, second: Node, site: Site) -> bool:
    """Whether two of DequantizeLinear and QuantizeLinear, of whole tensors of bytes, have the same steps."""
    plain = all({name for name, _ in attrs_of(node).fields} <= {"axis", "saturate"} for node in (first, second))
    dtypes = [site.fact(_stored(node)).dtype for node in (first, second)]
    if not plain or dtypes[0] not in _BYTES or dtypes[0] != dtypes[1]:
        return False
    scales = [node.operand(1).constant for node in (first, second)]
    if any(scale is None or scale.dtype != np.float32 or scale.size != 1 for scale in scales):
        return False
    one, other = (float(scale.reshape(-1)[0]) for scale in scales if scale is not None)
    if one != other or not _LEAST <= one <= _MOST:
        return False
    zeros = [_zero_point(node) for node in (first, second)]
    return zeros[0] is not None and zeros[0] == zeros[1]


def _stored(node: Node) -> Value:
    """The quantized side of a DequantizeLinear or QuantizeLinear."""
    return node.operand(0) if node.op == "onnx.DequantizeLinear" else node.results[0]


def _zero_point(node: Node) -> int | None:
    """The zero point of a whole tensor; None when it is computed, or there are several."""
    value = node.optional_operand(2)
    if value is None:
        return 0
    if value.constant is None or value.constant.size != 1:
        return None
    return int(value.constant.reshape(-1)[0])


RULES = (
    Rule(frozenset({"QuantizeLinear"}), _quantize, (AGAIN, NOT_MOVED, OTHER_STEPS, OUTPUT_NAME)),
    Rule(
        frozenset({"DequantizeLinear"}),
        _dequantize,
        (ALREADY, NOT_QUANTIZED, NOT_MOVED, OTHER_STEPS, OUTPUT_NAME),
    ),
)
