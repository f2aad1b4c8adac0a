"""Joining slices: each precondition has a test that fails when it is taken away."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs
from arenite.passes.base import Context
from arenite.passes.join_slices import JoinSlices
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -5)
DIMS = (2, 6, 3)


def tensor(dims: Sequence[int] = DIMS) -> TensorType:
    return TensorType(DType.INT8, tuple(dims), Q)


def ints(b: GraphBuilder, *values: int) -> Value:
    return b.constant("ints", np.array(values, np.int32))


def piece(b: GraphBuilder, x: Value, begin: Sequence[int], size: Sequence[int], step: int = 1) -> Value:
    if step == 1:
        return b.node("slice", [x, ints(b, *begin), ints(b, *size)], [tensor(size)], Attrs(), name="piece").result
    end = [at + n * step for at, n in zip(begin, size, strict=True)]
    operands = [x, ints(b, *begin), ints(b, *end), ints(b, *[step] * len(size))]
    return b.node("strided_slice", operands, [tensor(size)], StridedSliceAttrs(), name="piece").result


def rows(b: GraphBuilder, x: Value, first: int, count: int) -> Value:
    """Some of dimension 1."""
    return piece(b, x, (0, first, 0), (x.type.dims[0], count, x.type.dims[2]))


def split(b: GraphBuilder, x: Value, count: int, axis: int = 1) -> list[Value]:
    dims = tuple(dim // count if i == axis else dim for i, dim in enumerate(x.type.dims))
    axis_value = b.constant("axis", np.array(axis, np.int32))
    node = b.node("split", [axis_value, x], [tensor(dims)] * count, SplitAttrs(count), name="split")
    return list(node.results)


def join(
    b: GraphBuilder,
    values: Sequence[Value],
    axis: int = 1,
    activation: Activation = Activation.NONE,
    name: str = "join",
) -> Value:
    dims = list(values[0].type.dims)
    dims[axis] = sum(value.type.dims[axis] for value in values)
    attrs = ConcatenationAttrs(axis, activation)
    return b.node("concatenation", values, [tensor(dims)], attrs, name=name).result


def relu(b: GraphBuilder, x: Value) -> Value:
    return b.node("relu", [x], [x.type], Attrs(), name="relu").result


def said(graph: Graph, subject: str = "join") -> str:
    return verdicts(JoinSlices(), graph, REGISTRY)[subject][-1]


@pytest.mark.parametrize("axis", [1, -2])
def test_a_split_that_is_joined_again_vanishes(axis: int) -> None:
    b = GraphBuilder()
    graph = b.output(relu(b, join(b, split(b, b.input("x", tensor()), 3), axis)))
    assert said(graph) == "passed whole"
    assert ops(graph) == ["relu"]


def test_neighbours_are_one_slice() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    graph = b.output(join(b, [rows(b, x, 1, 2), rows(b, x, 3, 1), rows(b, x, 4, 2)]))
    assert said(graph) == "passed one-slice"
    assert ops(graph) == ["slice"]
    assert graph.outputs[0].name == "join"


def test_slices_that_others_read_stay() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    first = rows(b, x, 0, 2)
    graph = b.output(relu(b, join(b, [first, rows(b, x, 2, 4)])), first)
    assert said(graph) == "passed whole"
    assert ops(graph) == ["slice", "relu"]


@pytest.mark.parametrize("second", [2, 0, 4])
def test_pieces_that_do_not_follow_each_other(second: int) -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    graph = b.output(join(b, [rows(b, x, 1, 2), rows(b, x, second, 2)]))
    assert said(graph) == "missed not-neighbours"


def test_pieces_of_other_rows() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    one, other = (piece(b, x, (i, 3 * i, 0), (1, 3, 3)) for i in range(2))
    assert said(b.output(join(b, [one, other]))) == "missed not-neighbours"


def test_slices_with_steps_are_no_pieces() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    one, other = (piece(b, x, (0, i, 0), (1, 3, 2), step=2) for i in range(2))
    assert said(b.output(join(b, [one, other]))) == "missed not-pieces"


def test_pieces_of_two_values() -> None:
    b = GraphBuilder()
    one, other = (rows(b, b.input(name, tensor()), i, 3) for i, name in ((0, "a"), (3, "b")))
    assert said(b.output(join(b, [one, other]))) == "missed other-source"


def test_places_that_are_computed() -> None:
    b = GraphBuilder()
    x, begin = b.input("x", tensor()), b.input("begin", TensorType(DType.INT32, (3,)))
    node = b.node("slice", [x, begin, ints(b, 2, 3, 3)], [tensor((2, 3, 3))], Attrs(), name="piece")
    graph = b.output(join(b, [node.result, rows(b, x, 3, 3)]))
    (remark,) = JoinSlices().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "not-pieces"


def reasons(graph: Graph, subject: str = "join") -> list[str]:
    """What is said of graphs that are not sound."""
    remarks = JoinSlices().run(graph, Context(REGISTRY)).remarks
    return [remark.reason.slug for remark in remarks if remark.subject == subject]


def test_places_that_are_state() -> None:
    b = GraphBuilder()
    x, begin = b.input("x", tensor()), b.variable("begin", TensorType(DType.INT32, (3,)))
    begin.constant = np.zeros(3, np.int32)
    node = b.node("slice", [x, begin, ints(b, 2, 3, 3)], [tensor((2, 3, 3))], Attrs(), name="piece")
    assert reasons(b.output(join(b, [node.result, rows(b, x, 3, 3)]))) == ["not-pieces"]


def test_what_was_computed_otherwise_is_no_piece() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    assert said(b.output(join(b, [relu(b, x), rows(b, x, 0, 6)]))) == "missed not-pieces"


def test_one_piece_is_not_joined() -> None:
    b = GraphBuilder()
    assert said(b.output(join(b, [rows(b, b.input("x", tensor()), 0, 2)]))) == "missed not-pieces"


@pytest.mark.parametrize("why", ["source", "empty-source", "empty-piece", "declared"])
def test_pieces_of_no_known_place(why: str) -> None:
    b = GraphBuilder()
    x = b.input("x", tensor((2, 0, 3) if why == "empty-source" else DIMS))
    counts = {"empty-source": (0, 0), "empty-piece": (0, 6)}.get(why, (3, 3))
    one, other = rows(b, x, 0, counts[0]), rows(b, x, counts[0], counts[1])
    graph = b.output(join(b, [one, other]))
    if why == "source":
        x.type = dataclasses.replace(x.type, shape=("n", 6, 3))
    if why == "declared":
        one.type = tensor((2, 2, 3))
    assert reasons(graph) == ["not-pieces"]


def test_an_activation_changes_what_is_joined() -> None:
    b = GraphBuilder()
    graph = b.output(join(b, split(b, b.input("x", tensor()), 2), activation=Activation.RELU))
    (remark,) = [r for r in JoinSlices().run(graph, Context(REGISTRY)).remarks if r.subject == "join"]
    assert remark.reason.slug == "has-activation"


def test_an_output_keeps_its_name() -> None:
    b = GraphBuilder()
    assert said(b.output(join(b, split(b, b.input("x", tensor()), 2)))) == "missed output-name"


def test_joined_twice_is_joined_once() -> None:
    b = GraphBuilder()
    x, y, z = (b.input(name, tensor()) for name in "xyz")
    graph = b.output(join(b, [x, join(b, [y, z], -2, name="inner"), relu(b, x)]))
    assert said(graph) == "passed flattened"
    assert ops(graph) == ["relu", "concatenation"]
    assert [value.name for value in list(graph.nodes)[1].present_operands] == ["x", "y", "z", "relu"]


@pytest.mark.parametrize("why", ["axis", "several", "output", "activation", "quantization"])
def test_not_joined_twice(why: str) -> None:
    b = GraphBuilder()
    dims = (2, 2, 2)
    x, y, z = (b.input(name, tensor(dims)) for name in "xyz")
    activation = Activation.RELU if why == "activation" else Activation.NONE
    inner = join(b, [y, z], 2 if why == "axis" else 1, activation, name="inner")
    if why == "axis":
        x = b.input("wide", tensor((2, 2, 4)))
    outer = join(b, [x, inner])
    if why == "quantization":
        inner.type = TensorType(DType.INT8, inner.type.shape, Quantization.per_tensor(0.25))
    outputs = [outer] + ([inner] if why == "output" else []) + ([relu(b, inner)] if why == "several" else [])
    graph = b.output(*outputs)
    JoinSlices().run(graph, Context(REGISTRY))
    assert ops(graph).count("concatenation") == 2


def test_joined_and_split_again() -> None:
    b = GraphBuilder()
    x, y = (b.input(name, tensor()) for name in "xy")
    one, other = split(b, join(b, [x, y]), 2)
    graph = b.output(relu(b, one), relu(b, other))
    assert said(graph, "split") == "passed unjoined"
    assert ops(graph) == ["relu", "relu"]


def test_split_elsewhere() -> None:
    b = GraphBuilder()
    x, y = b.input("x", tensor((2, 2, 3))), b.input("y", tensor((2, 4, 3)))
    graph = b.output(*(relu(b, part) for part in split(b, join(b, [x, y]), 2)))
    assert said(graph, "split") == "missed sizes-differ"


def test_split_along_another_axis() -> None:
    b = GraphBuilder()
    x, y = (b.input(name, tensor((2, 2, 2))) for name in "xy")
    graph = b.output(*(relu(b, part) for part in split(b, join(b, [x, y]), 2, axis=2)))
    assert said(graph, "split") == "missed sizes-differ"
    b = GraphBuilder()
    x, y = (b.input(name, tensor((2, 1, 2))) for name in "xy")
    joined = join(b, [x, y], 1)
    graph = b.output(*(relu(b, part) for part in split(b, joined, 2, axis=0)))
    assert said(graph, "split") == "missed sizes-differ"


def test_the_split_of_something_else() -> None:
    b = GraphBuilder()
    graph = b.output(*split(b, b.input("x", tensor()), 2))
    assert said(graph, "split") == "missed not-joined"


def test_the_split_of_what_another_op_computed() -> None:
    b = GraphBuilder()
    graph = b.output(*split(b, relu(b, b.input("x", tensor())), 2))
    assert said(graph, "split") == "missed not-joined"


def test_the_split_of_what_was_joined_and_clamped() -> None:
    b = GraphBuilder()
    x, y = (b.input(name, tensor()) for name in "xy")
    parts = split(b, join(b, [x, y], activation=Activation.RELU), 2)
    graph = b.output(*(relu(b, part) for part in parts))
    assert reasons(graph, "split") == ["not-joined"]


def test_what_was_joined_stays_where_it_is_read() -> None:
    b = GraphBuilder()
    x, y = (b.input(name, tensor()) for name in "xy")
    joined = join(b, [x, y])
    graph = b.output(*(relu(b, part) for part in split(b, joined, 2)), joined)
    assert said(graph, "split") == "passed unjoined"
    assert ops(graph) == ["concatenation", "relu", "relu"]


def test_split_outputs_keep_their_names() -> None:
    b = GraphBuilder()
    x, y = (b.input(name, tensor()) for name in "xy")
    graph = b.output(*split(b, join(b, [x, y]), 2))
    assert said(graph, "split") == "missed output-name"


def test_split_outputs_that_are_one_value_keep_their_names() -> None:
    b = GraphBuilder()
    x = relu(b, b.input("x", tensor()))
    graph = b.output(*split(b, join(b, [x, x]), 2))
    assert said(graph, "split") == "missed output-name"


def test_results_that_are_one_value_and_no_outputs_go() -> None:
    b = GraphBuilder()
    x = relu(b, b.input("x", tensor()))
    graph = b.output(*(relu(b, part) for part in split(b, join(b, [x, x]), 2)))
    assert said(graph, "split") == "passed unjoined"
    assert ops(graph) == ["relu"] * 3


@pytest.mark.wheel
@given(data=st.data())
def test_the_oracle_sees_no_difference(data: st.DataObject) -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    sizes = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), min_size=2, max_size=4))
    if data.draw(st.booleans()):
        starts = np.cumsum([0, *(count for _, count in sizes)])
        sizes = [(int(start), count) for start, (_, count) in zip(starts, sizes, strict=False)]
    pieces = [rows(b, x, start, count) for start, count in sizes if start + count <= 6]
    pieces = pieces or [rows(b, x, 0, 6)]
    graph = b.output(relu(b, join(b, pieces)))
    before = export_model(Model("m", clone_graph(graph)))
    verdicts(JoinSlices(), graph, REGISTRY)
    feeds = oracle.random_feeds(before)
    found, expected = oracle.run_wheel(export_model(Model("m", graph)), feeds), oracle.run_wheel(before, feeds)
    np.testing.assert_array_equal(found, expected)
