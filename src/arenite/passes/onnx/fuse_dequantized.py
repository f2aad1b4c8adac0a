"""Weights that are stored as integers: a factor of channels goes into the scales of their DequantizeLinear.

weights = (stored - zero point) · scale, so that weights · factor has the same stored integers and the scale · |factor|.
Scales stay positive, as runtimes want them: where a factor is negative, stored integers are mirrored at the zero point;
where it is 0, or would take a scale to 0, they become the zero point.
"""

import hashlib
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Work
from arenite.passes.onnx.compute import narrowed
from arenite.passes.onnx.fuse_layers import Layer, Limits, Reals, reals, rounded
from arenite.passes.onnx.fuse_places import SHARED, n_versions

STEPS_COMPUTED = Reason("steps-computed", "%{value}, by which '{dequantize}' dequantizes weights, is computed")
STORED_COMPUTED = Reason(
    "stored-computed",
    "the weights of '{layer}' take a factor that is not positive, but what is stored of them, %{value}, is computed",
)
NOT_INTEGERS = Reason("not-integers", "'{dequantize}' dequantizes {dtype}, which is no integer")
NOT_NEGATED = Reason(
    "not-negated",
    "the weights of '{layer}' take a negative factor, but {number}, which is element {element} of %{value}, has no "
    "opposite in {dtype}",
)
SEVERAL_AXES = Reason(
    "several-axes", "the weights %{value} of '{layer}' would take scales along several dimensions, or inside blocks"
)
WHOLE_TENSOR = Reason(
    "whole-tensor", "'{dequantize}' has one scale for all channels of '{layer}', as everywhere before opset {opset}"
)
COARSE_SCALES = Reason("coarse-scales", "the scales of '{dequantize}' are {dtype}, coarser than what '{layer}' reads")
COPIES_NODES = Reason(
    "copies-nodes",
    "others read %{value} too; scaled for '{layer}' alone it would take {count} nodes more, for one less",
)
BAD_SCALE = Reason("bad-scale", "element {element} of the scale of '{dequantize}' would be {number} in {dtype}")
ELSEWHERE = Reason("dequantized-elsewhere", "'{dequantize}', which others read too, is in another graph than '{layer}'")

DEQUANTIZED_REASONS = (
    STEPS_COMPUTED,
    STORED_COMPUTED,
    NOT_INTEGERS,
    NOT_NEGATED,
    SEVERAL_AXES,
    WHOLE_TENSOR,
    COARSE_SCALES,
    COPIES_NODES,
    BAD_SCALE,
    ELSEWHERE,
    SHARED,
)

_T = TypeVar("_T", bound=np.generic)
Integers = npt.NDArray[np.int64]

DEQUANTIZE = "onnx.DequantizeLinear"
_AXIS_SINCE = 13
_FARTHEST = 8
"""How many nodes that move weights may be between."""


@dataclass(frozen=True)
class Steps:
    """What a DequantizeLinear of weights becomes.

    Attributes:
        chain: nodes from the layer's weights up to the DequantizeLinear, which is the last.
        is_copied: whether others read what it gives, so that the layer gets one of its own.
        operands: new ones, by their index.
        attrs: new attributes.
    """

    chain: tuple[Node, ...]
    is_copied: bool
    operands: tuple[tuple[int, Array], ...]
    attrs: OnnxAttrs


def chain_of(weight: Value) -> tuple[Node, ...]:
    """The nodes from weights up to the DequantizeLinear from which they were only moved, the last; or none."""
    found: list[Node] = []
    node = weight.producer
    while node is not None and node.op == "onnx.Transpose" and len(found) < _FARTHEST:
        found.append(node)
        node = node.operand(0).producer
    return (*found, node) if node is not None and node.op == DEQUANTIZE else ()


def dequantized(value: Value, opset: int) -> Reals | None:
    """What a DequantizeLinear of constants gives; None when this is not the result of one."""
    node = value.producer
    if node is None or node.op != DEQUANTIZE or any(not operand.is_constant for operand in node.present_operands):
        return None
    stored = reals(node.operand(0))
    grid = _grid(node, stored.shape, opset)
    return np.asarray((stored - grid.whole(grid.zeros, stored.shape)) * grid.whole(grid.scales, stored.shape))


