"""Ops that move bytes: reshape, pad, concatenation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, OpError, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import (
    RESULT_HAS_OPERAND_DTYPE,
    SAME_QUANTIZATION,
    axis_in,
    constant_ints,
    declared_result,
    static_dims,
)


@dataclass(frozen=True)
class ReshapeAttrs(Attrs):
    """reshape(input, shape?): `new_shape` is what the file's options say; the operand, when constant, wins."""

    new_shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ConcatenationAttrs(Attrs):
    axis: int = 0
    activation: Activation = Activation.NONE


def _wanted_shape(call: OpCall) -> tuple[int, ...]:
    """What the node asks for: one dimension may be -1. A computed shape must be what the result declares."""
    assert isinstance(call.attrs, ReshapeAttrs)
    if call.constant(1) is not None:
        return tuple(int(dim) for dim in constant_ints(call, 1, "shape").ravel())
    if not call.has(1) and call.attrs.new_shape is not None:
        return call.attrs.new_shape
    if call.results[0].is_static:
        return call.results[0].dims
    raise OpError("the shape must be constant, or given by the attributes or the result's type")


def _infer_reshape(call: OpCall) -> tuple[TensorType, ...]:
    source, wanted = static_dims(call, 0, "the input"), _wanted_shape(call)
    nelem, known = math.prod(source), math.prod(dim for dim in wanted if dim != -1)
    fits = wanted.count(-1) <= 1 and all(dim >= -1 for dim in wanted)
    if fits and -1 in wanted:
        fits = known > 0 and nelem % known == 0
    elif fits:
        fits = nelem == known
    if not fits:
        raise OpError(
            f"the new shape must hold the input's {nelem} elements (at most one dimension may be -1), "
            f"found {list(wanted)} for {list(source)}"
        )
    return (declared_result(call, tuple(nelem // known if dim == -1 else dim for dim in wanted)),)


def _reshape(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.asarray(operands[0]).reshape(_infer_reshape(call)[0].dims),)


def _canonical_reshape(node: Node) -> Attrs | None:
    """The shape without -1, where the attributes are what gives it."""
    attrs, result = node.attrs, node.result.type
    assert isinstance(attrs, ReshapeAttrs)
    if node.optional_operand(1) is not None or not result.is_static or attrs.new_shape == result.dims:
        return None
    return replace(attrs, new_shape=result.dims)


def pad_amounts(call: OpCall) -> tuple[tuple[int, int], ...]:
    """Elements added before and after, for each dimension.

    Raises:
        OpError: the paddings are not constant, not [rank, 2], or negative.
    """
    rank, paddings = len(static_dims(call, 0, "the input")), constant_ints(call, 1, "paddings")
    if paddings.shape != (rank, 2) or (paddings.size and paddings.min() < 0):
        raise OpError(
            f"paddings must be {rank} pairs (before, after) of numbers that are not negative, found {paddings.tolist()}"
        )
    return tuple((int(before), int(after)) for before, after in paddings)


def pad_value(call: OpCall) -> int:
    """The stored value that stands for 0."""
    quantization = call.results[0].quantization
    return quantization.zero_point if quantization is not None and quantization.is_per_tensor else 0


def _infer_pad(call: OpCall) -> tuple[TensorType, ...]:
    pairs = zip(static_dims(call, 0, "the input"), pad_amounts(call), strict=True)
    return (declared_result(call, tuple(before + dim + after for dim, (before, after) in pairs)),)


def _pad(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    x, amounts = np.asarray(operands[0]), pad_amounts(call)
    result = np.full(_infer_pad(call)[0].dims, pad_value(call), x.dtype)
    result[tuple(slice(before, before + dim) for dim, (before, _) in zip(x.shape, amounts, strict=True))] = x
    return (result,)


def concatenation_axis(call: OpCall) -> int:
    """The axis, counted from the front.

    Raises:
        OpError: there is no such axis.
    """
    assert isinstance(call.attrs, ConcatenationAttrs)
    return axis_in(call.attrs.axis, len(static_dims(call, 0, "operand 0")))


def _infer_concatenation(call: OpCall) -> tuple[TensorType, ...]:
    axis = concatenation_axis(call)
    shapes = [static_dims(call, i, f"operand {i}") for i in range(len(call.operands))]
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1 or len({len(s) for s in shapes}) > 1:
        raise OpError(
            f"the operands may differ in dimension {axis} only, found {', '.join(str(list(s)) for s in shapes)}"
        )
    along = sum(shape[axis] for shape in shapes)
    return (declared_result(call, (*shapes[0][:axis], along, *shapes[0][axis + 1 :])),)


def _concatenate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.concatenate([np.asarray(x) for x in operands], axis=concatenation_axis(call)),)


def _canonical_concatenation(node: Node) -> Attrs | None:
    """The axis counted from the front."""
    attrs, shape = node.attrs, node.result.type.shape
    assert isinstance(attrs, ConcatenationAttrs)
    return None if attrs.axis >= 0 or shape is None else replace(attrs, axis=attrs.axis % len(shape))


def _bytes_moved(call: OpCall) -> Cost:
    return Cost(ops=call.results[0].nelem)


def _paddings_are_constant(call: OpCall) -> bool | str:
    return call.constant(1) is not None or "paddings that the network computes"


def _all_alike(call: OpCall) -> bool | str:
    result = call.results[0]
    for index, tensor in enumerate(call.operands):
        if tensor is None:
            return f"operand {index} is absent"
        if (tensor.dtype, tensor.quantization) != (result.dtype, result.quantization):
            return f"operand {index} is {tensor}, the result {result}"
    return bool(call.operands) or "no operand"


def _no_activation(call: OpCall) -> bool | str:
    assert isinstance(call.attrs, ConcatenationAttrs)
    found = call.attrs.activation
    return found is Activation.NONE or found.value


_TRAITS = frozenset({Trait.PURE, Trait.DETERMINISTIC})


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="reshape",
        summary="The same elements in the same order with another shape.",
        attrs=ReshapeAttrs,
        operands=(Operand("input"), Operand("shape", optional=True)),
        result_names=("output",),
        traits=_TRAITS | {Trait.VIEW},
        infer=_infer_reshape,
        evaluate_float=_reshape,
        evaluate_quantized=_reshape,
        cost=NotApplicable("the result is the operand's bytes"),
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=_canonical_reshape,
        constraints=(RESULT_HAS_OPERAND_DTYPE, SAME_QUANTIZATION),
    ),
    OpDef(
        name="pad",
        summary="The input with zeros (as stored: zero points) before and after, in each dimension.",
        attrs=Attrs,
        operands=(Operand("input"), Operand("paddings")),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer_pad,
        evaluate_float=_pad,
        evaluate_quantized=_pad,
        cost=_bytes_moved,
        quantization=QuantizationRule(same_scale=True, untouched=(1,)),
        canonicalize=NotApplicable("it has no attributes"),
        constraints=(
            RESULT_HAS_OPERAND_DTYPE,
            SAME_QUANTIZATION,
            Constraint("the paddings are constant", _paddings_are_constant),
        ),
    ),
    OpDef(
        name="concatenation",
        summary="Operands behind each other along one axis.",
        attrs=ConcatenationAttrs,
        operands=(Operand("values", variadic=True),),
        result_names=("output",),
        traits=_TRAITS,
        infer=_infer_concatenation,
        evaluate_float=_concatenate,
        evaluate_quantized=_concatenate,
        cost=_bytes_moved,
        quantization=QuantizationRule(same_scale=True),
        canonicalize=_canonical_concatenation,
        constraints=(
            Constraint("all operands and the result have the same dtype, scale and zero point", _all_alike),
            Constraint("there is no fused activation", _no_activation),
        ),
    ),
)
