"""The interpreter: results, state, checks of what it is given, and release of what nobody reads any more."""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError, SelfCheckError
from arenite.interp.inputs import Inputs
from arenite.interp.interpreter import Interpreter
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array, Graph
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.types import Quantization, TensorType
from ir.support import REGISTRY, ScaleAttrs, f32, op


def two_inputs() -> Graph:
    """y = 3 * (a - b), d = a - b."""
    b = GraphBuilder()
    x, y = b.input("a", f32(2)), b.input("b", f32(2))
    d = b.node("t.sub", [x, y], [f32(2)], name="d")
    s = b.node("t.scale", [d.result], [f32(2)], ScaleAttrs(3.0), name="y")
    return b.output(s.result, d.result)


A, B = np.array([5, 7], np.float32), np.array([1, 2], np.float32)


def test_run_by_position_and_name() -> None:
    interpreter = Interpreter(two_inputs(), REGISTRY)
    ways: list[Inputs] = [[A, B], {"b": B, "a": A}, [A.astype(np.float64), B]]
    for inputs in ways:
        y, d = interpreter.run(inputs)
        np.testing.assert_array_equal(y, [12, 15])
        np.testing.assert_array_equal(d, [4, 5])
        assert y.dtype == np.float32


@given(st.lists(st.sampled_from(["t.sub", "t.sum"]), min_size=1, max_size=12), st.data())
def test_random_graphs_match_plain_evaluation(ops: list[str], data: st.DataObject) -> None:
    b = GraphBuilder()
    values = [b.input("x", f32(3)), b.constant("c", np.array([1, 2, 3], np.float32))]
    arrays = [np.array([4, -1, 0.5], np.float32), np.array([1, 2, 3], np.float32)]
    for name in ops:
        i, j = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
        values.append(b.node(name, [values[i], values[j]], [f32(3)]).result)
        arrays.append(arrays[i] - arrays[j] if name == "t.sub" else arrays[i] + arrays[j])
    chosen = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=4))
    graph = b.output(*(values[i] for i in chosen))
    trace = Interpreter(graph, REGISTRY).trace([arrays[0]])
    for got, i in zip(trace.outputs, chosen, strict=True):
        np.testing.assert_array_equal(got, arrays[i])
    for value, array in zip(values[2:], arrays[2:], strict=True):
        np.testing.assert_array_equal(trace.values[value.name], array)


def test_trace_keeps_what_is_asked() -> None:
    interpreter = Interpreter(two_inputs(), REGISTRY)
    assert sorted(interpreter.trace([A, B]).values) == ["a", "b", "d", "y"]
    assert sorted(interpreter.trace([A, B], lambda value: value.name == "d").values) == ["d"]


def test_outputs_may_be_inputs_and_constants_and_are_copies() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(2))
    c = b.constant("c", np.array([8, 9], np.float32))
    interpreter = Interpreter(b.output(x, c, x), REGISTRY)
    given_array = A.copy()
    outputs = interpreter.run([given_array])
    np.testing.assert_array_equal(outputs, [A, [8, 9], A])
    for output in outputs:
        output[...] = 0
    np.testing.assert_array_equal(given_array, A)
    np.testing.assert_array_equal(interpreter.run([A]), [A, [8, 9], A])


def accumulator(start: Array | None = None, quantization: Quantization | None = None) -> Graph:
    b = GraphBuilder()
    type_ = TensorType(DType.INT8, (2,), quantization) if quantization else f32(2)
    x = b.input("x", type_)
    state = b.variable("state", type_)
    state.constant = start
    first = b.node("t.accumulate", [state, x], [type_], name="first")
    second = b.node("t.accumulate", [state, x], [type_], name="second")
    return b.output(first.result, second.result)


def test_state_is_kept_and_reset() -> None:
    interpreter = Interpreter(accumulator(), REGISTRY)
    ones = np.ones(2, np.float32)
    for expected in (1, 3, 5):
        first, second = interpreter.run([ones])
        np.testing.assert_array_equal(first, [expected] * 2)
        np.testing.assert_array_equal(second, [expected + 1] * 2)
    interpreter.reset()
    np.testing.assert_array_equal(interpreter.run([ones])[0], [1, 1])


