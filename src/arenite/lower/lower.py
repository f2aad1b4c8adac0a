"""Lowers a graph of the core dialect to a program."""

from collections.abc import Iterator

from arenite._base.ctype import ctype_of
from arenite._base.errors import ModelError
from arenite.ir.graph import Graph, Value
from arenite.ir.opdef import Registry
from arenite.lower.aliases import is_view
from arenite.lower.bind import ConstantPool, bind_steps, value_ref
from arenite.lower.kernelset import KernelSet
from arenite.lower.naming import c_name
from arenite.lower.placing import check_limit
from arenite.lower.planning import make_plan
from arenite.lower.program import Port, Program, Ref, StateRef
from arenite.lower.select import Objective
from arenite.lower.states import check_order, make_states, state_problems
from arenite.lower.verify import verify

_MAX_NAMED = 20


def lower(
    graph: Graph,
    registry: Registry,
    kernels: KernelSet,
    *,
    name: str,
    objective: Objective = Objective.SPEED,
    alignment: int = 4,
    ram_limit: int | None = None,
) -> Program:
    """Chooses kernels, packs constants and plans the arena.

    The schedule is the graph's order of nodes.

    Args:
        graph: of the core dialect.
        registry: what its ops are.
        kernels: to choose from.
        name: becomes C-safe and prefixes every symbol of the generated code.
        objective: what to be cheap in.
        alignment: of each buffer, in bytes; wider where its elements are wider.
        ram_limit: most bytes that arena and state may have.

    Raises:
        ModelError: shapes are not static, state is used as if it were computed, a type has no C type, or nodes have no
            kernel.
        LimitError: the arena does not fit the limit.
        SelfCheckError: the result failed its own check.
    """
    _check(graph, registry)
    nodes = [node for node in graph.nodes if not is_view(node, registry)]
    plan = make_plan(graph, nodes, registry, kernels, objective, alignment, ram_limit)
    steps, aliases, buffers, placement = plan.steps, plan.aliases, plan.buffers, plan.placement
    pool = ConstantPool()
    check_order(graph, registry, aliases, (step.node for step in steps))
    calls = bind_steps(steps, aliases, pool)
    states = make_states(graph, pool)
    inputs = (_port(value, value_ref(value, aliases, pool, "")) for value in graph.inputs)
    outputs = (
        _port(value, value_ref(value, aliases, pool, f"constant_output_{index}"))
        for index, value in enumerate(graph.outputs)
    )
    program = Program(
        name=c_name(name),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        buffers=buffers,
        calls=calls,
        placement=placement,
        constants=pool.constants,
        states=states,
    )
    if ram_limit is not None:
        check_limit(buffers, calls, placement, ram_limit, program.state_nbytes)
    verify(program, kernels)
    return program


def _port(value: Value, ref: Ref) -> Port:
    assert not isinstance(ref, StateRef), "state is no input or output"
    quantization = value.type.quantization
    per_tensor = quantization if quantization is not None and quantization.is_per_tensor else None
    return Port(
        name=value.name,
        ref=ref,
        dtype=value.type.dtype,
        shape=value.type.dims,
        scale=None if per_tensor is None else per_tensor.scale,
        zero_point=None if per_tensor is None else per_tensor.zero_point,
    )


def _check(graph: Graph, registry: Registry) -> None:
    values = graph.values()
    for problems in (list(state_problems(graph, registry)), list(_dynamic(values)), list(_untypable(graph))):
        if problems:
            surplus = len(problems) - _MAX_NAMED
            raise ModelError(problems[:_MAX_NAMED] + ([f"and {surplus} more like these"] if surplus > 0 else []))


def _dynamic(values: tuple[Value, ...]) -> Iterator[str]:
    for value in values:
        if not value.type.is_static:
            yield (
                f"tensor '{value.name}' has the shape {value.type}, but memory can only be planned for fixed shapes: "
                "give the shapes of the inputs (--input-shape NAME:DIMS)"
            )


def _untypable(graph: Graph) -> Iterator[str]:
    for what, values in (("input", graph.inputs), ("output", graph.outputs)):
        for value in values:
            if ctype_of(value.type.dtype) is None:
                yield f"{what} '{value.name}' has the type {value.type.dtype}, for which C has none"
