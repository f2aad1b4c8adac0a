"""Products of matrices: fully connected layers where the weights are constant, else batches of products."""

from collections.abc import Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node, Value
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.passes.legalize.formulas import say, say_result
from arenite.passes.legalize.orders import Order, as_in_onnx, without_units
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Rule
from arenite.passes.legalize.site import Site, attributes


def connected(site: Site, rows: Value, weights: Array, bias: Array | None = None) -> Value:
    """A fully connected layer over the last dimension of `rows`, the others kept; weights are (outputs, inputs).

    Raises:
        RefusedError: the sizes do not fit, or it does not take such elements.
    """
    dims = rows.type.dims
    if dims[-1] != weights.shape[1]:
        raise RefusedError(f"the weights take {weights.shape[1]} elements at a time, but there are {dims[-1]}")
    rows = rows if len(dims) > 1 else site.reshaped(rows, (1, *dims))
    operands = [rows, site.const("weights", np.ascontiguousarray(weights))]
    if bias is not None:
        operands.append(site.const("bias", np.ascontiguousarray(bias)))
    attrs = FullyConnectedAttrs(keep_dims=len(dims) > 2)
    (result,) = site.emit("fully_connected", operands, attrs)
    return site.reshaped(result, (*dims[:-1], len(weights)))


def _gemm(site: Site, node: Node) -> None:
    attrs = attributes(node)
    a, b, c = node.operand(0), node.operand(1), node.optional_operand(2)
    alpha, beta = attrs.number("alpha", 1.0), attrs.number("beta", 1.0)
    swap_a, swap_b = (bool(attrs.integer(name, 0)) for name in ("transA", "transB"))
    result = node.results[0]
    for value in (a, b):
        if site.dtype(value) is not DType.FLOAT32 or site.rank(value) != 2:
            raise RefusedError(
                f"'{value.name}' must be a matrix of float32, but is {site.dtype(value)} {list(site.dims(value))}"
            )
    if c is not None and not _fits(site.dims(c), site.dims(result)):
        raise RefusedError(f"C must broadcast to {list(site.dims(result))}, but is {list(site.dims(c))}")
    addend = None if beta == 0 else site.constant(c)
    weights = site.constant(b)
    bias = None
    if weights is None:
        core = _product(site, a, b, swap_a, swap_b)
        core = core if alpha == 1 else say(site, "mul", core, alpha)
    else:
        stored = _times(weights if swap_b else weights.T, alpha)
        bias = None if addend is None else _as_bias(_times(addend, beta), site.dims(result))
        core = connected(site, site.get(a, (1, 0) if swap_a else (0, 1)), stored, bias)
    if c is None or beta == 0 or bias is not None:
        _put(site, result, core)
        return
    if addend is not None:
        other = site.const("addend", np.ascontiguousarray(_times(addend, beta)))
    else:
        other = site.broadcast(c, 2, (0, 1))
        other = other if beta == 1 else say(site, "mul", other, beta)
    say_result(site, node, (0, 1), "add", core, other)


def _fits(dims: Sequence[int], wanted: Sequence[int]) -> bool:
    pairs = zip(reversed(dims), reversed(wanted), strict=False)
    return len(dims) <= len(wanted) and all(dim in (1, size) for dim, size in pairs)


def _times(array: Array, factor: float) -> Array:
    return np.asarray(array, np.float32) * np.float32(factor)


def _put(site: Site, result: Value, core: Value) -> None:
    site.put(result, core, as_in_onnx(site.rank(result)))


def _as_bias(addend: Array, dims: Sequence[int]) -> Array | None:
    """One number for each column; None where rows differ.

    Raises:
        RefusedError: there are others.
    """
    if addend.ndim == 2 and addend.shape[0] != 1:
        return None
    if addend.size not in (1, dims[1]):
        raise RefusedError(f"C must have {dims[1]} elements or one, but is {list(addend.shape)}")
    return np.broadcast_to(addend.reshape(-1), (dims[1],))


def _product(site: Site, a: Value, b: Value, swap_a: bool, swap_b: bool) -> Value:
    """Of two matrices, each as it lies."""
    cores, adjoint = [], []
    for value, swap in ((a, swap_a), (b, swap_b)):
        lies_swapped = not site.lies(value, (0, 1)) and site.lies(value, (1, 0))
        cores.append(site.get(value, (1, 0) if lies_swapped else (0, 1)))
        adjoint.append(swap != lies_swapped)
    return say(site, "batch_matmul", *cores, attrs=BatchMatmulAttrs(*adjoint))


