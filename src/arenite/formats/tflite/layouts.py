"""In which order a file that was made from an onnx model has the dimensions of its inputs and outputs.

A metadata entry of the name `arenite.layouts` says so, in JSON: `{"schema": 1, "inputs": [{"name", "order"}...],
"outputs": [...]}`, one for each input and output of the main graph. Dimension i of the file's tensor is dimension
`order[i]` of ONNX's.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.errors import ModelError
from arenite.formats.tflite.details import TfliteDetails
from arenite.ir.graph import Array, Value
from arenite.ir.model import Model

LAYOUTS = "arenite.layouts"
"""The name of the metadata entry."""

_SCHEMA = 1
_LIMIT_NBYTES = 1 << 20
_LETTERS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


@dataclass(frozen=True)
class Layout:
    """Of one input or output.

    Attributes:
        name: as the onnx model has it.
        order: a permutation; see the module.
    """

    name: str
    order: tuple[int, ...]

    @property
    def is_moved(self) -> bool:
        return self.order != tuple(range(len(self.order)))

    @property
    def letters(self) -> str:
        """`NHWC` and the like, where channels went last; else the permutation, empty where nothing is moved."""
        rank = len(self.order)
        if not self.is_moved:
            return ""
        if rank in _LETTERS and self.order == (0, *range(2, rank), 1):
            return "".join(_LETTERS[rank][axis] for axis in self.order)
        return f"dimensions {', '.join(map(str, self.order))} of ONNX"

    def dims_in_onnx(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The dimensions that ONNX has, of a tensor of the file with `dims`."""
        return tuple(dims[self.order.index(axis)] for axis in range(len(self.order)))

    def into_file(self, array: Array) -> Array:
        """An array of the onnx model as the file has it."""
        # Laid out anew, as its readers want it; ascontiguousarray makes a vector of a scalar.
        return np.array(array.transpose(self.order), order="C")

    def out_of_file(self, array: Array) -> Array:
        """An array of the file as the onnx model has it."""
        return np.array(array.transpose([self.order.index(axis) for axis in range(len(self.order))]), order="C")


@dataclass(frozen=True)
class Layouts:
    """Of every input and output, in the file's order."""

    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]

    def metadata(self) -> tuple[str, bytes]:
        """The entry that says so in a file.

        Raises:
            ModelError: it is larger than what is read.
        """
        content = {
            "schema": _SCHEMA,
            **{
                side: [{"name": each.name, "order": list(each.order)} for each in layouts]
                for side, layouts in (("inputs", self.inputs), ("outputs", self.outputs))
            },
        }
        data = json.dumps(content, separators=(",", ":")).encode()
        if len(data) > _LIMIT_NBYTES:
            raise ModelError(
                f"to say how inputs and outputs lie, the file would hold {len(data):,} bytes, more than the limit of "
                f"{_LIMIT_NBYTES:,}; give them shorter names, or keep fewer of them"
            )
        return LAYOUTS, data


def read_layouts(model: Model) -> Layouts | None:
    """What a file says of its layouts; None when it says nothing.

    Raises:
        ModelError: the entry is damaged, or is of another graph.
    """
    entries = [data for name, data in _metadata(model) if name == LAYOUTS]
    if not entries:
        return None
    if len(entries) > 1:
        raise _error(f"is there {len(entries)} times")
    (data,) = entries
    if len(data) > _LIMIT_NBYTES:
        raise _error(f"has {len(data):,} bytes, more than the limit of {_LIMIT_NBYTES:,}")
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise _error("is not JSON") from None
    if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
        raise _error(f"is not of schema {_SCHEMA}")
    return Layouts(
        _side("inputs", content.get("inputs"), model.graph.inputs),
        _side("outputs", content.get("outputs"), model.graph.outputs),
    )


def _metadata(model: Model) -> tuple[tuple[str | None, bytes], ...]:
    return model.details.metadata if isinstance(model.details, TfliteDetails) else ()


def _error(problem: str) -> ModelError:
    return ModelError(f"the metadata '{LAYOUTS}', which says how dimensions lie, {problem}; convert the model again")


def _side(side: str, items: object, values: Sequence[Value]) -> tuple[Layout, ...]:
    if not isinstance(items, list) or len(items) != len(values):
        raise _error(f"must have one entry for each of the model's {len(values)} {side}")
    return tuple(_layout(side, item, value) for item, value in zip(items, values, strict=True))


def _layout(side: str, item: object, value: Value) -> Layout:
    name = item.get("name") if isinstance(item, dict) else None
    order = item.get("order") if isinstance(item, dict) else None
    rank = len(value.type.shape or ())
    # A boolean is an int, too.
    numbers = isinstance(order, list) and all(type(axis) is int for axis in order)
    if not isinstance(name, str) or not isinstance(order, list) or not numbers or sorted(order) != list(range(rank)):
        raise _error(f"must give '{value.name}' among the {side} a name and a permutation of {rank} dimensions")
    return Layout(name, tuple(order))
