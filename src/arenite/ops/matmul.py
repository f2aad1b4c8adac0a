"""batch_matmul: matrix products over the last two dimensions, the leading ones broadcast."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize, requantize_int64, wrap_int32
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import (
    Constraint,
    Cost,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    QuantizationRule,
    Trait,
)
from arenite.ir.types import TensorType
from arenite.ops.arithmetic import Scaling
from arenite.ops.broadcasting import operand_pair
from arenite.ops.constraints import (
    INT16_SYMMETRIC,
    QUANTIZED_PER_TENSOR,
    declared_result,
    per_tensor,
    signatures,
    static_dims,
)

LARGEST_RANK = 5
INT16_LIMIT_NELEM = 2**16
"""Most products of int16 in one sum, so that it has 47 bits, as its scaling asks."""


@dataclass(frozen=True)
class BatchMatmulAttrs(Attrs):
    """Whether the last two dimensions of an operand are exchanged first."""

    adj_x: bool = False
    adj_y: bool = False


def matmul_attrs(call: OpCall) -> BatchMatmulAttrs:
    """The attributes of a batch_matmul."""
    assert isinstance(call.attrs, BatchMatmulAttrs)
    return call.attrs


@dataclass(frozen=True)
class MatmulShape:
    """Sizes of the products: `batch` of (rows, depth) times (depth, columns)."""

    batch: tuple[int, ...]
    rows: int
    depth: int
    columns: int


def matmul_shape(call: OpCall) -> MatmulShape:
    """The sizes, from the operands' types.

    Raises:
        OpError: a rank or a shape does not fit.
    """
    x, y, attrs = static_dims(call, 0, "operand 0"), static_dims(call, 1, "operand 1"), matmul_attrs(call)
    if not (2 <= len(x) <= LARGEST_RANK and 2 <= len(y) <= LARGEST_RANK):
        raise OpError(f"the operands must have 2 to {LARGEST_RANK} dimensions, found {list(x)} and {list(y)}")
    rows, depth = x[-2:][::-1] if attrs.adj_x else x[-2:]
    other, columns = y[-2:][::-1] if attrs.adj_y else y[-2:]
    if depth != other:
        raise OpError(f"the products must run over as many elements of both operands, found {depth} and {other}")
    try:
        batch = np.broadcast_shapes(x[:-2], y[:-2])
    except ValueError:
        raise OpError(f"the leading dimensions must broadcast, found {list(x[:-2])} and {list(y[:-2])}") from None
    return MatmulShape(batch, rows, depth, columns)


def matmul_scaling(call: OpCall) -> Scaling:
    """Of the sums of products (TFLite's GetQuantizedConvolutionMultipler, in double).

    Raises:
        OpError: a type is not quantized per tensor.
    """
    x, y = per_tensor(call.operand(0), "operand 0"), per_tensor(call.operand(1), "operand 1")
    return Scaling(*quantize_multiplier(x.scale * y.scale / per_tensor(call.results[0], "the result").scale))


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    shape = matmul_shape(call)
    return (declared_result(call, (*shape.batch, shape.rows, shape.columns)),)


def _product(call: OpCall, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    attrs = matmul_attrs(call)
    left = x.swapaxes(-1, -2) if attrs.adj_x else x
    right = y.swapaxes(-1, -2) if attrs.adj_y else y
    return np.asarray(np.matmul(left, right))


def _float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (_product(call, *operand_pair(operands, np.float32)),)


def _quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """int8 sums have 32 bits and are rounded twice, int16 ones have 64 and are rounded once."""
    x, y = operand_pair(operands, np.int64)
    x = x - per_tensor(call.operand(0), "operand 0").zero_point
    y = y - per_tensor(call.operand(1), "operand 1").zero_point
    result, scaling = call.results[0], matmul_scaling(call)
    sums = _product(call, x, y)
    if result.dtype is DType.INT16:
        scaled = requantize_int64(sums, scaling.multiplier, scaling.shift)
    else:
        scaled = requantize(wrap_int32(sums), scaling.multiplier, scaling.shift)
    stored = scaled + per_tensor(result, "the result").zero_point
    return (clamp(stored, *result.dtype.limits, result.dtype.numpy),)


def _cost(call: OpCall) -> Cost:
    shape = matmul_shape(call)
    return Cost(macs=_infer(call)[0].nelem * shape.depth)


def _narrow_shift(call: OpCall) -> bool | str:
    if call.results[0].dtype is not DType.INT16 or any(
        t is None or t.quantization is None for t in (*call.operands, *call.results)
    ):
        return True
    shift = matmul_scaling(call).shift
    return shift < 8 or f"a factor of 2**{shift}"


def _sums_fit(call: OpCall) -> bool | str:
    operand = call.operand(0)
    if operand.dtype is not DType.INT16 or not operand.is_static or operand.rank < 2:
        return True
    depth = operand.dims[-2 if matmul_attrs(call).adj_x else -1]
    return depth <= INT16_LIMIT_NELEM or f"{depth}"


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="batch_matmul",
        summary="Products of matrices (.., rows, depth) and (.., depth, columns) in the last two dimensions.",
        attrs=BatchMatmulAttrs,
        operands=(Operand("x"), Operand("y")),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer,
        evaluate_float=_float,
        evaluate_quantized=_quantized,
        cost=_cost,
        quantization=QuantizationRule(),
        canonicalize=NotApplicable("its flags say how the operands lie"),
        constraints=(
            signatures(*(((dtype, dtype), dtype) for dtype in (DType.FLOAT32, DType.INT8, DType.INT16))),
            QUANTIZED_PER_TENSOR,
            INT16_SYMMETRIC,
            Constraint("int16 sums are scaled by less than 2**7", _narrow_shift),
            Constraint(f"an int16 sum is of at most {INT16_LIMIT_NELEM} products", _sums_fit),
        ),
    ),
)
