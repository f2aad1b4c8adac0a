"""Made-up networks of known shapes: each step is a number, from which all of its choices follow, so that they shrink.

Numbers stay small, so that sums in another sequence round to nearly the same.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from passes.legalize.support import model_of

Dims = tuple[int, ...]
MOST_NELEM = 2000


class Net:
    """A network while it is made."""

    def __init__(self, inputs: Sequence[Dims]) -> None:
        self.inputs = {f"x{index}": dims for index, dims in enumerate(inputs)}
        self.values: dict[str, Dims] = dict(self.inputs)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}
        self.rng = random.Random(0)

    def step(self, number: int) -> None:
        """One more operator; it may come to nothing."""
        self.rng = random.Random(number)
        self.rng.choice(MOVES)(self)

    def pick(self, test: Callable[[Dims], bool] = bool) -> str | None:
        found = [name for name, dims in self.values.items() if test(dims)]
        return self.rng.choice(found[-4:] if self.rng.random() < 0.7 else found) if found else None

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def floats(self, dims: Iterable[int], scale: float = 1.0) -> str:
        rng = np.random.default_rng(self.rng.randrange(1 << 30))
        return self.constant((rng.normal(0, 1, tuple(dims)) * scale).astype(np.float32))

    def ints(self, *items: int) -> str:
        return self.constant(np.array(items, np.int64))

    def emit(self, op: str, operands: Sequence[str], *dims: Dims, **attrs: Any) -> list[str]:
        """A node with results of these dimensions; none where they are too large or empty."""
        if any(not 0 < math.prod(each) <= MOST_NELEM or len(each) > 5 for each in dims):
            return []
        names = [f"v{len(self.values) + index}" for index in range(len(dims))]
        self.nodes.append(helper.make_node(op, list(operands), names, **attrs))
        self.values |= dict(zip(names, dims, strict=True))
        return names


def _windowed(op: str) -> Callable[[Net], None]:
    def move(net: Net) -> None:
        rng = net.rng
        data = net.pick(lambda dims: len(dims) in (3, 4))
        if data is None:
            return
        batch, channels, *sizes = net.values[data]
        kernel = [rng.choice([1, 2, 3]) for _ in sizes]
        strides = [rng.choice([1, 1, 2]) for _ in sizes]
        pads = [rng.choice([0, 1]) if size > 1 else 0 for size in kernel]
        out = [(s + 2 * p - k) // d + 1 for s, p, k, d in zip(sizes, pads, kernel, strides, strict=True)]
        if min(out) < 1:
            return
        attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads * 2}
        if op != "Conv":
            net.emit(op, [data], (batch, channels, *out), **attrs)
            return
        group = rng.choice([1, 1, channels])
        made = group * rng.choice([1, 2]) if group > 1 else rng.choice([1, 2, 4, 6])
        fan_in = channels // group * math.prod(kernel)
        weights = net.floats((made, channels // group, *kernel), fan_in**-0.5)
        operands = [data, weights, *([net.floats([made])] if rng.random() < 0.5 else [])]
        net.emit("Conv", operands, (batch, made, *out), group=group, **attrs)

    return move


def _unary(net: Net) -> None:
    op = net.rng.choice(["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "HardSwish", "Identity", "Clip"])
    data = net.pick(lambda dims: True)
    assert data is not None
    op = "Identity" if op == "HardSwish" else op
    bounds = [net.floats([], 0.0), net.constant(np.float32(2))] if op == "Clip" else []
    net.emit(op, [data, *bounds], net.values[data])


def _binary(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims, op = net.values[data], net.rng.choice(["Add", "Sub", "Mul", "Max", "Min"])
    alike = [name for name, other in net.values.items() if name != data and _broadcasts(other, dims)]
    if alike and net.rng.random() < 0.6:
        other = net.rng.choice(alike)
        result = np.broadcast_shapes(net.values[other], dims)
    else:
        part = [net.rng.choice([1, dim]) for dim in dims]
        other = net.floats(part[net.rng.randrange(len(part) + 1) :])
        result = dims
    operands = [data, other] if net.rng.random() < 0.5 else [other, data]
    names = net.emit(op, operands, result)
    if names and op == "Mul":
        net.emit("Clip", [names[0], net.constant(np.float32(-4)), net.constant(np.float32(4))], result)


def _broadcasts(one: Dims, other: Dims) -> bool:
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def _transpose(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    perm = list(range(len(dims)))
    net.rng.shuffle(perm)
    if len(dims) == 4 and net.rng.random() < 0.5:
        perm = net.rng.choice([[0, 2, 3, 1], [0, 3, 1, 2]])
    net.emit("Transpose", [data], tuple(dims[axis] for axis in perm), perm=perm)


def _factors(dims: Dims) -> list[int]:
    found = []
    for dim in dims:
        rest = dim
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                found.append(prime)
                rest //= prime
        found += [rest] if rest > 1 else []
    return found


def _reshape(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    factors, rank = _factors(net.values[data]), net.rng.randint(1, 5)
    bounds = sorted(net.rng.randint(0, len(factors)) for _ in range(rank - 1))
    after = [math.prod(factors[a:b]) for a, b in zip([0, *bounds], [*bounds, len(factors)], strict=True)]
    net.emit("Reshape", [data, net.ints(*after)], tuple(after))


def _views(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    op = net.rng.choice(["Flatten", "Squeeze", "Unsqueeze"])
    if op == "Flatten":
        axis = net.rng.randint(0, len(dims))
        net.emit(op, [data], (math.prod(dims[:axis]), math.prod(dims[axis:])), axis=axis)
    elif op == "Squeeze":
        ones = [axis for axis, dim in enumerate(dims) if dim == 1 and net.rng.random() < 0.7]
        if ones:
            net.emit(op, [data, net.ints(*ones)], tuple(d for axis, d in enumerate(dims) if axis not in ones))
    else:
        axis = net.rng.randint(0, len(dims))
        net.emit(op, [data, net.ints(axis)], (*dims[:axis], 1, *dims[axis:]))


def _concat(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    axis = net.rng.randrange(len(dims))
    rest = (*dims[:axis], *dims[axis + 1 :])
    alike = [
        name
        for name, other in net.values.items()
        if len(other) == len(dims) and (*other[:axis], *other[axis + 1 :]) == rest
    ]
    operands = [data, *(net.rng.choice(alike) for _ in range(net.rng.randint(0, 2)))]
    sizes = [net.values[name][axis] for name in operands]
    if net.rng.random() < 0.4 or len(operands) == 1:
        operands.append(net.floats((*dims[:axis], 2, *dims[axis + 1 :])))
        sizes.append(2)
    net.emit("Concat", operands, (*dims[:axis], sum(sizes), *dims[axis + 1 :]), axis=axis - len(dims))


def _slice(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = list(net.values[data])
    axes = net.rng.sample(range(len(dims)), net.rng.randint(1, len(dims)))
    starts, ends, steps = [], [], []
    for axis in axes:
        start, step = net.rng.randrange(dims[axis]), net.rng.choice([1, 1, 2, -1])
        taken = range(dims[axis])[start : (None if step < 0 else dims[axis]) : step]
        starts.append(start)
        ends.append(-(2**31) if step < 0 else 2**31 - 1)
        steps.append(step)
        dims[axis] = len(taken)
    lists = [net.ints(*items) for items in (starts, ends, axes, steps)]
    net.emit("Slice", [data, *lists], tuple(dims))


def _split(net: Net) -> None:
    data = net.pick(lambda dims: any(dim > 1 for dim in dims))
    if data is None:
        return
    dims = net.values[data]
    axis = net.rng.choice([axis for axis, dim in enumerate(dims) if dim > 1])
    first = net.rng.choice([dims[axis] // 2, net.rng.randint(1, dims[axis] - 1)])
    sizes = (first, dims[axis] - first)
    results = [(*dims[:axis], size, *dims[axis + 1 :]) for size in sizes]
    net.emit("Split", [data, net.ints(*sizes)], *results, axis=axis)


def _gather(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    axis = net.rng.randrange(len(dims))
    shape = net.rng.choice([(), (1,), (2,), (2, 2)])
    picked = [net.rng.randrange(-dims[axis], dims[axis]) for _ in range(math.prod(shape))]
    indices = net.constant(np.array(picked, np.int64).reshape(shape))
    net.emit("Gather", [data, indices], (*dims[:axis], *shape, *dims[axis + 1 :]), axis=axis)


def _reduce(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    axes = net.rng.sample(range(len(dims)), net.rng.randint(1, len(dims)))
    op, keep = net.rng.choice(["ReduceMean", "ReduceMax"]), net.rng.random() < 0.5
    result = [1 if axis in axes else dim for axis, dim in enumerate(dims) if keep or axis not in axes]
    net.emit(op, [data], tuple(result), axes=axes, keepdims=int(keep))


def _global_pool(net: Net) -> None:
    data = net.pick(lambda dims: len(dims) in (3, 4))
    if data is not None:
        dims = net.values[data]
        op = net.rng.choice(["GlobalAveragePool", "GlobalMaxPool"])
        net.emit(op, [data], (*dims[:2], *(1 for _ in dims[2:])))


def _matmul(net: Net) -> None:
    data = net.pick(lambda dims: len(dims) > 1)
    if data is None:
        return
    *batch, rows, inner = net.values[data]
    others = [
        name
        for name, dims in net.values.items()
        if len(dims) > 2 and len(dims) == len(batch) + 2 and (*batch, inner) == dims[:-1]
    ]
    if others and net.rng.random() < 0.7:
        other = net.rng.choice(others)
        columns = net.values[other][-1]
    else:
        columns = net.rng.randint(1, 5)
        other = net.floats((inner, columns), inner**-0.5)
    if net.rng.random() < 0.3 and not batch:
        net.emit("Gemm", [data, net.floats((columns, inner), inner**-0.5)], (rows, columns), transB=1)
    else:
        net.emit("MatMul", [data, other], (*batch, rows, columns))


def _softmax(net: Net) -> None:
    data = net.pick()
    if data is not None:
        dims = net.values[data]
        net.emit("Softmax", [data], dims, axis=net.rng.randrange(len(dims)))


def _where(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    part = [net.rng.choice([1, dim]) for dim in dims]
    mask = net.constant(np.random.default_rng(net.rng.randrange(99)).integers(0, 2, part).astype(np.bool_))
    alike = [name for name, other in net.values.items() if _broadcasts(other, dims)]
    other = net.rng.choice(alike)
    net.emit("Where", [mask, data, other], np.broadcast_shapes(net.values[other], dims))


def _repeat(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    if net.rng.random() < 0.5:
        times = [net.rng.choice([1, 1, 2]) for _ in dims]
        net.emit("Tile", [data, net.ints(*times)], tuple(d * t for d, t in zip(dims, times, strict=True)))
    else:
        wanted = [*net.rng.choice([[], [2]]), *(dim if dim > 1 else net.rng.choice([1, 3]) for dim in dims)]
        net.emit("Expand", [data, net.ints(*wanted)], tuple(wanted))


def _pad(net: Net) -> None:
    data = net.pick()
    if data is None:
        return
    dims = net.values[data]
    before, after = ([net.rng.choice([0, 0, 1]) for _ in dims] for _ in range(2))
    result = tuple(b + d + a for b, d, a in zip(before, dims, after, strict=True))
    net.emit("Pad", [data, net.ints(*before, *after)], result)


def _shuffle(net: Net) -> None:
    data = net.pick(lambda dims: len(dims) == 4 and dims[1] % 2 == 0)
    if data is None:
        return
    n, c, h, w = net.values[data]
    names = net.emit("Reshape", [data, net.ints(n, 2, c // 2, h, w)], (n, 2, c // 2, h, w))
    names = names and net.emit("Transpose", names, (n, c // 2, 2, h, w), perm=[0, 2, 1, 3, 4])
    names and net.emit("Reshape", [*names, net.ints(n, c, h, w)], (n, c, h, w))


def _norm(net: Net) -> None:
    data = net.pick(lambda dims: len(dims) in (3, 4))
    if data is None:
        return
    dims = net.values[data]
    scale, bias, mean = (net.floats([dims[1]]) for _ in range(3))
    variance = net.constant(np.full(dims[1], 0.7, np.float32))
    net.emit("BatchNormalization", [data, scale, bias, mean, variance], dims)


MOVES: Sequence[Callable[[Net], object]] = (
    *(_windowed("Conv"),) * 4,
    _windowed("MaxPool"),
    _windowed("AveragePool"),
    *(_unary,) * 2,
    *(_binary,) * 4,
    *(_transpose,) * 3,
    *(_reshape,) * 3,
    *(_views,) * 2,
    *(_concat,) * 3,
    _slice,
    _split,
    _gather,
    *(_reduce,) * 2,
    _global_pool,
    *(_matmul,) * 2,
    _softmax,
    _where,
    _repeat,
    _pad,
    _shuffle,
    _norm,
)


def made(numbers: Sequence[int]) -> tuple[onnx.ModelProto, list[str]]:
    """The network of a list of steps, and the inputs and outputs whose layouts are kept."""
    rng = random.Random(sum(numbers))
    net = Net([(rng.choice([1, 2]), rng.choice([3, 4]), 5, 6), (1, 4, 6), (4, 6)][: rng.choice([1, 1, 2, 3])])
    for number in numbers:
        net.step(number)
    computed = [name for name in net.values if name not in net.inputs]
    if not computed:
        computed = net.emit("Relu", ["x0"], net.values["x0"])
    outputs = list(dict.fromkeys([computed[-1], *(rng.choice(computed) for _ in range(rng.randrange(4)))]))
    kept = [name for name in [*net.inputs, *outputs] if rng.random() < 0.3]
    inputs = {name: (np.float32, dims) for name, dims in net.inputs.items()}
    return model_of(net.nodes, inputs, outputs, net.constants), kept
