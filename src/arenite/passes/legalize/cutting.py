"""Parts of a value, taken in the order in which it lies."""

from collections.abc import Mapping

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Value
from arenite.ops.slicing import StridedSliceAttrs
from arenite.passes.legalize.orders import as_in_onnx
from arenite.passes.legalize.site import Site


def cut(site: Site, data: Value, result: Value, parts: Mapping[int, range]) -> None:
    """Let a result be part of a value of as many dimensions.

    Args:
        site: where.
        data: of the ONNX model.
        result: of the ONNX model.
        parts: by dimension, as ONNX counts them: the elements that are taken, in this sequence; the others whole.
    """
    dims = site.dims(data)
    taken = {axis: _plain(part) for axis, part in parts.items() if part != range(dims[axis])}
    if not taken:
        site.relabel(data, result, as_in_onnx(len(dims)))
        return
    core, order = site.lie(data)
    ranges = [taken.get(axis, range(size)) for axis, size in zip(order, core.type.dims, strict=True)]
    begin = site.ints("begin", [part.start for part in ranges])
    if all(part.step == 1 for part in ranges):
        size = site.ints("size", [len(part) for part in ranges])
        site.give(result, "slice", [core, begin, size], Attrs(), order=order)
        return
    # Before the first element there is no index: it would count from the end.
    open_ends = sum(1 << place for place, part in enumerate(ranges) if part.stop < 0)
    end = site.ints("end", [max(part.stop, 0) for part in ranges])
    strides = site.ints("strides", [part.step for part in ranges])
    attrs = StridedSliceAttrs(end_mask=open_ends)
    site.give(result, "strided_slice", [core, begin, end, strides], attrs, order=order)


def _plain(part: range) -> range:
    """The same elements, where they are none or one, by steps of 1."""
    if not part:
        return range(0)
    return range(part[0], part[0] + 1) if len(part) == 1 else part
