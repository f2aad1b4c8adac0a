"""Convolutions, Gemm and MatMul as layers: result = weights · data + bias, with channels on both sides."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.onnx.facts import Facts

Reals = npt.NDArray[np.float64]

NO_LAYER = Reason("no-layer", "{subject} is not beside a convolution, a Gemm or a MatMul")
MISFIT = Reason("misfit", "the operands of '{layer}' do not fit each other: {problem}")
RANK_UNKNOWN = Reason("rank-unknown", "it is not known how many dimensions the weights of '{layer}' have")
NOT_FLOAT = Reason("not-float", "'{layer}' works on {dtype}, where nothing can be scaled without loss")

LAYER_REASONS = (NO_LAYER, MISFIT, RANK_UNKNOWN, NOT_FLOAT)

CONV, TRANSPOSED, GEMM, MATMUL = "onnx.Conv", "onnx.ConvTranspose", "onnx.Gemm", "onnx.MatMul"
LAYERS = frozenset({CONV, TRANSPOSED, GEMM, MATMUL})

_BLOCK_NELEM = 1 << 20


@dataclass(frozen=True)
class Limits:
    """As the pass's attributes."""

    tolerance: float
    max_copy_nbytes: int


@dataclass(frozen=True)
class Layer:
    """A node that multiplies data (operand 0) with weights (operand 1) and adds a bias (operand 2).

    Attributes:
        node: the node; a MatMul's bias is added by another one.
        dtype: of weights and bias.
        dims: of the weights.
        n_in: channels of the data.
        n_out: channels of the result.
        in_axis: where the data's channels are, counted from the end.
        out_axis: where the result's channels are, counted from the end.
        min_rank: the fewest dimensions that the result has.
        rank: how many it has; None when unknown.
    """

    node: Node
    dtype: DType
    dims: tuple[int, ...]
    n_in: int
    n_out: int
    in_axis: int
    out_axis: int
    min_rank: int
    rank: int | None

    @property
    def op(self) -> str:
        return self.node.op

    @property
    def attrs(self) -> OnnxAttrs:
        assert isinstance(self.node.attrs, OnnxAttrs)
        return self.node.attrs

    @property
    def weight(self) -> Value:
        return self.node.operand(1)

    @property
    def bias(self) -> Value | None:
        return self.node.optional_operand(2)

    @property
    def group(self) -> int:
        return self.attrs.integer("group", 1) if self.op in (CONV, TRANSPOSED) else 1

    @property
    def transposed(self) -> bool:
        """Whether the weights are transposed, which only a Gemm can say."""
        return self.attrs.integer("transB", 0) != 0

    def out_factor(self, scale: Reals) -> Reals:
        """A scale of the result's channels, as a factor that broadcasts to the weights."""
        if scale.ndim == 0:
            return scale
        if self.op == CONV:
            return self._tailed(scale)
        if self.op == TRANSPOSED:
            if self.group == 1:
                return self._tailed(scale[None, :])
            per_group = scale.reshape(self.group, 1, -1)
            return self._tailed(np.repeat(per_group, self.dims[0] // self.group, axis=1).reshape(self.dims[:2]))
        return scale[:, None] if self.transposed else scale[None, :]

    def in_factor(self, scale: Reals) -> Reals:
        """A scale of the data's channels, as a factor that broadcasts to the weights."""
        if scale.ndim == 0:
            return scale
        if self.op == CONV:
            per_group = scale.reshape(self.group, 1, -1)
            return self._tailed(np.repeat(per_group, self.dims[0] // self.group, axis=1).reshape(self.dims[:2]))
        if self.op == TRANSPOSED:
            return self._tailed(scale)
        return scale[None, :] if self.transposed else scale[:, None]

    def response(self, shift: Reals) -> Reals:
        """What the result's channels get of a constant in each channel of the data; of Conv, Gemm and MatMul.

        Every element of the result must see all of the kernel: there is no padding.
        """
        weights = _constant(self.weight).astype(np.float64)
        given = np.broadcast_to(shift, self.n_in)
        if self.op == CONV:
            taps = weights.reshape(*self.dims[:2], -1).sum(axis=2).reshape(self.group, -1, self.dims[1])
            return np.asarray(np.einsum("gmi,gi->gm", taps, given.reshape(self.group, -1)).reshape(-1))
        alpha = self.attrs.number("alpha", 1.0) if self.op == GEMM else 1.0
        return np.asarray(alpha * (weights @ given if self.transposed else given @ weights))

    def sees(self, channel: int) -> bool:
        """Whether a channel of the result depends on the data at all, or may."""
        if not self.weight.is_constant:
            return True
        chosen = np.zeros(self.n_out)
        chosen[channel] = 1
        rows = np.broadcast_to(self.out_factor(chosen), self.dims) != 0
        return bool(np.any(_constant(self.weight)[rows]))

    def _tailed(self, factor: Reals) -> Reals:
        return factor.reshape(*factor.shape, *(1,) * (len(self.dims) - factor.ndim))


def is_layer(node: Node) -> bool:
    """Whether a node is worth reading as one."""
    whole = all(node.optional_operand(index) is not None for index in (0, 1)) and len(node.results) == 1
    return node.op in LAYERS and whole


def read_layer(node: Node, facts: Facts) -> Layer | Mismatch:
    """A node that `is_layer` as one, or why it is none."""
    fact = facts.of(node.operand(1))
    if fact.shape is None:
        return Mismatch(RANK_UNKNOWN, {"layer": node.name})
    if fact.dtype is None or not fact.dtype.is_float:
        return Mismatch(NOT_FLOAT, {"layer": node.name, "dtype": fact.dtype or "an unknown type"})
    # Dimensions that are not known are those of weights that are computed, and do not matter unless asked for.
    dims = tuple(dim if isinstance(dim, int) else 0 for dim in fact.shape)
    try:
        return _READERS[node.op](node, fact.dtype, dims, facts)
    except OpError as error:
        return Mismatch(MISFIT, {"layer": node.name, "problem": error})


def _conv(node: Node, dtype: DType, dims: tuple[int, ...], facts: Facts) -> Layer:
    assert isinstance(node.attrs, OnnxAttrs)
    group, rank = node.attrs.integer("group", 1), len(dims)
    if rank < 3 or group < 1 or dims[0] % group:
        raise OpError(f"weights {list(dims)} in {group} groups")
    first, second = dims[:2]
    n_in, n_out = (second * group, first) if node.op == CONV else (first, second * group)
    return Layer(node, dtype, dims, n_in, n_out, 1 - rank, 1 - rank, rank, rank)


def _gemm(node: Node, dtype: DType, dims: tuple[int, ...], facts: Facts) -> Layer:
    assert isinstance(node.attrs, OnnxAttrs)
    if len(dims) != 2:
        raise OpError(f"weights {list(dims)}")
    n_in, n_out = reversed(dims) if node.attrs.integer("transB", 0) else dims
    return Layer(node, dtype, dims, n_in, n_out, -2 if node.attrs.integer("transA", 0) else -1, -1, 2, 2)


def _matmul(node: Node, dtype: DType, dims: tuple[int, ...], facts: Facts) -> Layer:
    if len(dims) < 2:
        raise OpError("the weights are a vector")
    data = facts.of(node.operand(0)).rank
    if data is None:
        return Layer(node, dtype, dims, dims[-2], dims[-1], -1, -1, max(len(dims) - 1, 1), None)
    rank = len(dims) - 1 if data == 1 else max(data, len(dims))
    return Layer(node, dtype, dims, dims[-2], dims[-1], -1, -1, rank, rank)


_READERS: dict[str, Callable[[Node, DType, tuple[int, ...], Facts], Layer]] = {
    CONV: _conv,
    TRANSPOSED: _conv,
    GEMM: _gemm,
    MATMUL: _matmul,
}


def _constant(value: Value) -> Array:
    assert value.constant is not None
    return value.constant


def reals(value: Value) -> Reals:
    """A constant's elements."""
    return _constant(value).astype(np.float64)


def rounded(array: Reals, dtype: DType) -> Array:
    """Elements in a narrower type, rounded once; infinite where they do not fit."""
    with np.errstate(over="ignore", under="ignore"):
        found: Array = array.astype(dtype.numpy)
    return found


def scaled(weights: Array, factor: Reals) -> Array:
    """Weights times a factor that broadcasts to them, computed in float64 and rounded once to the weights' type."""
    found = np.empty(weights.shape, weights.dtype)
    spread = np.broadcast_to(factor, weights.shape)
    step = max(1, _BLOCK_NELEM * len(weights) // max(weights.size, 1))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, len(weights), step):
            block = slice(start, start + step)
            found[block] = (weights[block].astype(np.float64) * spread[block]).astype(weights.dtype)
    return found
