"""State in programs: kept between invocations, apart from the arena, every access in the graph's order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given

import named_state
from arenite import kernels as c_kernels
from arenite._base.dtypes import DType
from arenite._base.errors import LimitError, ModelError, SelfCheckError
from arenite.codegen import render
from arenite.interp.interpreter import Interpreter
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.aliases import Aliases
from arenite.lower.arena import States, run
from arenite.lower.kernel import Array
from arenite.lower.lower import lower
from arenite.lower.program import ConstantRef, Program, StateRef
from arenite.lower.states import check_order
from arenite.lower.verify import verify
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.svdf import SvdfAttrs
from arenite.passes.pipeline import run_pipeline
from arenite.passes.resolve_state import ResolveState
from codegen.host import HostModel
from state_cases import Stateful, svdf_cases

Q = Quantization.per_tensor(0.5, -7)
INT8 = TensorType(DType.INT8, (1, 4), Q)


def _svdf(builder: GraphBuilder, data: Value, state: Value, name: str) -> Value:
    """Four features of four inputs, remembered for three invocations."""
    rng = np.random.default_rng(len(name))
    q = Quantization.per_tensor(0.25)
    features = builder.constant("features", rng.integers(-9, 9, (4, 4)).astype(np.int8), q)
    time = builder.constant("time", rng.integers(-90, 90, (4, 3)).astype(np.int8), q)
    return builder.node("svdf", [data, features, time, None, state], [INT8], SvdfAttrs(), name=name).result


def chain(initial: Array | None = None) -> Graph:
    """Two layers with a state each; the second state has initial contents when they are given."""
    builder = GraphBuilder()
    x = builder.input("x", INT8)
    first = builder.variable("first", TensorType(DType.INT8, (1, 12), Quantization.per_tensor(0.5, 3)))
    type_ = TensorType(DType.INT8, (1, 12), Quantization.per_tensor(0.5, 0))
    second = Value("second", type_, constant=initial, is_variable=True)
    return builder.output(_svdf(builder, _svdf(builder, x, first, "a"), second, "bb"))


def program_of(graph: Graph, ram_limit: int | None = None) -> Program:
    return lower(graph, core_registry(), kernels(), name="chain", ram_limit=ram_limit)


def feeds(count: int) -> list[list[Array]]:
    rng = np.random.default_rng(3)
    return [[rng.integers(-128, 127, (1, 4)).astype(np.int8)] for _ in range(count)]


def native(program: Program, folder: Path) -> HostModel:
    manifests = {info.symbol: info for info in c_kernels.manifests()}
    files = render(program, manifests, lambda name: (c_kernels.include_dir() / name).read_text(encoding="utf-8"))
    return HostModel(program, files, folder)


CONTENTS = np.arange(12, dtype=np.int8).reshape(1, 12)


@pytest.mark.parametrize("initial", [None, CONTENTS], ids=["zero points", "contents"])
def test_twenty_invocations_in_the_arena(initial: Array | None) -> None:
    graph = chain(initial)
    program, interpreter = program_of(graph), Interpreter(graph, core_registry())
    states = States(program)
    for feed in feeds(20):
        (expected,), (found,) = interpreter.run(feed), run(program, kernels(), feed, states=states)
        np.testing.assert_array_equal(found, expected)
    # A fresh state gives what the first invocation gave.
    interpreter.reset()
    np.testing.assert_array_equal(run(program, kernels(), feeds(1)[0])[0], interpreter.run(feeds(1)[0])[0])


@pytest.mark.gcc
@pytest.mark.parametrize("initial", [None, CONTENTS], ids=["zero points", "contents"])
def test_twenty_invocations_in_c_and_a_reset(initial: Array | None, tmp_path: Path) -> None:
    graph = chain(initial)
    interpreter, model = Interpreter(graph, core_registry()), native(program_of(graph), tmp_path)
    # No call of reset before the first invocation: the state starts itself.
    for _ in range(2):
        for feed in feeds(20):
            np.testing.assert_array_equal(model(feed)[0], interpreter.run(feed)[0])
        model._function(model.names.reset)()
        interpreter.reset()


@given(case=svdf_cases(biased=True))
def test_any_svdf_in_the_arena(case: Stateful) -> None:
    assume(not case.problems())
    program = program_of(case.graph())
    states = States(program)
    found = [run(program, kernels(), [feed], states=states)[0] for feed in case.feeds]
    np.testing.assert_array_equal(found, case.evaluate())


def test_states_lie_apart_and_say_what_they_start_with() -> None:
    program = program_of(chain(CONTENTS))
    first, second = program.states
    assert (first.name, first.offset, first.nbytes, first.initial) == ("first", 0, 12, 3)
    assert (second.name, second.offset, second.nbytes) == ("second", 16, 12)
    assert isinstance(second.initial, ConstantRef)
    (contents,) = (c.data for c in program.constants if c.name == second.initial.constant)
    assert contents.view(np.int8).tolist() == list(range(12))
    assert program.state_nbytes == 28
    assert {buffer.name for buffer in program.buffers} == {"x", "a", "bb"}


def test_a_limit_counts_the_state() -> None:
    whole = program_of(chain()).placement.arena_nbytes + 28
    program_of(chain(), ram_limit=whole)
    with pytest.raises(LimitError, match=r"and the state 28, 1 more than the limit of"):
        program_of(chain(), ram_limit=whole - 1)
    # What would have to go cannot be more than what is there.
    with pytest.raises(LimitError, match=r"the state alone takes 3 more than the limit, so that no plan of buffers"):
        program_of(chain(), ram_limit=25)
    with pytest.raises(LimitError, match=r"so \d+ bytes of that step's buffers would have to go"):
        program_of(chain(), ram_limit=28)


def test_planted_overlap_and_strangers_are_found() -> None:
    program = program_of(chain())
    verify(program, kernels())
    near = tuple(replace(state, offset=index * 8) for index, state in enumerate(program.states))
    with pytest.raises(SelfCheckError, match="states 'first' and 'second' overlap"):
        verify(replace(program, states=near), kernels())
    with pytest.raises(SelfCheckError, match="there is no state 'second'"):
        verify(replace(program, states=program.states[:1]), kernels())
    short = tuple(replace(state, nbytes=8) for state in program.states)
    with pytest.raises(SelfCheckError, match=r"bytes \[0, 12\) of state 'first', which has 8"):
        verify(replace(program, states=short), kernels())
    call = program.calls[0]
    lost = replace(call, arguments={**call.arguments, "state": ConstantRef("anything")})
    with pytest.raises(SelfCheckError, match="is to be kept but not in a state"):
        verify(replace(program, calls=(lost, *program.calls[1:])), kernels())


def test_planted_schedules_that_lose_or_swap_a_write_are_refused() -> None:
    graph, registry = chain(), core_registry()
    nodes, aliases = list(graph.nodes), Aliases(graph, registry, ())
    check_order(graph, registry, aliases, nodes)
    for planted in (nodes[:1], nodes[::-1]):
        with pytest.raises(SelfCheckError, match="state is accessed by 'a', 'bb' in the graph"):
            check_order(graph, registry, aliases, planted)


def test_a_state_that_takes_in_unwritten_memory_is_found() -> None:
    program = program_of(chain())
    states = States(program)
    states.copies[0]["first"][5] += 1
    with pytest.raises(SelfCheckError, match="'first' now depends on memory that nobody wrote"):
        run(program, kernels(), feeds(1)[0], states=states)


def test_state_that_is_an_output_is_refused() -> None:
    builder = GraphBuilder()
    state = builder.variable("state", TensorType(DType.INT8, (1, 12), Q))
    y = _svdf(builder, builder.input("x", INT8), state, "y")
    with pytest.raises(ModelError, match="output 'state' is state itself"):
        program_of(builder.output(y, state))


def test_arguments_refer_to_states() -> None:
    program = program_of(chain())
    assert [call.arguments["state"] for call in program.calls] == [StateRef("first", 0, 12), StateRef("second", 0, 12)]


def _resolved(graph: Graph) -> Graph:
    run_pipeline(graph, [ResolveState()], core_registry())
    return graph


def _ladder(graph: Graph, folder: Path) -> Program:
    """The interpreter, the arena and C agree for twenty invocations."""
    program, interpreter = program_of(graph), Interpreter(graph, core_registry())
    model, states = native(program, folder), States(program)
    for feed in named_state.feeds():
        expected = interpreter.run(feed)
        for found in (run(program, kernels(), feed, states=states), model(feed)):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
    return program


@pytest.mark.gcc
@pytest.mark.parametrize("initial", [None, named_state.START], ids=["fresh", "assigned once"])
def test_named_state_is_read_in_place(initial: Array | None, tmp_path: Path) -> None:
    program = _ladder(_resolved(named_state.delay(initial)), tmp_path)
    assert [call.kernel for call in program.calls] == ["arenite_copy_rows", "arenite_copy_rows", "arenite_assign"]
    assert program.calls[0].arguments["input"] == StateRef("ring", 0, 4)


@pytest.mark.gcc
def test_what_is_assigned_before_the_copy_is_read_takes_a_copy(tmp_path: Path) -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", named_state.ROW), builder.variable("state", named_state.ROW)
    before = builder.node("read_variable", [state], [named_state.ROW], name="before").result
    builder.node("assign_variable", [state, x], [], name="after")
    both = TensorType(DType.INT8, (1, 8), named_state.Q)
    y = builder.node("concatenation", [before, x], [both], ConcatenationAttrs(-1), name="y").result
    program = _ladder(builder.output(y), tmp_path)
    assert [call.name for call in program.calls] == ["before", "after", "y", "y_1"]


@pytest.mark.gcc
def test_a_copy_that_is_an_output_is_one(tmp_path: Path) -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", named_state.ROW), builder.variable("state", named_state.ROW)
    before = builder.node("read_variable", [state], [named_state.ROW], name="before").result
    flat = TensorType(DType.INT8, (4,), named_state.Q)
    view = builder.node("reshape", [before], [flat], ReshapeAttrs((4,)), name="view").result
    builder.node("assign_variable", [state, x], [], name="after")
    program = _ladder(builder.output(view), tmp_path)
    assert [call.name for call in program.calls] == ["before", "after"]


@pytest.mark.gcc
def test_a_constant_is_assigned(tmp_path: Path) -> None:
    builder = GraphBuilder()
    builder.input("x", named_state.ROW)
    state = builder.variable("state", named_state.ROW)
    before = builder.node("read_variable", [state], [named_state.ROW], name="before").result
    builder.node("assign_variable", [state, builder.constant("c", named_state.START, named_state.Q)], [], name="after")
    _ladder(builder.output(before), tmp_path)
