"""A fact about a value, and a question for one, as rules of inference see them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpError
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.onnx.expr import Expr, dim_of

MAX_ELEMENTS = 64
"""Tensors with more elements are known by type only."""

Shape = tuple[Expr, ...]
Elements = tuple[Expr | None, ...]


@dataclass(frozen=True)
class Fact:
    """What is known of one value.

    Attributes:
        dtype: element type; None when unknown, and for what is no tensor.
        shape: None when not even the rank is known.
        elements: of an integer or boolean tensor, in C order, None for each that is not known; None when none is.
    """

    dtype: DType | None = None
    shape: Shape | None = None
    elements: Elements | None = None

    @property
    def dims(self) -> tuple[int, ...] | None:
        """The shape when it is all numbers."""
        if self.shape is None:
            return None
        found = tuple(dim for dim in self.shape if isinstance(dim, int))
        return found if len(found) == len(self.shape) else None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def vector(self) -> Shape | None:
        """The elements when all are known, as numbers or expressions."""
        if self.elements is None:
            return None
        found = tuple(item for item in self.elements if item is not None)
        return found if len(found) == len(self.elements) else None

    @property
    def integers(self) -> tuple[int, ...] | None:
        """The elements when all are known numbers."""
        if self.elements is None:
            return None
        found = tuple(item for item in self.elements if isinstance(item, int))
        return found if len(found) == len(self.elements) else None

    @property
    def array(self) -> Array | None:
        """The tensor when all of it is known."""
        found, dims = self.integers, self.dims
        if found is None or dims is None or self.dtype is None:
            return None
        return np.array(found, np.int64).astype(self.dtype.numpy).reshape(dims)

    @property
    def type(self) -> TensorType:
        """As a type for a value."""
        shape = None if self.shape is None else tuple(map(dim_of, self.shape))
        return TensorType(self.dtype or DType.OPAQUE, shape)


NOTHING = Fact()


class Source(Protocol):
    """What gives facts, to inference: of values in nested graphs, and names for sizes that nothing is known of."""

    def of(self, value: Value) -> Fact: ...

    def fresh(self) -> Expr: ...


@dataclass(frozen=True)
class Asked:
    """A node whose results' facts are wanted, as inference sees it.

    Attributes:
        node: the node.
        opset: version of the default domain.
        operands: a fact for each operand; None where absent.
        facts: for values in nested graphs, and names for sizes that nothing is known of.
    """

    node: Node
    opset: int
    operands: tuple[Fact | None, ...]
    facts: Source

    @property
    def attrs(self) -> OnnxAttrs:
        assert isinstance(self.node.attrs, OnnxAttrs)
        return self.node.attrs

    def operand(self, index: int) -> Fact:
        """What is known of an operand; nothing when it is absent."""
        found = self.operands[index] if index < len(self.operands) else None
        return NOTHING if found is None else found

    def has(self, index: int) -> bool:
        return index < len(self.operands) and self.operands[index] is not None

    def constant(self, index: int) -> Array | None:
        value = self.node.optional_operand(index)
        return None if value is None else value.constant

    def list_of(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """A list of integers that was an attribute before an opset and is an operand from it on.

        Raises:
            OpError: there is one, but it is not known.
        """
        if self.opset < since:
            return self.attrs.integers(name)
        if not self.has(index):
            return None
        found = self.operand(index).integers
        if found is None:
            raise OpError(f"'{name}' is not known")
        return found

    def fresh(self) -> Expr:
        return self.facts.fresh()


Infer = Callable[[Asked], Sequence[Fact]]
"""Facts of a node's results. May raise OpError when too little is known: nothing is, then."""


def of_array(array: Array) -> Fact:
    """What a constant is known by."""
    dtype = DType.of(array.dtype)
    if (dtype.is_integer or dtype is DType.BOOL) and array.size <= MAX_ELEMENTS:
        return Fact(dtype, array.shape, tuple(int(item) for item in array.reshape(-1).tolist()))
    return Fact(dtype, array.shape)
