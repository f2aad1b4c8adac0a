"""Windows that neither SAME nor VALID places: in a file, a PAD or PADV2 before a VALID operator says the same."""

from dataclasses import replace
from typing import Any

import numpy as np

from arenite.ir.attrs import Attrs, Margins, Padding
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import TensorType


def with_pad_operators(graph: Graph) -> Graph:
    """The graph itself when no node pads explicitly, else a copy with operators that do it.

    Average pools are left as they are: what they pad does not count, which no operator before them can say.
    """
    if not any(_margins(node) for node in graph.nodes):
        return graph
    copy = clone_graph(graph)
    rewriter = Rewriter(copy)
    for node in list(copy.nodes):
        margins = _margins(node)
        if margins is not None:
            _separate(rewriter, node, margins)
    return copy


def _margins(node: Node) -> Margins | None:
    padding = getattr(node.attrs, "padding", None)
    return padding if isinstance(padding, tuple) and node.op != "average_pool2d" else None


def _separate(rewriter: Rewriter, node: Node, margins: Margins) -> None:
    source = node.operand(0)
    pairs = ((0, 0), *margins, (0, 0))
    dims = tuple(before + dim + after for dim, (before, after) in zip(source.type.dims, pairs, strict=True))
    padded = TensorType(source.type.dtype, dims, source.type.quantization)
    operands = [source, rewriter.constant(f"{node.name}/paddings", np.array(pairs, np.int32))]
    if node.op == "max_pool2d":
        # Zeros could win: the smallest number there is cannot.
        least = np.array(source.type.dtype.limits[0] if source.type.dtype.is_integer else -np.inf)
        type_ = TensorType(source.type.dtype, (1,), source.type.quantization)
        value = least.astype(source.type.dtype.numpy).reshape(1)
        operands.append(rewriter.constant(f"{node.name}/least", value, type_))
    op = "pad" if len(operands) == 2 else "padv2"
    pad = rewriter.insert(node, op, operands, [padded], Attrs(), name=f"{node.name}/{op}", origin=node.origin)
    rewriter.set_operand(node, 0, pad.result)
    attrs: Any = node.attrs
    rewriter.set_attrs(node, replace(attrs, padding=Padding.VALID))
