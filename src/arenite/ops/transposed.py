"""transpose_conv: a convolution turned round, over NHWC activations with an OHWI filter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, OpCall, OpDef, Operand, OpError, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import constant_ints
from arenite.ops.weighted import (
    FLOAT,
    INT8,
    INT16_WIDE_BIAS,
    Numbers,
    activated,
    exact_product,
    quantization_of,
    requantized,
    shared_constraints,
    without_idle_activation,
)
from arenite.ops.windows import Window, window

SHAPE, FILTER, DATA, BIAS = 0, 1, 2, 3


@dataclass(frozen=True)
class TransposeConvAttrs(Attrs):
    """Attributes of transpose_conv. Pairs are (height, width)."""

    stride: tuple[int, int] = (1, 1)
    padding: Padding = Padding.VALID
    activation: Activation = Activation.NONE


def transpose_attrs(call: OpCall) -> TransposeConvAttrs:
    """The attributes of a transpose_conv."""
    assert isinstance(call.attrs, TransposeConvAttrs)
    return call.attrs


def as_weighted(call: OpCall) -> OpCall:
    """The same call with its operands in the order of other ops with weights: input, filter, bias."""
    indices = (DATA, FILTER, BIAS)
    operands = tuple(call.operands[i] if i < len(call.operands) else None for i in indices)
    return replace(call, operands=operands, constants=tuple(call.constant(i) for i in indices))


def transpose_windows(call: OpCall) -> tuple[Window, Window]:
    """How the filter slides over the *result*: `size` is the result's, and `output` what it would give.

    TFLite pads as the convolution does that this one turns round.

    Raises:
        OpError: no window fits.
    """
    attrs, weight = transpose_attrs(call), call.operand(FILTER).dims
    _, height, width, _ = _result_shape(call)
    rows = window(height, weight[1], attrs.stride[0], 1, attrs.padding)
    return rows, window(width, weight[2], attrs.stride[1], 1, attrs.padding)


def _result_shape(call: OpCall) -> tuple[int, ...]:
    return tuple(int(size) for size in constant_ints(call, SHAPE, "the result's shape", wide=False).reshape(-1))


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    shape, data, weight = _result_shape(call), call.operand(DATA), call.operand(FILTER)
    if len(shape) != 4 or min(shape) < 1:
        raise OpError(f"the result's shape must be four numbers of at least 1, found {list(shape)}")
    if (shape[0], shape[3]) != (data.dims[0], weight.dims[0]):
        raise OpError(
            f"the result must have the input's batch of {data.dims[0]} and the filter's {weight.dims[0]} channels, "
            f"found the shape {list(shape)}"
        )
    transpose_windows(call)
    return (TensorType(data.dtype, shape, call.results[0].quantization),)


def _rank_four(call: OpCall) -> bool | str:
    for role, index in (("input", DATA), ("filter", FILTER)):
        if call.operand(index).rank != 4:
            return f"the {role} has {call.operand(index).rank}"
    return True


def _positive_stride(call: OpCall) -> bool | str:
    stride = transpose_attrs(call).stride
    return min(stride) >= 1 or f"found {stride}"


def _same_channels(call: OpCall) -> bool | str:
    data, taken = call.operand(DATA).dims[3], call.operand(FILTER).dims[3]
    return data == taken or f"the input has {data}, the filter takes {taken}"


def _constant_shape(call: OpCall) -> bool | str:
    return call.constant(SHAPE) is not None or "it is computed"


def of_weighted(constraint: Constraint) -> Constraint:
    """A requirement that other ops with weights make, of a transpose_conv."""
    return Constraint(constraint.text, lambda call: constraint.holds(as_weighted(call)))


def _constraints() -> tuple[Constraint, ...]:
    known, *rest = map(of_weighted, shared_constraints(0, (FLOAT, INT8, INT16_WIDE_BIAS)))
    return (
        known,
        Constraint("the result's shape is constant", _constant_shape),
        Constraint("input and filter have four dimensions", _rank_four),
        Constraint("the stride is at least 1", _positive_stride),
        Constraint("the filter takes the input's channels", _same_channels),
        *rest,
    )


Product = Callable[[Numbers, Numbers], Numbers]
"""The matrix product of rows (M, K) and columns (N, K)."""


def scattered_sums(
    data: Numbers, weight: Numbers, windows: tuple[Window, Window], dtype: npt.DTypeLike, product: Product
) -> Numbers:
    """What each input pixel adds to the result at each tap: (N, height, width, O) of the windows' sizes."""
    height, width = windows
    batches, rows, columns, channels = data.shape
    reach = tuple((n - 1) * w.stride + w.filter for n, w in ((rows, height), (columns, width)))
    # Room for all that is scattered, and for a result that reaches beyond it.
    room = tuple(max(r, w.pad_before + w.size) for r, w in zip(reach, windows, strict=True))
    canvas = np.zeros((batches, *room, weight.shape[0]), dtype)
    pixels = data.reshape(-1, channels)
    for ky in range(height.filter):
        for kx in range(width.filter):
            shares = product(pixels, weight[:, ky, kx, :]).reshape(batches, rows, columns, -1)
            bottom, right = ky + (rows - 1) * height.stride + 1, kx + (columns - 1) * width.stride + 1
            canvas[:, ky : bottom : height.stride, kx : right : width.stride] += shares
    top, left = height.pad_before, width.pad_before
    return canvas[:, top : top + height.size, left : left + width.size]


def _operands(operands: Sequence[Array | None]) -> tuple[Numbers, Numbers, Numbers | None]:
    data, weight = operands[DATA], operands[FILTER]
    assert data is not None, "the input was checked to be present"
    assert weight is not None, "the filter was checked to be present"
    return data, weight, operands[BIAS] if len(operands) > BIAS else None


def _quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """TFLM's reference_integer_ops::TransposeConv: int32 sums, then bias, then requantized twice rounded."""
    data, weight, bias = _operands(operands)
    zero_point = quantization_of(call.operand(DATA)).zero_point
    centred = data.astype(np.int16) - np.int16(zero_point)
    sums = scattered_sums(centred, weight.astype(np.int16), transpose_windows(call), np.int64, exact_product)
    return (requantized(as_weighted(call), sums, bias),)


def _float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = _operands(operands)
    sums = scattered_sums(data, weight, transpose_windows(call), np.float32, lambda a, b: a @ b.T)
    return (activated(call, sums, bias),)


def _cost(call: OpCall) -> Cost:
    """Every tap counts, those that leave the result too."""
    return Cost(macs=call.operand(DATA).nelem // call.operand(DATA).dims[3] * call.operand(FILTER).nelem)


def _canonicalize(node: Node) -> Attrs | None:
    call = OpCall.of(node)
    attrs = transpose_attrs(call)
    simpler = replace(attrs, activation=without_idle_activation(as_weighted(call)))
    return simpler if simpler != attrs else None


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="transpose_conv",
        summary=(
            "Transposed convolution of input (N, H, W, I) with filter (O, FH, FW, I) and bias (O) to the given shape "
            "(N, OH, OW, O): each input pixel adds its filter's taps to the result, `stride` apart"
        ),
        attrs=TransposeConvAttrs,
        operands=(Operand("output_shape"), Operand("filter"), Operand("input"), Operand("bias", optional=True)),
        result_names=("result",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer,
        evaluate_float=_float,
        evaluate_quantized=_quantized,
        cost=_cost,
        quantization=QuantizationRule(weight=FILTER, weight_axis=0, bias=BIAS, untouched=(SHAPE,)),
        canonicalize=_canonicalize,
        constraints=_constraints(),
    ),
)
