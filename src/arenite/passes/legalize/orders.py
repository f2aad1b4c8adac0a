"""In which order the dimensions of an ONNX value lie in a tensor of the core dialect.

ONNX puts channels behind the batch (NCHW), the core dialect puts them last (NHWC). An order says where each went.
"""

from collections.abc import Sequence

UNIT = -1
"""In an order: a dimension of size 1 that the ONNX value does not have."""

Order = tuple[int, ...]
"""Dimension i of the tensor is dimension `order[i]` of the ONNX value, or of size 1 where that is UNIT."""


def as_in_onnx(rank: int) -> Order:
    """The order in which nothing is moved."""
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """Batch, spatial dimensions, channels, of a value of 2 dimensions or more."""
    return (0, *range(2, rank), 1)


def plane(rank: int) -> Order:
    """What convolutions and pools of the core dialect read: NHWC, with a height of 1 where there is one spatial
    dimension. `rank` is 3 or 4.
    """
    return (0, UNIT, 2, 1) if rank == 3 else channels_last(rank)


def without_units(order: Order) -> Order:
    """The order without the dimensions that the ONNX value does not have."""
    return tuple(axis for axis in order if axis != UNIT)


def moved(dims: Sequence[int], order: Order) -> tuple[int, ...]:
    """The dimensions of the tensor: `dims` are the ONNX value's."""
    return tuple(1 if axis == UNIT else dims[axis] for axis in order)


def counting(order: Order, dims: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that say in which sequence the elements lie: those of size 1 do not."""
    return tuple(axis for axis in order if axis != UNIT and dims[axis] != 1)


def moves_nothing(first: Order, second: Order, dims: Sequence[int]) -> bool:
    """Whether a value has its elements in the same sequence in both orders."""
    return 0 in dims or counting(first, dims) == counting(second, dims)


def through_transpose(order: Order, perm: Sequence[int]) -> Order:
    """The order of a Transpose's result when the same tensor is taken for it: `order` is that of its operand."""
    return tuple(UNIT if axis == UNIT else perm.index(axis) for axis in order)


def before_transpose(order: Order, perm: Sequence[int]) -> Order:
    """The order that a Transpose's operand must lie in, so that the same tensor is its result in `order`."""
    return tuple(UNIT if axis == UNIT else perm[axis] for axis in order)


def dropped(order: Order, axes: Sequence[int]) -> Order:
    """The order of what is left when some dimensions of the ONNX value go: they go from the tensor, too."""
    gone = sorted(axes)
    return tuple(
        axis if axis == UNIT else axis - sum(each < axis for each in gone) for axis in order if axis not in gone
    )
