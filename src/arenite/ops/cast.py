"""Conversion of numbers from one element type to another, with no regard to scales."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, Trait, signature_text
from arenite.ir.types import TensorType
from arenite.ops.views import results_of, static_operand


@dataclass(frozen=True)
class CastAttrs(Attrs):
    """The element types as the file's options say; those of operand and result are what counts."""

    in_data_type: DType = DType.FLOAT32
    out_data_type: DType = DType.FLOAT32


def converted(x: Array, dtype: DType) -> Array:
    """Numbers as another element type.

    Integers wrap around. Floats lose their fraction and are limited to the type, where C leaves open what happens;
    NaN becomes 0. To bool: whether it is not 0. To float32: the nearest.
    """
    if dtype is DType.BOOL:
        return np.asarray(x != 0)
    if x.dtype.kind != "f" or dtype.is_float:
        return x.astype(dtype.numpy)
    low, high = dtype.limits
    whole = np.trunc(np.where(np.isnan(x), 0, x.astype(np.float64)))
    # Comparing, not clipping: the limits of 64 bits are no doubles.
    inside = np.where((whole >= -(2.0**63)) & (whole < 2.0**63), whole, 0).astype(np.int64)
    if dtype is DType.UINT64:
        inside = np.where((whole >= 0) & (whole < 2.0**64), whole, 0).astype(np.uint64)
    found = np.where(whole <= low, np.array(low, dtype.numpy), np.clip(inside, low, high).astype(dtype.numpy))
    return np.where(whole >= high, np.array(high, dtype.numpy), found)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return results_of(call, (static_operand(call, 0).dims,))


def _cast(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (converted(np.asarray(operands[0]), call.results[0].dtype),)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _canonical(node: Node) -> Attrs | None:
    """The element types that operand and result have."""
    found = CastAttrs(node.operand(0).type.dtype, node.result.type.dtype)
    return None if node.attrs == found else found


def _numbers(call: OpCall) -> bool | str:
    for dtype in (call.operand(0).dtype, call.results[0].dtype):
        whole = dtype.is_integer and dtype.itemsize > 0 and "int4" not in dtype.value and "int2" not in dtype.value
        if not whole and dtype not in (DType.BOOL, DType.FLOAT16, DType.FLOAT32, DType.FLOAT64):
            return signature_text(call)
    return True


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="cast",
        summary="The same numbers as another element type; integers wrap around, floats are cut off and limited.",
        attrs=CastAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE}),
        infer=_infer,
        evaluate_float=_cast,
        evaluate_quantized=_cast,
        cost=_cost,
        quantization=NotApplicable("it turns stored numbers as they are, so its operand must stay as it is"),
        canonicalize=_canonical,
        constraints=(Constraint("operand and result are bool, of integers from 8 bits on, or of floats", _numbers),),
    ),
)
