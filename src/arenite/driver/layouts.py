"""Tensors of an onnx model beside those of a file that was made from it, whose dimensions lie in other orders."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from arenite.formats.tflite import Layout, Layouts, read_layouts
from arenite.ir.graph import Value
from arenite.ir.model import Model

Array = npt.NDArray[np.generic]
Kind = TypeVar("Kind", bound=np.generic)

_MOST_DIMS = 4
"""More dimensions have too many orders to try."""


def alike(reference: npt.NDArray[Kind], found: npt.NDArray[Kind]) -> npt.NDArray[Kind] | None:
    """A tensor in that order of its dimensions in which it is most like the reference, which may be any.

    Dimensions of size 1 may be there or not. None where no order gives the reference's shape.
    """
    if reference.size != found.size or reference.dtype != found.dtype:
        return None
    if reference.shape == found.shape and (reference.ndim > _MOST_DIMS or reference.ndim < 2):
        return found
    plain = found.reshape([dim for dim in found.shape if dim != 1])
    wanted = tuple(dim for dim in reference.shape if dim != 1)
    if plain.ndim != len(wanted) or plain.ndim > _MOST_DIMS:
        return None
    orders = (plain.transpose(order) for order in itertools.permutations(range(plain.ndim)))
    fitting = [each.reshape(reference.shape) for each in orders if each.shape == wanted]
    return min(fitting, key=lambda each: _apart(reference, each), default=None)


def _apart(reference: Array, found: Array) -> float:
    """How far two tensors are apart on the whole: a few wrong elements must not hide in which order they lie."""
    if reference.dtype.kind not in "biuf":
        return float(np.count_nonzero(reference != found))
    with np.errstate(all="ignore"):
        return float(np.nansum(np.abs(reference.astype(np.float64) - found.astype(np.float64))))


@dataclass(frozen=True)
class Side:
    """One of two models that are compared.

    Attributes:
        layouts: of a file that was made from an onnx model, when the other model is one; else None.
    """

    layouts: Layouts | None = None

    def input_dims(self, values: Sequence[Value]) -> list[tuple[int | str, ...] | None]:
        """The shapes of the inputs as the other model has them."""
        layouts = self.layouts.inputs if self.layouts else [None] * len(values)
        return [_dims(value, layout) for value, layout in zip(values, layouts, strict=True)]

    def inputs_taken(self, arrays: Sequence[Array]) -> list[Array]:
        """Inputs as the other model has them, as this one takes them."""
        return _each(self.layouts.inputs if self.layouts else (), arrays, Layout.into_file)

    def inputs_given(self, arrays: Sequence[Array]) -> list[Array]:
        """The reverse."""
        return _each(self.layouts.inputs if self.layouts else (), arrays, Layout.out_of_file)

    def outputs_given(self, arrays: Sequence[Array]) -> list[Array]:
        """Outputs as the other model has them."""
        return _each(self.layouts.outputs if self.layouts else (), arrays, Layout.out_of_file)


def line_up(a: Model, b: Model) -> tuple[Side, Side]:
    """Read how the tensors of a file lie beside those of an onnx model, whose open sizes become those of the file.

    Raises:
        ModelError: what the file says of that is damaged.
        DataError: the sizes contradict each other.
    """
    if a.format == b.format:
        return Side(), Side()
    onnx, file = (a, b) if a.format == "onnx" else (b, a)
    layouts = read_layouts(file)
    if layouts is not None:
        _close_sizes(onnx, layouts, file.graph.inputs)
    return (Side(), Side(layouts)) if file is b else (Side(layouts), Side())


def _close_sizes(onnx: Model, layouts: Layouts, values: Sequence[Value]) -> None:
    from arenite.passes.onnx.interface import Interface, apply_interface  # noqa: PLC0415 - heavy

    open_ = {value.name for value in onnx.graph.inputs if not value.type.is_static}
    pairs = zip(layouts.inputs, values, strict=True)
    shapes = {each.name: each.dims_in_onnx(value.type.dims) for each, value in pairs if each.name in open_}
    apply_interface(onnx.graph, Interface(shapes, {}))


def _dims(value: Value, layout: Layout | None) -> tuple[int | str, ...] | None:
    return value.type.shape if layout is None else layout.dims_in_onnx(value.type.dims)


def _each(layouts: Sequence[Layout], arrays: Sequence[Array], move: Callable[[Layout, Array], Array]) -> list[Array]:
    if not layouts:
        return list(arrays)
    return [move(layout, array) for layout, array in zip(layouts, arrays, strict=True)]
