"""Between passes of files nodes read copies of state: what moves, merges or goes, the bytes stay those of the file."""

from collections.abc import Callable

import numpy as np
import pytest

import oracle
from arenite._base.dtypes import DType
from arenite.driver.optimize import optimize_loaded
from arenite.driver.optimize_result import OptimizeOptions
from arenite.formats.tflite import export_model, import_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.svdf import SvdfAttrs
from arenite.passes.base import Context
from arenite.passes.copy_state import CopyState, ReadInPlace
from named_state import delay
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5)
INVOCATIONS = 6


def int8(*dims: int) -> TensorType:
    return TensorType(DType.INT8, dims, Q)


class Builder(GraphBuilder):
    """A graph of one input and one state of 6 elements, which an svdf changes."""

    def __init__(self) -> None:
        super().__init__()
        self.x = self.input("x", int8(1, 2))
        self.state = self.variable("state", int8(1, 6))

    def ints(self, *values: int) -> Value:
        return self.constant("ints", np.array(values, np.int32))

    def op(self, op: str, *operands: Value, dims: tuple[int, ...] = (1, 6), attrs: Attrs | None = None) -> Value:
        return self.node(op, operands, [int8(*dims)], attrs, name=op).result

    def change(self) -> Value:
        features = self.constant("features", np.array([[1, 2], [3, -4]], np.int8), Q)
        time = self.constant("time", np.arange(6, dtype=np.int8).reshape(2, 3), Q)
        bias = self.constant("bias", np.array([5, 7], np.int32), Quantization.per_tensor(0.25))
        operands = [self.x, features, time, bias, self.state]
        return self.node("svdf", operands, [int8(1, 2)], SvdfAttrs(), name="change").result


def reshaped(b: Builder) -> Callable[[], Value]:
    same = b.op("reshape", b.state, b.ints(1, 6), attrs=ReshapeAttrs((1, 6)))
    return lambda: same


def reshaped_there_and_back(b: Builder) -> Callable[[], Value]:
    flat = b.op("reshape", b.state, b.ints(6), dims=(6,), attrs=ReshapeAttrs((6,)))
    return lambda: b.op("reshape", flat, b.ints(1, 6), attrs=ReshapeAttrs((1, 6)))


def transposed_there_and_back(b: Builder) -> Callable[[], Value]:
    turned = b.op("transpose", b.state, b.ints(1, 0), dims=(6, 1))
    return lambda: b.op("transpose", turned, b.ints(1, 0))


def halves(b: Builder) -> Callable[[], Value]:
    parts = [b.op("slice", b.state, b.ints(0, at), b.ints(1, 3), dims=(1, 3)) for at in (0, 3)]
    return lambda: b.op("concatenation", *parts, attrs=ConcatenationAttrs(1))


def padded_by_nothing(b: Builder) -> Callable[[], Value]:
    same = b.op("pad", b.state, b.constant("none", np.zeros((2, 2), np.int32)))
    return lambda: same


def requantized_to_the_same(b: Builder) -> Callable[[], Value]:
    same = b.op("quantize", b.state)
    return lambda: same


READS = [
    reshaped,
    reshaped_there_and_back,
    transposed_there_and_back,
    halves,
    padded_by_nothing,
    requantized_to_the_same,
]


def read_before_it_changes(read: Callable[[Builder], Callable[[], Value]]) -> Graph:
    """Gives what the state was, though another node changes it before that is asked for."""
    b = Builder()
    before = read(b)
    changed = b.change()
    return b.output(changed, b.op("relu", before()))


def feeds() -> list[list[Array]]:
    rng = np.random.default_rng(5)
    return [[rng.integers(-128, 127, (1, 2)).astype(np.int8)] for _ in range(INVOCATIONS)]


def outputs_of(graph: Graph) -> list[list[Array]]:
    interpreter = Interpreter(graph, REGISTRY)
    return [interpreter.run(feed) for feed in feeds()]


@pytest.mark.wheel
@pytest.mark.parametrize("read", READS)
def test_what_was_read_before_a_change_stays_so(read: Callable[[Builder], Callable[[], Value]]) -> None:
    data = export_model(Model("m", read_before_it_changes(read)))
    expected = oracle.run_wheel(data, feeds())
    # A wrong result would not be noticed: nothing is compared.
    optimized = optimize_loaded(import_model(data, "m"), OptimizeOptions(check=0)).model
    assert "read_variable" not in ops(optimized.graph)
    for found in (outputs_of(optimized.graph), oracle.run_wheel(export_model(optimized), feeds())):
        np.testing.assert_equal(found, expected)


def round_trip(graph: Graph) -> dict[str, list[str]]:
    """What is said when copies are given and given back; the graph means the same afterwards."""
    before = outputs_of(clone_graph(graph))
    CopyState().run(graph, Context(REGISTRY))
    np.testing.assert_equal(outputs_of(graph), before)
    found = verdicts(ReadInPlace(), graph, REGISTRY)
    np.testing.assert_equal(outputs_of(graph), before)
    return found


def test_nothing_is_left_of_copies_that_nobody_needed() -> None:
    graph = read_before_it_changes(halves)
    wanted = ops(graph)
    assert round_trip(graph) == {"state/copy": ["passed in-place"], "state/copy_1": ["passed in-place"]}
    assert ops(graph) == wanted
    assert [use.node.op for value in graph.values() if value.is_variable for use in value.uses].count("slice") == 2


def test_a_copy_that_is_read_after_a_change_is_a_reshape() -> None:
    b = Builder()
    copy = b.node("read_variable", [b.state], [int8(1, 6)], name="copy").result
    changed = b.change()
    graph = b.output(changed, b.op("relu", copy))
    before = outputs_of(clone_graph(graph))
    assert verdicts(ReadInPlace(), graph, REGISTRY) == {"copy": ["passed changed"]}
    assert ops(graph) == ["reshape", "svdf", "relu"]
    np.testing.assert_equal(outputs_of(graph), before)


def test_a_copy_that_is_an_output_is_a_reshape() -> None:
    b = Builder()
    changed = b.change()
    graph = b.output(changed, b.node("read_variable", [b.state], [int8(1, 6)], name="copy").result)
    assert verdicts(ReadInPlace(), graph, REGISTRY) == {"copy": ["passed changed"]}
    assert [value.name for value in graph.outputs] == ["change", "copy"]


def test_an_op_that_nobody_knows_may_change_what_it_reads() -> None:
    b = Builder()
    copy = b.node("read_variable", [b.state], [int8(1, 6)], name="copy").result
    b.node("tflite.CUSTOM", [b.state], [int8(1, 6)], name="custom")
    graph = b.output(b.op("relu", copy))
    assert verdicts(ReadInPlace(), graph, REGISTRY) == {"copy": ["passed changed"]}


def test_reads_of_named_state_stay() -> None:
    graph = delay()
    wanted = ops(graph)
    assert CopyState().run(graph, Context(REGISTRY)).candidates == 0
    assert ReadInPlace().run(graph, Context(REGISTRY)).candidates == 0
    assert ops(graph) == wanted