def test_a_value_read_from_state_does_not_change_with_it() -> None:
    def peek(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        assert operands[0] is not None
        return (operands[0],)

    b = GraphBuilder()
    x, state = b.input("x", f32(2)), b.variable("state", f32(2))
    before = b.node("t.peek", [state], [f32(2)], name="before")
    after = b.node("t.accumulate", [state, x], [f32(2)], name="after")
    graph = b.output(before.result, after.result)
    outputs = Interpreter(graph, REGISTRY.extended_with([op("t.peek", ["state"], peek)])).run([A])
    np.testing.assert_array_equal(outputs, [np.zeros(2), A])


def test_two_interpreters_share_no_state() -> None:
    graph = accumulator()
    one, other = Interpreter(graph, REGISTRY), Interpreter(graph, REGISTRY)
    one.run([A])
    np.testing.assert_array_equal(other.run([A])[0], A)


def test_state_starts_as_contents_or_zero_point() -> None:
    started = Interpreter(accumulator(np.array([10, 20], np.float32)), REGISTRY)
    np.testing.assert_array_equal(started.run([A])[0], [15, 27])
    quantized = Interpreter(accumulator(quantization=Quantization.per_tensor(0.5, -9)), REGISTRY)
    np.testing.assert_array_equal(quantized.run([np.zeros(2, np.int8)])[0], [-9, -9])


def test_all_problems_of_inputs_at_once() -> None:
    interpreter = Interpreter(two_inputs(), REGISTRY)
    with pytest.raises(DataError) as caught:
        interpreter.run({"a": A.astype(np.int8), "c": A, "d": A})
    assert caught.value.problems == (
        "there is no input 'c'; there are 'a', 'b'",
        "there is no input 'd'; there are 'a', 'b'",
        "input 'a' must be float32, found int8",
        "input 'b' (float32[2]) is missing",
    )
    with pytest.raises(DataError, match=r"input 'b' must have shape \[2\], found \[1, 2\]"):
        interpreter.run([A, B.reshape(1, 2)])
    with pytest.raises(DataError, match="the model takes 2 inputs"):
        interpreter.run([A])


def test_symbolic_dimensions_must_agree() -> None:
    b = GraphBuilder()
    type_ = TensorType(DType.FLOAT32, ("N", 2))
    interpreter = Interpreter(b.output(b.input("x", type_), b.input("y", type_)), REGISTRY)
    assert interpreter.run([np.ones((3, 2), np.float32)] * 2)[0].shape == (3, 2)
    with pytest.raises(DataError, match=r"input 'y' must have shape \[3, 2\], found \[4, 2\]"):
        interpreter.run([np.ones((3, 2), np.float32), np.ones((4, 2), np.float32)])


def test_unknown_ops_are_refused_at_once() -> None:
    b = GraphBuilder()
    b.output(b.node("tflite.ODD", [b.input("x", f32(2))], [f32(2)], name="odd").result)
    with pytest.raises(ModelError, match=r"tflite\.ODD, at 1 node: 'odd'"):
        Interpreter(b.graph, REGISTRY)


def _graph_of(name: str, n: int = 1) -> Graph:
    b = GraphBuilder()
    value = b.input("x", f32(2))
    for i in range(n):
        value = b.node(name, [value], [f32(2)], name=f"n{i}").result
    return b.output(value)


def test_an_op_without_meaning_is_named() -> None:
    def refuse(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        raise OpError("no meaning on Tuesdays")

    registry = REGISTRY.extended_with([op("t.refuse", ["x"], refuse)])
    with pytest.raises(ModelError, match=r"node 'n0' \(t.refuse\): no meaning on Tuesdays"):
        Interpreter(_graph_of("t.refuse"), registry).run([A])


@pytest.mark.parametrize("result", [(A.astype(np.float64),), (A[:1],), (A, A)])
def test_a_reference_that_is_wrong_is_caught(result: tuple[Array, ...]) -> None:
    registry = REGISTRY.extended_with([op("t.wrong", ["x"], lambda call, operands: result)])
    with pytest.raises(SelfCheckError, match=r"n0.*t\.wrong"):
        Interpreter(_graph_of("t.wrong"), registry).run([A])


def test_operands_are_read_only() -> None:
    def spoil(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        x: Any = operands[0]
        x += 1
        return (x,)

    registry = REGISTRY.extended_with([op("t.spoil", ["x"], spoil)])
    with pytest.raises(ValueError, match="read-only"):
        Interpreter(_graph_of("t.spoil"), registry).run([A.copy()])


def test_values_without_dimensions_stay_arrays() -> None:
    """numpy makes scalars of them."""
    square = op("t.square", ["x"], lambda call, operands: (operands[0] * operands[0],))  # type: ignore[operator]
    b = GraphBuilder()
    x = b.input("x", f32())
    once = b.node("t.square", [x], [f32()]).result
    b.output(b.node("t.square", [once], [f32()]).result)
    interpreter = Interpreter(b.graph, REGISTRY.extended_with([square]))
    assert interpreter.run([np.array(3, np.float32)])[0].tolist() == 81


def test_dead_values_are_released() -> None:
    alive: list[weakref.ref[Array]] = []
    peak: list[int] = []

    def copy(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        assert operands[0] is not None
        result = operands[0].copy()
        alive.append(weakref.ref(result))
        peak.append(sum(reference() is not None for reference in alive))
        return (result,)

    registry = REGISTRY.extended_with([op("t.copy", ["x"], copy)])
    Interpreter(_graph_of("t.copy", 20), registry).run([A])
    assert len(peak) == 20
    assert max(peak) <= 3
