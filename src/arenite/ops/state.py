"""Named state: var_handle names it, read_variable and assign_variable copy it, call_once gives it its first contents.

A handle is a value of dtype `resource`. Where a graph has variables instead, read_variable and assign_variable take
one in the handle's place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Constraint, Cost, Evaluate, NotApplicable, OpCall, OpDef, Operand, OpError, Trait
from arenite.ir.types import TensorType

STATE, CONTENTS = 0, 1


@dataclass(frozen=True)
class VarHandleAttrs(Attrs):
    """The name of a state: the same in every graph of a model."""

    container: str = ""
    shared_name: str = ""


@dataclass(frozen=True)
class CallOnceAttrs(Attrs):
    """Which of the file's subgraphs the node's one region is."""

    subgraph: int = 0


HANDLE = TensorType(DType.RESOURCE, ())


def _declared(call: OpCall) -> tuple[TensorType, ...]:
    return call.results


def _is_handle(call: OpCall) -> bool | str:
    result = call.results[0]
    return result.dtype is DType.RESOURCE or f"found {result}"


def _nothing(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """A handle is looked up, and regions are run, by whoever runs the graph."""
    raise OpError("this op has no meaning apart from the graph that it is in")


def _fits_state(index: int) -> Constraint:
    """What is copied is like the state in dtype and size. (A handle does not say what it stands for.)"""

    def holds(call: OpCall) -> bool | str:
        state = call.operand(STATE)
        other = call.results[0] if index < 0 else call.operand(index)
        if not other.is_static:
            return f"found {other}"
        if state.dtype is DType.RESOURCE:
            return True
        return (state.dtype, state.nelem) == (other.dtype, other.nelem) or f"found {state} and {other}"

    return Constraint("what is copied has a known shape, and is what the state holds", holds)


def _read(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.array(operands[STATE]).reshape(call.results[0].dims),)


def _assign(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    state, contents = operands[STATE], operands[CONTENTS]
    assert state is not None
    assert contents is not None
    state[...] = contents.reshape(state.shape)
    return ()


_NO_ATTRIBUTES = NotApplicable("its attributes have one form")
_NO_DATA = NotApplicable("it computes nothing itself")
_KEEPS_CODES = NotApplicable("it copies what is stored, however that is quantized")


def _op(
    name: str,
    summary: str,
    operands: tuple[str, ...],
    results: tuple[str, ...],
    evaluate: Evaluate,
    evaluate_quantized: Evaluate | NotApplicable,
    *,
    attrs: type[Attrs] = Attrs,
    constraints: tuple[Constraint, ...] = (),
    traits: frozenset[Trait] = frozenset(),
    state: tuple[int, ...] = (),
) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        attrs=attrs,
        operands=tuple(map(Operand, operands)),
        result_names=results,
        traits=traits | {Trait.SIDE_EFFECT},
        infer=_declared,
        evaluate_float=evaluate,
        evaluate_quantized=evaluate_quantized,
        cost=lambda call: Cost(),
        quantization=_KEEPS_CODES,
        canonicalize=_NO_ATTRIBUTES,
        constraints=constraints,
        state=state,
    )


OPS: tuple[OpDef, ...] = (
    _op(
        "var_handle",
        "The handle of the state that has this name",
        (),
        ("handle",),
        _nothing,
        _NO_DATA,
        attrs=VarHandleAttrs,
        constraints=(Constraint("the result is a handle", _is_handle),),
        traits=frozenset({Trait.HANDLE}),
    ),
    _op(
        "read_variable",
        "A copy of what a state holds",
        ("state",),
        ("contents",),
        _read,
        _read,
        constraints=(_fits_state(-1),),
        traits=frozenset({Trait.SNAPSHOT}),
        state=(STATE,),
    ),
    _op(
        "assign_variable",
        "Lets a state hold a copy of a value",
        ("state", "contents"),
        (),
        _assign,
        _assign,
        constraints=(_fits_state(CONTENTS),),
        state=(STATE,),
    ),
    _op(
        "call_once",
        "Runs its region, which gives states their first contents, before anything else and once",
        (),
        (),
        _nothing,
        _NO_DATA,
        attrs=CallOnceAttrs,
        traits=frozenset({Trait.ONCE}),
    ),
)