def _matmul(site: Site, node: Node) -> None:
    a, b = node.operand(0), node.operand(1)
    for value in (a, b):
        if site.rank(value) == 0:
            raise RefusedError(f"'{value.name}' must have a dimension, but is a scalar")
    right, left = _as_matrix(site, b, site.rank(a)), _as_matrix(site, a, site.rank(b))
    last_but_one = (max(site.rank(b) - 2, 0),)
    if right is not None:
        _times_weights(site, node, right)
    elif left is not None and site.rank(b) > 1 and site.lies(b, site.with_last(b, last_but_one)):
        _weights_times(site, node, left)
    else:
        _batched(site, node)


def _as_matrix(site: Site, value: Value, other_rank: int) -> Array | None:
    """A constant that is one matrix, or a vector, for all of the other operand; None if it is not."""
    array = site.constant(value)
    if array is None or array.ndim > max(other_rank, 2) or any(dim != 1 for dim in array.shape[:-2]):
        return None
    return array.reshape(array.shape[-2:])


def _times_weights(site: Site, node: Node, weights: Array) -> None:
    """The dimension that is summed over goes last, the others stay as they lie."""
    data, result = node.operand(0), node.results[0]
    rank, vector = site.rank(data), weights.ndim == 1
    order = site.with_last(data, [rank - 1])
    core = connected(site, site.get(data, order), weights[None] if vector else weights.T)
    if vector:
        core, order = site.reshaped(core, core.type.dims[:-1]), order[:-1]
    site.put(result, core, order)


def _weights_times(site: Site, node: Node, weights: Array) -> None:
    """W x = (x' W')', and the result lies transposed."""
    data, result = node.operand(1), node.results[0]
    rank, vector = site.rank(data), weights.ndim == 1
    order = site.with_last(data, [rank - 2])
    core = connected(site, site.get(data, order), weights[None] if vector else weights)
    if vector:
        core = site.reshaped(core, core.type.dims[:-1])
        order = tuple(axis - (axis > rank - 2) for axis in order[:-1])
    site.put(result, core, order)


def _batched(site: Site, node: Node) -> None:
    """Leading dimensions lie as those of an operand do, matrices either way round."""
    a, b, result = node.operand(0), node.operand(1), node.results[0]
    ranks = [site.rank(value) for value in (a, b)]
    if 1 in ranks:
        x = site.reshaped(site.get(a), (1, *site.dims(a))) if ranks[0] == 1 else site.get(a)
        y = site.reshaped(site.get(b), (*site.dims(b), 1)) if ranks[1] == 1 else site.get(b)
        core = say(site, "batch_matmul", x, y, attrs=BatchMatmulAttrs())
        _put(site, result, site.reshaped(core, site.dims(result), name=result.name))
        return
    rank = max(ranks)
    lead = _leading(site, (a, b), rank)
    cores, adjoint = [], []
    for value in (a, b):
        plain = site.order_among(value, rank, (*lead, rank - 2, rank - 1))
        swapped = site.order_among(value, rank, (*lead, rank - 1, rank - 2))
        lies_swapped = not site.lies(value, plain) and site.lies(value, swapped)
        cores.append(site.get(value, swapped if lies_swapped else plain))
        adjoint.append(lies_swapped)
    core = say(site, "batch_matmul", *cores, attrs=BatchMatmulAttrs(*adjoint))
    site.put(result, core, (*lead, rank - 2, rank - 1))


def _leading(site: Site, values: Sequence[Value], rank: int) -> Order:
    """The order of the leading dimensions in which the fewest elements must be moved."""
    own = as_in_onnx(rank - 2)
    choices = [own]
    for value in values:
        if site.rank(value) == rank:
            orders = [without_units(order) for order in site.orders(value)]
            choices += [order[:-2] for order in orders if sorted(order[-2:]) == [rank - 2, rank - 1]]

    def price(lead: Order) -> int:
        total = 0
        for value in values:
            ways = [
                site.order_among(value, rank, (*lead, *last)) for last in ((rank - 2, rank - 1), (rank - 1, rank - 2))
            ]
            total += 0 if any(site.lies(value, way) for way in ways) else int(np.prod(site.dims(value)))
        return total

    return min(choices, key=price)


RULES = (
    Rule(
        "Gemm",
        _gemm,
        says="`fully_connected` where B is constant, else `batch_matmul`; what C is not one row of is added",
    ),
    Rule("MatMul", _matmul, says="`fully_connected` where an operand is one constant matrix, else `batch_matmul`"),
)
