"""A tiny dialect whose ops are simple enough to be seen right, and the facts of graphs as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.opdef import (
    Constraint,
    Evaluate,
    Infer,
    NotApplicable,
    OpCall,
    OpDef,
    Operand,
    OpError,
    Registry,
    Trait,
)
from arenite.ir.printer import attrs_text
from arenite.ir.types import TensorType

PURE = frozenset({Trait.PURE, Trait.DETERMINISTIC})


def f32(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def op(
    name: str,
    operands: Sequence[str],
    evaluate: Evaluate,
    *,
    traits: frozenset[Trait] = PURE,
    infer: Infer | None = None,
    attrs: type[Attrs] = Attrs,
    results: int = 1,
    constraints: tuple[Constraint, ...] = (),
    fold: Evaluate | None = None,
) -> OpDef:
    """An op; an operand's name ends in ? when it is optional, in * when it is variadic."""
    return OpDef(
        name=name,
        summary=f"{name} of the tests' dialect.",
        attrs=attrs,
        operands=tuple(Operand(o.rstrip("?*"), o.endswith("?"), o.endswith("*")) for o in operands),
        result_names=tuple(f"r{i}" for i in range(results)),
        traits=traits,
        infer=infer or _broadcast,
        evaluate_float=evaluate,
        evaluate_quantized=evaluate,
        cost=NotApplicable("tests"),
        quantization=NotApplicable("tests"),
        canonicalize=NotApplicable("tests"),
        constraints=constraints,
        fold=fold,
    )


def _broadcast(call: OpCall) -> tuple[TensorType, ...]:
    dims = [t.dims for t in call.operands if t is not None]
    try:
        shape = np.broadcast_shapes(*dims)
    except ValueError as error:
        raise OpError(f"shapes {dims} do not broadcast") from error
    return tuple(TensorType(t.dtype, shape, t.quantization) for t in call.results)


def _declared(call: OpCall) -> tuple[TensorType, ...]:
    return call.results


def _numpy(function: Any) -> Evaluate:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        value = function(*(o for o in operands if o is not None))
        return (np.asarray(value, call.results[0].dtype.numpy),)

    return evaluate


def _fill(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    assert operands[0] is not None
    return (np.full(call.results[0].dims, operands[0].reshape(-1)[0]),)


def _accumulate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    state: Any = operands[0]
    state += operands[1]
    return (state.copy(),)


def _split(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    assert operands[0] is not None
    low, high = np.split(operands[0], 2, axis=-1)
    return low, high


def _halves(call: OpCall) -> tuple[TensorType, ...]:
    *lead, last = call.operand(0).dims
    return (TensorType(call.operand(0).dtype, (*lead, last // 2)),) * 2


_BY = Constraint("by is not 0", lambda call: isinstance(call.attrs, ScaleAttrs) and call.attrs.by != 0)


@dataclass(frozen=True)
class ScaleAttrs(Attrs):
    by: float = 2.0


def _scaled(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    assert isinstance(call.attrs, ScaleAttrs)
    x: Any = operands[0]
    return (np.asarray(x * np.float32(call.attrs.by), call.results[0].dtype.numpy),)


REGISTRY = Registry(
    (
        op("t.neg", ["x"], _numpy(np.negative)),
        op("t.sub", ["a", "b"], _numpy(np.subtract)),
        op("t.div", ["a", "b"], _numpy(np.divide)),
        op("t.sum", ["a", "b", "c?"], _numpy(lambda *v: sum(v)), traits=PURE | {Trait.COMMUTATIVE}),
        op("t.all", ["values*"], _numpy(lambda *v: sum(v))),
        op("t.scale", ["x"], _scaled, attrs=ScaleAttrs, constraints=(_BY,)),
        op("t.fill", ["x"], _fill, infer=_declared),
        op("t.view", ["x"], _numpy(lambda x: x), infer=_declared, traits=PURE | {Trait.VIEW}),
        op("t.split", ["x"], _split, infer=_halves, results=2),
        op("t.random", ["x"], _numpy(lambda x: x + np.random.rand()), traits=frozenset({Trait.PURE})),
        op("t.impure", ["x"], _numpy(lambda x: x), traits=frozenset({Trait.DETERMINISTIC})),
        op("t.effect", ["x"], _numpy(lambda x: x), traits=PURE | {Trait.SIDE_EFFECT}),
        op(
            "t.accumulate",
            ["state", "x"],
            _accumulate,
            traits=frozenset({Trait.DETERMINISTIC, Trait.SIDE_EFFECT}),
        ),
    )
)


def _value_facts(value: Value | None) -> object:
    if value is None:
        return None
    contents = None
    if value.constant is not None:
        contents = value.constant.tolist() if value.constant.dtype == object else value.constant.tobytes()
    return (value.name, value.type, value.is_variable, contents, len(value.uses), getattr(value.producer, "name", None))


def node_facts(graph: Graph) -> object:
    """Everything that a graph holds, by which two graphs are compared without the printer's graph walk."""
    nodes = [
        (
            node.name,
            node.op,
            [_value_facts(value) for value in node.operands],
            [_value_facts(value) for value in node.results],
            type(node.attrs),
            attrs_text(node.attrs),
            node.origin,
            [node_facts(region) for region in node.regions],
        )
        for node in graph.nodes
    ]
    return (graph.name, list(map(_value_facts, graph.inputs)), nodes, list(map(_value_facts, graph.outputs)))
