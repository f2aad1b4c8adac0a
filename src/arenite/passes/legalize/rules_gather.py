"""Operators that take elements by index, or put them there: Gather and Scatter, and their kin."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node, Value
from arenite.ops.constraints import axis_in
from arenite.ops.gather import GatherAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.slicing import StridedSliceAttrs
from arenite.passes.legalize.cutting import cut
from arenite.passes.legalize.indices import from_front, laid_from_front
from arenite.passes.legalize.orders import Order, dropped, moved, without_units
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.reshaping import gathered
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes

Places = npt.NDArray[np.int64]


def _gather(site: Site, node: Node) -> None:
    data, indices, result = node.operand(0), node.operand(1), node.results[0]
    dims = site.dims(data)
    axis = axis_in(attributes(node).integer("axis", 0), len(dims))
    given = site.constant(indices)
    if given is None:
        core, order = site.lie(data)
        places = laid_from_front(site, indices, (dims[axis],))
    else:
        found = from_front(given, (dims[axis],))
        if found.ndim == 0:
            _one(site, data, result, axis, int(found))
            return
        if found.ndim == 1 and found.size and (np.diff(found) == 1).all():
            cut(site, data, result, {axis: range(int(found[0]), int(found[-1]) + 1)})
            return
        core, order = site.lie(data)
        places = site.const("indices", found.astype(np.int32))
    attrs = GatherAttrs(order.index(axis))
    site.give(result, "gather", [core, places], attrs, order=gathered(order, axis, site.rank(indices)))


def _one(site: Site, data: Value, result: Value, axis: int, index: int) -> None:
    """One element of a dimension, which goes."""
    core, order = site.lie(data)
    left = dropped(order, (axis,))
    place, dims = order.index(axis), core.type.dims
    if dims[place] == 1:
        site.put(result, site.reshaped(core, moved(site.dims(result), left), name=result.name), left)
        return
    whole = (1 << len(dims)) - 1 - (1 << place)
    attrs = StridedSliceAttrs(begin_mask=whole, end_mask=whole, shrink_axis_mask=1 << place)
    begin = [index if each == place else 0 for each in range(len(dims))]
    end = [index + 1 if each == place else dim for each, dim in enumerate(dims)]
    bounds = [site.ints("begin", begin), site.ints("end", end), site.ints("strides", [1] * len(dims))]
    site.give(result, "strided_slice", [core, *bounds], attrs, order=left)


def _gather_elements(site: Site, node: Node) -> None:
    data, indices = node.operand(0), node.operand(1)
    dims = site.dims(data)
    axis = axis_in(attributes(node).integer("axis", 0), len(dims))
    found = from_front(site.required_constant(node, 1, "indices"), (dims[axis],))
    core, order = site.lie(data)
    places = _laid_places(dims, order)[_grid(found, axis, dims, site.dims(indices))]
    _pick(site, [core], places, node.results[0], order)


def _scatter_elements(site: Site, node: Node) -> None:
    _refuse_reduction(node)
    dims, updated = site.dims(node.operand(0)), site.dims(node.operand(2))
    axis = axis_in(attributes(node).integer("axis", 0), len(dims))
    found = from_front(site.required_constant(node, 1, "indices"), (dims[axis],))
    if found.shape != updated:
        raise RefusedError(f"indices and updates must be alike, but are {list(found.shape)} and {list(updated)}")
    _put(site, node, _grid(found, axis, dims, updated))


def _scatter_nd(site: Site, node: Node) -> None:
    _refuse_reduction(node)
    _put(site, node, _vectors(site.required_constant(node, 1, "indices"), site.dims(node.operand(0))))


def _gather_nd(site: Site, node: Node) -> None:
    data, indices, result = node.operand(0), node.operand(1), node.results[0]
    batch, dims = attributes(node).integer("batch_dims", 0), site.dims(data)
    depth = (site.dims(indices) or (0,))[-1]
    if not 0 <= batch < site.rank(indices) or not 1 <= depth <= len(dims) - batch:
        raise RefusedError(f"indices of {depth} dimensions in batches of {batch} do not fit {list(dims)}")
    given = site.constant(indices)
    if given is not None:
        found = from_front(given, dims[batch : batch + depth])
        # The places of the batches are indices like the others.
        batches = np.moveaxis(np.indices(found.shape[:-1]), 0, -1)[..., :batch]
        places = site.const("indices", np.concatenate([batches, found], axis=-1).astype(np.int32))
    elif batch:
        raise RefusedError(f"with batch_dims ({batch}), indices must be constant, but are computed")
    else:
        places = laid_from_front(site, indices, dims[:depth])
    site.give(result, "gather_nd", [site.get(data), places], Attrs())


def _refuse_reduction(node: Node) -> None:
    reduction = attributes(node).text("reduction", "none")
    if reduction != "none":
        raise RefusedError(f"reduction must be none, but is {reduction}")


def _grid(found: Places, axis: int, dims: Sequence[int], shape: Sequence[int]) -> tuple[Places, ...]:
    """Of each index of one dimension, the place in the whole."""
    if len(shape) != len(dims) or any(a > b for i, (a, b) in enumerate(zip(shape, dims, strict=True)) if i != axis):
        raise RefusedError(f"indices must fit into {list(dims)}, but are {list(shape)}")
    grid = list(np.indices(tuple(shape)))
    grid[axis] = found
    return tuple(grid)


def _vectors(array: Array, dims: Sequence[int]) -> tuple[Places, ...]:
    """Of index vectors in the last dimension, the places in each dimension."""
    depth = array.shape[-1] if array.ndim else 0
    if not 1 <= depth <= len(dims):
        raise RefusedError(f"indices of {depth} dimensions do not fit {list(dims)}")
    return tuple(np.moveaxis(from_front(array, dims[:depth]), -1, 0))


def _put(site: Site, node: Node, where: tuple[Places, ...]) -> None:
    """A copy of operand 0 with operand 2 in some places: all that there is behind each other, and each taken once."""
    data, updates = node.operand(0), node.operand(2)
    dims, (core, order), (new, new_order) = site.dims(data), site.lie(data), site.lie(updates)
    places = _laid_places(dims, order).copy()
    if places[where].shape != site.dims(updates):
        raise RefusedError(f"updates must be {list(places[where].shape)}, but are {list(site.dims(updates))}")
    places[where] = _laid_places(site.dims(updates), new_order) + places.size
    _pick(site, [core, new], places, node.results[0], order)


def _laid_places(dims: Sequence[int], order: Order) -> Places:
    """Of each element of a value, its place in a tensor that lies in an order."""
    lying = without_units(order)
    places: Places = np.arange(np.prod(dims, dtype=np.int64)).reshape([dims[axis] for axis in lying])
    return places.transpose([lying.index(axis) for axis in range(len(dims))])


def _pick(site: Site, sources: Sequence[Value], places: Places, result: Value, order: Order) -> None:
    """Let a result be elements from values of the core graph, by their places in them, one behind the other."""
    flat = [site.reshaped(core, (core.type.nelem,)) for core in sources]
    if len(flat) > 1:
        flat = list(site.emit("concatenation", flat, ConcatenationAttrs(0)))
    order = without_units(order)
    indices = site.const("places", np.ascontiguousarray(places.transpose(order)).astype(np.int32))
    site.give(result, "gather", [flat[0], indices], GatherAttrs(0), order=order)


RULES = (
    Rule("Gather", _gather, Flow.THROUGH, "`gather`; by neighbours `slice` or `strided_slice`"),
    Rule("GatherElements", _gather_elements, Flow.THROUGH, "`gather` of a flat value, by constant indices"),
    Rule("GatherND", _gather_nd, says="`gather_nd`"),
    Rule("Scatter", _scatter_elements, Flow.THROUGH, "as ScatterElements"),
    Rule(
        "ScatterElements",
        _scatter_elements,
        Flow.THROUGH,
        "`gather` from operand and updates behind each other, by constant indices",
    ),
    Rule("ScatterND", _scatter_nd, Flow.THROUGH, "as ScatterElements"),
)
