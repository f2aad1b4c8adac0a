"""Blocks of pixels from channels, and back."""

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Node
from arenite.ops.layout import BlockAttrs
from arenite.passes.legalize.framing import bounded, indexed
from arenite.passes.legalize.orders import plane
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes


def _depth_to_space(site: Site, node: Node) -> None:
    data, block = node.operand(0), _block(site, node)
    channels = site.dims(data)[1]
    if channels % block**2:
        raise RefusedError(f"the channels must divide by blocksize {block} squared, but are {channels}")
    core = site.get(data, plane(4))
    if _channel_first(site, node) and min(block**2, channels // block**2) > 1:
        core = indexed(site, core, 3, _swapped(channels // block**2, block**2))
    site.give(node.results[0], "depth_to_space", [core], BlockAttrs(block), order=plane(4))


def _space_to_depth(site: Site, node: Node) -> None:
    data, block = node.operand(0), _block(site, node)
    _, channels, *sizes = site.dims(data)
    if sizes[0] % block or sizes[1] % block:
        raise RefusedError(f"height and width must divide by blocksize {block}, but are {sizes}")
    core, result = site.get(data, plane(4)), node.results[0]
    if not (_channel_first(site, node) and min(block**2, channels) > 1):
        site.give(result, "space_to_depth", [core], BlockAttrs(block), order=plane(4))
        return
    (core,) = site.emit("space_to_depth", [core], BlockAttrs(block))
    site.put(result, indexed(site, core, 3, _swapped(block**2, channels), name=result.name), plane(4))


def _channel_first(site: Site, node: Node) -> bool:
    """Whether the places in a block come behind each channel, where TFLite has the channels at each place.

    Raises:
        RefusedError: the mode says neither.
    """
    mode = attributes(node).text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise RefusedError(f"mode must be DCR or CRD, but is '{mode}'")
    return mode == "CRD"


def _swapped(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """The order of a matrix's elements when it is read column by column."""
    bounded(rows * columns, "the order of channels")
    return np.arange(rows * columns, dtype=np.int64).reshape(rows, columns).T.reshape(-1)


def _block(site: Site, node: Node) -> int:
    dims = site.dims(node.operand(0))
    if len(dims) != 4:
        raise RefusedError(f"the input must have 4 dimensions, but is {list(dims)}")
    block = attributes(node).integer("blocksize")
    if block < 1:
        raise RefusedError(f"blocksize must be at least 1, but is {block}")
    return block


RULES = (
    Rule("DepthToSpace", _depth_to_space, Flow.PLANE, "`depth_to_space`; in CRD mode behind a `gather` of channels"),
    Rule(
        "SpaceToDepth",
        _space_to_depth,
        Flow.PLANE,
        "`space_to_depth`, then `gather` where its channels come in another sequence",
    ),
)