# Scales and zero points as the operator spreads them


@dataclass(frozen=True)
class _Grid:
    """Scales and zero points, with as many dimensions as what is stored.

    Attributes:
        scales: 1 along each dimension in which they are the same.
        zeros: likewise.
        blocked: the dimension of which each `block` elements have one scale; None: there is none.
        block: how many those are.
        takes_axis: whether there may be one scale for each index of a dimension.
    """

    scales: Reals
    zeros: Integers
    blocked: int | None
    block: int
    takes_axis: bool

    def whole(self, array: npt.NDArray[_T], shape: tuple[int, ...]) -> npt.NDArray[_T]:
        """What lies on the grid, for each element of what is stored."""
        if self.blocked is not None and array.shape[self.blocked] != 1:
            array = np.repeat(array, self.block, self.blocked)
            array = array[(slice(None),) * self.blocked + (slice(shape[self.blocked]),)]
        return np.broadcast_to(array, shape)


def _grid(node: Node, dims: tuple[int, ...], opset: int) -> _Grid:
    """Read a DequantizeLinear whose scale and zero point are constants; sizes that are 0 are not known.

    Raises:
        OpError: they do not fit what is stored.
    """
    attrs, rank = _attrs(node), len(dims)
    takes_axis = opset >= _AXIS_SINCE
    scale, zero = node.operand(1).constant, node.optional_operand(2)
    assert scale is not None
    zeros = np.zeros((), np.int64) if zero is None else np.asarray(zero.constant).astype(np.int64)
    if zeros.shape != scale.shape and zeros.size != 1:
        raise OpError(f"'{node.name}' has scales {list(scale.shape)} and zero points {list(zeros.shape)}")
    axis = attrs.integer("axis", 1)
    axis += rank if axis < 0 else 0
    block = attrs.integer("block_size", 0)
    if block:
        shape = tuple(-(-dim // block) if at == axis else dim for at, dim in enumerate(dims))
        fits = axis in range(rank) and scale.shape == shape
    elif scale.size == 1:
        shape, fits = (1,) * rank, True
    else:
        shape = tuple(scale.size if at == axis and takes_axis else 1 for at in range(rank))
        fits = scale.ndim == 1 and all(size == 1 or dim in (0, size) for dim, size in zip(dims, shape, strict=True))
    if not fits or scale.size != int(np.prod(shape)):
        raise OpError(f"'{node.name}' has scales {list(scale.shape)} for {list(dims)}")
    return _Grid(
        scale.astype(np.float64).reshape(shape),
        zeros.reshape(shape if zeros.size == scale.size else (1,) * rank),
        axis if block else None,
        block,
        takes_axis,
    )


def _attrs(node: Node) -> OnnxAttrs:
    assert isinstance(node.attrs, OnnxAttrs)
    return node.attrs


# What becomes of it


def plan_steps(layer: Layer, factor: Reals, limits: Limits, opset: int) -> Steps | Mismatch:
    """What the DequantizeLinear of a layer's weights becomes when they take a factor that broadcasts to them.

    Raises:
        OpError: its operands do not fit each other.
    """
    chain = chain_of(layer.weight)
    node = chain[-1]
    for value in node.present_operands[1:]:
        if not value.is_constant:
            return Mismatch(STEPS_COMPUTED, {"value": value.name, "dequantize": node.name})
    if (refused := _types(layer, node)) is not None:
        return refused
    shared = next((place for place, each in enumerate(chain) if _is_shared(each.result)), len(chain))
    is_copied = shared < len(chain)
    if shared < len(chain) - 1:
        value, count = chain[shared].result, len(chain) - shared
        return Mismatch(COPIES_NODES, {"value": value.name, "layer": layer.node.name, "count": count})
    if is_copied and node.graph is not layer.node.graph:
        return Mismatch(ELSEWHERE, {"dequantize": node.name, "layer": layer.node.name})
    moved, dims = _moved(chain, factor, layer.dims)
    return _Planning(layer, chain, is_copied, limits, _grid(node, dims, opset)).plan(moved)


def _types(layer: Layer, node: Node) -> Mismatch | None:
    stored, scale = node.operand(0).type.dtype, node.operand(1).type.dtype
    if not stored.is_integer:
        return Mismatch(NOT_INTEGERS, {"dequantize": node.name, "dtype": stored})
    if not scale.is_float or scale.unit_roundoff > layer.dtype.unit_roundoff:
        return Mismatch(COARSE_SCALES, {"dequantize": node.name, "dtype": scale, "layer": layer.node.name})
    return None


def _is_shared(value: Value) -> bool:
    return len(value.uses) != 1 or bool(value.output_of)


def _moved(chain: tuple[Node, ...], factor: Reals, dims: tuple[int, ...]) -> tuple[Reals, tuple[int, ...]]:
    """A factor of weights, and their sizes, as they are before they are moved."""
    rank = len(dims)
    moved = factor.reshape((1,) * (rank - factor.ndim) + factor.shape)
    for node in chain[:-1]:
        order = _attrs(node).integers("perm")
        if order is None:
            order = tuple(reversed(range(rank)))
        back = [order.index(axis) for axis in range(rank)]
        moved, dims = np.transpose(moved, back), tuple(dims[axis] for axis in back)
    return np.asarray(narrowed(moved)), dims


@dataclass(frozen=True)
class _Planning:
    """The case of one layer."""

    layer: Layer
    chain: tuple[Node, ...]
    is_copied: bool
    limits: Limits
    grid: _Grid

    @property
    def node(self) -> Node:
        return self.chain[-1]

    def plan(self, factor: Reals) -> Steps | Mismatch:
        """What becomes of scales, zero points and what is stored, with a factor as wide as the latter."""
        axis = self._axis(factor)
        if isinstance(axis, Mismatch):
            return axis
        found = self._scales(factor)
        if isinstance(found, Mismatch):
            return found
        scales, is_none = found
        is_less = np.broadcast_to(factor < 0, scales.shape) & ~is_none
        zeros, operands = self.grid.zeros, [(1, self._packed(scales, axis))]
        if np.any(is_less | is_none):
            stored = self._stored(is_none, is_less)
            if isinstance(stored, Mismatch):
                return stored
            zeros = stored[1]
            operands.append((0, stored[0]))
        old = self.node.optional_operand(2)
        if zeros is not self.grid.zeros or old is not None:
            dtype = self.node.operand(0).type.dtype.numpy
            operands.append((2, self._packed(np.broadcast_to(zeros, scales.shape).astype(dtype), axis)))
        return Steps(self.chain, self.is_copied, tuple(operands), self._attrs(axis))

    def _axis(self, factor: Reals) -> Mismatch | int | None:
        """The dimension along which scales will differ; None: along none, or in blocks as they do."""
        old = self.grid.scales.shape
        several = Mismatch(SEVERAL_AXES, {"value": self.layer.weight.name, "layer": self.layer.node.name})
        if any(1 != one != other != 1 for one, other in zip(factor.shape, old, strict=True)):
            return several
        new = np.broadcast_shapes(factor.shape, old)
        if self.grid.blocked is not None:
            return None if new == old else several
        found = [axis for axis, dim in enumerate(new) if dim != 1]
        if len(found) > 1:
            return several
        if new != old and not self.grid.takes_axis:
            named = {"dequantize": self.node.name, "layer": self.layer.node.name}
            return Mismatch(WHOLE_TENSOR, {**named, "opset": _AXIS_SINCE})
        return found[0] if found else None

    def _scales(self, factor: Reals) -> tuple[Array, npt.NDArray[np.bool_]] | Mismatch:
        """New scales, and where the weights become 0 and scales stay."""
        dtype, (least, most) = self.node.operand(1).type.dtype, self.node.operand(0).type.dtype.limits
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            exact = self.grid.scales * np.abs(factor)
            is_large = ~(exact * (most - least) <= self.layer.dtype.largest) | ~(exact <= dtype.largest)
        old = np.broadcast_to(self.grid.scales, exact.shape)
        is_none = exact < dtype.smallest_normal
        # A factor may be 0, or nearly, for some channels; for all of them it is what somebody counts on.
        is_lost = is_none & (factor != 0) & np.all(is_none)
        bad = np.argwhere(is_large | is_lost | ~(old > 0))
        if bad.size:
            element = [int(index) for index in bad[0]]
            named = {"dequantize": self.node.name, "element": element, "dtype": dtype}
            return Mismatch(BAD_SCALE, {**named, "number": float(exact[tuple(element)])})
        return rounded(np.where(is_none, old, exact), dtype), is_none

    def _stored(
        self, is_none: npt.NDArray[np.bool_], is_less: npt.NDArray[np.bool_]
    ) -> tuple[Array, Integers] | Mismatch:
        """What is stored, 0 or negated, and zero points for it."""
        value = self.node.operand(0)
        named = {"layer": self.layer.node.name, "value": value.name}
        if value.constant is None:
            return Mismatch(STORED_COMPUTED, named)
        copies = value.type.nbytes * self._n_copies()
        if copies > self.limits.max_copy_nbytes:
            return Mismatch(SHARED, {**named, "nbytes": copies, "limit": self.limits.max_copy_nbytes})
        dtype, zeros = value.type.dtype, self.grid.zeros
        least, most = dtype.limits
        stored = np.asarray(value.constant).astype(np.int64)
        whole = self.grid.whole(zeros, stored.shape)
        less = self.grid.whole(is_less, stored.shape)
        opposite = 2 * whole - stored
        bad = np.argwhere(less & ((opposite < least) | (opposite > most)))
        if bad.size:
            # Runtimes want weights without zero points to stay so, those of signed integers at least.
            if least < 0 and not np.any(zeros):
                element = [int(index) for index in bad[0]]
                number = int(stored[tuple(element)])
                return Mismatch(NOT_NEGATED, {**named, "element": element, "number": number, "dtype": dtype})
            opposite = least + most - stored
            zeros = np.where(is_less, least + most - zeros, zeros)
        changed = np.where(self.grid.whole(is_none, stored.shape), whole, np.where(less, opposite, stored))
        return changed.astype(dtype.numpy), zeros

    def _n_copies(self) -> int:
        """How many times more there will be what is stored."""
        stored = self.node.operand(0)
        others = len(stored.uses) > 1 or bool(stored.output_of)
        if len(self.chain) == 1:
            return n_versions(self.layer) - 1 + others
        return self.is_copied + others

    def _packed(self, array: Array, axis: int | None) -> Array:
        """What lies on the grid as the operator takes it."""
        return np.array(array.reshape(-1 if axis is not None else self.node.operand(1).type.dims))

    def _attrs(self, axis: int | None) -> OnnxAttrs:
        attrs = _attrs(self.node)
        if axis is None or attrs.integer("axis", 1) in (axis, axis - len(self.layer.dims)):
            return attrs
        return attrs.with_value("axis", axis)


Versions = dict[tuple[Value, bytes], Value]
"""Weights that came from others, by what they came from and their bytes."""


def carry_out_steps(steps: Steps, layer: Node, versions: Versions, work: Work) -> None:
    """Let a layer's weights be dequantized otherwise."""
    node, rewriter = steps.chain[-1], work.rewriter
    digest = hashlib.sha256(repr(steps.attrs).encode())
    for index, array in steps.operands:
        digest.update(bytes([index]) + array.tobytes())
    key = node.result, digest.digest()
    if key not in versions:
        if not steps.is_copied:
            _put_all(steps, node, work)
            for stale in [known for known, value in versions.items() if node.result in (known[0], value)]:
                del versions[stale]
            return
        types = [node.result.type]
        copy = rewriter.insert(node, node.op, node.operands, types, node.attrs, name=node.name, origin=node.origin)
        _put_all(steps, copy, work)
        versions[key] = copy.result
    reader, place = (layer, 1) if len(steps.chain) == 1 else (steps.chain[-2], 0)
    rewriter.set_operand(reader, place, versions[key])


def _put_all(steps: Steps, node: Node, work: Work) -> None:
    for index, array in steps.operands:
        put(node, index, f"{node.operand(0).name}_zero_point", array, work)
    work.rewriter.set_attrs(node, steps.attrs)


def put(node: Node, index: int, name: str, array: Array, work: Work) -> None:
    """Let a node read a new constant, under the name of the one before if nobody reads that any more."""
    old = node.optional_operand(index)
    new = work.rewriter.constant(name if old is None else old.name, array)
    work.rewriter.set_operand(node, index, new)
    if old is not None and not old.is_read:
        work.rewriter.swap_names(old, new)
