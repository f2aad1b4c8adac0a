"""Rules for quantized tensors: what only moves elements moves the quantized ones."""

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.names import is_absent
from arenite.passes.onnx.fact import Fact
from arenite.passes.onnx.rules import OUTPUT_NAME, Done, Rule, Site, attrs_of, dies_with

AGAIN = Reason("quantized-again", "{subject} quantizes what '{inner}' dequantizes by the same steps: both went")
MOVED = Reason(
    "moves-quantized", "'{inner}' moves quantized elements, without '{first}' before it and {subject} after it"
)
NOT_MOVED = Reason("not-of-dequantized", "{subject} reads %{value}, which holds no dequantized elements, moved or not")
OTHER_STEPS = Reason(
    "other-steps", "{subject} quantizes by other steps than '{inner}' dequantizes by, or by none that are known"
)
READ_ELSEWHERE = Reason("read-elsewhere", "%{value} is read elsewhere too, so nothing would go")

_SINCE = {
    "onnx.Reshape": 5,
    "onnx.Flatten": 9,
    "onnx.Squeeze": 1,
    "onnx.Unsqueeze": 1,
    "onnx.Transpose": 1,
    "onnx.Slice": 1,
    "onnx.Gather": 1,
    "onnx.Concat": 4,
    "onnx.MaxPool": 12,
}
"""What gives some of the elements that it reads, and the opset from which it takes bytes.

MaxPool is among them since the larger byte stands for the larger number.
"""

_BYTES = (DType.INT8, DType.UINT8)
_LEAST, _MOST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max) / 256


def _quantize(node: Node, site: Site) -> Done | Mismatch:
    """QuantizeLinear of what DequantizeLinear gives, directly or moved, with the same scale and zero point.

    It gives back the bytes that were dequantized: a byte less the zero point is an integer of 8 bits or less, which
    multiplication by the scale and division by it change by less than one part in 2**22.
    """
    middle = node.operand(0)
    inner = middle.producer
    if inner is None or inner.graph is not node.graph:
        return Mismatch(NOT_MOVED, {"value": middle.name})
    if inner.op == "onnx.DequantizeLinear":
        return _directly(node, inner, site)
    moved = _moved_by(inner)
    sources = [value.producer for value in moved]
    dequantized = [source for source in sources if source is not None and source.op == "onnx.DequantizeLinear"]
    takes_bytes = site.opset >= _SINCE.get(inner.op, site.opset + 1)
    if not dequantized or len(dequantized) < len(sources) or not takes_bytes:
        return Mismatch(NOT_MOVED, {"value": middle.name})
    for source in dequantized:
        if not _same_steps(source, node, site):
            return Mismatch(OTHER_STEPS, {"inner": source.name})
    if not dies_with(middle, node):
        return Mismatch(READ_ELSEWHERE, {"value": middle.name})
    if not site.work.rewriter.may_replace(node.results[0], middle):
        return Mismatch(OUTPUT_NAME, {"output": node.results[0].name})
    rewriter = site.work.rewriter
    for index, source in enumerate(dequantized):
        rewriter.set_operand(inner, index, source.operand(0))
        rewriter.add_origin(inner, source.origin)
    fact = Fact(site.fact(node.results[0]).dtype, site.fact(middle).shape)
    site.facts.state(middle, fact)
    rewriter.set_type(middle, fact.type)
    rewriter.replace(node, [middle], carry_to=[inner])
    return Done(MOVED, {"inner": inner.name, "first": dequantized[0].name})


def _directly(node: Node, inner: Node, site: Site) -> Done | Mismatch:
    source = inner.operand(0)
    if not _same_steps(inner, node, site):
        return Mismatch(OTHER_STEPS, {"inner": inner.name})
    if not site.work.rewriter.may_replace(node.results[0], source):
        return Mismatch(OUTPUT_NAME, {"output": node.results[0].name})
    heirs = [] if source.producer is None else [source.producer]
    site.work.rewriter.replace(node, [source], carry_to=heirs)
    return Done(AGAIN, {"inner": inner.name})


def _moved_by(node: Node) -> list[Value]:
    """The operands whose elements a node gives; empty when it does anything else."""
    if node.op not in _SINCE or sum(not is_absent(value) for value in node.results) != 1:
        return []
    return list(node.present_operands) if node.op == "onnx.Concat" else [node.operand(0)]


def _same_steps(first: Node, second: Node, site: Site) -> bool:
    """Whether a DequantizeLinear and a QuantizeLinear of whole tensors of bytes are inverse to each other."""
    plain = all({name for name, _ in attrs_of(node).fields} <= {"axis", "saturate"} for node in (first, second))
    before, after = site.fact(first.operand(0)), site.fact(second.results[0])
    if not plain or before.dtype not in _BYTES or before.dtype != after.dtype:
        return False
    scales = [node.operand(1).constant for node in (first, second)]
    if any(scale is None or scale.dtype != np.float32 or scale.size != 1 for scale in scales):
        return False
    one, other = (float(scale.reshape(-1)[0]) for scale in scales if scale is not None)
    if one != other or not _LEAST <= one <= _MOST:
        return False
    zeros = [_zero_point(node) for node in (first, second)]
    return zeros[0] is not None and zeros[0] == zeros[1]


def _zero_point(node: Node) -> int | None:
    """The zero point of a whole tensor; None when it is computed, or there are several."""
    value = node.optional_operand(2)
    if value is None:
        return 0
    if value.constant is None or value.constant.size != 1:
        return None
    return int(value.constant.reshape(-1)[0])


RULES = (
    Rule(frozenset({"QuantizeLinear"}), _quantize, (AGAIN, MOVED, NOT_MOVED, OTHER_STEPS, READ_ELSEWHERE, OUTPUT_NAME)),
)
