"""What ops with weights share (conv2d, depthwise_conv2d, fully_connected): requirements, exact sums, requantization."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import (
    Int64Array,
    Requantize,
    quantize_multiplier,
    requantize,
    requantize_once,
    requantize_wide,
    stored_sums,
)
from arenite.ir.attrs import Activation
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, OpCall, OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range, activation_range_float

INPUT, WEIGHT, BIAS = 0, 1, 2

_BIAS_SCALE_TOLERANCE = 0.02
"""In steps of the result."""

_ROUND_UNSIGNED_PRODUCTS = frozenset({"conv2d", "depthwise_conv2d"})

Numbers = npt.NDArray[Any]
"""An array to calculate with, of the dtype that the call's types say."""


def static_operands(call: OpCall) -> bool | str:
    """Whether input, weight and bias have known shapes, none of them empty."""
    for type_ in call.operands:
        if type_ is not None and not type_.is_static:
            return f"found {type_}"
        if type_ is not None and type_.nelem < 1:
            return f"found an empty one, {type_}"
    return True


@dataclass(frozen=True)
class Signature:
    """Dtypes that have a meaning together. `bias`: those it may have."""

    data: DType
    weight: DType
    bias: tuple[DType, ...]

    def __str__(self) -> str:
        return f"{self.data} times {self.weight} plus {' or '.join(map(str, self.bias))}"


FLOAT = Signature(DType.FLOAT32, DType.FLOAT32, (DType.FLOAT32,))
INT8 = Signature(DType.INT8, DType.INT8, (DType.INT32,))
# TFLite's first quantization, and its 16-bit activations.
UINT8 = Signature(DType.UINT8, DType.UINT8, (DType.INT32,))
INT16 = Signature(DType.INT16, DType.INT8, (DType.INT32, DType.INT64))
INT16_WIDE_BIAS = Signature(DType.INT16, DType.INT8, (DType.INT64,))


def known_dtypes(signatures: tuple[Signature, ...]) -> Constraint:
    """The dtypes are those of a signature; the result has the input's."""

    def holds(call: OpCall) -> bool | str:
        data, weight, result = call.operand(INPUT).dtype, call.operand(WEIGHT).dtype, call.results[0].dtype
        for signature in signatures:
            if (data, weight, result) == (signature.data, signature.weight, signature.data):
                bias = call.operand(BIAS).dtype if call.has(BIAS) else signature.bias[0]
                return bias in signature.bias or f"found a bias of {bias}"
        return f"found {data} times {weight} to {result}"

    listed = "; ".join(map(str, signatures))
    return Constraint(f"dtypes of input, weights and bias are one of {listed}, and the result has the input's", holds)


def bias_shape(channels_axis: int) -> Constraint:
    """One bias per output channel, which the weight's dimension `channels_axis` counts."""

    def holds(call: OpCall) -> bool | str:
        if not call.has(BIAS):
            return True
        bias, channels = call.operand(BIAS), call.operand(WEIGHT).dims[channels_axis]
        return bias.nelem == channels or f"found {bias.nelem} for {channels} output channels"

    return Constraint("the bias has one element per output channel", holds)


def weight_quantization(channels_axis: int) -> Constraint:
    """Quantized weights are symmetric, per tensor or per output channel; those of uint8 lie anywhere, per tensor."""

    def holds(call: OpCall) -> bool | str:
        weight = call.operand(WEIGHT)
        quantization = weight.quantization
        if weight.dtype is DType.FLOAT32:
            return True
        if quantization is None:
            return "found none"
        if weight.dtype is DType.UINT8:
            return quantization.is_per_tensor or f"found {len(quantization.scales)} scales of uint8 weights"
        if any(quantization.zero_points):
            return f"found zero points up to {max(map(abs, quantization.zero_points))}"
        if quantization.is_per_tensor:
            return True
        channels = weight.dims[channels_axis]
        if quantization.axis != channels_axis or len(quantization.scales) != channels:
            return f"found {len(quantization.scales)} scales along dimension {quantization.axis}"
        return True

    return Constraint(
        f"int8 weights have zero point 0 and one scale, or one per output channel (dimension {channels_axis}); "
        "uint8 weights have one scale",
        holds,
    )


def data_quantization(call: OpCall) -> bool | str:
    for role, type_ in (("input", call.operand(INPUT)), ("result", call.results[0])):
        if not type_.dtype.is_integer:
            continue
        quantization = type_.quantization
        if quantization is None or not quantization.is_per_tensor:
            return f"the {role} has {'none' if quantization is None else 'one per channel'}"
        low, high = type_.dtype.limits
        if not low <= quantization.zero_point <= high or (type_.dtype is DType.INT16 and quantization.zero_point):
            return f"the {role}'s zero point is {quantization.zero_point}"
    return True


