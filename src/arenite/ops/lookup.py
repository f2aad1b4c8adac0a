"""Any function of one byte, as a table: what several functions in a row come to. No file format has it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, TensorAttr
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, NotApplicable, OpCall, OpDef, Operand, Trait
from arenite.ir.types import TensorType
from arenite.ops.constraints import declared_result, signatures, static_dims

BYTES = (DType.INT8, DType.UINT8)


@dataclass(frozen=True)
class LookupAttrs(Attrs):
    """The result for each of the 256 values of a byte, in order of the bytes: 0 to 127, then -128 to -1."""

    table: TensorAttr


def table_of(call: OpCall) -> Array:
    """The table."""
    assert isinstance(call.attrs, LookupAttrs)
    return call.attrs.table.array


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (declared_result(call, static_dims(call, 0, "the input")),)


def _lookup(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (table_of(call)[np.asarray(operands[0]).view(np.uint8)],)


def _cost(call: OpCall) -> Cost:
    return Cost(ops=call.operand(0).nelem)


def _whole_table(call: OpCall) -> bool | str:
    if not isinstance(call.attrs, LookupAttrs):
        return "no table"
    array = call.attrs.table.array
    fits = array.shape == (256,) and array.dtype == call.results[0].dtype.numpy
    return fits or f"found {array.dtype}{list(array.shape)} for {call.results[0].dtype}"


OPS: tuple[OpDef, ...] = (
    OpDef(
        name="lookup",
        summary="Each byte's entry in a table of 256.",
        attrs=LookupAttrs,
        operands=(Operand("input"),),
        result_names=("output",),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE}),
        infer=_infer,
        evaluate_float=NotApplicable("a table has an entry for each byte, not for each float"),
        evaluate_quantized=_lookup,
        cost=_cost,
        quantization=NotApplicable("it is made of ops that are quantized already"),
        canonicalize=NotApplicable("a table has no simpler form"),
        constraints=(
            signatures(*(((source,), result) for source in BYTES for result in BYTES)),
            Constraint("the table has 256 entries of the result's dtype", _whole_table),
        ),
    ),
)
