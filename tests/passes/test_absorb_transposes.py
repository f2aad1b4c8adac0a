"""Transposes that weights and axes make up for: each precondition has a test that fails when it is taken away."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.interp import interpreter_for
from arenite.ir.attrs import Attrs
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.absorb_transposes import AbsorbTransposes, columns_of
from arenite.passes.base import BitExact, Context
from arenite.passes.differential import agree
from arenite.passes.feeds import made_up_feeds
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes
from passes.networks import DIMS, KINDS, TO_NHWC, Network
from passes.support import ops, verdicts

REGISTRY = core_registry()


def said(graph: Graph, subject: str = "transpose") -> str:
    (verdict,) = verdicts(AbsorbTransposes(), graph, REGISTRY)[subject]
    return verdict


def slug(graph: Graph) -> str:
    """What is said of graphs that are not sound."""
    (remark,) = AbsorbTransposes().run(graph, Context(REGISTRY)).remarks
    return remark.reason.slug


# Columns


def by_force(dims: Sequence[int], order: Sequence[int], inputs: int) -> npt.NDArray[np.int64] | None:
    """Where each element comes from, by moving all numbers."""
    moved = np.arange(math.prod(dims)).reshape(dims).transpose(order).reshape(-1, inputs)
    columns = moved - inputs * np.arange(len(moved))[:, None]
    first = columns[0]
    return first if sorted(first) == list(range(inputs)) and (columns == first).all() else None


@given(data=st.data())
def test_columns_are_found_where_there_are_any(data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    order = data.draw(st.permutations(range(len(dims))))
    total = math.prod(dims)
    for inputs in (each for each in range(1, total + 1) if total % each == 0):
        expected, found = by_force(dims, order, inputs), columns_of(dims, order, inputs)
        if expected is None:
            assert found is None
        else:
            np.testing.assert_array_equal(found, expected)


def test_nothing_has_no_columns() -> None:
    assert columns_of((2, 0), (1, 0), 2) is None


# Matrix products


@pytest.mark.parametrize("kind", KINDS)
def test_columns_take_the_order(kind: str) -> None:
    """What exporters write of a convolutional network that flattens channels first."""
    n = Network(kind)
    graph = n.to(n.dense(n.reshaped(n.transposed(n.relu(n.input())))))
    weights = np.asarray(list(graph.nodes)[-1].operand(1).constant)
    assert said(graph) == "passed absorbed"
    assert ops(graph) == ["relu", "reshape", "fully_connected"]
    layer = list(graph.nodes)[-1]
    assert layer.origin == ("dense", "transpose")
    permuted = weights.reshape(3, 4, 2, 3).transpose(0, 2, 3, 1).reshape(3, -1)
    np.testing.assert_array_equal(np.asarray(layer.operand(1).constant), permuted)
    assert layer.operand(1).type.quantization == n.weights(24).type.quantization


def test_what_it_says() -> None:
    n = Network()
    flat = n.reshaped(n.transposed(n.input()))
    graph = n.to(n.dense(flat), n.dense(flat, name="other"))
    (remark,) = AbsorbTransposes().run(graph, Context(REGISTRY)).remarks
    assert remark.text == "'dense', 'other' read what transpose transposed: weights and axes have its order now"


def test_it_may_read_a_transpose_at_once() -> None:
    n = Network()
    graph = n.to(n.dense(n.transposed(n.input())))
    assert said(graph) == "passed absorbed"
    assert ops(graph) == ["fully_connected"]


@pytest.mark.parametrize("first", [False, True])
def test_elementwise_ops_and_views_may_lie_between(first: bool) -> None:
    n = Network()
    x = n.transposed(n.input())
    x = n.reshaped(n.relu(x)) if first else n.relu(n.reshaped(x))
    squeezed = n.b.node("expand_dims", [x, n.b.constant("axis", np.array(0, np.int32))], [n.type((1, 1, 24))], Attrs())
    graph = n.to(n.dense(squeezed.result, n.weights(24)))
    assert said(graph) == "passed absorbed"
    assert sorted(ops(graph)) == ["fully_connected", "relu", "reshape", "reshape"]
    relu = next(node for node in graph.nodes if node.op == "relu")
    assert relu.result.type.dims == (DIMS if first else (1, 24))
    assert relu.origin == ("relu",)


def test_names_go_with_what_they_stood_for() -> None:
    """In another order, a value is not what a user knows by that name."""
    n = Network()
    graph = n.to(n.dense(n.relu(n.reshaped(n.transposed(n.input())))))
    AbsorbTransposes().run(graph, Context(REGISTRY))
    assert {value.name for value in graph.values()}.isdisjoint({"transpose", "reshape", "relu"})


def test_each_row_in_its_own_order() -> None:
    n = Network()
    graph = n.to(n.dense(n.reshaped(n.transposed(n.input((5, 2, 3, 4))), (5, -1))))
    assert said(graph) == "passed absorbed"


def test_rows_of_the_last_dimensions() -> None:
    n = Network()
    graph = n.to(n.dense(n.transposed(n.input((2, 3, 2, 2)), (0, 1, 3, 2)), n.weights(4)))
    assert said(graph) == "passed absorbed"


def test_rows_are_not_mixed() -> None:
    n = Network()
    graph = n.to(n.dense(n.reshaped(n.transposed(n.input((2, 3)), (1, 0)), (3, 2))))
    assert said(graph) == "missed mixes-rows"


def test_a_splat_stays_one_element() -> None:
    n = Network("float32")
    weights = n.b.constant("w", np.broadcast_to(np.float32(2), (3, 24)))
    graph = n.to(n.dense(n.transposed(n.input()), weights))
    assert said(graph) == "passed absorbed"
    permuted = next(iter(graph.nodes)).operand(1).constant
    assert permuted is not None
    assert not any(permuted.strides)


@pytest.mark.parametrize("keep_dims", [False, True])
def test_leading_dimensions_that_are_kept(keep_dims: bool) -> None:
    n = Network()
    x = n.transposed(n.input((1, 1, 6)), (1, 2, 0))
    graph = n.to(n.dense(n.relu(x), n.weights(1), keep_dims=keep_dims))
    assert said(graph) == ("missed keeps-dims" if keep_dims else "passed absorbed")
    n = Network()
    x = n.reshaped(n.transposed(n.input()), (1, 1, 24))
    assert said(n.to(n.dense(x, n.weights(24), keep_dims=keep_dims))) == "passed absorbed"


@pytest.mark.parametrize("together", [False, True])
def test_weights_that_several_read(together: bool) -> None:
    n = Network()
    flat, weights = n.reshaped(n.transposed(n.input())), n.weights(24)
    other = n.relu(flat) if together else n.b.input("other", flat.type)
    graph = n.to(n.dense(flat, weights), n.dense(other, weights, "again"))
    assert said(graph) == ("passed absorbed" if together else "missed shared-weights")
    assert len({node.operand(1) for node in graph.nodes if node.op == "fully_connected"}) == 1


@pytest.mark.parametrize("how", ["output", "input"])
def test_weights_that_are_needed_otherwise(how: str) -> None:
    n = Network("float32")
    weights, x = n.weights(24, 24), n.transposed(n.input())
    layer = n.dense(x, weights)
    if how == "output":
        n.to(layer, weights)
    else:
        n.to(layer, n.dense(weights, weights, "square"))
    assert said(n.b.graph) == "missed shared-weights"


def test_a_layer_that_reads_weights_as_data_too() -> None:
    n = Network("float32")
    weights, x = n.weights(24, 24), n.transposed(n.input())
    layer = n.b.node("fully_connected", [x, weights, weights], [n.type((1, 24))], FullyConnectedAttrs(), name="dense")
    assert slug(n.to(layer.result)) == "shared-weights"


def test_weights_that_are_computed() -> None:
    n = Network()
    weights = n.b.input("w", n.weights(24).type)
    assert slug(n.to(n.dense(n.transposed(n.input()), weights))) == "weights-computed"


def test_weights_per_column() -> None:
    n = Network()
    weights = n.weights(24)
    weights.type = replace(weights.type, quantization=Quantization((0.5,) * 24, (0,) * 24, 1))
    assert slug(n.to(n.dense(n.transposed(n.input()), weights))) == "per-channel"


def test_weights_per_tensor() -> None:
    n = Network()
    weights = n.weights(24)
    weights.type = replace(weights.type, quantization=Quantization.per_tensor(0.0078125))
    assert said(n.to(n.dense(n.transposed(n.input()), weights))) == "passed absorbed"


# What lies between


def test_orders_that_are_computed() -> None:
    n = Network()
    perm = n.b.input("perm", TensorType(DType.INT32, (4,)))
    x = n.b.node("transpose", [n.input(), perm], [n.type(DIMS)], Attrs(), name="transpose").result
    assert slug(n.to(n.dense(x))) == "computed"


@pytest.mark.parametrize("which", ["transpose", "reshape"])
def test_outputs_keep_their_order(which: str) -> None:
    n = Network()
    x = n.transposed(n.input())
    flat = n.reshaped(x)
    graph = n.to(n.dense(flat), x if which == "transpose" else flat)
    assert said(graph) == "missed intermediate-is-output"


def test_nobody_reads_it() -> None:
    n = Network()
    x = n.input()
    n.transposed(x)
    assert slug(n.to(x)) == "unread"


@pytest.mark.parametrize("reader", ["softmax", "add", "whole"])
def test_every_way_must_end_well(reader: str) -> None:
    n = Network()
    x = n.transposed(n.input())
    if reader == "softmax":
        other = n.b.node("softmax", [x], [n.type(x.type.dims)], SoftmaxAttrs(), name="other").result
    elif reader == "add":
        other = n.b.node("maximum", [x, x], [x.type], Attrs(), name="other").result
    else:
        other = n.reduced(n.relu(n.reshaped(x, (1, 4, 6))), (2,), name="other")
    assert said(n.to(n.dense(x), other)) == "missed other-reader"


def test_weights_that_are_transposed_are_no_data() -> None:
    n = Network("float32")
    weights = n.transposed(n.input((4, 3)), (1, 0))
    assert slug(n.to(n.dense(n.b.input("data", n.type((1, 4))), weights))) == "other-reader"


def test_operators_that_are_not_known() -> None:
    n = Network()
    x = n.transposed(n.input())
    assert slug(n.to(n.b.node("own", [x], [x.type], Attrs(), name="own").result)) == "other-reader"


@pytest.mark.parametrize("what", ["results", "absent", "shape", "channels"])
def test_only_functions_of_one_element_may_lie_between(what: str) -> None:
    n = Network()
    x = n.transposed(n.input())
    type_ = x.type
    if what == "shape":
        type_ = n.type((2, *DIMS[1:]))
    elif what == "channels":
        type_ = replace(type_, quantization=Quantization((0.5, 0.25, 0.5), (0,) * 3, 3))
    results = [type_, type_] if what == "results" else [type_]
    node = n.b.node("relu", [x, None] if what == "absent" else [x], results, Attrs(), name="relu")
    assert slug(n.to(n.dense(node.results[0], n.weights(24)), *node.results[1:])) == "other-reader"


def test_functions_that_change_the_type_may() -> None:
    n = Network()
    x = n.transposed(n.input())
    real = n.b.node("dequantize", [x], [TensorType(DType.FLOAT32, x.type.dims)], Attrs(), name="real").result
    n.kind, n.dtype, n.quantization = "float32", *KINDS["float32"]
    assert said(n.to(n.dense(real))) == "passed absorbed"


@pytest.mark.parametrize("what", ["dtype", "quantization", "shape"])
def test_views_that_change_more_than_the_shape_may_not(what: str) -> None:
    n = Network()
    flat = n.reshaped(n.transposed(n.input()))
    graph = n.to(n.dense(flat))
    flat.type = {
        "dtype": replace(flat.type, dtype=DType.UINT8),
        "quantization": replace(flat.type, quantization=Quantization.per_tensor(0.25)),
        "shape": replace(flat.type, shape=(1, "n")),
    }[what]
    assert slug(graph) == "other-reader"


# Reductions


@pytest.mark.parametrize("kind", ["int8", "float32", "uint8"])
@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("op", ["mean", "sum", "reduce_max", "reduce_min"])
def test_axes_take_the_order(kind: str, keep_dims: bool, op: str) -> None:
    n = Network(kind)
    graph = n.to(n.reduced(n.relu(n.transposed(n.input())), op=op, keep_dims=keep_dims))
    assert said(graph) == "passed absorbed"
    assert ops(graph) == (["relu", op, "reshape"] if keep_dims else ["relu", op])
    node = next(node for node in graph.nodes if node.op == op)
    np.testing.assert_array_equal(np.asarray(node.operand(1).constant), [1, 2])
    assert node.attrs == ReduceAttrs(keep_dims)
    assert set(node.origin) == {"mean", "transpose"}
    assert graph.outputs[0].name == "mean"


@pytest.mark.parametrize("axes", [(1,), (3,), (1, 2), (0, 1), (2, 3), (1, 3), (0, 1, 2, 3), ()], ids=str)
@pytest.mark.parametrize("keep_dims", [False, True])
def test_what_is_left_keeps_its_order(axes: tuple[int, ...], keep_dims: bool) -> None:
    n = Network()
    graph = n.to(n.reduced(n.transposed(n.input((2, 2, 3, 4))), axes, keep_dims=keep_dims))
    assert said(graph) == ("missed reorders" if axes in ((3,), ()) else "passed absorbed")


def test_dimensions_of_one_have_no_order() -> None:
    n = Network()
    graph = n.to(n.reduced(n.transposed(n.input((1, 1, 3, 4)), (3, 0, 2, 1)), (2,)))
    assert said(graph) == "passed absorbed"
    assert ops(graph) == ["mean", "reshape"]


def test_axes_that_are_computed() -> None:
    n = Network()
    x = n.transposed(n.input())
    axes = n.b.input("axes", TensorType(DType.INT32, (2,)))
    node = n.b.node("mean", [x, axes], [n.type((1, 4))], ReduceAttrs(), name="mean")
    assert slug(n.to(node.result)) == "axes-computed"


# Together


@given(data=st.data())
def test_nothing_is_computed_otherwise(data: st.DataObject) -> None:
    n = Network(data.draw(st.sampled_from(sorted(KINDS))))
    dims = data.draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    order = data.draw(st.sampled_from(list(permutations(range(len(dims))))))
    x = n.transposed(n.input(dims), order)
    x = n.relu(x) if data.draw(st.booleans()) else x
    outputs = []
    if data.draw(st.booleans()):
        axes = data.draw(st.sets(st.integers(0, len(dims) - 1)))
        outputs.append(n.reduced(x, sorted(axes), keep_dims=data.draw(st.booleans())))
    rows = data.draw(st.sampled_from([each for each in (1, dims[0]) if x.type.nelem % each == 0]))
    flat = n.reshaped(x, (rows, -1))
    graph = n.to(n.dense(n.relu(flat, "again") if data.draw(st.booleans()) else flat), *outputs)
    before = clone_graph(graph)
    verdict = said(graph)
    assert ops(graph).count("transpose") == verdict.startswith("missed")
    if n.kind != "float32":
        for feed in made_up_feeds(before):
            expected, found = (interpreter_for(each, REGISTRY).run(feed.arrays) for each in (before, graph))
            assert all(agree(one, other, BitExact()) for one, other in zip(expected, found, strict=True))


@pytest.mark.wheel
@pytest.mark.parametrize("end", ["dense", "mean", "kept"])
def test_the_oracle_sees_no_difference(end: str) -> None:
    n = Network()
    x = n.relu(n.transposed(n.input((1, 4, 5, 6))))
    graph = n.to(n.dense(n.reshaped(x)) if end == "dense" else n.reduced(x, keep_dims=end == "kept"))
    before = export_model(Model("m", clone_graph(graph)))
    assert said(graph) == "passed absorbed"
    feeds = oracle.random_feeds(before, invocations=2)
    found, expected = oracle.run_wheel(export_model(Model("m", graph)), feeds), oracle.run_wheel(before, feeds)
    np.testing.assert_array_equal(found, expected)


def test_all_passes_together_leave_a_view() -> None:
    n = Network()
    graph = n.to(n.dense(n.relu(n.reshaped(n.transposed(n.relu(n.input(), "first"), TO_NHWC)))))
    run_pipeline(graph, default_passes(), REGISTRY)
    assert ops(graph) == ["relu", "reshape", "relu", "fully_connected"]
