"""Between real and stored numbers: quantize (also from one quantization to another), dequantize."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, quantize_multiplier, requantize, round_half_away
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, Trait
from arenite.ir.types import Quantization, TensorType
from arenite.ops.constraints import declared_result, per_tensor, signatures, static_dims


def quantize_real(
    values: npt.NDArray[np.floating], quantization: Quantization, dtype: DType
) -> npt.NDArray[np.generic]:
    """Real numbers as stored ones: `round(value / scale) + zero_point`, limited to the type.

    TFLite's AffineQuantize, with the division in the precision of `values` and halves rounded away from zero.
    Values beyond 32 bits saturate (TFLM converts them to int32 first, which C leaves undefined); NaN becomes the
    zero point.
    """
    scale = np.asarray(_along(quantization.scales, quantization, values.ndim), values.dtype)
    zero_point = _along(quantization.zero_points, quantization, values.ndim)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = round_half_away(values / scale) + zero_point
    low, high = dtype.limits
    return np.clip(np.where(np.isnan(stored), zero_point, stored), low, high).astype(dtype.numpy)


def dequantize_stored(values: npt.NDArray[np.generic], quantization: Quantization) -> npt.NDArray[np.float32]:
    """Stored numbers as float32: `scale * (value - zero_point)`, computed in double and rounded once, as in TFLite."""
    scale = np.asarray(_along(quantization.scales, quantization, values.ndim), np.float64)
    zero_point = _along(quantization.zero_points, quantization, values.ndim)
    return (scale * (values.astype(np.float64) - zero_point)).astype(np.float32)


def _along(
    numbers: tuple[float, ...] | tuple[int, ...], quantization: Quantization, rank: int
) -> npt.NDArray[np.float64]:
    """Numbers per tensor or per slice, shaped to broadcast against a tensor of `rank` dimensions."""
    array = np.asarray(numbers, np.float64)
    if quantization.axis is None:
        return array.reshape(())
    return array.reshape([-1 if axis == quantization.axis else 1 for axis in range(rank)])


def requantize_scaling(call: OpCall) -> tuple[int, int]:
    """Multiplier and shift from an integer operand's scale to the result's.

    Raises:
        OpError: a type is not quantized per tensor.
    """
    source, result = per_tensor(call.operand(0), "the input"), per_tensor(call.results[0], "the result")
    return quantize_multiplier(source.scale / result.scale)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _quantize(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x, result = np.asarray(operands[0]), call.results[0]
    if call.operand(0).dtype is DType.FLOAT32:
        assert result.quantization is not None
        return (quantize_real(x.astype(np.float32), result.quantization, result.dtype),)
    centred = x.astype(np.int64) - per_tensor(call.operand(0), "the input").zero_point
    stored = requantize(centred, *requantize_scaling(call)) + per_tensor(result, "the result").zero_point
    return (clamp(stored, *result.dtype.limits, result.dtype.numpy),)


def _dequantize(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x, source = np.asarray(operands[0]), call.operand(0)
    if source.dtype is DType.FLOAT16:
        return (x.astype(np.float32),)
    assert source.quantization is not None
    return (dequantize_stored(x, source.quantization),)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _stored_have_scales(call: OpCall) -> bool | str:
    for tensor in (call.operand(0), call.results[0]):
        if tensor.dtype.is_integer and tensor.quantization is None:
            return f"{tensor}"
    return True


def _requantizes_per_tensor(call: OpCall) -> bool | str:
    source = call.operand(0).quantization
    if source is None or call.results[0].quantization is None:
        return True
    both = source.is_per_tensor and call.results[0].quantization.is_per_tensor
    return both or f"{call.operand(0)} and {call.results[0]}"


_STORED_HAVE_SCALES = Constraint("each integer tensor is quantized", _stored_have_scales)
_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE})
_NO_ATTRIBUTES = NotApplicable("it has no attributes")
_IS_QUANTIZATION = NotApplicable("it is what quantization puts between real and stored numbers")
_ALWAYS_STORED = NotApplicable("its operand or its result is quantized, so the other facet answers")

OPS: tuple[OpDef, ...] = (
    OpDef(
        name="quantize",
        summary="Real numbers to stored ones, or stored ones to another scale and zero point.",
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_ALWAYS_STORED,
        evaluate_quantized=_quantize,
        cost=_cost,
        quantization=_IS_QUANTIZATION,
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            signatures(
                *(((DType.FLOAT32,), result) for result in (DType.INT8, DType.UINT8, DType.INT16)),
                *(((DType.INT8,), result) for result in (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)),
                *(((DType.UINT8,), result) for result in (DType.INT8, DType.UINT8)),
                *(((DType.INT16,), result) for result in (DType.INT8, DType.INT16, DType.INT32)),
                *(((DType.INT32,), result) for result in (DType.INT8, DType.INT16)),
            ),
            _STORED_HAVE_SCALES,
            Constraint("from stored to stored, both have one scale and zero point", _requantizes_per_tensor),
        ),
    ),
    OpDef(
        name="dequantize",
        summary="Stored numbers to real ones; float16 to float32.",
        attrs=Attrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_ALWAYS_STORED,
        evaluate_quantized=_dequantize,
        cost=_cost,
        quantization=_IS_QUANTIZATION,
        canonicalize=_NO_ATTRIBUTES,
        constraints=(
            signatures(
                *(
                    ((source,), DType.FLOAT32)
                    for source in (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT16)
                )
            ),
            _STORED_HAVE_SCALES,
        ),
    ),
)