def positive_scales(call: OpCall) -> bool | str:
    for type_ in (*call.operands[: BIAS + 1], *call.results):
        quantization = None if type_ is None else type_.quantization
        for scale in () if quantization is None else quantization.scales:
            if not 0.0 < scale < float("inf"):
                return f"found {scale}"
    return True


def defined_multipliers(call: OpCall) -> bool | str:
    if not all(t.dtype.is_integer for t in (call.operand(INPUT), call.operand(WEIGHT), call.results[0])):
        return True
    largest = max(real_multipliers(call, 1))
    limit = 2.0**7 if call.operand(INPUT).dtype is DType.INT16 else 2.0**30
    return largest < limit or f"found {largest}"


def bias_quantization(call: OpCall) -> bool | str:
    """Whether the bias counts in units of the products, from 0 on.

    As TFLite: the difference may be a fiftieth of the result's step (GetQuantizedConvolutionMultipler in
    lite/kernels/kernel_util.cc); that of int8 convolutions and of weights per channel is not looked at.
    """
    result, weight = call.results[0], call.operand(WEIGHT)
    found = call.operand(BIAS).quantization if call.has(BIAS) else None
    if found is not None and any(found.zero_points):
        return f"found the zero point {next(filter(None, found.zero_points))}"
    asked = call.op == "fully_connected" or weight.dtype is DType.UINT8
    if not call.has(BIAS) or not asked or result.dtype.is_float or not quantization_of(weight).is_per_tensor:
        return True
    products = quantization_of(call.operand(INPUT)).scale * quantization_of(weight).scale
    scale = 0.0 if found is None else found.scales[0]
    if abs(products - scale) / quantization_of(result).scale <= _BIAS_SCALE_TOLERANCE:
        return True
    return f"found {'none' if found is None else scale}, where input scale * weight scale is {products:g}"


def clamping_activation(call: OpCall) -> bool | str:
    activation = activation_of(call)
    return activation in CLAMPING_ACTIVATIONS or f"found {activation.value}"


def shared_constraints(channels_axis: int, signatures: tuple[Signature, ...] = (FLOAT, INT8)) -> tuple[Constraint, ...]:
    """Constraints on dtypes, bias, quantization and activation; an op's own on ranks come after the first.

    `channels_axis` is the weight's dimension of output channels.
    """
    return (
        Constraint("input, weights and bias have known shapes that are not empty", static_operands),
        known_dtypes(signatures),
        bias_shape(channels_axis),
        weight_quantization(channels_axis),
        Constraint(
            "quantized inputs and results have one scale and a zero point within the type, 0 for int16",
            data_quantization,
        ),
        Constraint("scales are positive and finite", positive_scales),
        # A larger one shifts by more bits than there are, which C leaves undefined: there is no result to equal.
        Constraint("input scale * weight scale / result scale is below 2**30, for int16 2**7", defined_multipliers),
        Constraint("the bias's scale is input scale * weight scale, its zero point 0", bias_quantization),
        Constraint("the fused activation is a clamp: none, relu, relu6 or relu_n1_to_1", clamping_activation),
    )


def activation_of(call: OpCall) -> Activation:
    activation = getattr(call.attrs, "activation", Activation.NONE)
    assert isinstance(activation, Activation)
    return activation


def quantization_of(type_: TensorType) -> Quantization:
    """The quantization of a type that must have one.

    Raises:
        OpError: it has none.
    """
    if type_.quantization is None:
        raise OpError(f"an integer result is defined by quantizations, found a plain {type_}")
    return type_.quantization


def real_multipliers(call: OpCall, channels: int) -> tuple[float, ...]:
    """Input scale * weight scale / result scale of each output channel, in double from float32 scales.

    That order and precision are TFLite-Micro's (PopulateConvolutionQuantizationParams), fully_connected included: its
    per-tensor path does not round the product to float32 either, as the results of the wheel show. LiteRT's uint8
    convolutions do (GetQuantizedConvolutionMultipler).
    """
    data = quantization_of(call.operand(INPUT)).scale
    weight = quantization_of(call.operand(WEIGHT))
    result = quantization_of(call.results[0]).scale
    scales = weight.scales * channels if weight.is_per_tensor else weight.scales
    if call.operand(INPUT).dtype is DType.UINT8 and call.op in _ROUND_UNSIGNED_PRODUCTS:
        with np.errstate(over="ignore", under="ignore"):
            return tuple(float(np.float32(data) * np.float32(scale)) / result for scale in scales)
    return tuple(data * scale / result for scale in scales)


