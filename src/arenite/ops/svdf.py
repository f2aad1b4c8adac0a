"""svdf: a fully connected layer over time, factored into features and their recent past (Nakkiran et al. 2015).

Its state holds for each batch and each filter the last `memory` features, oldest first: (N, filters * memory).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.fixedpoint import Int64Array, clamp, quantize_multiplier, requantize, wrap_int32
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, Trait
from arenite.ir.types import TensorType
from arenite.ops.clamps import CLAMPING_ACTIVATIONS, activation_range_float
from arenite.ops.constraints import per_tensor
from arenite.ops.weighted import Numbers, exact_product, positive_scales, quantization_of, static_operands

INPUT, FEATURES, TIME, BIAS, STATE = range(5)

_BIAS_SCALE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class SvdfAttrs(Attrs):
    """Attributes of svdf: each output unit sums `rank` filters."""

    rank: int = 1
    activation: Activation = Activation.NONE


@dataclass(frozen=True)
class SvdfSizes:
    """Sizes of an svdf; there are `units * rank` filters."""

    batches: int
    inputs: int
    units: int
    rank: int
    memory: int

    @property
    def filters(self) -> int:
        return self.units * self.rank


def svdf_attrs(call: OpCall) -> SvdfAttrs:
    """The attributes of an svdf."""
    assert isinstance(call.attrs, SvdfAttrs)
    return call.attrs


def svdf_sizes(call: OpCall) -> SvdfSizes:
    """The sizes, once the constraints hold."""
    batches, inputs = call.operand(INPUT).dims
    filters, memory = call.operand(TIME).dims
    rank = svdf_attrs(call).rank
    return SvdfSizes(batches, inputs, filters // rank, rank, memory)


def svdf_multipliers(call: OpCall) -> tuple[tuple[int, int], tuple[int, int]]:
    """Multiplier and shift from a product of input and features to state, and from state and time to the result.

    TFLM computes the real ones in double from float32 scales, as the wheel's results show.
    """
    data, features, time, state, result = (
        per_tensor(t, "each tensor").scale
        for t in (*(call.operand(i) for i in (INPUT, FEATURES, TIME, STATE)), call.results[0])
    )
    return quantize_multiplier(data * features / state), quantize_multiplier(state * time / result)


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    sizes, result = svdf_sizes(call), call.results[0]
    return (TensorType(call.operand(INPUT).dtype, (sizes.batches, sizes.units), result.quantization),)


def _matrices(call: OpCall) -> bool | str:
    names = ("input", "weights_feature", "weights_time", "bias", "state")
    for name, type_, rank in zip(names, call.operands, (2, 2, 2, 1, 2), strict=True):
        if type_ is not None and type_.rank != rank:
            return f"{name} has {type_.rank} dimensions, not {rank}"
    return True


def _fitting(call: OpCall) -> bool | str:
    (batches, inputs), features, (filters, memory) = (call.operand(i).dims for i in (INPUT, FEATURES, TIME))
    rank = svdf_attrs(call).rank
    if rank < 1 or filters % rank:
        return f"found {filters} filters, rank {rank}"
    if features != (filters, inputs):
        return f"the input has {inputs} elements, features {list(features)}, time {[filters, memory]}"
    if call.has(BIAS) and call.operand(BIAS).nelem != filters // rank:
        return f"found {call.operand(BIAS).nelem} biases for {filters // rank} units"
    state = call.operand(STATE).dims
    return state == (batches, filters * memory) or f"the state is {list(state)}, not {[batches, filters * memory]}"


def _dtypes(call: OpCall) -> bool | str:
    found = tuple(None if t is None else t.dtype for t in (*call.operands, call.results[0]))
    data, features, time, bias, state, result = found
    float32 = DType.FLOAT32
    if (data, features, time, state, result) == (float32,) * 5:
        return bias in (None, float32) or f"found a bias of {bias}"
    small = (data, features, result) == (DType.INT8,) * 3 and time == state and time in (DType.INT8, DType.INT16)
    return (small and bias in (None, DType.INT32)) or f"found {', '.join(map(str, found))}"


def _quantized(call: OpCall) -> bool | str:
    if not call.operand(INPUT).dtype.is_integer:
        return True
    for name, type_, symmetric in (
        ("input", call.operand(INPUT), False),
        ("weights_feature", call.operand(FEATURES), True),
        ("weights_time", call.operand(TIME), True),
        ("state", call.operand(STATE), call.operand(STATE).dtype is DType.INT16),
        ("result", call.results[0], False),
    ):
        q = type_.quantization
        if q is None or not q.is_per_tensor:
            return f"{name} has {'none' if q is None else 'one per channel'}"
        if symmetric and q.zero_point:
            return f"the zero point of {name} is {q.zero_point}, not 0"
    return True


def _bias_in_steps_of_products(call: OpCall) -> bool | str:
    """As TFLite-Micro asks (svdf_common.cc); a bias without a scale has the scale 0 there."""
    if not call.operand(INPUT).dtype.is_integer or not call.has(BIAS):
        return True
    found = call.operand(BIAS).quantization
    scale = 0.0 if found is None else found.scales[0]
    products = quantization_of(call.operand(STATE)).scale * quantization_of(call.operand(TIME)).scale
    if abs(scale - products) < _BIAS_SCALE_TOLERANCE:
        return True
    return f"found {'none' if found is None else scale}, where the product is {products:g}"


def _small_multipliers(call: OpCall) -> bool | str:
    if not call.operand(INPUT).dtype.is_integer:
        return True
    found = max(shift for _, shift in svdf_multipliers(call))
    return found < 30 or f"found a shift by {found}"


def _clamping(call: OpCall) -> bool | str:
    activation = svdf_attrs(call).activation
    return activation in CLAMPING_ACTIVATIONS or f"found {activation.value}"


def _remember(state: Numbers, features: Numbers) -> Numbers:
    """Forget the oldest feature of each filter and append the newest, in place; the state as (N, filters, memory)."""
    past = state.reshape(*features.shape, -1)
    past[:, :, :-1] = past[:, :, 1:].copy()
    past[:, :, -1] = features
    return past


def _given(operands: Sequence[Array | None]) -> tuple[Numbers, Numbers, Numbers, Numbers | None, Numbers]:
    data, features, time, bias, state = operands
    assert data is not None
    assert features is not None
    assert time is not None
    assert state is not None
    return data, features, time, bias, state


def newest_features(products: Int64Array, scaling: tuple[int, int], zero_point: int, dtype: DType) -> Numbers:
    """What TFLM stores of products of inputs and features: saturated first, then offset, which wraps."""
    low, high = dtype.limits
    scaled = np.clip(requantize(wrap_int32(products), *scaling), low, high)
    return (scaled + zero_point).astype(dtype.numpy)


def _evaluate_quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """TFLM's EvalIntegerSvdfReference, to which the activation says nothing: the result's own range clamps."""
    data, features, time, bias, state = _given(operands)
    sizes, (first, second) = svdf_sizes(call), svdf_multipliers(call)
    centred = data.astype(np.int16) - np.int16(per_tensor(call.operand(INPUT), "the input").zero_point)
    products = exact_product(centred, features.astype(np.int16))
    kept, result = per_tensor(call.operand(STATE), "the state"), per_tensor(call.results[0], "the result")
    newest = newest_features(products, first, kept.zero_point, call.operand(STATE).dtype)
    past = _remember(state, newest).astype(np.int64) - kept.zero_point
    sums = (past * time.astype(np.int64)).sum(axis=2).reshape(sizes.batches, sizes.units, sizes.rank).sum(axis=2)
    if bias is not None:
        sums = sums + bias.astype(np.int64)
    stored = requantize(wrap_int32(sums), *second) + result.zero_point
    return (clamp(stored, *DType.INT8.limits, np.int8),)


def _evaluate_float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, features, time, bias, state = _given(operands)
    sizes = svdf_sizes(call)
    past = _remember(state, data @ features.T)
    sums = (past * time).sum(axis=2).reshape(sizes.batches, sizes.units, sizes.rank).sum(axis=2)
    if bias is not None:
        sums = sums + bias
    return (np.clip(sums, *activation_range_float(svdf_attrs(call).activation)).astype(np.float32),)


def _cost(call: OpCall) -> Cost:
    sizes = svdf_sizes(call)
    return Cost(macs=sizes.batches * sizes.filters * (sizes.inputs + sizes.memory))


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="svdf",
        summary=(
            "Features of input (N, I) by weights (F, I), kept in a state (N, F * M) of the last M of each, whose "
            "products with weights (F, M) over time are summed by `rank` to (N, F / rank), plus bias"
        ),
        attrs=SvdfAttrs,
        operands=(
            Operand("input"),
            Operand("weights_feature"),
            Operand("weights_time"),
            Operand("bias", optional=True),
            Operand("state"),
        ),
        result_names=("result",),
        traits=frozenset({Trait.DETERMINISTIC, Trait.SIDE_EFFECT}),
        infer=_infer,
        evaluate_float=_evaluate_float,
        evaluate_quantized=_evaluate_quantized,
        cost=_cost,
        quantization=NotApplicable("its two stages and its state each need a range of their own"),
        canonicalize=NotApplicable("its attributes have one form"),
        constraints=(
            Constraint("operands have known shapes that are not empty", static_operands),
            Constraint("operands are matrices, the bias a vector", _matrices),
            Constraint(
                "weights_feature is (filters, inputs), weights_time (filters, memory), the bias has filters / rank "
                "elements, and the state is (batches, filters * memory)",
                _fitting,
            ),
            Constraint(
                "all is float32; or input, features and result are int8, time and state int8 or int16, and the bias "
                "int32",
                _dtypes,
            ),
            Constraint(
                "quantized tensors have one scale; the zero points of weights, and of an int16 state, are 0", _quantized
            ),
            Constraint("scales are positive and finite", positive_scales),
            Constraint("both real multipliers are below 2**30", _small_multipliers),
            Constraint(
                "the scale of the bias is state scale * weights_time scale, to 1e-5", _bias_in_steps_of_products
            ),
            Constraint("the fused activation is a clamp: none, relu, relu6 or relu_n1_to_1", _clamping),
        ),
        state=(STATE,),
    ),
)
