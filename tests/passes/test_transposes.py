"""Transposes: each precondition has a test that fails when it is taken away."""

import dataclasses
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.interp import interpreter_for
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, Registry
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.slicing import StridedSliceAttrs
from arenite.passes.base import Context
from arenite.passes.feeds import made_up_feeds
from arenite.passes.transposes import SimplifyTransposes
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -5)
DIMS = (1, 2, 3, 4)
TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def tensor(dims: Sequence[int] = DIMS, quantization: Quantization | None = Q) -> TensorType:
    return TensorType(DType.FLOAT32 if quantization is None else DType.INT8, tuple(dims), quantization)


def transpose(b: GraphBuilder, x: Value, order: Sequence[int], name: str = "transpose") -> Value:
    type_ = TensorType(x.type.dtype, tuple(x.type.dims[axis] for axis in order), x.type.quantization)
    perm = b.constant("perm", np.array(order, np.int32))
    return b.node("transpose", [x, perm], [type_], Attrs(), name=name).result


def binary(b: GraphBuilder, op: str, one: Value, other: Value, name: str = "sum") -> Value:
    dims = np.broadcast_shapes(one.type.dims, other.type.dims)
    type_ = TensorType(one.type.dtype, dims, one.type.quantization)
    attrs = ArithmeticAttrs() if op in ("add", "mul") else Attrs()
    return b.node(op, [one, other], [type_], attrs, name=name).result


def relu(b: GraphBuilder, x: Value) -> Value:
    return b.node("relu", [x], [x.type], Attrs(), name="relu").result


def said(graph: Graph, subject: str = "transpose") -> str:
    return verdicts(SimplifyTransposes(), graph, REGISTRY)[subject][-1]


@pytest.mark.parametrize("first", list(permutations(range(3)))[1:])
@pytest.mark.parametrize("second", list(permutations(range(3)))[1:])
def test_two_are_one_or_none(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    b = GraphBuilder()
    x = b.input("x", tensor((2, 3, 4)))
    last = transpose(b, transpose(b, x, first, "first"), second)
    graph = b.output(relu(b, last))
    undone = tuple(first[axis] for axis in second) == (0, 1, 2)
    assert said(graph) == f"passed {'cancelled' if undone else 'composed'}"
    assert ops(graph) == (["relu"] if undone else ["transpose", "relu"])
    assert "first" in next(iter(graph.nodes)).origin


def test_together_they_may_move_nothing() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor((1, 2, 3, 1)))
    last = transpose(b, transpose(b, x, (2, 1, 0, 3), "first"), (3, 1, 2, 0))
    graph = b.output(last)
    assert said(graph) == "passed reshapes"
    assert ops(graph) == ["reshape"]
    assert graph.outputs[0].name == "transpose"


def test_a_first_one_that_others_read_stays() -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    graph = b.output(relu(b, transpose(b, first, TO_NCHW)), first)
    assert said(graph) == "passed cancelled"
    assert ops(graph) == ["transpose", "relu"]


def test_an_output_keeps_its_name() -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    graph = b.output(transpose(b, transpose(b, x, TO_NHWC, "first"), TO_NCHW))
    assert said(graph) == "missed output-name"


def test_the_layout_of_an_input_is_the_users() -> None:
    b = GraphBuilder()
    assert said(b.output(transpose(b, b.input("x", tensor()), TO_NHWC))) == "missed input-layout"


def test_no_transpose_before() -> None:
    b = GraphBuilder()
    x = relu(b, b.input("x", tensor()))
    assert said(b.output(transpose(b, x, TO_NHWC))) == "missed no-partner"


def test_orders_that_are_computed() -> None:
    b = GraphBuilder()
    perm = b.input("perm", TensorType(DType.INT32, (4,)))
    first = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    node = b.node("transpose", [first, perm], [tensor()], Attrs(), name="transpose")
    graph = b.output(node.result)
    remarks = SimplifyTransposes().run(graph, Context(REGISTRY)).remarks
    assert [r.reason.slug for r in remarks if r.subject == "transpose"] == ["computed"]


