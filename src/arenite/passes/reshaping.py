"""A reshape in the place of another node: the same bytes in the shape of its result."""

from collections.abc import Sequence

import numpy as np

from arenite.ir.graph import Node, Value
from arenite.ir.types import TensorType
from arenite.ops.movement import ReshapeAttrs
from arenite.passes.base import Work


def reshaped(
    before: Node, source: Value, type_: TensorType, work: Work, *, origin: Sequence[str] | None = None
) -> Value:
    """`source` with a static type, by a reshape before a node, of its name and, unless one is given, its origin."""
    shape = work.rewriter.constant(f"{before.name}/shape", np.array(type_.dims, np.int32))
    attrs, names = ReshapeAttrs(type_.dims), before.origin if origin is None else origin
    made = work.rewriter.insert(before, "reshape", [source, shape], [type_], attrs, name=before.name, origin=names)
    return made.result


def reshape_instead(node: Node, source: Value, work: Work, *, origin: Sequence[str] | None = None) -> None:
    """Put a reshape of `source` in a node's place; it takes the names of the node and its result."""
    result = reshaped(node, source, node.result.type, work, origin=origin)
    work.rewriter.replace(node, [result], take_names=True)
