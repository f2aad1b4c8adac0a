"""TFLite's first quantization, uint8: ops that mean on it what they mean on int8, 128 lower."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Evaluate, NotApplicable, OpCall, OpDef, signature_text
from arenite.ir.types import Quantization, TensorType

OFFSET = 128


def lower_type(type_: TensorType) -> TensorType:
    """Of a quantized uint8 type, the int8 type whose codes are 128 less; others as they are."""
    q = type_.quantization
    if type_.dtype is not DType.UINT8 or q is None or not q.is_per_tensor:
        return type_
    return TensorType(DType.INT8, type_.shape, Quantization.per_tensor(q.scale, q.zero_point - OFFSET))


def lower_codes(codes: Array) -> Array:
    """uint8 codes as int8 ones."""
    return (codes.astype(np.int16) - OFFSET).astype(np.int8)


def _raised(codes: Array, type_: TensorType) -> Array:
    return (codes.astype(np.int16) + OFFSET).astype(np.uint8) if type_.dtype is DType.UINT8 else codes


def _raised_dtype(dtype: DType) -> DType:
    return DType.UINT8 if dtype is DType.INT8 else dtype


def _lowered(call: OpCall) -> OpCall:
    """The same node on int8."""
    types = tuple(None if t is None else lower_type(t) for t in call.operands)
    constants = tuple(
        lower_codes(constant) if constant is not None and old is not new else constant
        for constant, old, new in zip(call.constants, call.operands, types, strict=False)
    )
    return replace(call, operands=types, results=tuple(map(lower_type, call.results)), constants=constants)


def _works_on_uint8(call: OpCall) -> bool:
    first = call.operands[0]
    return first is not None and first is not lower_type(first)


def on_uint8_too(
    definitions: tuple[OpDef, ...], *names: str, otherwise: Mapping[str, Evaluate] = MappingProxyType({})
) -> tuple[OpDef, ...]:
    """The definitions, of which those with these names take quantized uint8 in the place of int8, too.

    That is what LiteRT's reference kernels make of uint8; TFLite-Micro has none. `otherwise`: what means something else
    there than on int8; it is given codes and types 128 lower, all the same.
    """
    return tuple(
        _on_uint8_too(each, otherwise.get(each.name)) if each.name in (*names, *otherwise) else each
        for each in definitions
    )


def _on_uint8_too(definition: OpDef, otherwise: Evaluate | None) -> OpDef:
    meaning = definition.evaluate_quantized
    assert not isinstance(meaning, NotApplicable)
    on_uint8 = meaning if otherwise is None else otherwise

    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        if not _works_on_uint8(call):
            return meaning(call, operands)
        low = _lowered(call)
        codes = [
            None if array is None else lower_codes(array) if old is not new else array
            for array, old, new in zip(operands, call.operands, low.operands, strict=False)
        ]
        return tuple(_raised(np.asarray(a), t) for a, t in zip(on_uint8(low, codes), call.results, strict=True))

    first, *others = definition.constraints
    unsigned = tuple(
        (tuple(map(_raised_dtype, operands)), _raised_dtype(result))
        for operands, result in first.dtypes
        if DType.INT8 in operands and DType.INT16 not in operands
    )
    alike = replace(first, text=f"{first.text}; or uint8 in the place of int8", dtypes=(*first.dtypes, *unsigned))
    constraints = (_not_mixed(alike, unsigned), *(replace(each, holds=_on_int8(each)) for each in others))
    return replace(definition, evaluate_quantized=evaluate, constraints=constraints)


def _not_mixed(constraint: Constraint, unsigned: Sequence[tuple[tuple[DType, ...], DType]]) -> Constraint:
    """The constraint on dtypes: on int8 as it is, on uint8 by these signatures, which do not mix both."""

    def holds(call: OpCall) -> bool | str:
        if not _works_on_uint8(call):
            return constraint.holds(call)
        found = tuple(t.dtype for t in call.operands if t is not None)
        fits = any(found[: len(given)] == given and call.results[0].dtype is result for given, result in unsigned)
        return fits or signature_text(call)

    return replace(constraint, holds=holds)


def _on_int8(constraint: Constraint) -> Callable[[OpCall], bool | str]:
    return lambda call: constraint.holds(_lowered(call) if _works_on_uint8(call) else call)