@pytest.mark.parametrize("quantization", [Quantization.per_tensor(0.25, 3), Quantization((0.5,) * 2, (0, 0), 1)])
def test_transposes_that_change_the_type(quantization: Quantization) -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    perm = b.constant("perm", np.array(TO_NCHW, np.int32))
    node = b.node("transpose", [first, perm], [tensor(DIMS, quantization)], Attrs(), name="transpose")
    remarks = SimplifyTransposes().run(b.output(node.result), Context(REGISTRY)).remarks
    assert [r.reason.slug for r in remarks if r.subject == "transpose"] == ["computed"]


def test_transposes_per_channel() -> None:
    """The axis of the scales would have to move, too."""
    b = GraphBuilder()
    q = Quantization((0.5, 0.25), (0, 0), 1)
    first = transpose(b, b.input("x", tensor((2, 2, 2, 2), q)), TO_NHWC, "first")
    graph = b.output(transpose(b, first, TO_NHWC))
    remarks = SimplifyTransposes().run(graph, Context(REGISTRY)).remarks
    assert [r.reason.slug for r in remarks if r.subject == "transpose"] == ["computed"]


@pytest.mark.parametrize("op", ["add", "mul", "maximum"])
def test_two_alike_sink_through_an_elementwise_op(op: str) -> None:
    b = GraphBuilder()
    one, other = (transpose(b, b.input(name, tensor()), TO_NHWC, f"t{name}") for name in "ab")
    graph = b.output(binary(b, op, one, other))
    assert said(graph, "sum") == "passed sunk"
    assert ops(graph) == [op, "transpose"]
    assert graph.outputs[0].name == "sum"


@pytest.mark.parametrize("constant", [(), (3,), (4, 3), (1, 3, 1, 1), (1, 3, 4, 2)], ids=str)
@pytest.mark.parametrize("splat", [False, True])
def test_one_sinks_where_the_next_undoes_it(constant: tuple[int, ...], splat: bool) -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (1, 2, 3, 4)))
    before = transpose(b, x, (0, 2, 3, 1), "first")
    array = np.random.default_rng(0).standard_normal(constant).astype(np.float32)
    dims = {(3,): (2,), (4, 3): (4, 2)}.get(constant, constant)
    array = np.resize(array, dims)
    if splat:
        array = np.broadcast_to(np.float32(2), dims)
    middle = binary(b, "mul", before, b.constant("c", array))
    graph = b.output(relu(b, transpose(b, middle, TO_NCHW)))
    assert said(graph) == "passed cancelled"
    assert ops(graph) == ["mul", "relu"]
    if array.size == 1:
        assert next(iter(graph.nodes)).operand(1).name == "c"
    if splat and array.size > 1:
        moved = next(iter(graph.nodes)).operand(1).constant
        assert moved is not None
        assert not any(moved.strides)


def test_one_does_not_sink_for_nothing() -> None:
    b = GraphBuilder()
    graph = b.output(relu(b, transpose(b, b.input("x", tensor()), TO_NHWC)))
    assert said(graph, "relu") == "missed no-gain"


def test_transposes_that_stay_anyway_are_no_gain() -> None:
    b = GraphBuilder()
    one, other = (transpose(b, b.input(name, tensor()), TO_NHWC, f"t{name}") for name in "ab")
    graph = b.output(binary(b, "add", one, other), one)
    assert said(graph, "sum") == "missed no-gain"


def test_a_result_that_is_an_output_is_needed_as_it_is() -> None:
    b = GraphBuilder()
    middle = relu(b, transpose(b, b.input("x", tensor()), TO_NHWC, "first"))
    graph = b.output(transpose(b, middle, TO_NCHW), middle)
    assert said(graph, "relu") == "missed no-gain"


def test_different_orders() -> None:
    b = GraphBuilder()
    one = transpose(b, b.input("a", tensor((1, 2, 2, 2))), TO_NHWC, "ta")
    other = transpose(b, b.input("b", tensor((1, 2, 2, 2))), TO_NCHW, "tb")
    assert said(b.output(binary(b, "add", one, other)), "sum") == "missed orders-differ"


