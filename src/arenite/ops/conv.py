"""Convolutions over NHWC activations: conv2d (OHWI filter) and depthwise_conv2d (1HWO filter)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, Margins, Padding
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, OpCall, OpDef, Operand, OpError, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.weighted import (
    BIAS,
    FLOAT,
    INPUT,
    INT8,
    INT16,
    INT16_WIDE_BIAS,
    UINT8,
    WEIGHT,
    Numbers,
    Signature,
    activated,
    centred,
    exact_product,
    largest_magnitude,
    operands_of,
    requantized,
    shared_constraints,
    without_idle_activation,
)
from arenite.ops.windows import Window, along, spelled, window

_BLOCK_NELEM = 1 << 19
"""Inputs of patches at a time: 4 MB as float64, which caches hold."""
_MAX_STEP = 2**15 - 1
"""LiteRT's limit (conv.cc and depthwise_conv.cc, INT16_MAX)."""
_MANY_TAPS = 4096
"""A depthwise filter of more is not walked through tap by tap, unless there are as many pixels."""


@dataclass(frozen=True)
class Conv2dAttrs(Attrs):
    """Attributes of conv2d. Pairs are (height, width)."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding | Margins = Padding.VALID
    activation: Activation = Activation.NONE


@dataclass(frozen=True)
class DepthwiseConv2dAttrs(Attrs):
    """Attributes of depthwise_conv2d: `multiplier` outputs per input channel. Pairs are (height, width)."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: Padding | Margins = Padding.VALID
    multiplier: int = 1
    activation: Activation = Activation.NONE


ConvAttrs = Conv2dAttrs | DepthwiseConv2dAttrs


def conv_attrs(call: OpCall) -> ConvAttrs:
    """The attributes of either convolution."""
    assert isinstance(call.attrs, Conv2dAttrs | DepthwiseConv2dAttrs)
    return call.attrs


def conv_windows(call: OpCall) -> tuple[Window, Window]:
    """How the filter slides over height and width.

    Raises:
        OpError: no window fits.
    """
    attrs, data, weight = conv_attrs(call), call.operand(INPUT).dims, call.operand(WEIGHT).dims
    height, width = (
        window(data[1 + i], weight[1 + i], attrs.stride[i], attrs.dilation[i], along(attrs.padding, i))
        for i in range(2)
    )
    return height, width


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    height, width = conv_windows(call)
    data, weight = call.operand(INPUT), call.operand(WEIGHT)
    channels = weight.dims[0] if isinstance(call.attrs, Conv2dAttrs) else weight.dims[3]
    shape = (data.dims[0], height.output, width.output, channels)
    return (TensorType(data.dtype, shape, call.results[0].quantization),)


def _rank_four(call: OpCall) -> bool | str:
    for role, type_ in (("input", call.operand(INPUT)), ("filter", call.operand(WEIGHT))):
        if type_.rank != 4:
            return f"the {role} has {type_.rank}"
    return True


def _possible_steps(call: OpCall) -> bool | str:
    attrs = conv_attrs(call)
    steps = (*attrs.stride, *attrs.dilation)
    return 1 <= min(steps) <= max(steps) <= _MAX_STEP or f"found stride {attrs.stride}, dilation {attrs.dilation}"


def _conv_channels(call: OpCall) -> bool | str:
    data, weight = call.operand(INPUT).dims[3], call.operand(WEIGHT).dims
    groups, rest = divmod(data, weight[3])
    if rest or weight[0] % groups:
        return f"the input has {data} channels, the filter takes {weight[3]} and gives {weight[0]}"
    return True


def _depthwise_channels(call: OpCall) -> bool | str:
    assert isinstance(call.attrs, DepthwiseConv2dAttrs)
    data, weight, multiplier = call.operand(INPUT).dims, call.operand(WEIGHT).dims, call.attrs.multiplier
    if weight[0] != 1 or multiplier < 1 or weight[3] != data[3] * multiplier:
        return f"found {data[3]} channels, multiplier {multiplier} and a filter of {weight}"
    return True


def _unsigned_has_bias(call: OpCall) -> bool | str:
    return call.operand(INPUT).dtype is not DType.UINT8 or call.has(BIAS) or "found none"


def _constraints(
    channels_axis: int, channels: Constraint, sixteen: Signature, *more: Constraint
) -> tuple[Constraint, ...]:
    known, *rest = shared_constraints(channels_axis, (FLOAT, INT8, UINT8, sixteen))
    return (
        known,
        Constraint("input and filter have four dimensions", _rank_four),
        Constraint(f"stride and dilation are 1 to {_MAX_STEP}", _possible_steps),
        channels,
        *more,
        *rest,
    )


def _padded(data: Numbers, windows: tuple[Window, Window], value: int = 0) -> Numbers:
    height, width = windows
    around = ((0, 0), (height.pad_before, height.pad_after), (width.pad_before, width.pad_after), (0, 0))
    if not any(map(any, around)):
        return data
    return np.pad(data, around, constant_values=value)


