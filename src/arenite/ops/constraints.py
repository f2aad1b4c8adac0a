"""Requirements that several families make of a node's types, each with its text."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall, OpError, signature_text
from arenite.ir.types import Quantization, TensorType

POOL_SCALE_TOLERANCE = 1e-6
"""How far the scales of a pool's operand and result may be apart (TFLite's pooling.cc)."""


def per_tensor(tensor: TensorType, what: str) -> Quantization:
    """The per-tensor quantization of a type.

    Raises:
        OpError: it has none, or one per channel.
    """
    found = tensor.quantization
    if found is None or not found.is_per_tensor:
        state = "none" if found is None else "one scale per channel"
        raise OpError(f"{what} needs one scale and zero point, found {state}")
    return found


def static_dims(call: OpCall, index: int, name: str) -> tuple[int, ...]:
    """The shape of an operand that must be known.

    Raises:
        OpError: the rank or a dimension is unknown.
    """
    operand = call.operand(index)
    if not operand.is_static:
        raise OpError(f"the shape of {name} must be known, found {operand}")
    return operand.dims


def constant_ints(
    call: OpCall, index: int, name: str, *, wide: bool = True
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The value of a constant operand of int32, or of int64.

    Args:
        call: the node.
        index: of the operand.
        name: what to call it.
        wide: whether int64 will do. Where not, TFLite refuses it, or reads it as if it were int32.

    Raises:
        OpError: it is computed, or not made of such integers.
    """
    value = call.constant(index)
    if value is None:
        raise OpError(f"{name} (operand {index}) must be constant")
    if value.dtype != np.int32 and not (wide and value.dtype == np.int64):
        raise OpError(f"{name} (operand {index}) must be int32{' or int64' * wide}, found {value.dtype}")
    return np.asarray(value, np.int64)


def axis_in(axis: int, rank: int) -> int:
    """An axis counted from the front; it may be given from the back.

    Raises:
        OpError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise OpError(f"axis must be in [{-rank}, {rank - 1}] for {rank} dimensions, found {axis}")
    return axis % rank


def signatures(*allowed: tuple[tuple[DType, ...], DType]) -> Constraint:
    """The data operands and the result have one of these dtypes: (operands, result), trailing operands free."""
    texts = [f"({', '.join(map(str, operands))}) -> {result}" for operands, result in allowed]

    def holds(call: OpCall) -> bool | str:
        found = tuple(t.dtype for t in call.operands if t is not None)
        for operands, result in allowed:
            if found[: len(operands)] == operands and call.results[0].dtype == result:
                return True
        return f"{signature_text(call)}"

    return Constraint(f"dtypes must be one of {'; '.join(texts)}", holds, allowed)


def same_dtype_as_result(call: OpCall) -> bool | str:
    """Whether the data operand's dtype is the result's."""
    return call.operand(0).dtype == call.results[0].dtype or f"{signature_text(call)}"


RESULT_HAS_OPERAND_DTYPE = Constraint("the result has the operand's dtype", same_dtype_as_result)


def _quantized_per_tensor(call: OpCall) -> bool | str:
    for where, tensor in (*((f"operand {i}", t) for i, t in enumerate(call.operands)), ("the result", call.results[0])):
        small = tensor is not None and tensor.dtype in (DType.INT8, DType.UINT8, DType.INT16)
        if tensor is not None and small and (tensor.quantization is None or not tensor.quantization.is_per_tensor):
            return f"{where} is {tensor}"
    return True


QUANTIZED_PER_TENSOR = Constraint(
    "each int8, uint8 and int16 tensor has one scale and one zero point", _quantized_per_tensor
)


def _int16_symmetric(call: OpCall) -> bool | str:
    for where, tensor in (*((f"operand {i}", t) for i, t in enumerate(call.operands)), ("the result", call.results[0])):
        stored = tensor is not None and tensor.dtype is DType.INT16
        if tensor is not None and stored and tensor.quantization and any(tensor.quantization.zero_points):
            return f"{where} is {tensor}"
    return True


INT16_SYMMETRIC = Constraint("each int16 tensor has zero point 0", _int16_symmetric)


def _same_quantization(call: OpCall) -> bool | str:
    source, result = call.operand(0).quantization, call.results[0].quantization
    return source == result or f"{call.operand(0)} and {call.results[0]}"


SAME_QUANTIZATION = Constraint(
    "operand and result have the same scale and zero point (put a quantize before it to change them)",
    _same_quantization,
)


def _near_quantization(call: OpCall) -> bool | str:
    source, result = call.operand(0).quantization, call.results[0].quantization
    if source is None or result is None:
        return source == result or f"{call.operand(0)} and {call.results[0]}"
    near = (
        source.is_per_tensor
        and result.is_per_tensor
        and source.zero_point == result.zero_point
        and abs(source.scale - result.scale) <= POOL_SCALE_TOLERANCE
    )
    return near or f"{call.operand(0)} and {call.results[0]}"


NEAR_QUANTIZATION = Constraint(
    f"operand and result have the same zero point, and scales within {POOL_SCALE_TOLERANCE}", _near_quantization
)


def declared_result(call: OpCall, shape: tuple[int, ...]) -> TensorType:
    """The result's type with an inferred shape: dtype and quantization stay as declared."""
    declared = call.results[0]
    return TensorType(declared.dtype, shape, declared.quantization)
