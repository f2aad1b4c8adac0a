"""Changes of a model's interface that the user asks for: shapes of inputs, inputs that become constants, outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, UsageError
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.types import TensorType
from arenite.passes.onnx.facts import all_graphs


@dataclass(frozen=True)
class Interface:
    """What the user asks for.

    Attributes:
        shapes: static shapes of inputs, by name.
        pins: what inputs are taken to hold: they become constants.
        outputs: those to keep; all when empty.
    """

    shapes: Mapping[str, tuple[int, ...]]
    pins: Mapping[str, Array]
    outputs: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.shapes or self.pins or self.outputs)


def apply_interface(graph: Graph, wanted: Interface) -> None:
    """Change a graph's interface in place.

    Raises:
        UsageError: there is no such input or output; the nearest names are suggested.
        DataError: a shape or a value does not fit its input; all of them.
    """
    unknown = [
        *_unknown("input", (*wanted.shapes, *wanted.pins), graph.inputs),
        *_unknown("output", wanted.outputs, graph.outputs),
    ]
    if unknown:
        raise UsageError(unknown)
    by_name = {value.name: value for value in graph.inputs}
    sizes, problems = _sizes(by_name, wanted)
    arrays = {}
    for name, array in wanted.pins.items():
        fitted = _fitted(by_name[name], array, sizes)
        if isinstance(fitted, str):
            problems.append(fitted)
        else:
            arrays[name] = fitted
    if problems:
        raise DataError(problems)
    for name, shape in wanted.shapes.items():
        by_name[name].type = TensorType(by_name[name].type.dtype, shape)
    _substitute(graph, sizes)
    for name, array in arrays.items():
        _pin(graph, by_name[name], array)
    if wanted.outputs:
        graph.outputs = [value for value in graph.outputs if value.name in wanted.outputs]


def _unknown(kind: str, names: Iterable[str], values: Sequence[Value]) -> list[str]:
    known = [value.name for value in values]
    problems = []
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(known) or 'none'}"
            problems.append(f"the model has no {kind} '{name}'; {hint}")
    return problems


def _sizes(inputs: Mapping[str, Value], wanted: Interface) -> tuple[dict[str, int], list[str]]:
    """What named dimensions are with the given shapes, and where these do not fit."""
    sizes: dict[str, int] = {}
    problems = []
    given = [*wanted.shapes.items(), *((n, a.shape) for n, a in wanted.pins.items() if a.ndim)]
    for name, shape in given:
        type_ = inputs[name].type
        if type_.shape is None:
            continue
        fits = len(shape) == len(type_.shape)
        for dim, size in zip(type_.shape, shape, strict=False):
            if isinstance(dim, int):
                fits = fits and dim == size
            elif sizes.setdefault(dim, size) != size:
                problems.append(
                    f"input '{name}' has dimension '{dim}', which is {sizes[dim]} elsewhere and {size} here"
                )
        if not fits:
            problems.append(f"input '{name}' is {type_}; the shape {list(shape)} does not fit it")
    return sizes, problems


def _fitted(value: Value, array: Array, sizes: Mapping[str, int]) -> Array | str:
    """A pinned array as its input holds it, or what is wrong with it."""
    type_ = value.type
    if type_.dtype is DType.OPAQUE:
        return f"input '{value.name}' is no tensor; it cannot be pinned"
    shape = None if type_.shape is None else tuple(sizes.get(d, d) if isinstance(d, str) else d for d in type_.shape)
    dims = tuple(d for d in shape or () if isinstance(d, int))
    if array.ndim == 0 and shape:
        if len(dims) != len(shape):
            return f"input '{value.name}' is {type_}; give a value of some shape, or --input-shape for it"
        array = np.broadcast_to(array, dims)
    if shape is not None and len(shape) != array.ndim:
        return f"input '{value.name}' is {type_}; a value of shape {list(array.shape)} does not fit it"
    if array.dtype == type_.dtype.numpy:
        return np.array(array)
    with np.errstate(all="ignore"):
        cast: Array = array.astype(type_.dtype.numpy)
    exact = np.array_equal(cast.astype(np.float64), array.astype(np.float64), equal_nan=True)
    if not exact and not (type_.dtype.is_float and array.dtype.kind == "f"):
        return f"input '{value.name}' is {type_}; the value {array.reshape(-1)[:4].tolist()} is none of its kind"
    return cast


def _substitute(graph: Graph, sizes: Mapping[str, int]) -> None:
    """Let named dimensions be numbers wherever they are declared."""
    if not sizes:
        return
    for each in all_graphs(graph):
        for value in (*each.inputs, *each.outputs, *(v for node in each.nodes for v in node.results)):
            shape = value.type.shape
            if shape is not None and any(dim in sizes for dim in shape if isinstance(dim, str)):
                known = tuple(sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in shape)
                value.type = TensorType(value.type.dtype, known)


def _pin(graph: Graph, value: Value, array: Array) -> None:
    graph.inputs.remove(value)
    array.flags.writeable = False
    value.type = TensorType(value.type.dtype, array.shape)
    value.constant = array


def drop_dead_inputs(graph: Graph) -> list[str]:
    """Remove the inputs that nothing reads; their names."""
    dead = [value for value in graph.inputs if not value.is_read]
    graph.inputs = [value for value in graph.inputs if value.is_read]
    return [value.name for value in dead]