def test_an_operand_that_is_neither_transposed_nor_constant() -> None:
    b = GraphBuilder()
    one = transpose(b, b.input("a", tensor()), TO_NHWC, "ta")
    graph = b.output(binary(b, "add", one, b.input("b", one.type)))
    assert said(graph, "sum") == "missed not-all-transposed"


def test_a_constant_per_channel() -> None:
    b = GraphBuilder()
    one = transpose(b, b.input("a", tensor()), TO_NHWC, "ta")
    q = Quantization((0.5, 0.25), (0, 0), 0)
    constant = b.constant("c", np.array([1, 2], np.int8), q)
    graph = b.output(binary(b, "add", one, constant))
    remarks = SimplifyTransposes().run(graph, Context(REGISTRY)).remarks
    assert [r.reason.slug for r in remarks if r.subject == "sum"] == ["per-channel"]


def test_a_quantized_constant_is_transposed_too() -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    middle = binary(b, "add", first, b.constant("c", np.array([1, 2], np.int8), Q))
    graph = b.output(relu(b, transpose(b, middle, TO_NCHW)))
    assert said(graph) == "passed cancelled"
    assert next(iter(graph.nodes)).operand(1).type.dims == (1, 2, 1, 1)


def test_ops_that_are_not_elementwise_keep_theirs() -> None:
    b = GraphBuilder()
    x = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    graph = b.output(b.node("softmax", [x], [x.type], REGISTRY["softmax"].attrs(), name="softmax").result)
    assert "softmax" not in verdicts(SimplifyTransposes(), graph, REGISTRY)


def reasons(graph: Graph, subject: str = "transpose", registry: Registry = REGISTRY) -> list[str]:
    """What is said of graphs that are not sound."""
    remarks = SimplifyTransposes().run(graph, Context(registry)).remarks
    return [remark.reason.slug for remark in remarks if remark.subject == subject]


@pytest.mark.parametrize("which", ["source", "result", "dtype", "order"])
def test_precondition_the_order_is_known(which: str) -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    second = transpose(b, first, (0, 0, 1, 2) if which == "order" else TO_NCHW)
    graph = b.output(relu(b, second))
    if which == "source":
        first.type = dataclasses.replace(first.type, shape=(1, "h", 4, 2))
    elif which == "result":
        second.type = dataclasses.replace(second.type, shape=(1, 2, "h", 4))
    elif which == "dtype":
        second.type = dataclasses.replace(second.type, dtype=DType.UINT8)
    assert reasons(graph) == ["computed"]


def computed(b: GraphBuilder, x: Value, name: str) -> Value:
    perm = b.input("perm", TensorType(DType.INT32, (4,)))
    return b.node("transpose", [x, perm], [x.type], Attrs(), name=name).result


def test_a_first_one_whose_order_is_computed_is_no_partner() -> None:
    b = GraphBuilder()
    graph = b.output(transpose(b, computed(b, b.input("x", tensor()), "first"), TO_NHWC))
    assert reasons(graph) == ["no-partner"]


def test_orders_that_are_computed_do_not_sink() -> None:
    b = GraphBuilder()
    graph = b.output(relu(b, computed(b, b.input("x", tensor()), "first")))
    assert reasons(graph, "relu") == ["orders-differ"]


@pytest.mark.parametrize("shape", [(1, 3, 4, "n"), (1, 1, 3, 4, 2)])
def test_results_of_other_ranks_or_no_known_shape(shape: tuple[int | str, ...]) -> None:
    b = GraphBuilder()
    one, other = (transpose(b, b.input(name, tensor()), TO_NHWC, f"t{name}") for name in "ab")
    type_ = dataclasses.replace(tensor(), shape=shape)
    graph = b.output(b.node("add", [one, other], [type_], ArithmeticAttrs(), name="sum").result)
    assert reasons(graph, "sum") == ["orders-differ"]


@pytest.mark.parametrize("known", [False, True])
def test_only_elementwise_ops_with_one_result_are_passed(known: bool) -> None:
    b = GraphBuilder()
    x = transpose(b, b.input("x", tensor()), TO_NHWC, "first")
    results = b.node("own", [x], [x.type, x.type], Attrs(), name="own").results
    own = dataclasses.replace(REGISTRY["relu"], name="own", result_names=("one", "other"))
    registry = REGISTRY.extended_with([own]) if known else REGISTRY
    assert reasons(b.output(*results), "own", registry) == []


