"""One node's execution: its op's numpy reference, and a check that the result is what the graph declares."""

from collections.abc import Sequence

import numpy as np

from arenite._base.errors import ModelError, SelfCheckError
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Evaluate, OpCall, OpDef, OpError
from arenite.ir.types import TensorType


def execute(
    node: Node, definition: OpDef, operands: Sequence[Array | None], evaluate: Evaluate | None = None
) -> tuple[Array, ...]:
    """The node's results.

    Args:
        node: a node that the verifier accepts.
        definition: of its op.
        operands: one array per operand; those of variables are changed in place.
        evaluate: what to run in place of the op's own evaluation.

    Raises:
        ModelError: the op has no meaning on these dtypes.
        SelfCheckError: the op's reference gives another dtype or shape than its inference.
    """
    try:
        # Arithmetic on arrays without dimensions gives numpy scalars.
        results = tuple(np.asarray(x) for x in (evaluate or definition.evaluate)(OpCall.of(node), operands))
    except OpError as error:
        raise ModelError(f"node '{node.name}' ({node.op}): {error}") from error
    if len(results) != len(node.results):
        raise SelfCheckError(f"node '{node.name}' ({node.op}) gives {len(results)} results, not {len(node.results)}")
    wrong = [
        f"node '{node.name}' ({node.op}): %{value.name} must be {value.type}, its reference gives "
        f"{array.dtype}{list(array.shape)}"
        for value, array in zip(node.results, results, strict=True)
        if not array_fits(array, value.type)
    ]
    if wrong:
        raise SelfCheckError(wrong)
    return results


def array_fits(array: Array, type_: TensorType) -> bool:
    """Whether an array is of a type; a symbolic dimension fits any."""
    if array.dtype != type_.dtype.numpy:
        return False
    if type_.shape is None:
        return True
    return len(type_.shape) == array.ndim and all(
        isinstance(dim, str) or dim == found for dim, found in zip(type_.shape, array.shape, strict=True)
    )
