"""Operators along one dimension: Concat, Split, CumSum."""

import numpy as np

from arenite._base.text import listed
from arenite.ir.graph import Node
from arenite.ops.constraints import axis_in
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.slicing import SplitAttrs
from arenite.ops.sums import CumsumAttrs
from arenite.passes.legalize.cutting import cut
from arenite.passes.legalize.orders import as_in_onnx
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes


def _concat(site: Site, node: Node) -> None:
    result = node.results[0]
    rank = site.rank(result)
    axis = axis_in(attributes(node).integer("axis"), rank)
    # What holds nothing adds nothing.
    values = [value for value in node.present_operands if site.dims(value)[axis]] or [node.operand(0)]
    if len(values) == 1:
        site.relabel(values[0], result, as_in_onnx(rank))
        return
    order = site.common_order(values, rank)
    operands = [site.get(value, order) for value in values]
    site.give(result, "concatenation", operands, ConcatenationAttrs(order.index(axis)), order=order)


def _split(site: Site, node: Node) -> None:
    data, results = node.operand(0), node.results
    dims = site.dims(data)
    axis = axis_in(attributes(node).integer("axis", 0), len(dims))
    if site.opset >= 13:
        site.integers(node, 1, "split")
    sizes = [site.dims(result)[axis] for result in results]
    if sum(sizes) != dims[axis]:
        raise RefusedError(
            f"the parts must make up the {dims[axis]} elements of dimension {axis}, but are {listed(sizes)}"
        )
    read = [index for index, result in enumerate(results) if result.is_read]
    if len(read) < 2:
        for index in read:
            start = sum(sizes[:index])
            cut(site, data, results[index], {axis: range(start, start + sizes[index])})
        return
    core, order = site.lie(data)
    attrs, where = SplitAttrs(len(results)), site.const("axis", np.array(order.index(axis), np.int32))
    if len(set(sizes)) == 1:
        parts = site.emit("split", [where, core], attrs, dtype=core.type.dtype, n_results=len(results))
    else:
        parts = site.emit("split_v", [core, site.ints("sizes", sizes), where], attrs, n_results=len(results))
    for result, part in zip(results, parts, strict=True):
        site.put(result, part, order)


def _cumsum(site: Site, node: Node) -> None:
    data, attrs = node.operand(0), attributes(node)
    axes = site.integers(node, 1, "axis") or ()
    if len(axes) != 1:
        raise RefusedError(f"axis must be one number, but is {list(axes)}")
    core, order = site.lie(data)
    where = site.const("axis", np.array(order.index(axis_in(axes[0], site.rank(data))), np.int32))
    running = CumsumAttrs(bool(attrs.integer("exclusive", 0)), bool(attrs.integer("reverse", 0)))
    site.give(node.results[0], "cumsum", [core, where], running, order=order)


RULES = (
    Rule("Concat", _concat, Flow.THROUGH, "`concatenation`"),
    Rule("Split", _split, Flow.THROUGH, "`split` or `split_v`"),
    Rule("CumSum", _cumsum, Flow.THROUGH, "`cumsum`"),
)
