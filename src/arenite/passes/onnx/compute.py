"""Computes nodes of the onnx dialect beforehand, keeping what repeats as it is."""

from collections.abc import Callable, Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import OpCall, OpDef, OpError, Registry, Trait


def compute(node: Node, operands: Sequence[Array | None], registry: Registry) -> tuple[Array, ...] | str:
    """The results of a node, or why there are none. Along dimensions where all operands repeat, so does the result."""
    definition = registry[node.op]
    try:
        with np.errstate(all="ignore"):
            if definition.has(Trait.ELEMENTWISE) and any(a is not None and repeats(a) for a in operands):
                return _narrow_compute(node, operands, definition)
            return _evaluate(node, operands, definition)
    except OpError as error:
        return str(error)
    except (ValueError, TypeError, ArithmeticError, MemoryError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def _evaluate(node: Node, operands: Sequence[Array | None], definition: OpDef) -> tuple[Array, ...]:
    evaluate = definition.fold if definition.fold is not None else definition.evaluate_float
    if not callable(evaluate):
        raise OpError(evaluate.reason)
    results = evaluate(OpCall.of(node), operands)
    if not all(isinstance(result, np.ndarray) for result in results):
        raise OpError("its results are no tensors")
    return results


def repeats(array: Array) -> bool:
    """Whether an array has the same elements, stored once, along a dimension."""
    return any(stride == 0 and dim > 1 for stride, dim in zip(array.strides, array.shape, strict=True))


def _narrow_compute(node: Node, operands: Sequence[Array | None], definition: OpDef) -> tuple[Array, ...]:
    arrays = [array for array in operands if array is not None]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    narrow = [all(_is_same_along(array, axis - len(shape)) for array in arrays) for axis in range(len(shape))]
    small = [None if array is None else _cut(array, narrow) for array in operands]
    results = _evaluate(node, small, definition)
    return tuple(np.broadcast_to(result, shape) for result in results)


def _is_same_along(array: Array, axis: int) -> bool:
    """Whether an array has, along an axis counted from the end, no dimension, a dimension of 1, or repeats."""
    return -axis > array.ndim or array.shape[axis] == 1 or array.strides[axis] == 0


def _cut(array: Array, narrow: Sequence[bool]) -> Array:
    own = narrow[len(narrow) - array.ndim :]
    window = tuple(slice(0, 1) if cut else slice(None) for cut in own)
    cut_array: Array = array[window]
    return cut_array


def narrowed(array: Array) -> Array:
    """The array with 1 for each dimension along which it repeats: it broadcasts to the array."""
    small = narrowed_strides(array)
    for axis, dim in enumerate(small.shape):
        if dim > 1 and _is_constant_along(small, axis):
            small = small[(slice(None),) * axis + (slice(0, 1),)]
    return small


def _is_constant_along(array: Array, axis: int) -> bool:
    if array.dtype.kind not in "biuf":
        return False
    first = np.take(array, [0], axis)
    if array.dtype.kind == "f":
        # Bits, so that zeros keep their signs and NaN equals itself.
        word = f"u{array.itemsize}"
        return bool((np.ascontiguousarray(array).view(word) == np.ascontiguousarray(first).view(word)).all())
    return bool((array == first).all())


def stored_nbytes(array: Array) -> int:
    """Bytes that an array takes in a file."""
    if array.dtype == object:
        return sum(len(item) if isinstance(item, bytes) else len(str(item).encode()) for item in array.flat)
    return int(array.nbytes)


def stability(operands: Sequence[Array | None], results: Sequence[Array]) -> dict[str, object] | None:
    """What makes results unstable: NaN or infinity when no operand has any."""
    tests: tuple[tuple[str, Callable[[Array], Array]], ...] = (("NaN", np.isnan), ("infinite", np.isinf))
    for what, test in tests:
        for result in results:
            bad = _where(test, result)
            if bad is None or any(_where(test, array) is not None for array in operands):
                continue
            return {"count": bad[0], "what": what, "element": bad[1]}
    return None


def _where(test: Callable[[Array], Array], array: Array | None) -> tuple[int, list[int]] | None:
    """How many elements pass a test that only floats can pass, and where the first is; None when none does."""
    if array is None:
        return None
    if not (DType.of(array.dtype).is_float or np.iscomplexobj(array)):
        return None
    found = test(narrowed_strides(array))
    count = int(np.count_nonzero(found))
    return (count, [int(index) for index in np.argwhere(found)[0]]) if count else None


def narrowed_strides(array: Array) -> Array:
    """The array without its repetitions that cost nothing to see."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
