"""What a step of a made-up graph may be."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from passes.onnx.made import BOOL, FLOAT, INT, Known, Maker, Moves

# Elementwise


def unary(m: Maker) -> None:
    smooth = ["Relu", "Neg", "Identity", "Abs", "Dropout", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish"]
    sharp = ["Exp", "Sqrt", "Floor", "Reciprocal", "Sign", "Erf", "Softplus", "Log", "Round", "Sin"]
    op = m.rng.choice(smooth + smooth + sharp)
    source = m.floats(exact=op in sharp)
    if source is not None:
        m.emit(op, [source])


def binary(m: Maker) -> None:
    op = m.rng.choice(["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "Add", "Mul"])
    a, b = m.number(), m.number()
    if a is not None and b is not None and a.array.dtype == b.array.dtype:
        m.emit(op, [a, b])


def with_number(m: Maker) -> None:
    """With one number, or one for each channel, or one for all."""
    source = m.floats()
    if source is None:
        return
    number = m.rng.choice([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 2.5])
    shape = source.array.shape
    own: tuple[int, ...] = m.rng.choice([(), (1,), shape, shape[-1:], (*shape[1:2], 1, 1)])
    array: Any = np.full(own, number, np.float32)
    if m.rng.random() < 0.3 and array.ndim:
        array = np.linspace(-1, 2, array.size, dtype=np.float32).reshape(own)
    op = m.rng.choice(["Add", "Sub", "Mul", "Mul", "Div", "Pow"])
    if op == "Pow" and source.near:
        return
    operands = [source, m.constant(array)]
    if op in ("Add", "Mul", "Sub") and m.rng.random() < 0.4:
        operands.reverse()
    m.emit(op, operands, near=op in ("Mul", "Div") and number not in (0.0, 1.0, -1.0, 0.5, 2.0))


def clip(m: Maker) -> None:
    source = m.floats()
    if source is not None:
        low, high = sorted(m.rng.choice([-1.0, 0.0, 0.25, 1.0, 6.0]) for _ in range(2))
        bounds = [m.constant(np.float32(bound)) if m.rng.random() < 0.8 else None for bound in (low, high)]
        m.emit("Clip", [source, *bounds])


def choose(m: Maker) -> None:
    """A comparison, and what it decides."""
    a, b = m.number(exact=True), m.number(exact=True)
    if a is None or b is None or a.array.dtype != b.array.dtype:
        return
    for condition in m.emit(m.rng.choice(["Less", "Greater", "Equal", "GreaterOrEqual"]), [a, b]):
        if m.rng.random() < 0.3:
            m.emit("Not", [condition])
        m.emit("Where", [condition, a, b])


def masked(m: Maker) -> None:
    """By a condition that is constant: all the same, or not."""
    source = m.floats()
    if source is not None:
        width = source.array.shape[-1] if source.array.ndim else 1
        kind = m.rng.randrange(3)
        condition = np.arange(width) % 2 == 0 if kind == 2 else np.full(width, kind == 1)
        m.emit("Where", [m.constant(condition), source, m.constant(np.float32(m.rng.choice([0.0, -0.0, 1.0])))])


def cast(m: Maker) -> None:
    source = m.pick(lambda value: not value.near and value.array.dtype in (FLOAT, INT, BOOL))
    if source is None or (source.array.dtype == FLOAT and not bool((np.abs(source.array) < 1e6).all())):
        return
    back = helper.np_dtype_to_tensor_dtype(source.array.dtype)
    wide = m.rng.choice([TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT])
    for middle in m.emit("Cast", [source], to=wide):
        if m.rng.random() < 0.5:
            m.emit("Cast", [middle], to=back)
        elif m.rng.random() < 0.5:
            m.emit("CastLike", [middle, source])


def integers(m: Maker) -> None:
    source = m.pick(lambda value: value.array.dtype == INT)
    if source is not None:
        op = m.rng.choice(["Add", "Sub", "Mul", "Div", "Mod", "Neg", "Abs"])
        others = [] if op in ("Neg", "Abs") else [m.constant(np.int64(m.rng.choice([-3, -1, 1, 2, 7, 1 << 62])))]
        m.emit(op, [source, *others])


def quantized(m: Maker) -> None:
    source = m.floats(exact=True)
    if source is not None and bool((np.abs(source.array) < 1e6).all()):
        scale, zero = m.constant(np.float32(m.rng.choice([0.25, 0.5]))), m.constant(np.int8(m.rng.choice([0, -3])))
        for stored in m.emit("QuantizeLinear", [source, scale, zero]):
            m.emit("DequantizeLinear", [stored, scale, zero])


# Movement


def transpose(m: Maker) -> None:
    source = m.pick(lambda value: value.array.ndim > 0 and value.array.dtype != BOOL)
    if source is not None:
        perm = list(range(source.array.ndim))
        m.rng.shuffle(perm)
        for moved in m.emit("Transpose", [source], perm=perm):
            if m.rng.random() < 0.4:
                back = [perm.index(axis) for axis in range(len(perm))] if m.rng.random() < 0.6 else perm[::-1]
                m.emit("Transpose", [moved], perm=back)


def _factors(m: Maker, total: int) -> list[int]:
    found = []
    for _ in range(m.rng.randrange(4)):
        sizes = [size for size in (1, 2, 3, 4, 6, 8) if total % size == 0] if total else [1, 2]
        found.append(m.rng.choice(sizes))
        total //= found[-1]
    return [*found, total]


def reshape(m: Maker) -> None:
    source = m.number()
    if source is None:
        return
    wanted = _factors(m, source.array.size)
    m.rng.shuffle(wanted)
    if source.array.size and m.rng.random() < 0.5:
        wanted[m.rng.randrange(len(wanted))] = -1
    if m.rng.random() < 0.6:
        m.emit("Reshape", [source, m.ints(*wanted)])
    else:
        for shape in m.emit("Concat", [m.ints(item) for item in wanted], axis=0):
            m.emit("Reshape", [source, shape])


def sizes(m: Maker) -> None:
    """A view or a new tensor, of computed sizes."""
    source = m.floats(2)
    if source is None:
        return
    for shape in m.emit("Shape", [source]):
        first = m.emit("Gather", [shape, m.ints(m.rng.choice([0, -1]))])
        if not first:
            return
        kind = m.rng.randrange(4)
        if kind == 0:
            for target in m.emit("Concat", [first[0], m.ints(-1)], axis=0):
                m.emit("Reshape", [source, target])
        elif kind == 1:
            filled = numpy_helper.from_array(np.array([m.rng.choice([0.0, 1.5])], np.float32))
            for new in m.emit("ConstantOfShape", [shape], value=filled):
                m.emit(m.rng.choice(["Add", "Mul"]), [source, new])
        elif kind == 2:
            for count in m.emit("Squeeze", [first[0], m.ints(0)]):
                m.emit("Range", [m.constant(np.int64(0)), count, m.constant(np.int64(1))])
        else:
            for half in m.emit("Div", [first[0], m.ints(2)]):
                for end in m.emit("Mul", [half, m.ints(2)]):
                    m.emit("Slice", [source, m.ints(0), end, m.ints(0)])


def of_random(m: Maker) -> None:
    """Sizes of random numbers are known; they are not."""
    source = m.floats(1)
    if source is None:
        return
    name = m.shared.name("r")
    m.nodes.append(helper.make_node("RandomNormalLike", [source.name], [name]))
    m.shared.reached["RandomNormalLike"] += 1
    m.add("Shape", [Known(name, source.array)], [np.array(source.array.shape, np.int64)], near=False)


def squeeze(m: Maker) -> None:
    source = m.number()
    if source is not None:
        ones = [axis for axis, dim in enumerate(source.array.shape) if dim == 1]
        m.emit("Squeeze", [source, m.ints(m.rng.choice(ones))] if ones else [source])


def unsqueeze(m: Maker) -> None:
    source = m.number()
    if source is not None:
        for view in m.emit("Unsqueeze", [source, m.ints(m.rng.randint(-source.array.ndim - 1, source.array.ndim))]):
            if m.rng.random() < 0.3:
                m.emit("Flatten", [view], axis=m.rng.randint(0, view.array.ndim))


def cut(m: Maker) -> None:
    source = m.number()
    if source is None or not source.array.ndim:
        return
    for _ in range(m.rng.randint(1, 2)):
        axis = m.rng.randint(-source.array.ndim, source.array.ndim - 1)
        start, end = m.rng.randint(-5, 5), m.rng.choice([-1, 1, 2, 3, 9, 2**63 - 1, -(2**63)])
        found = m.emit("Slice", [source, *(m.ints(item) for item in (start, end, axis, m.rng.choice([1, 1, 2, -1])))])
        if not found:
            return
        source = found[0]


def apart(m: Maker) -> None:
    """All of a tensor in pieces, by Split or by slices, and maybe together again."""
    source = m.number()
    if source is None or not source.array.ndim:
        return
    axis = m.rng.randrange(source.array.ndim)
    dim = source.array.shape[axis]
    if dim < 2 or dim > 4:
        return
    first = 1 if m.rng.random() < 0.6 else dim - 1
    if m.rng.random() < 0.5:
        parts = [1] * dim if m.rng.random() < 0.5 else [first, dim - first]
        pieces = m.emit("Split", [source, m.ints(*parts)], len(parts), axis=axis)
    else:
        bounds = [(0, first), (first, dim)]
        pieces = [
            piece
            for low, high in bounds
            for piece in m.emit("Slice", [source, m.ints(low), m.ints(high), m.ints(axis)])
        ]
    kind = m.rng.randrange(3)
    if kind == 0:
        for piece in pieces:
            m.emit("Squeeze", [piece, m.ints(axis)])
    elif kind == 1 and pieces:
        m.emit("Concat", pieces, axis=axis)


def gather(m: Maker) -> None:
    source = m.number()
    if source is None or not source.array.ndim:
        return
    axis = m.rng.randrange(source.array.ndim)
    dim = source.array.shape[axis]
    items = list(range(dim)) if m.rng.random() < 0.4 else [m.rng.randint(-dim, dim - 1) for _ in range(2) if dim]
    array = np.array(m.rng.choice([items, *items[:1]]), np.int64)
    m.emit("Gather", [source, m.constant(array)], axis=axis)


def concat(m: Maker) -> None:
    source = m.number()
    if source is not None and source.array.ndim:
        count = m.rng.randint(1, 3)
        m.emit("Concat", [source] * count, axis=m.rng.randrange(source.array.ndim))


def pad(m: Maker) -> None:
    source = m.floats()
    if source is not None:
        pads = [m.rng.choice([0, 0, 0, 1, -1]) for _ in range(2 * source.array.ndim)]
        mode = m.rng.choice(["constant", "constant", "edge"])
        filled = [m.constant(np.float32(m.rng.choice([0.0, 1.0])))] if mode == "constant" else []
        m.emit("Pad", [source, m.ints(*pads), *filled], mode=mode)


def repeat(m: Maker) -> None:
    source = m.number()
    if source is None:
        return
    if m.rng.random() < 0.5:
        m.emit("Tile", [source, m.ints(*(m.rng.choice([1, 1, 2]) for _ in source.array.shape))])
        return
    other = m.number()
    if other is not None and m.rng.random() < 0.5:
        for shape in m.emit("Shape", [other]):
            m.emit("Expand", [source, shape])
    else:
        m.emit("Expand", [source, m.ints(*(m.rng.choice([1, 1, 2]) for _ in range(m.rng.randint(0, 5))))])


def reduce(m: Maker) -> None:
    source = m.number()
    if source is None:
        return
    op = m.rng.choice(["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"])
    axes = [axis for axis in range(source.array.ndim) if m.rng.random() < 0.5]
    if source.array.size and source.array.dtype == FLOAT:
        m.emit(op, [source, m.ints(*axes)], keepdims=m.rng.randrange(2), noop_with_empty_axes=m.rng.randrange(2))


def find(m: Maker) -> None:
    source = m.floats(1, exact=True)
    if source is not None and source.array.size:
        m.emit("ArgMax", [source], axis=m.rng.randrange(source.array.ndim), keepdims=m.rng.randrange(2))


# Layers, whose results may be off in the last bits once something is fused into them


def _weights(m: Maker, *shape: int) -> Known:
    """One of a few, so that layers share them."""
    array = np.random.default_rng(m.rng.randrange(2)).standard_normal(shape).astype(np.float32)
    return m.constant(array / np.float32(np.sqrt(max(1, array[0].size))))


def dense(m: Maker) -> None:
    source = m.floats(2)
    if source is None or not source.array.size:
        return
    width = source.array.shape[-1]
    if source.array.ndim == 2 and m.rng.random() < 0.5:
        bias = [_weights(m, 3)] if m.rng.random() < 0.5 else []
        found = m.emit("Gemm", [source, _weights(m, 3, width), *bias], near=True, transB=1)
    else:
        found = m.emit("MatMul", [source, _weights(m, width, 3)], near=True)
    _after(m, found, 1)


def convolution(m: Maker) -> None:
    source = m.floats(3)
    if source is None or not source.array.size or source.array.ndim > 4:
        return
    if m.rng.random() < 0.2:
        source = _scaled(m, source)
    channels, kernel = source.array.shape[1], [1] * (source.array.ndim - 3) + [m.rng.choice([1, 2])]
    if m.rng.random() < 0.3:
        pads = [0, 0, *[1] * (source.array.ndim - 2)] * 2
        source = next(iter(m.emit("Pad", [source, m.ints(*pads)])), source)
    bias = [_weights(m, 2)] if m.rng.random() < 0.5 else []
    found = m.emit("Conv", [source, _weights(m, 2, channels, *kernel), *bias], near=True)
    _after(m, found, source.array.ndim - 2)


def _scaled(m: Maker, source: Known) -> Known:
    shape = (source.array.shape[1], *[1] * (source.array.ndim - 2))
    return next(iter(m.emit(m.rng.choice(["Mul", "Add"]), [source, _weights(m, *shape)], near=True)), source)


def _after(m: Maker, found: list[Known], spatial: int) -> None:
    for layer in found:
        channels = layer.array.shape[1 if spatial > 1 or layer.array.ndim > 2 else -1]
        kind = m.rng.randrange(4)
        if kind == 0:
            scale = [_weights(m, channels) for _ in range(3)]
            variance = m.constant(np.linspace(0.5, 2, channels, dtype=np.float32))
            for normal in m.emit("BatchNormalization", [layer, *scale, variance], near=True):
                m.emit("Relu", [normal])
        elif kind == 1 and layer.array.ndim > 2:
            _scaled(m, layer)
        elif kind == 2:
            m.emit("Add", [layer, m.constant(np.float32(0.5))], near=True)


def constants(m: Maker) -> None:
    """What depends on nothing, and who reads it."""
    array = np.arange(m.rng.choice([1, 4, 12]), dtype=np.float32)
    found = m.emit(m.rng.choice(["Exp", "Neg", "Sqrt", "Log", "Sin"]), [m.constant(array)])
    if m.rng.random() < 0.4:
        found = m.emit("Cos", found)
    source = m.floats(exact=True)
    if found and source is not None:
        m.emit(m.rng.choice(["Add", "Mul", "Max"]), [source, found[0]], near=True)


PLAIN: Moves = (
    *(unary, binary, with_number, clip, choose, masked, cast, integers, quantized),
    *(transpose, reshape, sizes, of_random, squeeze, unsqueeze, cut, apart, gather, concat, pad, repeat, reduce, find),
    *(dense, convolution, convolution, constants, unary, binary, with_number, transpose),
)
