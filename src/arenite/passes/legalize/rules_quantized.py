"""Between real and stored numbers, and what is refused of quantized models."""

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node, Value
from arenite.ir.types import Quantization
from arenite.passes.legalize.formulas import cast, say, say_result
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_reduce import axis_in
from arenite.passes.legalize.site import Site, attributes

REFUSED = "refused, since the model is quantized"
"""What a rule says of an operator that only quantized models have."""

_STORED = (DType.INT8, DType.UINT8, DType.INT16)


def _steps(site: Site, node: Node) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Scales and zero points.

    Raises:
        RefusedError: they are computed, or no float32.
    """
    if attributes(node).integer("block_size", 0):
        raise RefusedError("block_size must be 0: scales for blocks have no counterpart")
    scales = site.required_constant(node, 1, "the scale")
    if scales.dtype != np.float32:
        raise RefusedError(f"the scale must be float32, but is {scales.dtype}")
    reals: npt.NDArray[np.float32] = scales.astype(np.float32)
    if not np.all((reals > 0) & np.isfinite(reals)):
        raise RefusedError("the scale must be positive and finite")
    zero_points = np.zeros(scales.shape, np.int64)
    if node.optional_operand(2) is not None:
        zero_points = site.required_constant(node, 2, "the zero point").astype(np.int64)
    if zero_points.shape != scales.shape:
        raise RefusedError(
            f"scale and zero point must have one shape, but have {list(scales.shape)} and {list(zero_points.shape)}"
        )
    return reals, zero_points


def _quantize(site: Site, node: Node) -> None:
    """As quantize, with one scale. It rounds halves away from zero, ONNX to even: results may differ by one step where
    a quotient is exactly between two.
    """
    result = node.results[0]
    scales, zero_points = _steps(site, node)
    if scales.size != 1:
        raise RefusedError(f"the scale must be one number, but has {scales.size}")
    if site.dtype(node.operand(0)) is not DType.FLOAT32:
        raise RefusedError(f"the input must be float32, but is {site.dtype(node.operand(0))}")
    if site.dtype(result) not in _STORED:
        raise RefusedError(f"the result must be int8, uint8 or int16, but is {site.dtype(result)}")
    core, order = site.lie(node.operand(0))
    quantization = Quantization.per_tensor(float(scales.reshape(())), int(zero_points.reshape(())))
    (stored,) = site.emit("quantize", [core], dtype=site.dtype(result), name=result.name, quantization=quantization)
    site.put(result, stored, order)


def _dequantize(site: Site, node: Node) -> None:
    """As dequantize where the operand was quantized so, else scale * (float(stored) - zero point). What is constant
    becomes floats.
    """
    data, result = node.operand(0), node.results[0]
    scales, zero_points = _steps(site, node)
    if site.dtype(result) is not DType.FLOAT32:
        raise RefusedError(f"the result must be float32, but is {site.dtype(result)}")
    rank = site.rank(data)
    laid = [1] * rank
    if scales.size != 1:
        axis = axis_in(attributes(node).integer("axis", 1), rank)
        if scales.shape != (site.dims(data)[axis],):
            raise RefusedError(f"the scale must have {site.dims(data)[axis]} elements, but is {list(scales.shape)}")
        laid[axis] = -1
    real, offset = scales.reshape(laid), zero_points.reshape(laid)
    stored = site.constant(data)
    if stored is not None:
        # The difference is exact in float64, the product rounded once to float32, as runtimes do.
        difference = (stored.astype(np.float64) - offset).astype(np.float32)
        site.fix(result, np.asarray(difference * real, np.float32))
        return
    core, order = site.lie(data)
    quantization = core.type.quantization
    if scales.size == 1 and quantization == Quantization.per_tensor(float(scales.reshape(())), int(offset.reshape(()))):
        say_result(site, node, order, "dequantize", core)
        return
    core = cast(site, core, DType.FLOAT32)
    if zero_points.any():
        core = say(site, "sub", core, _along(site, offset.astype(np.float32), order))
    say_result(site, node, order, "mul", core, _along(site, real, order))


def _along(site: Site, array: Array, order: tuple[int, ...]) -> Value:
    """Numbers per tensor or per slice among dimensions in an order."""
    if array.size == 1:
        return site.const("steps", array.reshape(()))
    places = [0 if axis < 0 else array.shape[axis] for axis in order]
    return site.const("steps", array.reshape([max(place, 1) for place in places]))


def _refused(site: Site, node: Node) -> None:
    raise RefusedError(
        "the model is quantized: its integers follow other rules than a .tflite's; convert the float model that it was "
        "made of, and quantize the result"
    )


def _dropout(site: Site, node: Node) -> None:
    """Nothing is dropped when a network is used."""
    if node.optional_operand(2) is not None and np.any(site.required_constant(node, 2, "training_mode")):
        raise RefusedError("training_mode must be false, but is true")
    if len(node.results) > 1 and node.results[1].is_read:
        raise RefusedError("its result 'mask' is read, which has no counterpart")
    core, order = site.lie(node.operand(0))
    site.put(node.results[0], core, order)


_QUANTIZED = """
QLinearConv QLinearMatMul ConvInteger MatMulInteger DynamicQuantizeLinear
com.microsoft::QLinearAdd com.microsoft::QLinearAveragePool com.microsoft::QLinearConcat com.microsoft::QLinearConv
com.microsoft::QLinearGlobalAveragePool com.microsoft::QLinearLeakyRelu com.microsoft::QLinearMul
com.microsoft::QLinearReduceMean com.microsoft::QLinearSigmoid com.microsoft::QLinearSoftmax
com.microsoft::QLinearWhere com.microsoft::QGemm com.microsoft::QAttention com.microsoft::DynamicQuantizeLSTM
com.microsoft::DynamicQuantizeMatMul com.microsoft::MatMulIntegerToFloat
com.microsoft::MatMulNBits"""

RULES = (
    Rule(
        "QuantizeLinear",
        _quantize,
        Flow.THROUGH,
        "`quantize`, with one scale; halves are rounded away from zero, not to even",
    ),
    Rule(
        "DequantizeLinear",
        _dequantize,
        Flow.THROUGH,
        "`dequantize`, or `cast`, `sub`, `mul`; nothing for constants, which become floats",
    ),
    Rule("Dropout", _dropout, Flow.THROUGH, "nothing"),
    *(Rule(operator, _refused, says=REFUSED) for operator in _QUANTIZED.split()),
)
