"""Changes to tensors and their data: see `changes`."""

import numpy as np

from hostile.changes import Change, a_float, an_integer, an_operator, indices_of
from hostile.drafts import Draft, Sketch


def _tensor(sketch: Sketch) -> Draft:
    tensors = sketch.subgraph.drafts("tensors")
    return sketch.rng.choice(tensors) if tensors else sketch.made("Tensor")


_NBYTES = {0: 4, 1: 2, 2: 4, 3: 1, 4: 8, 6: 1, 7: 2, 9: 1, 10: 8, 12: 8, 15: 4, 16: 2, 17: 0.5, 18: 2}
"""Of an element, by the number of its type."""


def _with_fitting_data(sketch: Sketch, tensor: Draft) -> None:
    """A buffer of its own of the right size, where the tensor has data."""
    buffers, index = sketch.model.drafts("buffers"), tensor.integer("buffer")
    data = buffers[index].values.get("data") if 0 <= index < len(buffers) else None
    if not isinstance(data, np.ndarray) or not data.size:
        return
    nelem = float(np.prod([float(n) for n in indices_of(tensor, "shape")]))
    nbytes = np.ceil(nelem * _NBYTES.get(tensor.integer("type"), 1))
    if not 0 <= nbytes <= 1 << 20:
        return
    tensor.values["buffer"] = len(buffers)
    buffers.append(sketch.made("Buffer", data=np.resize(data, int(nbytes))))


def shape(sketch: Sketch) -> None:
    rng, tensor = sketch.rng, _tensor(sketch)
    dims = indices_of(tensor, "shape")
    way = rng.randrange(7)
    if way == 0 and dims:
        dims[rng.randrange(len(dims))] = an_integer(rng, -(2**31), 2**31 - 1, dims[0])
    elif way == 1:
        dims = []
    elif way == 2:
        dims = [1] * rng.choice((1, 2, 5, 6, 9, 33)) + dims
    elif way == 3:
        rng.shuffle(dims)
    elif way == 4 and dims:
        del dims[rng.randrange(len(dims))]
    elif way == 5 and dims:
        dims[rng.randrange(len(dims))] = rng.choice((0, 0, 1, 2, 3, 8))
    else:
        dims = [int(np.clip(np.prod(dims, dtype=np.float64), -(2**31), 2**31 - 1))]
    tensor.values["shape"] = np.array(dims, np.int32)
    if rng.random() < 0.3:
        tensor.values["shape_signature"] = np.array([-1 if rng.random() < 0.5 else n for n in dims], np.int32)
    if rng.random() < 0.7:
        _with_fitting_data(sketch, tensor)


def element_type(sketch: Sketch) -> None:
    """Of one tensor, of those of an operator, or of all that have the same."""
    rng, subgraph = sketch.rng, sketch.subgraph
    tensors = subgraph.drafts("tensors")
    if not tensors:
        return
    old, new = rng.choice(tensors).integer("type"), rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 7, 9, 9, 13, 14, 17, 22, 23))
    operator = an_operator(sketch)
    touched = indices_of(operator, "inputs") + indices_of(operator, "outputs") if operator else []
    way = rng.randrange(3)
    for index, tensor in enumerate(tensors):
        if tensor.integer("type") == old and (way == 0 or (way == 1 and index in touched)):
            tensor.values["type"] = new
            _with_fitting_data(sketch, tensor)
    if way == 2:
        tensor = rng.choice(tensors)
        tensor.values["type"] = new
        if rng.random() < 0.7:
            _with_fitting_data(sketch, tensor)


