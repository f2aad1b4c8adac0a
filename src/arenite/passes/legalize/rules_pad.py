"""Padding: with a value, with what is near, or with less than nothing."""

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Node, Value
from arenite.ops.spatial import MirrorPadAttrs, MirrorPadMode
from arenite.passes.legalize.framing import bounded, framed, indexed
from arenite.passes.legalize.orders import UNIT
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes

_Pairs = list[tuple[int, int]]
_MODES = ("constant", "reflect", "edge", "wrap")


def _pad(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    pairs, mode = _amounts(site, node), attributes(node).text("mode", "constant")
    if mode not in _MODES:
        raise RefusedError(f"mode must be {', '.join(_MODES)}, but is '{mode}'")
    core, order = site.lie(data)
    laid = [(0, 0) if axis == UNIT else pairs[axis] for axis in order]
    if not any(map(any, laid)):
        site.put(result, core, order)
        return
    if mode == "constant":
        framed_ = framed(site, core, laid, _value(site, node), name=result.name)
        site.put(result, framed_, order)
        return
    # What lies beyond a border that is cut off counts as if it never was.
    cut = [(min(before, 0), min(after, 0)) for before, after in laid]
    core = framed(site, core, cut)
    added = [(max(before, 0), max(after, 0)) for before, after in laid]
    site.put(result, _surrounded(site, core, added, mode, result.name), order)


def _amounts(site: Site, node: Node) -> _Pairs:
    """How much comes before and after each dimension.

    Raises:
        RefusedError: it is computed, or does not fit.
    """
    rank = site.rank(node.operand(0))
    pads = attributes(node).integers("pads") if site.opset < 11 else site.integers(node, 1, "operand 'pads'")
    axes = site.integers(node, 3, "operand 'axes'") if site.opset >= 18 else None
    axes = tuple(range(rank)) if axes is None else axes
    places = [axis % rank for axis in axes if -rank <= axis < rank]
    if len(places) != len(axes) or len(set(places)) != len(places):
        raise RefusedError(f"axes must name some of {rank} dimensions once each, but are {list(axes)}")
    if pads is None or len(pads) != 2 * len(places):
        raise RefusedError(f"pads must be {2 * len(places)} numbers, but are {list(pads or ())}")
    pairs = [(0, 0)] * rank
    for axis, before, after in zip(places, pads, pads[len(places) :], strict=False):
        pairs[axis] = (before, after)
    return pairs


def _value(site: Site, node: Node) -> Value | None:
    """What is added, None for 0.

    Raises:
        RefusedError: it is not one element of the input's type.
    """
    dtype = site.dtype(node.operand(0))
    if site.opset < 11:
        number = attributes(node).number("value", 0.0)
        return site.const("value", np.array([number], dtype.numpy)) if number else None
    given = node.optional_operand(2)
    if given is None:
        return None
    if site.dtype(given) is not dtype or np.prod(site.dims(given)) != 1:
        raise RefusedError(f"constant_value must be one element of {dtype}, but is {given.type}")
    array = site.constant(given)
    return None if array is not None and not array.reshape(-1)[0] else site.get(given)


def _surrounded(site: Site, core: Value, added: _Pairs, mode: str, name: str) -> Value:
    """A value with elements of its own around it."""
    dims = core.type.dims
    padded = [axis for axis, pair in enumerate(added) if any(pair)]
    if any(dims[axis] == 0 for axis in padded):
        raise RefusedError(f"mode {mode} must have elements to repeat, but there are none in {list(dims)}")
    if mode == "reflect" and padded and all(max(added[axis]) < dims[axis] for axis in padded):
        operands = [core, site.ints("paddings", added)]
        (core,) = site.emit("mirror_pad", operands, MirrorPadAttrs(MirrorPadMode.REFLECT), name=name)
        return core
    for axis in padded:
        bounded(sum(added[axis]) + dims[axis], "the elements along one dimension")
        core = indexed(
            site, core, axis, _beyond(dims[axis], added[axis], mode), name=name if axis == padded[-1] else ""
        )
    return core


def _beyond(size: int, pair: tuple[int, int], mode: str) -> npt.NDArray[np.int64]:
    """Which element stands at each place along a dimension of `size` elements."""
    places = np.arange(-pair[0], size + pair[1], dtype=np.int64)
    if mode == "edge":
        return places.clip(0, size - 1)
    if mode == "wrap" or size == 1:
        return places % size
    period = 2 * (size - 1)
    within = places % period
    mirrored: npt.NDArray[np.int64] = np.minimum(within, period - within)
    return mirrored


RULES = (Rule("Pad", _pad, Flow.THROUGH, "`pad`, `padv2`, `mirror_pad`, `gather`; `slice` where it is negative"),)
