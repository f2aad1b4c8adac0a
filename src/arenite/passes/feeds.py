"""Inputs to try a graph on: random ones and those at the ends of the range, where saturation shows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.ir.graph import Array, Graph
from arenite.ir.types import TensorType

SYMBOLIC_DIM = 2
"""What a symbolic dimension is taken to be."""

_LARGE = 100.0


@dataclass(frozen=True)
class Feed:
    """Inputs for one invocation, and what to call them in a message."""

    name: str
    arrays: dict[str, Array]


def made_up_feeds(graph: Graph, *, n_random: int = 2, edges: bool = True, seed: int = 0) -> list[Feed]:
    """Random inputs, and with `edges` those that are the smallest, the largest and the zero point throughout."""
    rng = np.random.default_rng(seed)
    makers: list[tuple[str, Callable[[TensorType], Array]]] = [
        (f"random {i}", lambda t: _random(t, rng)) for i in range(n_random)
    ]
    if edges:
        makers += [("all-minimum", _minimum), ("all-maximum", _maximum), ("zero-point", _zero_point)]
    return [Feed(name, {value.name: make(value.type) for value in graph.inputs}) for name, make in makers]


def _dims(type_: TensorType) -> list[int]:
    return [dim if isinstance(dim, int) else SYMBOLIC_DIM for dim in type_.shape or ()]


def _range(type_: TensorType) -> tuple[float, float]:
    """Ends of what may be fed: whole for stored numbers, small for plain integers, which tend to be indices."""
    if type_.dtype.is_float:
        return -_LARGE, _LARGE
    if type_.dtype.is_integer and (type_.quantization is not None or type_.dtype.itemsize == 1):
        return type_.dtype.limits
    return 0, 1


def _full(type_: TensorType, value: float) -> Array:
    return np.full(_dims(type_), value).astype(type_.dtype.numpy)


def _minimum(type_: TensorType) -> Array:
    return _full(type_, _range(type_)[0])


def _maximum(type_: TensorType) -> Array:
    return _full(type_, _range(type_)[1])


def _zero_point(type_: TensorType) -> Array:
    q = type_.quantization
    return _full(type_, q.zero_points[0] if q is not None and type_.dtype.is_integer else 0)


def _random(type_: TensorType, rng: np.random.Generator) -> Array:
    if type_.dtype.is_float:
        return rng.standard_normal(_dims(type_)).astype(type_.dtype.numpy)
    low, high = _range(type_)
    return rng.integers(int(low), int(high), _dims(type_), endpoint=True).astype(type_.dtype.numpy)
