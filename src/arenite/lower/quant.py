"""Kernels of quantize and dequantize."""

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import clamp, requantize
from arenite.ir.opdef import Constraint, OpCall, OpDef, signature_text
from arenite.ir.types import Quantization
from arenite.kernels.families.quant import (
    DEQUANTIZE_8_F32,
    DEQUANTIZE_S16_F32,
    DEQUANTIZE_S32_F32,
    LOOKUP_8_F32,
    QUANTIZE_F32_8,
    QUANTIZE_F32_S16,
    RESCALE,
)
from arenite.kernels.manifest import KernelInfo
from arenite.lower.common import Arguments, Filled, Given, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.lookup import lookup_kernel, table_of
from arenite.lower.program import ConstantKind
from arenite.ops.constraints import per_tensor
from arenite.ops.quant import OPS, dequantize_stored, quantize_real, requantize_scaling

_BYTES = (DType.INT8, DType.UINT8)
_FROM_FLOAT = tuple(((DType.FLOAT32,), dtype) for dtype in _BYTES)
_TO_FLOAT = tuple(((dtype,), DType.FLOAT32) for dtype in _BYTES)
_TABLE_FROM_NELEM = 256
"""From here on, a table of floats pays."""


def _definition(name: str) -> OpDef:
    (found,) = (definition for definition in OPS if definition.name == name)
    return found


def _float_to_byte(call: OpCall) -> bool | str:
    fits = call.operand(0).dtype is DType.FLOAT32 and call.results[0].dtype in _BYTES
    return fits or signature_text(call)


def _byte_to_float(call: OpCall) -> bool | str:
    fits = call.operand(0).dtype in _BYTES and call.results[0].dtype is DType.FLOAT32
    return fits or signature_text(call)


def _one_scale(index: int | None) -> Constraint:
    def holds(call: OpCall) -> bool | str:
        tensor = call.results[0] if index is None else call.operand(index)
        return (tensor.quantization is not None and tensor.quantization.is_per_tensor) or str(tensor)

    return Constraint("the stored tensor has one scale and zero point", holds)


def _is_large(call: OpCall) -> bool | str:
    nelem = call.operand(0).nelem
    return nelem >= _TABLE_FROM_NELEM or f"{nelem}"


def _prepare_quantize(call: OpCall) -> tuple[Prepared, ...]:
    result = per_tensor(call.results[0], "the result")
    low, high = call.results[0].dtype.limits
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "scale": result.scale,
        "zero_point": result.zero_point,
        "low": low,
        "high": high,
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _scale(params: Params) -> float:
    value = params["scale"]
    assert isinstance(value, float), "the scale is a number"
    return value


def _quantize_reference(params: Params, arguments: Arguments) -> None:
    output, low = array(arguments, "output"), integer(params, "low")
    dtype = DType.UINT8 if low == 0 else DType.INT16 if output.dtype == np.int16 else DType.INT8
    quantization = Quantization.per_tensor(_scale(params), integer(params, "zero_point"))
    output[:] = quantize_real(array(arguments, "input"), quantization, dtype).view(output.dtype)


def _prepare_dequantize(call: OpCall) -> tuple[Prepared, ...]:
    source = per_tensor(call.operand(0), "the input")
    sign = 128 if call.operand(0).dtype is DType.INT8 else 0
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "sign": sign,
        "zero_point": source.zero_point + sign,
        "scale": source.scale,
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _dequantize_reference(params: Params, arguments: Arguments) -> None:
    ascending = array(arguments, "input").astype(np.int64) ^ integer(params, "sign")
    quantization = Quantization.per_tensor(_scale(params), integer(params, "zero_point"))
    array(arguments, "output")[:] = dequantize_stored(ascending, quantization)


def _prepare_dequantize_wide(call: OpCall) -> tuple[Prepared, ...]:
    source = per_tensor(call.operand(0), "the input")
    params: Filled = {"nelem": call.operand(0).nelem, "zero_point": source.zero_point, "scale": source.scale}
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _dequantize_wide_reference(params: Params, arguments: Arguments) -> None:
    quantization = Quantization.per_tensor(_scale(params), integer(params, "zero_point"))
    array(arguments, "output")[:] = dequantize_stored(array(arguments, "input"), quantization)


