"""Resizing: as TFLite's operators where these take the same elements, else by indices.

Where elements of the result lie among those of the input is as ONNX's Resize says (docs/Operators.md), computed in
float32 as onnxruntime computes it (upsample.h).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.text import listed
from arenite.ir.graph import Node, Value
from arenite.ops.resize import ResizeAttrs, between_float, nearest_along
from arenite.passes.legalize.framing import bounded, indexed
from arenite.passes.legalize.orders import UNIT, Order
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes

_IMAGES: dict[int, tuple[Order, ...]] = {
    2: ((UNIT, 0, 1, UNIT),),
    3: ((0, UNIT, 2, 1), (0, UNIT, 1, 2)),
    4: ((0, 2, 3, 1), (0, 1, 2, 3)),
}
"""By rank: the orders in which two dimensions of a value are height and width."""
_ALIGNMENTS = (ResizeAttrs(), ResizeAttrs(half_pixel_centers=True), ResizeAttrs(align_corners=True))
_COORDINATES = (
    "asymmetric",
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "tf_half_pixel_for_nn",
    "half_pixel_symmetric",
)
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
_RESIZED_DTYPES = frozenset({DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16})
_NEAR = 1e-6
"""Two positions among n elements are the same if they are n times this apart."""


@dataclass(frozen=True)
class _Along:
    """How one dimension is resized.

    Attributes:
        axis: of the ONNX value.
        scale: elements of the result for each of the input; as the model says, which may not be wanted / size.
    """

    axis: int
    size: int
    wanted: int
    scale: np.float32


def _resize(site: Site, node: Node) -> None:
    data, result, attrs = node.operand(0), node.results[0], attributes(node)
    mode, coordinates, rounding = _modes(site, node)
    _refuse_shape_policies(node)
    changed = _changed(site, node, coordinates)
    dims = site.dims(result)
    if not changed:
        site.relabel(data, result, range(len(dims)))
        return
    if 0 in (*site.dims(data), *dims):
        raise RefusedError(f"there must be elements, but {list(site.dims(data))} becomes {list(dims)}")
    bounded(max(max(each.wanted, each.size) for each in changed), "positions along one dimension")
    if mode == "nearest":
        _nearest(site, node, changed, coordinates, rounding)
        return
    if mode != "linear":
        raise RefusedError(f"mode must be nearest or linear, but is {mode}")
    if attrs.integer("antialias", 0):
        raise RefusedError("antialias must be 0: a .tflite has no filters for it")
    if site.dtype(data) is not DType.FLOAT32:
        raise RefusedError(f"what is resized linearly must be float32, but is {site.dtype(data)}")
    _linear(site, node, changed, coordinates)


def _modes(site: Site, node: Node) -> tuple[str, str, str]:
    """Mode, where elements lie, and how that is rounded.

    Raises:
        RefusedError: there is no such.
    """
    attrs = attributes(node)
    mode, coordinates, rounding = attrs.text("mode", "nearest"), "asymmetric", "simple"
    if site.opset >= 11:
        coordinates = attrs.text("coordinate_transformation_mode", "half_pixel")
        rounding = attrs.text("nearest_mode", "round_prefer_floor")
    elif node.op == "onnx.Upsample":
        rounding = "floor"
    if coordinates not in _COORDINATES:
        raise RefusedError(
            f"coordinate_transformation_mode must be one of {', '.join(_COORDINATES)}, but is {coordinates}"
        )
    if rounding not in _ROUNDINGS:
        raise RefusedError(f"nearest_mode must be one of {', '.join(_ROUNDINGS[:-1])}, but is {rounding}")
    return mode, coordinates, rounding


def _refuse_shape_policies(node: Node) -> None:
    policy = attributes(node).text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch" and node.optional_operand(3) is not None:
        raise RefusedError(f"keep_aspect_ratio_policy must be stretch, but is {policy}")
    if attributes(node).integer("exclude_outside", 0):
        raise RefusedError("exclude_outside must be 0")


def _changed(site: Site, node: Node, coordinates: str) -> list[_Along]:
    """The dimensions in which elements do not stay where they are.

    Raises:
        RefusedError: what says so is computed, or does not fit, or not everybody reads it alike.
    """
    before, scales = site.dims(node.operand(0)), _scales(site, node)
    if scales is None:
        after = site.dims(node.results[0])
        scales = [np.float32(wanted) / np.float32(max(size, 1)) for size, wanted in zip(before, after, strict=True)]
    else:
        for size, scale in zip(before, scales, strict=True):
            exact = float(scale) * size
            if int(np.float32(size) * scale) != int(exact) or (coordinates == "align_corners" and exact % 1):
                raise RefusedError(
                    f"{size} elements times the scale {scale:g} must be a number that all runtimes agree on"
                )
        after = site.dims(node.results[0])
    found = [_Along(axis, *each) for axis, each in enumerate(zip(before, after, scales, strict=True))]
    return [each for each in found if each.scale != 1]


def _scales(site: Site, node: Node) -> list[np.float32] | None:
    """Elements of the result for each of the input, along each dimension; None where the sizes say so.

    Raises:
        RefusedError: they are computed, or do not fit.
    """
    rank = site.rank(node.operand(0))
    if node.op == "onnx.Upsample" and site.opset < 9:
        given = np.array(attributes(node).numbers("scales") or (), np.float32)
    else:
        index = 1 if site.opset < 11 else 2
        has_scales = node.optional_operand(index) is not None
        given = np.asarray(
            site.required_constant(node, index, "operand 'scales'") if has_scales else (), np.float32
        ).reshape(-1)
    if not given.size:
        return None
    axes = attributes(node).integers("axes")
    places = list(range(rank)) if axes is None else [axis % rank for axis in axes if -rank <= axis < rank]
    if len(set(places)) != given.size or not (np.isfinite(given) & (given > 0)).all():
        raise RefusedError(
            f"scales must be a positive number for each dimension that is resized, but are {listed(given)}"
        )
    scales = [np.float32(1)] * rank
    for axis, scale in zip(places, given, strict=True):
        scales[axis] = scale
    return scales


def _nearest(site: Site, node: Node, changed: list[_Along], coordinates: str, rounding: str) -> None:
    data, result = node.operand(0), node.results[0]
    tables = {each.axis: _nearest_table(each, coordinates, rounding) for each in changed}

    def takes_these(each: _Along, alignment: ResizeAttrs) -> bool:
        return bool((nearest_along(each.size, each.wanted, alignment) == tables[each.axis]).all())

    if site.dtype(data) in _RESIZED_DTYPES and _as_operator(
        site, node, changed, "resize_nearest_neighbor", takes_these
    ):
        return
    core, order = site.lie(data)
    for each in changed:
        name = result.name if each is changed[-1] else ""
        core = indexed(site, core, order.index(each.axis), tables[each.axis], name=name)
    site.put(result, core, order)


def _as_operator(
    site: Site,
    node: Node,
    changed: Sequence[_Along],
    op: str,
    takes_these: Callable[[_Along, ResizeAttrs], bool],
) -> bool:
    """Whether one op says it: height and width alone change, and by some alignment it takes the same elements."""
    result = node.results[0]
    dims = site.dims(result)
    order = _image_order(len(dims), changed)
    fitting = (alignment for alignment in _ALIGNMENTS if all(takes_these(each, alignment) for each in changed))
    alignment = None if order is None else next(fitting, None)
    if order is None or alignment is None:
        return False
    size = site.ints("size", [1 if axis == UNIT else dims[axis] for axis in order[1:3]])
    site.give(result, op, [site.get(node.operand(0), order), size], alignment, order=order)
    return True


def _nearest_table(along: _Along, coordinates: str, rounding: str) -> npt.NDArray[np.int64]:
    """Which element of the input each of the result is."""
    # Halves must stay halves.
    place = _places(along, coordinates, np.float32).astype(np.float64)
    if rounding == "simple":
        rounding = "ceil" if along.scale < 1 else "floor"
    found = _rounded(place, rounding, along)
    if coordinates == "half_pixel_symmetric" and float(along.scale) * along.size != along.wanted:
        near = _NEAR * along.size
        if (_rounded(place - near, rounding, along) != _rounded(place + near, rounding, along)).any():
            raise RefusedError(
                f"resizing {along.size} elements to {along.wanted} by {rounding} takes the place between two of them, "
                "where runtimes do not agree"
            )
    return found


def _rounded(place: npt.NDArray[np.float64], rounding: str, along: _Along) -> npt.NDArray[np.int64]:
    """The element at each place."""
    if rounding == "round_prefer_floor":
        index = np.ceil(place - 0.5)
    elif rounding == "round_prefer_ceil":
        index = np.floor(place + 0.5)
    else:
        index = np.floor(place) if rounding == "floor" else np.ceil(place)
    found: npt.NDArray[np.int64] = index.clip(0, along.size - 1).astype(np.int64)
    return found


def _linear(site: Site, node: Node, changed: list[_Along], coordinates: str) -> None:
    data, result = node.operand(0), node.results[0]
    places = {each.axis: _places(each, coordinates, np.float64).clip(0, each.size - 1) for each in changed}

    def takes_these(each: _Along, alignment: ResizeAttrs) -> bool:
        return _same_places(each, places[each.axis], alignment)

    if _as_operator(site, node, changed, "resize_bilinear", takes_these):
        return
    core, order = site.lie(data)
    for each in changed:
        name = result.name if each is changed[-1] else ""
        core = _between(site, core, order.index(each.axis), each.size, places[each.axis], name)
    site.put(result, core, order)


def _between(site: Site, core: Value, axis: int, size: int, places: npt.NDArray[np.float64], name: str) -> Value:
    """A value with elements between its own, along one dimension."""
    lower = np.floor(places).astype(np.int64)
    share = (places - lower).astype(np.float32).reshape(-1, *[1] * (core.type.rank - axis - 1))
    first = indexed(site, core, axis, lower)
    if not share.any():
        return first
    (step,) = site.emit("sub", [indexed(site, core, axis, np.minimum(lower + 1, size - 1)), first])
    (step,) = site.emit("mul", [step, site.const("shares", share)])
    (core,) = site.emit("add", [first, step], name=name)
    return core


def _places(along: _Along, coordinates: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Where each element of the result lies among those of the input."""
    x = np.arange(along.wanted).astype(dtype)
    size, wanted, half, scale = np.array([along.size, along.wanted, 0.5, along.scale], dtype)
    if coordinates == "asymmetric":
        return np.asarray(x / scale)
    if coordinates == "tf_half_pixel_for_nn":
        return np.asarray((x + half) / scale)
    if coordinates == "align_corners":
        return np.asarray(x * (size - 1) / max(wanted - 1, 1))
    if coordinates == "pytorch_half_pixel" and along.wanted == 1:
        return x
    place = (x + half) / scale - half
    if coordinates == "half_pixel_symmetric":
        place = size / 2 * (1 - wanted / (scale * size)) + place
    return np.asarray(place)


def _same_places(along: _Along, places: npt.NDArray[np.float64], alignment: ResizeAttrs) -> bool:
    between = between_float(along.size, along.wanted, alignment)
    theirs = (between.lower + between.fraction.astype(np.float64)).clip(0, along.size - 1)
    return bool(np.abs(theirs - places).max() <= _NEAR * along.size)


def _image_order(rank: int, changed: Sequence[_Along]) -> Order | None:
    """An order in which only height and width change; None if there is none."""
    axes = {each.axis for each in changed}
    return next((order for order in _IMAGES.get(rank, ()) if axes <= set(order[1:3])), None)


RULES = (
    Rule(
        "Resize",
        _resize,
        Flow.PLANE,
        "`resize_nearest_neighbor`, `resize_bilinear`; where these take other elements, `gather` and arithmetic",
    ),
    Rule("Upsample", _resize, Flow.PLANE, "as Resize"),
)
