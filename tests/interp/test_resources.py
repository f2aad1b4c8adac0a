"""Named state as the interpreter keeps it, against TFLite-Micro."""

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.formats.tflite import export_model, import_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array, Graph
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.movement import ReshapeAttrs
from arenite.ops.state import HANDLE, CallOnceAttrs, VarHandleAttrs
from named_state import ROW, START, assigning, delay, feeds, handle, model_of
from oracle import run_wheel

REGISTRY = core_registry()


@pytest.mark.wheel
@pytest.mark.parametrize("initial", [None, START], ids=["fresh", "assigned once"])
@pytest.mark.parametrize("handles", [1, 2])
def test_twenty_invocations_are_the_oracles(initial: Array | None, handles: int) -> None:
    subgraphs = [] if initial is None else [assigning(initial)]
    data = export_model(model_of(delay(initial, handles=handles), *subgraphs))
    interpreter = Interpreter(import_model(data, "m").graph, REGISTRY)
    for feed, wanted in zip(feeds(), run_wheel(data, feeds()), strict=True):
        np.testing.assert_array_equal(interpreter.run(feed)[0], wanted[0])


@pytest.mark.wheel
@pytest.mark.parametrize(
    ("dtype", "zero_point", "start"), [(DType.INT8, -7, -7), (DType.INT16, 0, 0), (DType.INT32, None, 0)]
)
def test_what_state_holds_at_first_is_the_oracles(dtype: DType, zero_point: int | None, start: int) -> None:
    type_ = TensorType(dtype, (1, 4), None if zero_point is None else Quantization.per_tensor(0.5, zero_point))
    builder = GraphBuilder()
    state = handle(builder)
    before = builder.node("read_variable", [state], [type_]).result
    builder.node("assign_variable", [state, builder.input("x", type_)], [])
    data = export_model(model_of(builder.output(before)))
    interpreter = Interpreter(import_model(data, "m").graph, REGISTRY)
    found = [interpreter.run(feed)[0] for feed in feeds(3, type_)]
    np.testing.assert_array_equal(found, [output for (output,) in run_wheel(data, feeds(3, type_))])
    assert found[0].tolist() == [[start] * 4]


def test_reset_runs_again_what_runs_once() -> None:
    interpreter = Interpreter(delay(START), REGISTRY)
    first = [interpreter.run(feed)[0].tolist() for feed in feeds(3)]
    interpreter.reset()
    assert [interpreter.run(feed)[0].tolist() for feed in feeds(3)] == first
    assert first[0][0][:4] == START[0].tolist()


def test_a_copy_that_was_read_does_not_change_with_the_state() -> None:
    builder = GraphBuilder()
    state, x = handle(builder), builder.input("x", ROW)
    before = builder.node("read_variable", [state], [ROW], name="before").result
    builder.node("assign_variable", [state, x], [])
    interpreter = Interpreter(builder.output(before), REGISTRY)
    assert interpreter.run(feeds(1)[0])[0].tolist() == [[-7] * 4]
    assert interpreter.run(feeds(1)[0])[0].tolist() == feeds(1)[0][0].tolist()


def test_states_of_different_names_are_different() -> None:
    builder = GraphBuilder()
    x = builder.input("x", ROW)
    builder.node("assign_variable", [handle(builder, "one"), x], [])
    other = builder.node("read_variable", [handle(builder, "two")], [ROW]).result
    interpreter = Interpreter(builder.output(other), REGISTRY)
    assert interpreter.run(feeds(1)[0])[0].tolist() == [[-7] * 4]


def test_readers_that_do_not_agree_are_refused_all_at_once() -> None:
    builder = GraphBuilder()
    state = handle(builder)
    wide = TensorType(DType.INT16, (1, 4), Quantization.per_tensor(0.5))
    results = [builder.node("read_variable", [state], [t]).result for t in (ROW, wide, TensorType(DType.INT8, (3,)))]
    with pytest.raises(ModelError, match="takes the state 'ring' for int16") as caught:
        Interpreter(builder.output(*results), REGISTRY)
    assert len(caught.value.problems) == 2