def test_operands_that_are_absent_stay_so() -> None:
    b = GraphBuilder()
    one, other = (transpose(b, b.input(name, tensor()), TO_NHWC, f"t{name}") for name in "ab")
    graph = b.output(b.node("maximum", [one, None, other], [one.type], Attrs(), name="max").result)
    assert reasons(graph, "max") == ["sunk"]
    assert [value.name if value else None for value in next(iter(graph.nodes)).operands] == ["a", None, "b"]


def test_transposes_that_others_read_are_no_gain() -> None:
    b = GraphBuilder()
    one, other = (transpose(b, b.input(name, tensor()), TO_NHWC, f"t{name}") for name in "ab")
    graph = b.output(binary(b, "add", one, other), b.node("softmax", [one], [one.type], SoftmaxAttrs()).result)
    assert reasons(graph, "sum") == ["no-gain"]


@pytest.mark.parametrize("reader", ["nobody", "softmax", "computed"])
def test_nothing_is_gained_where_no_known_transpose_reads_the_result(reader: str) -> None:
    b = GraphBuilder()
    x = b.input("x", tensor())
    middle = relu(b, transpose(b, x, TO_NHWC, "first"))
    if reader == "softmax":
        b.output(b.node("softmax", [middle], [middle.type], SoftmaxAttrs()).result)
    elif reader == "computed":
        b.output(computed(b, middle, "last"))
    assert reasons(b.graph, "relu") == ["no-gain"]


# Ops that move elements


def mover(b: GraphBuilder, op: str, x: Value, *numbers: Sequence[object], attrs: Attrs | None = None) -> Value:
    """A pad or slice of x; the last operand of padv2 is a stored element."""
    arrays = [np.array(each, np.int32) for each in numbers]
    operands = [x, *(b.constant(f"c{index}", each) for index, each in enumerate(arrays))]
    if op == "padv2":
        operands[2] = b.constant("value", arrays[1].astype(np.int8), x.type.quantization)
    kind = attrs or REGISTRY[op].attrs()
    declared = (TensorType(x.type.dtype, None, x.type.quantization),)
    types = tuple(value.type for value in operands)
    call = OpCall(op, op, kind, types, declared, tuple(value.constant for value in operands))
    return b.node(op, operands, REGISTRY[op].infer(call), kind, name="moved").result


PADS = ((0, 1), (2, 0), (1, 1), (0, 3))
MOVERS = {
    "pad": ((PADS,), None),
    "padv2": ((PADS, (7,)), None),
    "slice": (((0, 1, 0, 1), (1, 2, -1, 1)), None),
    "strided_slice": (((0, 1, 2, 1), (1, 3, 0, 9), (1, 2, -1, 1)), StridedSliceAttrs(begin_mask=2, end_mask=8)),
}


@pytest.mark.parametrize("op", MOVERS)
@pytest.mark.parametrize("order", [TO_NHWC, TO_NCHW, (2, 0, 3, 1)])
def test_pads_and_slices_move_before_a_transpose_that_is_undone(op: str, order: tuple[int, ...]) -> None:
    b = GraphBuilder()
    dims = np.empty(4, np.int64)
    dims[list(order)] = (1, 3, 4, 2)
    first = transpose(b, b.input("x", tensor(dims.tolist())), order, "first")
    numbers, attrs = MOVERS[op]
    moved = mover(b, op, first, *numbers, attrs=attrs)
    graph = b.output(relu(b, transpose(b, moved, [int(axis) for axis in np.argsort(order)])))
    before = clone_graph(graph)
    assert said(graph) == "passed cancelled"
    assert ops(graph) == [op, "relu"]
    for feed in made_up_feeds(before):
        (expected,), (found,) = (interpreter_for(each, REGISTRY).run(feed.arrays) for each in (before, graph))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("constant", [False, True])
