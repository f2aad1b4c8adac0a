"""Operators that repeat a value (Expand, Tile), or follow from shapes (Shape, Size, ConstantOfShape, EyeLike)."""

import math
from collections.abc import Callable

import numpy as np

from arenite.ir.graph import Array, Node, Value
from arenite.ir.verifier import MAX_NBYTES
from arenite.passes.legalize.framing import bounded
from arenite.passes.legalize.orders import as_in_onnx, moved
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes


def _expand(site: Site, node: Node) -> None:
    site.integers(node, 1, "shape")
    _broadcast(site, node.operand(0), node.results[0])


def _broadcast(site: Site, data: Value, result: Value) -> None:
    dims = site.dims(result)
    if site.dims(data) == dims:
        site.relabel(data, result, as_in_onnx(len(dims)))
        return
    order = site.common_order([data], len(dims))
    core, wanted = site.broadcast(data, len(dims), order), moved(dims, order)
    if math.prod(core.type.dims) == math.prod(wanted):
        site.put(result, site.reshaped(core, wanted, name=result.name), order)
    else:
        site.give(result, "broadcast_to", [core, site.ints("shape", wanted)], order=order)


def _tile(site: Site, node: Node) -> None:
    repeats = site.integers(node, 1, "repeats") or ()
    data, result = node.operand(0), node.results[0]
    dims = site.dims(data)
    if len(repeats) != len(dims) or min(repeats, default=0) < 0:
        raise RefusedError(f"repeats must be {len(dims)} numbers that are not negative, but are {list(repeats)}")
    if all(dim == 1 or times == 1 for dim, times in zip(dims, repeats, strict=True)):
        _broadcast(site, data, result)
        return
    core, order = site.lie(data)
    site.give(result, "tile", [core, site.ints("multiples", moved(repeats, order))], order=order)


def _known(array_of: Callable[[Site, Node], Array]) -> Callable[[Site, Node], None]:
    """What follows from shapes alone."""

    def apply(site: Site, node: Node) -> None:
        site.dtype(node.results[0])
        site.fix(node.results[0], array_of(site, node))

    return apply


def _shape(site: Site, node: Node) -> Array:
    dims, attrs = site.dims(node.operand(0)), attributes(node)
    end = attrs.integer("end", len(dims))
    return np.array(dims[_within(attrs.integer("start", 0), len(dims)) : _within(end, len(dims))], np.int64)


def _within(index: int, rank: int) -> int:
    return min(max(index + rank if index < 0 else index, 0), rank)


def _size(site: Site, node: Node) -> Array:
    return np.array(math.prod(site.dims(node.operand(0))), np.int64)


def _constant_of_shape(site: Site, node: Node) -> Array:
    site.integers(node, 0, "the shape")
    value = attributes(node).tensor("value")
    one = np.zeros((), np.float32) if value is None else np.asarray(value)
    if one.size != 1:
        raise RefusedError(f"value must be one number, but is {list(one.shape)}")
    dims = site.dims(node.results[0])
    if math.prod(dims) * one.itemsize > MAX_NBYTES:
        raise RefusedError(f"{one.dtype}{list(dims)} is too large: at most {MAX_NBYTES} bytes are possible")
    return np.broadcast_to(one.reshape(()), dims)


def _eye_like(site: Site, node: Node) -> Array:
    dims = site.dims(node.results[0])
    if len(dims) != 2:
        raise RefusedError(f"the result must be a matrix, but is {list(dims)}")
    rows, columns = dims
    bounded(rows * columns, "the matrix")
    offset = min(max(attributes(node).integer("k", 0), -rows), columns)
    return np.eye(rows, columns, offset, site.dtype(node.results[0]).numpy)


RULES = (
    Rule("Expand", _expand, Flow.THROUGH, "`broadcast_to`"),
    Rule("Tile", _tile, Flow.THROUGH, "`tile`"),
    Rule("Shape", _known(_shape), says="a constant"),
    Rule("Size", _known(_size), says="a constant"),
    Rule("ConstantOfShape", _known(_constant_of_shape), says="a constant"),
    Rule("EyeLike", _known(_eye_like), says="a constant"),
)
