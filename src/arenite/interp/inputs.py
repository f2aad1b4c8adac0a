"""What a caller gives as inputs, checked against a graph."""

from collections.abc import Mapping, Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import DataError
from arenite.ir.graph import Array, Graph, Value

Inputs = Sequence[Array] | Mapping[str, Array]
"""One array per graph input: in order, or by name."""


def checked_inputs(graph: Graph, inputs: Inputs) -> list[Array]:
    """The inputs in the graph's order, of its dtypes and shapes. A float64 array is taken for a float32 input.

    Raises:
        DataError: every input that is missing, unknown, or of another dtype or shape.
    """
    named = inputs if isinstance(inputs, Mapping) else _by_position(graph, inputs)
    problems = [f"there is no input '{name}'; there are {_names(graph)}" for name in named if name not in _known(graph)]
    found: list[Array] = []
    symbols: dict[str, int] = {}
    for value in graph.inputs:
        if value.name not in named:
            problems.append(f"input '{value.name}' ({value.type}) is missing")
            continue
        array = np.asarray(named[value.name])
        if array.dtype == np.float64 and value.type.dtype is DType.FLOAT32:
            array = array.astype(np.float32)
        problems.extend(input_problems(value, array, symbols))
        found.append(array)
    if problems:
        raise DataError(problems)
    return found


def input_problems(value: Value, array: Array, symbols: dict[str, int]) -> list[str]:
    """Why an array is none for this input; `symbols` holds what symbolic dimensions have been so far."""
    problems = []
    if array.dtype != value.type.dtype.numpy:
        problems.append(f"input '{value.name}' must be {value.type.dtype}, found {array.dtype}")
    shape = value.type.shape
    if shape is not None:
        expected = tuple(symbols.get(dim, dim) if isinstance(dim, str) else dim for dim in shape)
        fits = len(expected) == array.ndim and all(
            isinstance(dim, str) or dim == found for dim, found in zip(expected, array.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join(map(str, expected))
            problems.append(f"input '{value.name}' must have shape [{wanted}], found {list(array.shape)}")
        else:
            symbols.update((dim, found) for dim, found in zip(shape, array.shape, strict=True) if isinstance(dim, str))
    return problems


def _known(graph: Graph) -> set[str]:
    return {value.name for value in graph.inputs}


def _names(graph: Graph) -> str:
    return ", ".join(f"'{value.name}'" for value in graph.inputs) or "none"


def _by_position(graph: Graph, inputs: Sequence[Array]) -> dict[str, Array]:
    if len(inputs) != len(graph.inputs):
        raise DataError(f"the model takes {len(graph.inputs)} inputs ({_names(graph)}), found {len(inputs)}")
    return {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
