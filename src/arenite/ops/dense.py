"""fully_connected: a matrix product with an OI weight matrix."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, OpCall, OpDef, Operand, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.weighted import (
    FLOAT,
    INPUT,
    INT8,
    INT16,
    UINT8,
    WEIGHT,
    activated,
    centred,
    exact_product,
    operands_of,
    requantized,
    shared_constraints,
    without_idle_activation,
)


@dataclass(frozen=True)
class FullyConnectedAttrs(Attrs):
    """Attributes of fully_connected.

    Attributes:
        keep_dims: the result keeps the input's leading dimensions; else they are flattened into one.
    """

    activation: Activation = Activation.NONE
    keep_dims: bool = False


def dense_attrs(call: OpCall) -> FullyConnectedAttrs:
    """The attributes of a fully_connected."""
    assert isinstance(call.attrs, FullyConnectedAttrs)
    return call.attrs


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    data, weight = call.operand(INPUT), call.operand(WEIGHT)
    outputs, inputs = weight.dims
    leading = data.dims[:-1] if dense_attrs(call).keep_dims else (data.nelem // inputs,)
    return (TensorType(data.dtype, (*leading, outputs), call.results[0].quantization),)


def _rank_two(call: OpCall) -> bool | str:
    rank = call.operand(WEIGHT).rank
    return rank == 2 or f"found {rank}"


def _whole_rows(call: OpCall) -> bool | str:
    data, inputs = call.operand(INPUT), call.operand(WEIGHT).dims[1]
    if dense_attrs(call).keep_dims:
        found = data.dims[-1] if data.rank else 1
        return found == inputs or f"the weights take {inputs}, the input's last dimension is {found}"
    return data.nelem % inputs == 0 or f"the weights take {inputs} at a time, the input has {data.nelem}"


def _quantized(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)
    rows = centred(data, call.operand(INPUT)).reshape(-1, weight.shape[1])
    sums = exact_product(rows, centred(weight, call.operand(WEIGHT)))
    return (requantized(call, sums, bias).reshape(_infer(call)[0].dims),)


def _float(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    data, weight, bias = operands_of(operands)
    products = data.reshape(-1, weight.shape[1]) @ weight.T
    return (activated(call, products, bias).reshape(_infer(call)[0].dims),)


def _cost(call: OpCall) -> Cost:
    outputs, _ = call.operand(WEIGHT).dims
    return Cost(macs=call.operand(INPUT).nelem * outputs)


def _canonicalize(node: Node) -> Attrs | None:
    call = OpCall.of(node)
    attrs = dense_attrs(call)
    keep_dims = attrs.keep_dims and call.operand(INPUT).rank != 2  # two dimensions are kept either way
    simpler = replace(attrs, activation=without_idle_activation(call), keep_dims=keep_dims)
    return simpler if simpler != attrs else None


def _constraints() -> tuple[Constraint, ...]:
    known, *rest = shared_constraints(0, (FLOAT, INT8, UINT8, INT16))
    return (
        known,
        Constraint("the weights have two dimensions", _rank_two),
        Constraint("the input divides into whole rows of the weights", _whole_rows),
        *rest,
    )


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="fully_connected",
        summary=(
            "Product of input, taken as rows of I, with weights (O, I), plus bias (O), to (rows, O); "
            "with keep_dims to (input's leading dimensions, O)"
        ),
        attrs=FullyConnectedAttrs,
        operands=(Operand("input"), Operand("weights"), Operand("bias", optional=True)),
        result_names=("result",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC}),
        infer=_infer,
        evaluate_float=_float,
        evaluate_quantized=_quantized,
        cost=_cost,
        quantization=QuantizationRule(weight=WEIGHT, weight_axis=None, bias=2),
        canonicalize=_canonicalize,
        constraints=_constraints(),
    ),
)