def quantized_multipliers(call: OpCall, channels: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Q31 multiplier and shift of each output channel. (Quotients of float32 numbers are finite in double.)"""
    reals = real_multipliers(call, channels)
    found = {real: quantize_multiplier(real) for real in set(reals)}
    pairs = [found[real] for real in reals]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def rounds_once(call: OpCall) -> bool:
    """Whether sums are rounded once when they are requantized, not twice.

    16-bit activations have sums of 64 bits that are, unless the bias is int32; so are
    those of 32 bits of LiteRT's FULLY_CONNECTED on uint8, though not of its convolutions.
    """
    dtype = call.results[0].dtype
    if dtype is DType.INT16:
        return not call.has(BIAS) or call.operand(BIAS).dtype is DType.INT64
    return dtype is DType.UINT8 and call.op == "fully_connected"


def _rescale(call: OpCall) -> Requantize:
    if not rounds_once(call):
        return requantize
    return requantize_wide if call.results[0].dtype is DType.INT16 else requantize_once


def requantized(call: OpCall, sums: Int64Array, bias: Array | None) -> Array:
    """Quantized results of sums of products, whose last dimension is the output channel."""
    result = call.results[0]
    quantization = quantization_of(result)
    multipliers, shifts = quantized_multipliers(call, sums.shape[-1])
    return stored_sums(
        sums,
        0 if bias is None else bias.astype(np.int64).reshape(-1),
        multipliers,
        shifts,
        zero_point=quantization.zero_point,
        limits=activation_range(activation_of(call), quantization, result.dtype),
        dtype=result.dtype.numpy,
        rescale=_rescale(call),
    )


def activated(call: OpCall, values: Numbers, bias: Numbers | None) -> Array:
    """float32 results: bias added, activation applied."""
    if bias is not None:
        values = values + bias.reshape(-1)
    low, high = activation_range_float(activation_of(call))
    if (low, high) == (-np.inf, np.inf):
        return np.asarray(values, np.float32)
    return np.asarray(np.clip(values, low, high), np.float32)


def exact_product(rows: Numbers, columns: Numbers) -> Int64Array:
    """`rows @ columns.T` of integers, by floating point that is wide enough to be exact.

    Every partial sum is an integer below sum(|columns|) * max(|rows|): up to 2**24 float32 holds it, up to 2**53
    float64 does, in any order of summation.

    `rows` is (M, K) and `columns` (N, K), integers of 16 and 9 bits at most, so that any K up to 2**29 is safe.
    """
    bound = largest_magnitude(rows) * int(np.abs(columns.astype(np.int64)).sum(axis=-1).max(initial=0))
    dtype = np.float32 if bound < 2**24 else np.float64
    left: Numbers = rows.astype(dtype)
    right: Numbers = columns.astype(dtype)
    product: Int64Array = (left @ right.T).astype(np.int64)
    return product


def largest_magnitude(numbers: Numbers) -> int:
    """Of integers, 0 of none."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def without_idle_activation(call: OpCall) -> Activation:
    """The fused activation, or NONE where the quantized type's own limits clamp at least as tightly."""
    activation = activation_of(call)
    result = call.results[0]
    quantization = result.quantization
    if activation is Activation.NONE or activation not in CLAMPING_ACTIVATIONS:
        return activation
    if quantization is None or not quantization.is_per_tensor or not result.dtype.is_integer:
        return activation
    idle = activation_range(activation, quantization, result.dtype) == result.dtype.limits
    return Activation.NONE if idle else activation


def centred(array: Numbers, type_: TensorType) -> Numbers:
    """int16: what is stored, less its zero point (which int16 has none of)."""
    quantization = quantization_of(type_)
    zero_point = quantization.zero_point if quantization.is_per_tensor else 0
    return array.astype(np.int16) - np.int16(zero_point)


def operands_of(operands: Sequence[Array | None]) -> tuple[Numbers, Numbers, Numbers | None]:
    """Input, weight, bias of an execution."""
    data, weight = operands[INPUT], operands[WEIGHT]
    assert data is not None, "the input was checked to be present"
    assert weight is not None, "the weights were checked to be present"
    return data, weight, operands[BIAS] if len(operands) > BIAS else None