def test_concatenations_move_too(axis: int, constant: bool) -> None:
    b = GraphBuilder()
    one = transpose(b, b.input("a", tensor()), TO_NHWC, "ta")
    if constant:
        other = b.constant("c", np.arange(24).reshape(one.type.dims).astype(np.int8), Q)
    else:
        other = transpose(b, b.input("b", tensor()), TO_NHWC, "tb")
    dims = list(one.type.dims)
    dims[axis] *= 2
    joined = b.node("concatenation", [one, other], [tensor(dims)], ConcatenationAttrs(axis), name="joined").result
    graph = b.output(relu(b, transpose(b, joined, TO_NCHW)) if constant else joined)
    before = clone_graph(graph)
    assert said(graph, "joined") == "passed sunk"
    assert ops(graph).count("transpose") == (0 if constant else 1)
    for feed in made_up_feeds(before):
        (expected,), (found,) = (interpreter_for(each, REGISTRY).run(feed.arrays) for each in (before, graph))
        np.testing.assert_array_equal(found, expected)


def test_a_pad_does_not_move_for_nothing() -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor((1, 2, 3, 4))), TO_NHWC, "first")
    assert said(b.output(mover(b, "pad", first, PADS)), "moved") == "missed no-gain"


@pytest.mark.parametrize("op", ["pad", "strided_slice"])
def test_amounts_that_are_computed(op: str) -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor((1, 2, 3, 4))), TO_NHWC, "first")
    numbers, attrs = MOVERS[op]
    moved = mover(b, op, first, *numbers, attrs=attrs)
    assert moved.producer is not None
    amounts = moved.producer.operand(1)
    b.graph._set_operand(moved.producer, 1, b.input("amounts", amounts.type))
    assert reasons(b.output(moved), "moved") == ["amounts-computed"]


MASKS = StridedSliceAttrs(end_mask=15)


@pytest.mark.parametrize(
    ("masks", "count"),
    [
        (dataclasses.replace(MASKS, ellipsis_mask=8), 4),
        (dataclasses.replace(MASKS, new_axis_mask=1), 4),
        (dataclasses.replace(MASKS, shrink_axis_mask=1), 4),
        (MASKS, 3),
    ],
)
def test_slices_that_do_not_speak_of_each_dimension(masks: StridedSliceAttrs, count: int) -> None:
    b = GraphBuilder()
    first = transpose(b, b.input("x", tensor((1, 2, 3, 4))), TO_NHWC, "first")
    moved = mover(b, "strided_slice", first, (0,) * count, (1,) * count, (1,) * count, attrs=masks)
    moved.type = tensor(moved.type.dims if moved.type.rank == 4 else (1, 3, 4, 2))
    assert reasons(b.output(moved), "moved") == ["not-by-dimension"]


def test_a_transpose_of_amounts_is_none_of_data() -> None:
    b = GraphBuilder()
    amounts = b.input("amounts", TensorType(DType.INT32, (2, 4)))
    perm = b.constant("perm", np.array((1, 0), np.int32))
    pairs = b.node("transpose", [amounts, perm], [TensorType(DType.INT32, (4, 2))], Attrs(), name="pairs").result
    node = b.node("pad", [b.input("x", tensor()), pairs], [tensor()], Attrs(), name="moved")
    assert reasons(b.output(node.result), "moved") == []


@pytest.mark.wheel
@given(data=st.data())
def test_the_oracle_sees_no_difference(data: st.DataObject) -> None:
    b = GraphBuilder()
    orders = st.permutations(range(4))
    order = data.draw(orders)
    one, other = (transpose(b, b.input(name, tensor()), order, f"t{name}") for name in "ab")
    middle = binary(b, data.draw(st.sampled_from(["add", "mul"])), one, other)
    graph = b.output(transpose(b, middle, data.draw(orders)))
    before = export_model(Model("m", clone_graph(graph)))
    verdicts(SimplifyTransposes(), graph, REGISTRY)
    assert ops(graph).count("transpose") <= 1
    feeds = oracle.random_feeds(before)
    found, expected = oracle.run_wheel(export_model(Model("m", graph)), feeds), oracle.run_wheel(before, feeds)
    np.testing.assert_array_equal(found, expected)
