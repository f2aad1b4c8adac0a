"""Operators that choose between elements: Where, Trilu, OneHot."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node, Value
from arenite.ops.constraints import axis_in
from arenite.passes.legalize.framing import bounded
from arenite.passes.legalize.indices import is_natural
from arenite.passes.legalize.orders import as_in_onnx, moved, without_units
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes


def _where(site: Site, node: Node) -> None:
    result = node.results[0]
    rank = site.rank(result)
    order = site.common_order(node.present_operands, rank)
    operands = [site.broadcast(value, rank, order) for value in node.present_operands]
    site.give(result, "select_v2", operands, order=order, dtype=site.dtype(result))


def _trilu(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    dims = site.dims(data)
    if len(dims) < 2:
        raise RefusedError(f"the input must have two dimensions or more, but is {list(dims)}")
    given = site.integers(node, 1, "k") or (0,)
    rows, columns = dims[-2:]
    bounded(rows * columns, "the mask")
    offset = min(max(given[0], -rows), columns)
    is_upper = bool(attributes(node).integer("upper", 1))
    whole = np.ones((rows, columns), np.bool_)
    mask = np.triu(whole, offset) if is_upper else np.tril(whole, offset)
    if mask.all():
        site.relabel(data, result, as_in_onnx(len(dims)))
        return
    core, order = site.lie(data)
    mask = mask.reshape((1,) * (len(dims) - 2) + mask.shape)
    laid = np.ascontiguousarray(mask.transpose(without_units(order)).reshape(moved(mask.shape, order)))
    zero = site.const("zero", np.zeros((), core.type.dtype.numpy))
    site.give(result, "select_v2", [site.const("mask", laid), core, zero], order=order, dtype=core.type.dtype)


def _one_hot(site: Site, node: Node) -> None:
    indices, result = node.operand(0), node.results[0]
    (depth, *rest) = site.integers(node, 1, "depth") or (0,)
    values = site.required_constant(node, 2, "values")
    dtype, rank = site.dtype(result), site.rank(result)
    if site.dtype(indices) not in (DType.INT32, DType.INT64):
        raise RefusedError(f"indices must be int32 or int64, but are {site.dtype(indices)}")
    if values.shape != (2,) or rest:
        raise RefusedError(f"depth must be one number and values two, but values are {list(values.shape)}")
    axis = axis_in(attributes(node).integer("axis", -1), rank)
    dims = list(site.dims(result))
    alone = [dim if place == axis else 1 for place, dim in enumerate(dims)]
    bounded(depth, "the indices")
    core = site.reshaped(site.get(indices), [*dims[:axis], 1, *dims[axis + 1 :]])
    counted: Array = np.arange(depth, dtype=core.type.dtype.numpy).reshape(alone)
    chosen = _equal(site, core, counted)
    if not is_natural(indices):
        # -1 means the last one.
        (chosen,) = site.emit("logical_or", [chosen, _equal(site, core, counted - np.array(depth, counted.dtype))])
    off, on = (site.const(role, np.asarray(value)) for role, value in zip(("off", "on"), values, strict=True))
    site.give(result, "select_v2", [chosen, on, off], dtype=dtype)


def _equal(site: Site, core: Value, numbers: Array) -> Value:
    (found,) = site.emit("equal", [core, site.const("numbers", numbers)], Attrs(), dtype=DType.BOOL)
    return found


RULES = (
    Rule("Where", _where, Flow.THROUGH, "`select_v2`"),
    Rule("Trilu", _trilu, Flow.THROUGH, "`select_v2` by a constant mask"),
    Rule("OneHot", _one_hot, says="`equal` with all indices, `select_v2`"),
)
