"""Kernels of float conv2d, depthwise_conv2d and fully_connected: all three are one convolution in groups."""

from collections.abc import Mapping

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall
from arenite.kernels.families.weighted_float import CONV2D_F32
from arenite.lower.grouped import OF, GroupedConvolution
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue
from arenite.lower.weighted import CONSTANT_WEIGHTS, given, number
from arenite.lower.windowed import param_windows
from arenite.ops.clamps import activation_range_float
from arenite.ops.conv import patches
from arenite.ops.weighted import BIAS, INPUT, Numbers, activation_of

# Without a floating-point unit: a product and a sum are two calls.
_PER_MAC = 90.0
_CODE_NBYTES = 450


def _is_float(call: OpCall) -> bool | str:
    return call.operand(INPUT).dtype is DType.FLOAT32 or f"found {call.operand(INPUT).dtype}"


def _prepare(call: OpCall, convolution: GroupedConvolution) -> tuple[Prepared, ...]:
    outputs = convolution.weight.shape[0]
    bias = call.constant(BIAS)
    low, high = activation_range_float(activation_of(call))
    params: dict[str, ParamValue] = {**convolution.params(), "clamp_low": low, "clamp_high": high}
    biases = np.zeros(outputs, np.float32) if bias is None else bias.astype(np.float32).reshape(-1)
    weights = np.ascontiguousarray(convolution.weight, np.float32).reshape(-1)
    arguments: dict[str, OperandRef | ResultRef | PreparedConstant | int | None] = {
        "input": OperandRef(INPUT),
        "weights": PreparedConstant(weights, ConstantKind.WEIGHTS),
        "biases": PreparedConstant(biases, ConstantKind.WEIGHTS),
        "output": ResultRef(),
    }
    return (Prepared(params, arguments, convolution.macs),)


def _cost(convolution: GroupedConvolution) -> KernelCost:
    nbytes = 4 * (convolution.weight.size + convolution.weight.shape[0])
    return KernelCost(convolution.macs * _PER_MAC, _CODE_NBYTES + int(nbytes))


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


def _kernel(op: str) -> Kernel:
    convolution = OF[op]
    return Kernel(
        op=op,
        variant="float",
        info=CONV2D_F32,
        constraints=(Constraint("the input is float32", _is_float), CONSTANT_WEIGHTS),
        prepare=lambda call: _prepare(call, convolution(call)),
        cost=lambda call: _cost(convolution(call)),
        reference=_reference,
    )


KERNELS: tuple[Kernel, ...] = tuple(map(_kernel, OF))
