"""Facts of operators that move elements, where shapes are all that is followed."""

import math

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpError
from arenite.passes.onnx.expr import Expr, add, floordiv, mul
from arenite.passes.onnx.fact import Asked, Fact, Infer
from arenite.passes.onnx.shapes import place, places, shape_of, unknown_dims, with_dim


def _transpose(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    perm = asked.attrs.integers("perm")
    order = tuple(reversed(range(len(shape)))) if perm is None else places(perm, len(shape))
    if sorted(order) != list(range(len(shape))):
        raise OpError("perm is no permutation")
    kept = data.elements if len(shape) < 2 else None
    return [Fact(data.dtype, tuple(shape[axis] for axis in order), kept)]


def _tile(asked: Asked) -> list[Fact]:
    data, repeats = asked.operand(0), asked.operand(1).elements
    shape = shape_of(data)
    if repeats is None or len(repeats) != len(shape):
        return [Fact(data.dtype, unknown_dims(asked, len(shape)))]
    dims = tuple(asked.fresh() if times is None else mul(dim, times) for dim, times in zip(shape, repeats, strict=True))
    return [Fact(data.dtype, dims)]


def _split(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axis = place(asked.attrs.integer("axis", 0), len(shape))
    sizes = asked.list_of("split", 1, 13)
    count = len(asked.node.results)
    total = shape[axis]
    found: list[Expr]
    if sizes is not None:
        found = list(sizes)
    elif isinstance(total, int):
        parts = asked.attrs.integer("num_outputs", count) if asked.opset >= 18 else count
        if parts < 1:
            raise OpError("nothing to split into")
        step = -(-total // parts)
        found = [min(step, max(total - step * index, 0)) for index in range(count)]
    else:
        found = [asked.fresh() for _ in range(count)]
    return [Fact(data.dtype, with_dim(shape, axis, size)) for size in found[:count]]


def _pad(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    pads = asked.list_of("pads", 1, 11)
    axes = asked.list_of("axes", 3, 11) if asked.opset >= 18 else None
    where = tuple(range(len(shape))) if axes is None else places(axes, len(shape))
    if pads is None or len(pads) != 2 * len(where):
        raise OpError("pads do not fit")
    for axis, before, after in zip(where, pads, pads[len(where) :], strict=False):
        dim = shape[axis]
        if isinstance(dim, int) and dim + min(before, 0) + min(after, 0) < 0:
            raise OpError("more is cut than there is")
        shape = with_dim(shape, axis, add(dim, before + after))
    return [Fact(data.dtype, shape)]


def _gather_elements(asked: Asked) -> list[Fact]:
    return [Fact(asked.operand(0).dtype, asked.operand(1).shape)]


def _gather_nd(asked: Asked) -> list[Fact]:
    data, indices = shape_of(asked.operand(0)), shape_of(asked.operand(1))
    batch = asked.attrs.integer("batch_dims", 0)
    depth = indices[-1] if indices else None
    if not isinstance(depth, int):
        raise OpError("the rank is not known")
    return [Fact(asked.operand(0).dtype, (*indices[:-1], *data[batch + depth :]))]


def _depth_to_space(asked: Asked) -> list[Fact]:
    n, c, h, w = _four(asked)
    block = asked.attrs.integer("blocksize")
    depth = floordiv(c, block * block)
    return [Fact(asked.operand(0).dtype, (n, asked.fresh() if depth is None else depth, mul(h, block), mul(w, block)))]


def _space_to_depth(asked: Asked) -> list[Fact]:
    n, c, h, w = _four(asked)
    block = asked.attrs.integer("blocksize")
    high, wide = floordiv(h, block), floordiv(w, block)
    dims = (n, mul(c, block * block), high, wide)
    return [Fact(asked.operand(0).dtype, tuple(asked.fresh() if dim is None else dim for dim in dims))]


def _four(asked: Asked) -> tuple[Expr, Expr, Expr, Expr]:
    shape = shape_of(asked.operand(0))
    if len(shape) != 4:
        raise OpError("needs four dimensions")
    return shape[0], shape[1], shape[2], shape[3]


def _nonzero(asked: Asked) -> list[Fact]:
    # Of a number without dimensions, runtimes do not agree.
    rank = len(shape_of(asked.operand(0)))
    return [Fact(DType.INT64, (rank or asked.fresh(), asked.fresh()))]


def _one_hot(asked: Asked) -> list[Fact]:
    where, depth = shape_of(asked.operand(0)), asked.operand(1).elements
    axis = asked.attrs.integer("axis", -1)
    at = place(axis, len(where) + 1)
    size = depth[0] if depth else None
    return [Fact(asked.operand(2).dtype, (*where[:at], asked.fresh() if size is None else size, *where[at:]))]


def _top_k(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    axis = place(asked.attrs.integer("axis", -1), len(shape))
    count: Expr | None = None
    if asked.opset < 10:
        count = asked.attrs.integer("k")
    elif elements := asked.operand(1).elements:
        count = elements[0]
    result = with_dim(shape, axis, asked.fresh() if count is None else count)
    return [Fact(data.dtype, result), Fact(DType.INT64, result)]


def _resize(asked: Asked) -> list[Fact]:
    data = asked.operand(0)
    shape = shape_of(data)
    rank = len(shape)
    axes = asked.attrs.integers("axes")
    where = tuple(range(rank)) if axes is None else places(axes, rank)
    found: list[Expr | None] = list(shape)
    sizes = asked.operand(3).elements if asked.opset >= 11 else None
    if sizes is not None and len(sizes) == len(where):
        if asked.attrs.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            return [Fact(data.dtype, unknown_dims(asked, rank))]
        for axis, size in zip(where, sizes, strict=True):
            found[axis] = size
        return [Fact(data.dtype, tuple(asked.fresh() if dim is None else dim for dim in found))]
    scales = _scales(asked)
    if scales is not None and data.dims is not None and len(scales) == len(where):
        for axis, scale in zip(where, scales, strict=True):
            found[axis] = _scaled(data.dims[axis], scale)
        return [Fact(data.dtype, tuple(asked.fresh() if dim is None else dim for dim in found))]
    return [Fact(data.dtype, unknown_dims(asked, rank))]


def _scales(asked: Asked) -> tuple[float, ...] | None:
    if asked.node.op == "onnx.Upsample" and asked.opset < 9:
        return asked.attrs.numbers("scales")
    scales = asked.constant(1 if asked.opset < 11 else 2)
    return None if scales is None else tuple(float(scale) for scale in scales.reshape(-1))


def _scaled(dim: int, scale: float) -> int | None:
    """The standard's floor(size * scale); None where runtimes, which compute it in float32, get another number."""
    size = scale * dim
    if not math.isfinite(size):
        return None
    return int(size) if int(np.float32(scale) * np.float32(dim)) == int(size) else None


RULES: dict[str, Infer] = {
    "Transpose": _transpose,
    "Tile": _tile,
    "Split": _split,
    "Pad": _pad,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "NonZero": _nonzero,
    "OneHot": _one_hot,
    "TopK": _top_k,
    "Resize": _resize,
    "Upsample": _resize,
}
