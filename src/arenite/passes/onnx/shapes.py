"""Arithmetic of shapes over named sizes, as inference needs it."""

from collections.abc import Sequence

from arenite.ir.opdef import OpError
from arenite.passes.onnx.expr import Expr, Poly, product
from arenite.passes.onnx.fact import Asked, Fact, Shape


def shape_of(fact: Fact) -> Shape:
    """The shape of a value of known rank.

    Raises:
        OpError: not even the rank is known.
    """
    if fact.shape is None:
        raise OpError("the rank is not known")
    return fact.shape


def length_of(fact: Fact) -> Expr:
    """How many elements a list has.

    Raises:
        OpError: it is none, or not even the rank is known.
    """
    shape = shape_of(fact)
    if len(shape) != 1:
        raise OpError("a shape must be a list")
    return shape[0]


def place(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        OpError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise OpError(f"axis {axis} of {rank} dimensions")
    return axis % rank


def places(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front; raises as `place` does."""
    return tuple(place(axis, rank) for axis in axes)


def joined(asked: Asked, one: Expr, other: Expr) -> Expr:
    """The dimension that two broadcast to."""
    if other in (one, 1):
        return one
    if one == 1:
        return other
    if isinstance(one, Poly) and isinstance(other, Poly):
        return asked.fresh()
    # A number other than 1 stays, as whatever meets it is 1 or the same.
    return other if isinstance(one, Poly) else one


def broadcast(asked: Asked, shapes: Sequence[Shape]) -> Shape:
    """The shape that several broadcast to."""
    result: Shape = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        one, other = (1,) * (rank - len(result)) + result, (1,) * (rank - len(shape)) + shape
        result = tuple(joined(asked, a, b) for a, b in zip(one, other, strict=True))
    return result


def nelem(shape: Shape) -> Expr:
    return product(shape)


def with_dim(shape: Shape, axis: int, dim: Expr) -> Shape:
    return (*shape[:axis], dim, *shape[axis + 1 :])


def unknown_dims(asked: Asked, rank: int) -> Shape:
    return tuple(asked.fresh() for _ in range(rank))