def quantization(sketch: Sketch) -> None:
    rng, tensor = sketch.rng, _tensor(sketch)
    q = tensor.draft("quantization")
    if q is None:
        tensor.values["quantization"] = q = sketch.made("QuantizationParameters")
    scales = np.asarray(q.values.get("scale", np.empty(0, np.float32)), np.float32)
    points = np.asarray(q.values.get("zero_point", np.empty(0, np.int64)), np.int64)
    way = rng.randrange(9)
    if way == 0:
        tensor.values["quantization"] = None
    elif way < 3 and scales.size:
        scales = scales.copy()
        scales[rng.randrange(scales.size)] = a_float(rng, float(scales[0]))
    elif way == 3 and scales.size:
        with np.errstate(over="ignore"):
            scales = scales * np.float32(rng.choice((1e-30, 0.001, 0.5, 2, 100, 1e6, 1e30, -1)))
    elif way < 6 and points.size:
        points = points.copy()
        points[rng.randrange(points.size)] = an_integer(rng, -(2**63), 2**63 - 1, int(points[0]))
    elif way == 6:
        dims = indices_of(tensor, "shape") or [1]
        axis = rng.randrange(len(dims))
        count = min(max(dims[axis], 0), 2048) if rng.random() < 0.8 else rng.choice((2, 3))
        scales = np.resize(scales if scales.size else np.float32(0.1), count) * np.linspace(1, 2, count, dtype="f4")
        points, q.values["quantized_dimension"] = np.zeros(count, np.int64), axis
    elif way == 7:
        scales, points = scales[:1], points[: rng.choice((0, 1))]
    else:
        q.values["quantized_dimension"] = an_integer(rng, -(2**31), 2**31 - 1, q.integer("quantized_dimension"))
    q.values["scale"], q.values["zero_point"] = scales.astype(np.float32), points


def buffers(sketch: Sketch) -> None:
    """Bytes of constants, and who has which."""
    rng, tensor, all_ = sketch.rng, _tensor(sketch), sketch.model.drafts("buffers")
    if not all_:
        return
    buffer = rng.choice(all_)
    data = buffer.values.get("data")
    way = rng.randrange(8)
    if way == 0:
        tensor.values["buffer"] = rng.choice((0, len(all_), 2**32 - 1, rng.randrange(len(all_))))
    elif way == 1 and isinstance(data, np.ndarray):
        buffer.values["data"] = data[: rng.randrange(data.size + 1)]
    elif way == 2 and isinstance(data, np.ndarray):
        buffer.values["data"] = np.resize(data, data.size + rng.choice((1, 2, 4, 16)))
    elif way == 3:
        buffer.values["data"] = rng.choice((None, np.empty(0, np.uint8), np.zeros(4, np.uint8)))
    elif way == 4:
        buffer.values["data"] = None if rng.random() < 0.7 else data
        buffer.values["offset"] = an_integer(rng, 0, 2**64 - 1, 16)
        buffer.values["size"] = an_integer(rng, 0, 2**64 - 1, data.size if isinstance(data, np.ndarray) else 16)
    elif way == 5 and isinstance(data, np.ndarray) and data.size:
        word = np.array([an_integer(rng, -(2**31), 2**31 - 1, 1)], np.int32).view(np.uint8)
        changed, at = data.copy(), 4 * rng.randrange(-(-data.size // 4))
        changed[at : at + 4] = word[: data.size - at]
        buffer.values["data"] = changed
    elif way == 6 and isinstance(data, np.ndarray):
        buffer.values["data"] = np.full(data.size, rng.choice((0, 0x7F, 0x80, 0xFF)), np.uint8)
    else:
        tensor.values["is_variable"] = True
        if rng.random() < 0.5:
            tensor.values["buffer"] = rng.randrange(len(all_))


def constants(sketch: Sketch) -> None:
    """An activation becomes a constant, or a constant an activation."""
    rng, tensor, all_ = sketch.rng, _tensor(sketch), sketch.model.drafts("buffers")
    has = tensor.integer("buffer") < len(all_) and all_[tensor.integer("buffer")].values.get("data") is not None
    if has:
        tensor.values["buffer"] = 0
    else:
        tensor.values["buffer"] = len(all_)
        all_.append(sketch.made("Buffer", data=np.array([rng.randrange(256) for _ in range(16)], np.uint8)))
        _with_fitting_data(sketch, tensor)


CHANGES: tuple[Change, ...] = (
    shape,
    shape,
    element_type,
    quantization,
    quantization,
    buffers,
    buffers,
    constants,
)
