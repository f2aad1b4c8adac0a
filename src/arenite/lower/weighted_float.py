"""Kernels of float conv2d, depthwise_conv2d and fully_connected: all three are one convolution in groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_float import CONV2D_F32
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import CONSTANT_WEIGHTS, given, number
from arenite.lower.windowed import param_windows, window_params
from arenite.ops.clamps import activation_range_float
from arenite.ops.conv import conv_windows, patches
from arenite.ops.weighted import BIAS, INPUT, WEIGHT, Numbers, activation_of
from arenite.ops.windows import Window

# Without a floating-point unit: a product and a sum are two calls.
_PER_MAC = 90.0
_CODE_NBYTES = 450


@dataclass(frozen=True)
class _Convolution:
    """A node as a convolution in groups: weights (outputs, filter height, filter width, inputs of a group)."""

    batches: int
    windows: tuple[Window, Window]
    channels: int
    groups: int
    weight: Numbers


def _is_float(call: OpCall) -> bool | str:
    return call.operand(INPUT).dtype is DType.FLOAT32 or f"found {call.operand(INPUT).dtype}"


def _of_conv2d(call: OpCall) -> _Convolution:
    data, weight = call.operand(INPUT).dims, _weight(call)
    return _Convolution(data[0], conv_windows(call), data[3], data[3] // weight.shape[3], weight)


def _of_depthwise(call: OpCall) -> _Convolution:
    data, weight = call.operand(INPUT).dims, _weight(call)
    return _Convolution(data[0], conv_windows(call), data[3], data[3], weight.transpose(3, 1, 2, 0))


def _of_dense(call: OpCall) -> _Convolution:
    weight = _weight(call)
    outputs, inputs = weight.shape
    point = Window(1, 1, 1, 1, 1, 0, 0)
    rows = call.operand(INPUT).nelem // inputs
    return _Convolution(rows, (point, point), inputs, 1, weight.reshape(outputs, 1, 1, inputs))


def _weight(call: OpCall) -> Numbers:
    weight = call.constant(WEIGHT)
    assert weight is not None, "constraints were checked"
    return weight


def _macs(convolution: _Convolution) -> int:
    height, width = convolution.windows
    return convolution.batches * height.output * width.output * int(convolution.weight.size)


def _prepare(call: OpCall, convolution: _Convolution) -> tuple[Prepared, ...]:
    height, width = convolution.windows
    outputs = convolution.weight.shape[0]
    bias = call.constant(BIAS)
    low, high = activation_range_float(activation_of(call))
    params: dict[str, ParamValue] = {
        "batches": convolution.batches,
        "input_height": height.size,
        "input_width": width.size,
        "input_channels": convolution.channels,
        "output_height": height.output,
        "output_width": width.output,
        "output_channels": outputs,
        "groups": convolution.groups,
        **window_params(height, width),
        "clamp_low": low,
        "clamp_high": high,
    }
    biases = np.zeros(outputs, np.float32) if bias is None else bias.astype(np.float32).reshape(-1)
    weights = np.ascontiguousarray(convolution.weight, np.float32).reshape(-1)
    arguments: dict[str, OperandRef | ResultRef | PreparedConstant | int | None] = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(weights, ConstantKind.WEIGHTS),
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, _macs(convolution)),)


def _cost(convolution: _Convolution) -> KernelCost:
    nbytes = 4 * (convolution.weight.size + convolution.weight.shape[0])
    return KernelCost(_macs(convolution) * _PER_MAC, _CODE_NBYTES + int(nbytes))


def _reference(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_conv2d_f32 in numpy: the same sums in the same order."""
    windows = param_windows(params)
    channels, outputs, groups = (number(params, n) for n in ("input_channels", "output_channels", "groups"))
    shape = (number(params, "batches"), windows[0].size, windows[1].size, channels)
    seen = patches(given(found, "input").reshape(shape), windows)
    taken, share = channels // groups, outputs // groups
    weight = given(found, "weights").reshape(outputs, windows[0].filter, windows[1].filter, taken)
    sums = np.zeros((*seen.shape[:3], outputs), np.float32)
    first = np.repeat(np.arange(groups) * taken, share)
    # A tap beyond the border adds 0 to a sum that is never -0: as if it were left out.
    for ky, kx, c in np.ndindex(weight.shape[1:]):
        sums += seen[:, :, :, ky, kx, first + c] * weight[:, ky, kx, c]
    low, high = params["clamp_low"], params["clamp_high"]
    given(found, "output")[:] = np.clip(sums + given(found, "biases"), low, high).astype(np.float32).reshape(-1)


def _kernel(op: str, convolution: Callable[[OpCall], _Convolution]) -> Kernel:
    return Kernel(
        op=op,
        variant="float",
        info=CONV2D_F32,
        constraints=(Constraint("the input is float32", _is_float), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare(call, convolution(call)),
        cost=lambda call: _cost(convolution(call)),
        reference=_reference,
    )


KERNELS: tuple[Kernel, ...] = (
    _kernel("conv2d", _of_conv2d),
    _kernel("depthwise_conv2d", _of_depthwise),
    _kernel("fully_connected", _of_dense),
)
