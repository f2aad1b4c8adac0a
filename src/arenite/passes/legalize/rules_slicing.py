"""Slice: parts of a value, forwards or backwards."""

from collections.abc import Sequence

from arenite.ir.graph import Node
from arenite.ops.constraints import axis_in
from arenite.ops.onnx.numpy_movement import slice_bounds
from arenite.passes.legalize.cutting import cut
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes

_BOUNDS_ARE_OPERANDS = 10
"""The opset from which on starts, ends and axes are operands, and there are steps."""


def _slice(site: Site, node: Node) -> None:
    starts, ends, axes, steps = _bounds(site, node)
    data = node.operand(0)
    dims = site.dims(data)
    axes = tuple(range(len(starts))) if axes is None else tuple(axis_in(axis, len(dims)) for axis in axes)
    steps = (1,) * len(starts) if steps is None else steps
    if len({len(starts), len(ends), len(axes), len(steps)}) != 1 or len(starts) > len(dims):
        raise RefusedError(
            f"there must be as many starts, ends, axes and steps, but they are {list(starts)}, {list(ends)}, "
            f"{list(axes)} and {list(steps)}"
        )
    if len(set(axes)) != len(axes):
        raise RefusedError(f"axes must differ, but are {list(axes)}")
    parts = {
        axis: range(dims[axis])[slice_bounds(start, end, step, dims[axis])]
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True)
    }
    cut(site, data, node.results[0], parts)


def _bounds(site: Site, node: Node) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None, Sequence[int] | None]:
    if site.opset < _BOUNDS_ARE_OPERANDS:
        given = attributes(node)
        return given.integers("starts") or (), given.integers("ends") or (), given.integers("axes"), None
    starts, ends = site.integers(node, 1, "starts"), site.integers(node, 2, "ends")
    return starts or (), ends or (), site.integers(node, 3, "axes"), site.integers(node, 4, "steps")


RULES = (Rule("Slice", _slice, Flow.THROUGH, "`slice` or `strided_slice`"),)