def test_a_handle_is_no_number_and_no_output() -> None:
    builder = GraphBuilder()
    state = handle(builder)
    y = builder.node("reshape", [state], [HANDLE], ReshapeAttrs(())).result
    with pytest.raises(ModelError, match="takes the handle 'handle_ring', but not as state") as caught:
        Interpreter(builder.output(y, state), REGISTRY)
    assert "output 'handle_ring' is a handle of state" in str(caught.value)


def test_what_runs_once_needs_a_region_that_takes_nothing() -> None:
    builder = GraphBuilder()
    builder.node("call_once", [], [], CallOnceAttrs(3), name="lost")
    taking = GraphBuilder()
    taking.input("x", ROW)
    builder.node("call_once", [], [], CallOnceAttrs(4), name="taking", regions=[taking.graph])
    with pytest.raises(ModelError) as caught:
        Interpreter(builder.output(builder.input("x", ROW)), REGISTRY)
    assert [problem.split(": ")[1] for problem in caught.value.problems] == [
        "runs one region, found 0",
        "runs a region that takes nothing, found one with 1 input",
    ]


def test_assigning_another_size_breaks_a_constraint() -> None:
    builder = GraphBuilder()
    state, x = builder.variable("state", TensorType(DType.INT8, (5,))), builder.input("x", ROW)
    builder.node("assign_variable", [state, x], [], Attrs(), name="misfit")
    with pytest.raises(ModelError, match="what is copied has a known shape, and is what the state holds"):
        Interpreter(builder.output(x), REGISTRY)


def _reads_before(read: Quantization | None, *assigned: Quantization | None, dtype: DType = DType.INT8) -> Graph:
    builder = GraphBuilder()
    state = handle(builder)
    before = builder.node("read_variable", [state], [TensorType(dtype, (1, 4), read)]).result
    for index, quantization in enumerate(assigned):
        x = builder.input(f"x_{index}", TensorType(dtype, (1, 4), quantization))
        builder.node("assign_variable", [state, x], [])
    return builder.output(before)


@pytest.mark.wheel
@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8])
@pytest.mark.parametrize(
    ("read", "assigned", "start"), [(7, (11,), 11), (7, (11, 99), 11), (7, (None,), 0), (None, (7,), 7)]
)
def test_what_is_assigned_first_says_what_state_holds_at_first(
    dtype: DType, read: int | None, assigned: tuple[int | None, ...], start: int
) -> None:
    reader, *writers = (
        None if zero_point is None else Quantization.per_tensor(0.5, zero_point) for zero_point in (read, *assigned)
    )
    graph = _reads_before(reader, *writers, dtype=dtype)
    zeros = [np.zeros((1, 4), dtype.numpy) for _ in graph.inputs]
    ((wanted,),) = run_wheel(export_model(model_of(graph)), [zeros])
    assert wanted.tolist() == [[start] * 4]
    np.testing.assert_array_equal(Interpreter(graph, REGISTRY).run(zeros)[0], wanted)


def test_state_that_is_only_read_starts_as_its_reader_says() -> None:
    assert Interpreter(_reads_before(Quantization.per_tensor(0.5, 7)), REGISTRY).run([])[0].tolist() == [[7] * 4]


def test_states_have_names_of_their_own() -> None:
    """Containers, other states and values may all be called the same."""
    builder = GraphBuilder()
    x = builder.input("ring", ROW)
    keys = [("", "ring"), ("box", "ring"), ("", "box/ring"), ("", "")]
    for key in keys:
        state = builder.node("var_handle", [], [HANDLE], VarHandleAttrs(*key), name="handle").result
        builder.node("assign_variable", [state, x], [])
    interpreter = Interpreter(builder.output(x), REGISTRY)
    assert list(interpreter.state_names.items()) == list(
        zip(keys, ["ring_1", "box/ring", "box/ring_1", "state"], strict=True)
    )
    assert interpreter.state().keys() == set(interpreter.state_names.values())