def _prepare_dequantize_table(call: OpCall) -> tuple[Prepared, ...]:
    table = PreparedConstant(table_of(_definition("dequantize"), call), ConstantKind.TABLE)
    arguments: Given = {"input": OperandRef(0), "table": table, "output": ResultRef()}
    return (Prepared({"nelem": call.operand(0).nelem}, arguments),)


def _dequantize_table_reference(params: Params, arguments: Arguments) -> None:
    array(arguments, "output")[:] = array(arguments, "table")[array(arguments, "input")]


def _quantize_cost(call: OpCall) -> KernelCost:
    # Without an FPU; a division alone takes over a hundred.
    return KernelCost(instructions=call.operand(0).nelem * 250, flash_nbytes=800)


def _dequantize_cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=call.operand(0).nelem * 100, flash_nbytes=500)


def _dequantize_table_cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=call.operand(0).nelem * 6, flash_nbytes=1024 + 40)


def _prepare_rescale(call: OpCall) -> tuple[Prepared, ...]:
    multiplier, shift = requantize_scaling(call)
    params: Filled = {
        "nelem": call.operand(0).nelem,
        "from_zero_point": per_tensor(call.operand(0), "the input").zero_point,
        "multiplier": multiplier,
        "shift": shift,
        "zero_point": per_tensor(call.results[0], "the result").zero_point,
    }
    return (Prepared(params, {"input": OperandRef(0), "output": ResultRef()}),)


def _rescale_reference(params: Params, arguments: Arguments) -> None:
    output = array(arguments, "output")
    centred = array(arguments, "input").astype(np.int64) - integer(params, "from_zero_point")
    scaled = requantize(centred, integer(params, "multiplier"), integer(params, "shift"))
    output[:] = clamp(scaled + integer(params, "zero_point"), *DType.of(output.dtype).limits, output.dtype)


def _rescale_cost(call: OpCall) -> KernelCost:
    return KernelCost(instructions=call.operand(0).nelem * 20, flash_nbytes=100)


def _rescale_kernel(source: str, result: str) -> Kernel:
    return Kernel(
        "quantize",
        f"{source}_to_{result}",
        RESCALE[source, result],
        (dtypes((DType(source),), DType(result)),),
        _prepare_rescale,
        _rescale_cost,
        _rescale_reference,
        in_place=(0,) if source == result else (),
    )


def _dequantize_wide(dtype: DType, info: KernelInfo, in_place: tuple[int, ...]) -> Kernel:
    return Kernel(
        "dequantize",
        dtype.value,
        info,
        (dtypes((dtype,), DType.FLOAT32), _one_scale(0)),
        _prepare_dequantize_wide,
        _dequantize_cost,
        _dequantize_wide_reference,
        in_place=in_place,
    )


_BYTE_TO_FLOAT = Constraint("the operand is int8 or uint8, the result float32", _byte_to_float, _TO_FLOAT)

KERNELS: tuple[Kernel, ...] = (
    lookup_kernel(_definition("quantize")),
    Kernel(
        "quantize",
        "float",
        QUANTIZE_F32_8,
        (Constraint("the operand is float32, the result int8 or uint8", _float_to_byte, _FROM_FLOAT), _one_scale(None)),
        _prepare_quantize,
        _quantize_cost,
        _quantize_reference,
    ),
    Kernel(
        "quantize",
        "float_int16",
        QUANTIZE_F32_S16,
        (dtypes((DType.FLOAT32,), DType.INT16), _one_scale(None)),
        _prepare_quantize,
        _quantize_cost,
        _quantize_reference,
    ),
    *(_rescale_kernel(source, result) for source, result in RESCALE),
    Kernel(
        "dequantize",
        "table",
        LOOKUP_8_F32,
        (
            _BYTE_TO_FLOAT,
            _one_scale(0),
            Constraint(f"there are at least {_TABLE_FROM_NELEM} elements, so that a table pays", _is_large),
        ),
        _prepare_dequantize_table,
        _dequantize_table_cost,
        _dequantize_table_reference,
    ),
    Kernel(
        "dequantize",
        "float",
        DEQUANTIZE_8_F32,
        (_BYTE_TO_FLOAT, _one_scale(0)),
        _prepare_dequantize,
        _dequantize_cost,
        _dequantize_reference,
    ),
    _dequantize_wide(DType.INT16, DEQUANTIZE_S16_F32, ()),
    _dequantize_wide(DType.INT32, DEQUANTIZE_S32_F32, (0,)),
)
