"""Rules for slices that together take a tensor apart."""

from arenite._base.remarks import Reason
from arenite.ir.graph import Node
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.onnx.rules import Done, Rule, Site
from arenite.passes.onnx.rules_movement import cuts_of

SPLIT = Reason("one-split", "{subject} and {count} other Slice take %{value} apart, so one Split does")
NOT_APART = Reason("not-apart", "{subject} and its like do not take %{value} apart without gaps, all known")


def _slices(node: Node, site: Site) -> Done | Mismatch:
    source = node.operand(0)
    dims = site.fact(source).dims
    beside = [use.node for use in source.uses if use.index == 0 and use.node.op == node.op]
    refused = Mismatch(NOT_APART, {"value": source.name})
    if dims is None or any(each.graph is not node.graph for each in beside):
        return refused
    found = [_part(each, dims, site) for each in beside]
    parts = [part for part in found if part is not None]
    axes = {axis for axis, _, _ in parts}
    if len(parts) != len(found) or len(axes) != 1:
        return refused
    (axis,) = axes
    order = sorted(range(len(parts)), key=lambda index: parts[index][1])
    reached = 0
    for index in order:
        if parts[index][1] != reached or parts[index][2] <= reached:
            return refused
        reached = parts[index][2]
    if reached != dims[axis]:
        return refused
    _split(node, [beside[index] for index in order], axis, [parts[index][2] - parts[index][1] for index in order], site)
    return Done(SPLIT, {"count": len(beside) - 1, "value": source.name})


def _part(node: Node, dims: tuple[int, ...], site: Site) -> tuple[int, int, int] | None:
    """The dimension that a Slice cuts, and from where to where; None when it cuts none or several."""
    cuts = cuts_of(node, site)
    if cuts is None:
        return None
    taken = {axis: range(dims[axis])[cut.slice(dims[axis])] for axis, cut in cuts.items()}
    real = [axis for axis, part in taken.items() if part != range(dims[axis])]
    if len(real) != 1 or taken[real[0]].step != 1:
        return None
    return real[0], taken[real[0]].start, taken[real[0]].stop


def _split(node: Node, slices: list[Node], axis: int, sizes: list[int], site: Site) -> None:
    """Put a Split before the first of the slices, and let its results take their places."""
    rewriter = site.work.rewriter
    source = node.operand(0)
    operands, attrs = [source], OnnxAttrs.of(axis=axis)
    if site.opset >= 13:
        operands.append(site.integers(f"{node.name}_sizes", sizes))
    else:
        attrs = attrs.with_value("split", tuple(sizes))
    first = next(each for each in site.work.graph.nodes if each in slices)
    types = [each.result.type for each in slices]
    origin = [name for each in slices for name in each.origin]
    split = rewriter.insert(first, "onnx.Split", operands, types, attrs, name=f"{node.name}_split", origin=origin)
    for each, result in zip(slices, split.results, strict=True):
        site.facts.state(result, site.facts.of(each.result))
        rewriter.replace_value(each.result, result, take_name=True)
        rewriter.erase(each)


RULES = (Rule(frozenset({"Slice"}), _slices, (SPLIT, NOT_APART)),)
