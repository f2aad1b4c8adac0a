"""Elements that come around a tensor of the core dialect, go from its borders, or change places; and its windows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Margins, Padding
from arenite.ir.graph import Array, Value
from arenite.ops.gather import GatherAttrs
from arenite.ops.windows import Window, spelled, window
from arenite.passes.legalize.orders import Order
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.site import Site
from arenite.passes.onnx.fuse_windows import Windows

MAX_PADDED_RANK = 5
"""TFLite's PAD has no more dimensions."""
_MOST_ELEMENTS = 1 << 24
"""Of a constant that a rule computes."""
_PADDED_DTYPES = frozenset({DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64})

Pairs = Sequence[tuple[int, int]]
"""For each dimension, how many elements come before and after; negative: go."""


def framed(site: Site, core: Value, pairs: Pairs, value: Value | None = None, *, name: str = "") -> Value:
    """A value with elements before and after, or without them: itself where nothing changes.

    Args:
        site: of the graph.
        core: of the core graph.
        pairs: see Pairs.
        value: what is added, one element of the core graph; 0 if None.
        name: of the result.

    Raises:
        RefusedError: a file has no such operator.
    """
    cut = [(min(before, 0), min(after, 0)) for before, after in pairs]
    added = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if any(map(any, cut)):
        begins = [-before for before, _ in cut]
        sizes = [dim + before + after for dim, (before, after) in zip(core.type.dims, cut, strict=True)]
        if min(sizes) < 0:
            raise RefusedError(f"more elements are cut off than there are: {list(pairs)} of {list(core.type.dims)}")
        operands = [core, site.ints("begin", begins), site.ints("size", sizes)]
        (core,) = site.emit("slice", operands, name="" if any(map(any, added)) else name)
    if not any(map(any, added)):
        return core
    if core.type.rank > MAX_PADDED_RANK:
        raise RefusedError(f"at most {MAX_PADDED_RANK} dimensions can be padded, found {core.type.rank}")
    if core.type.dtype not in _PADDED_DTYPES:
        raise RefusedError(f"what is padded must be of numbers, but is {core.type.dtype}")
    paddings = site.ints("paddings", added)
    if value is None:
        (core,) = site.emit("pad", [core, paddings], name=name)
    else:
        (core,) = site.emit("padv2", [core, paddings, site.reshaped(value, (1,))], name=name)
    return core


def indexed(site: Site, core: Value, axis: int, indices: npt.NDArray[np.int64], *, name: str = "") -> Value:
    """A value with other elements along one dimension: those that `indices` name."""
    operands = [core, site.const("indices", indices.astype(np.int32))]
    (core,) = site.emit("gather", operands, GatherAttrs(axis), name=name)
    return core


def along_channels(array: Array, order: Order, axis: int = 1) -> Array:
    """One element per channel, so that it broadcasts to a tensor of which the channels are dimension `axis` in ONNX."""
    return array.reshape(-1, *[1] * (len(order) - 1 - order.index(axis)))


def bounded(nelem: int, role: str) -> None:
    """Refuse a constant that would be very large.

    Raises:
        RefusedError: it would.
    """
    if nelem > _MOST_ELEMENTS:
        raise RefusedError(f"{role} would have {nelem} elements; at most {_MOST_ELEMENTS} are computed")


def on_plane(windows: Windows) -> Windows:
    """The same windows with two spatial dimensions, the first of size 1 where there was one."""
    if len(windows.kernel) == 2:
        return windows
    return Windows(
        (1, *windows.kernel),
        (1, *windows.strides),
        (1, *windows.dilations),
        (0, *windows.begins),
        (0, *windows.ends),
    )


def placed(site: Site, core: Value, windows: Windows) -> tuple[Value, Padding | Margins]:
    """What windows slide over, and how they are padded.

    Args:
        site: of the graph.
        core: [batch, height, width, channels].
        windows: of two spatial dimensions.

    Returns:
        The value, with what windows cannot pad around it, and the simplest padding that says the rest.
    """
    reach = [(size - 1) * step + 1 for size, step in zip(windows.kernel, windows.dilations, strict=True)]
    margins = list(zip(windows.begins, windows.ends, strict=True))
    if any(not 0 <= amount < most for pair, most in zip(margins, reach, strict=True) for amount in pair):
        core = framed(site, core, [(0, 0), *margins, (0, 0)])
        windows = replace(windows, begins=(0, 0), ends=(0, 0))
    return core, spelled(window_pair(core, windows))


def window_pair(core: Value, windows: Windows) -> tuple[Window, Window]:
    """How windows slide over the height and the width of a value: of what is padded, as much as they reach.

    Raises:
        OpError: none fits, or there are some that see nothing but padding.
    """
    height, width = (
        window(
            core.type.dims[1 + i],
            windows.kernel[i],
            windows.strides[i],
            windows.dilations[i],
            (windows.begins[i], windows.ends[i]),
        )
        for i in range(2)
    )
    return height, width