def patches(data: Numbers, windows: tuple[Window, Window], value: int = 0) -> Numbers:
    """Each output pixel's inputs, padded with `value`: (N, output height, output width, filter H, filter W, C)."""
    height, width = windows
    reach = ((height.filter - 1) * height.dilation + 1, (width.filter - 1) * width.dilation + 1)
    views = sliding_window_view(_padded(data, windows, value), reach, axis=(1, 2))
    kept: Numbers = views[:, :: height.stride, :: width.stride, :, :: height.dilation, :: width.dilation]
    return kept[:, : height.output, : width.output].transpose(0, 1, 2, 4, 5, 3)


def _grouped(seen: Numbers, weight: Numbers, group: int) -> tuple[Numbers, Numbers]:
    """Rows (pixels, K) and columns (output channels of the group, K) of one group's matrix product."""
    taken = weight.shape[3]
    outputs = weight.shape[0] // (seen.shape[5] // taken)
    rows = seen[..., group * taken : (group + 1) * taken]
    columns = weight[group * outputs : (group + 1) * outputs]
    return rows.reshape(-1, weight[0].size), columns.reshape(outputs, -1)


Place = tuple[slice, slice, slice]


def patch_blocks(data: Numbers, windows: tuple[Window, Window]) -> Iterator[tuple[Place, Numbers]]:
    """Patches of some output pixels at a time, padded with 0: which pixels (N, height, width), and what they see.

    All at once they are as many as pixels times taps, and what padding adds is bounded by nothing that a file holds.
    """
    height, width = windows
    pixels = max(1, _BLOCK_NELEM // (height.filter * width.filter * data.shape[3]))
    columns = min(width.output, pixels)
    rows = min(height.output, max(1, pixels // columns))
    images = max(1, pixels // (rows * columns))
    for image in range(0, data.shape[0], images):
        some = data[image : image + images]
        for top in range(0, height.output, rows):
            for left in range(0, width.output, columns):
                bottom, right = min(top + rows, height.output), min(left + columns, width.output)
                place = slice(image, image + images), slice(top, bottom), slice(left, right)
                yield place, _gathered(some, _positions(height, top, bottom), _positions(width, left, right))


def _positions(along_: Window, first: int, end: int) -> npt.NDArray[np.int64]:
    """Where each tap of the windows from `first` on is, in elements of the input: (windows, taps)."""
    starts = np.arange(first, end, dtype=np.int64) * along_.stride - along_.pad_before
    return starts[:, None] + np.arange(along_.filter, dtype=np.int64) * along_.dilation


def _gathered(data: Numbers, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Numbers:
    """(N, output height, output width, filter H, filter W, C); 0 where there is no input."""
    outside_rows, outside_columns = rows % data.shape[1] != rows, columns % data.shape[2] != columns
    seen = data.take(np.where(outside_rows, 0, rows), axis=1).take(np.where(outside_columns, 0, columns), axis=3)
    seen[:, outside_rows] = 0
    seen[:, :, :, outside_columns] = 0
    return seen.transpose(0, 1, 3, 2, 4, 5)


def _conv_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)
    # Out-of-image taps do not count: there the input is the zero point, which becomes 0.
    inputs, factors = centred(data, call.operand(INPUT)), centred(weight, call.operand(WEIGHT))

    def block(seen: Numbers) -> Array:
        sums = [exact_product(*_grouped(seen, factors, group)) for group in range(data.shape[3] // weight.shape[3])]
        return requantized(call, np.concatenate(sums, axis=-1), bias)

    return (_by_blocks(call, inputs, block),)


def _conv_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)

    def block(seen: Numbers) -> Array:
        products = [_grouped(seen, weight, group) for group in range(data.shape[3] // weight.shape[3])]
        return activated(call, np.concatenate([rows @ columns.T for rows, columns in products], axis=-1), bias)

    return (_by_blocks(call, data, block),)


def _by_blocks(call: OpCall, data: Numbers, block: Callable[[Numbers], Array]) -> Array:
    """The result, of what `block` makes of the patches of some pixels: (pixels, channels)."""
    windows, channels = conv_windows(call), call.operand(WEIGHT).dims[0]
    shape = (data.shape[0], windows[0].output, windows[1].output, channels)
    result = np.empty(shape, call.results[0].dtype.numpy)
    for place, seen in patch_blocks(data, windows):
        result[place] = block(seen).reshape(*seen.shape[:3], channels)
    return result


def depthwise_sums(data: Numbers, weight: Numbers, windows: tuple[Window, Window], dtype: npt.DTypeLike) -> Numbers:
    """Sums over the taps of a 1HWO filter, in `dtype`; taps beyond the border see 0."""
    height, width = windows
    repeats = weight.shape[3] // data.shape[3]
    taps = weight[0].astype(dtype)
    total = np.zeros((data.shape[0], height.output, width.output, weight.shape[3]), dtype)
    if height.filter * width.filter > max(_MANY_TAPS, height.output * width.output):
        for place, seen in patch_blocks(data, windows):
            total[place] = (np.repeat(seen.astype(dtype), repeats, axis=5) * taps).sum(axis=(3, 4), dtype=dtype)
        return total
    inputs, products = data.astype(dtype), np.empty_like(total)
    for y in range(height.filter):
        rows, seen_rows = _overlap(height, y)
        for x in range(width.filter if rows.stop > rows.start else 0):
            columns, seen_columns = _overlap(width, x)
            if columns.stop > columns.start:
                seen = inputs[:, seen_rows, seen_columns]
                seen = seen if repeats == 1 else np.repeat(seen, repeats, axis=3)
                product = products[:, rows, columns]
                np.multiply(seen, taps[y, x], out=product)
                total[:, rows, columns] += product
    return total


def exact_depthwise_sums(data: Numbers, weight: Numbers, windows: tuple[Window, Window]) -> Numbers:
    """`depthwise_sums` of integers, in int32 where that holds any of them, which halves what memory carries."""
    taps = windows[0].filter * windows[1].filter
    bound = largest_magnitude(data) * largest_magnitude(weight) * taps
    return depthwise_sums(data, weight, windows, np.int32 if bound < 2**31 else np.int64)


def _overlap(along_: Window, tap: int) -> tuple[slice, slice]:
    """The windows whose tap is inside the input, and where it is there."""
    at = tap * along_.dilation - along_.pad_before
    first = max(0, -(at // along_.stride))
    end = min(along_.output, (along_.size - 1 - at) // along_.stride + 1)
    begin = first * along_.stride + at
    return slice(first, end), slice(begin, max(begin, (end - 1) * along_.stride + at + 1), along_.stride)


def _depthwise_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)
    inputs, factors = centred(data, call.operand(INPUT)), centred(weight, call.operand(WEIGHT))
    return (requantized(call, exact_depthwise_sums(inputs, factors, conv_windows(call)), bias),)


def _depthwise_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)
    return (activated(call, depthwise_sums(data, weight, conv_windows(call), np.float32), bias),)


def _cost(call: OpCall) -> Cost:
    """Every tap counts, those beyond the border too."""
    height, width = conv_windows(call)
    pixels = call.operand(INPUT).dims[0] * height.output * width.output
    return Cost(macs=pixels * call.operand(WEIGHT).nelem)


def _canonicalize(node: Node) -> Attrs | None:
    call = OpCall.of(node)
    attrs = conv_attrs(call)
    taps = call.operand(WEIGHT).dims[1:3]
    dilation = (attrs.dilation[0] if taps[0] > 1 else 1, attrs.dilation[1] if taps[1] > 1 else 1)
    simpler = replace(
        attrs,
        dilation=dilation,
        padding=_simplest_padding(call),
        activation=without_idle_activation(call),
    )
    return simpler if simpler != attrs else None


def _simplest_padding(call: OpCall) -> Padding | Margins:
    try:
        return spelled(conv_windows(call))
    except OpError:
        return conv_attrs(call).padding


_OPERANDS = (Operand("input"), Operand("filter"), Operand("bias", optional=True))
_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC})

OPS: tuple[OpDef, ...] = (
    OpDef(
        name="conv2d",
        summary=(
            "Convolution of input (N, H, W, C) with filter (O, FH, FW, I) and bias (O) to (N, OH, OW, O); "
            "C is a multiple of I: then channels form C / I groups"
        ),
        attrs=Conv2dAttrs,
        operands=_OPERANDS,
        result_names=("result",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_conv_float,
        evaluate_quantized=_conv_quantized,
        cost=_cost,
        quantization=QuantizationRule(weight=WEIGHT, weight_axis=0, bias=2),
        canonicalize=_canonicalize,
        constraints=_constraints(
            0,
            Constraint("the filter takes the input's channels, or an equal share of them per group", _conv_channels),
            INT16,
            # TFLite-Micro does without on int8; LiteRT, which says what uint8 means, does not.
            Constraint("on uint8 there is a bias, zeros if need be", _unsigned_has_bias),
        ),
    ),
    OpDef(
        name="depthwise_conv2d",
        summary=(
            "Convolution of each channel of input (N, H, W, C) with its own `multiplier` filters of (1, FH, FW, O), "
            "O = C * multiplier, and bias (O), to (N, OH, OW, O)"
        ),
        attrs=DepthwiseConv2dAttrs,
        operands=_OPERANDS,
        result_names=("result",),
        traits=_TRAITS,
        infer=_infer,
        evaluate_float=_depthwise_float,
        evaluate_quantized=_depthwise_quantized,
        cost=_cost,
        quantization=QuantizationRule(weight=WEIGHT, weight_axis=3, bias=2),
        canonicalize=_canonicalize,
        constraints=_constraints(
            3,
            Constraint("the filter is (1, FH, FW, input channels * multiplier)", _depthwise_channels),
            # TFLite-Micro reads 64 bits per bias here, whatever its type says.
            INT16_WIDE_BIAS,
        ),
    ),
)
