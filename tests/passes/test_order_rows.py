"""Transposes of what matrix products give: each precondition has a test that fails when it is taken away."""

from dataclasses import replace

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.passes.base import Context
from arenite.passes.order_rows import OrderRows
from passes.networks import TO_NHWC, Network
from passes.support import ops, verdicts

REGISTRY = core_registry()
PLANE = (1, 2, 3, 4)


def said(graph: Graph) -> str:
    (verdict,) = verdicts(OrderRows(), graph, REGISTRY)["transpose"]
    return verdict


def slug(graph: Graph) -> str:
    """What is said of graphs that are not sound."""
    (remark,) = OrderRows().run(graph, Context(REGISTRY)).remarks
    return remark.reason.slug


def weights(n: Network, outputs: int = 24, inputs: int = 5) -> Value:
    rng = np.random.default_rng(0)
    if n.kind == "float32":
        return n.b.constant("w", rng.standard_normal((outputs, inputs)).astype(np.float32))
    low, zero = (0, 99) if n.kind == "uint8" else (-127, 0)
    array = rng.integers(low, low + 255, (outputs, inputs)).astype(n.dtype.numpy)
    return n.b.constant("w", array, Quantization.per_tensor(0.0078125, zero))


def product(n: Network, w: Value, bias: Value | None = None, batch: int = 1) -> Value:
    x = n.b.input("x", n.type((batch, w.type.dims[1])))
    operands = [x, w] if bias is None else [x, w, bias]
    type_ = n.type((batch, w.type.dims[0]))
    return n.b.node("fully_connected", operands, [type_], FullyConnectedAttrs(), name="dense").result


def biases(n: Network, count: int = 24) -> Value:
    rng = np.random.default_rng(3)
    if n.kind == "float32":
        return n.b.constant("bias", rng.standard_normal(count).astype(np.float32))
    scale = Quantization.per_tensor(0.5 * 0.0078125)
    return n.b.constant("bias", rng.integers(-900, 900, count).astype(np.int32), scale)


def decoder(n: Network, x: Value, batch: int = 1) -> Value:
    return n.transposed(n.reshaped(x, (batch, 2, 3, 4)), TO_NHWC)


@pytest.mark.parametrize("kind", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("biased", [False, True])
def test_rows_take_the_order(kind: str, batch: int, biased: bool) -> None:
    n = Network(kind)
    w = weights(n)
    before = np.asarray(w.constant)
    graph = n.to(n.relu(decoder(n, product(n, w, biases(n) if biased else None, batch), batch), "after"))
    assert said(graph) == "passed ordered"
    assert ops(graph) == ["fully_connected", "reshape", "relu"]
    layer = next(iter(graph.nodes))
    assert layer.origin == ("dense", "transpose")
    expected = before.reshape(2, 3, 4, 5).transpose(1, 2, 0, 3).reshape(24, 5)
    np.testing.assert_array_equal(np.asarray(layer.operand(1).constant), expected)


def test_what_it_says() -> None:
    n = Network()
    graph = n.to(decoder(n, product(n, weights(n))))
    (remark,) = OrderRows().run(graph, Context(REGISTRY)).remarks
    assert remark.text == "'dense' gives what transpose transposed in that order now: rows of its weights moved"
    assert graph.outputs[0].name == "transpose"
    assert {value.name for value in graph.values()}.isdisjoint({"dense", "reshape"})


def test_elementwise_ops_and_views_may_lie_between() -> None:
    n = Network()
    x = n.relu(n.reshaped(n.relu(product(n, weights(n))), (6, 4), "rows"), "again")
    graph = n.to(decoder(n, x))
    assert said(graph) == "passed ordered"
    assert ops(graph) == ["fully_connected", "relu", "relu", "reshape"]


def test_functions_that_change_the_type_may() -> None:
    n = Network()
    x = product(n, weights(n))
    real = n.b.node("dequantize", [x], [TensorType(DType.FLOAT32, x.type.dims)], Attrs(), name="real").result
    n.kind, n.dtype, n.quantization = "float32", DType.FLOAT32, None
    assert said(n.to(decoder(n, real))) == "passed ordered"


def test_splats_stay_one_element() -> None:
    n = Network("float32")
    w = n.b.constant("w", np.broadcast_to(np.float32(2), (24, 5)))
    graph = n.to(decoder(n, product(n, w)))
    assert said(graph) == "passed ordered"
    moved = next(iter(graph.nodes)).operand(1).constant
    assert moved is not None
    assert not any(moved.strides)


def test_rows_are_not_mixed() -> None:
    n = Network()
    x = product(n, weights(n, 3), batch=2)
    assert said(n.to(n.transposed(x, (1, 0)))) == "missed mixes-rows"


def test_orders_that_are_computed() -> None:
    n = Network()
    perm = n.b.input("perm", TensorType(DType.INT32, (4,)))
    x = n.reshaped(product(n, weights(n)), PLANE)
    graph = n.to(n.b.node("transpose", [x, perm], [n.type(PLANE)], Attrs(), name="transpose").result)
    assert slug(graph) == "computed"


@pytest.mark.parametrize("what", ["input", "softmax", "two", "own", "weights"])
def test_what_comes_from_no_product(what: str) -> None:
    n = Network()
    if what == "input":
        x = n.b.input("p", n.type((1, 24)))
    elif what == "weights":
        w = n.b.input("w", weights(n).type)
        x = product(n, w)
    else:
        x = product(n, weights(n))
        operands = [x, n.constant((24,))] if what == "two" else [x]
        op, attrs = "maximum" if what == "two" else what, SoftmaxAttrs() if what == "softmax" else Attrs()
        x = n.b.node(op, operands, [x.type], attrs, name="other").result
    assert slug(n.to(decoder(n, x))) == "no-product"


@pytest.mark.parametrize("what", ["dtype", "quantization", "channels"])
def test_views_that_change_more_than_the_shape(what: str) -> None:
    n = Network()
    x = n.relu(product(n, weights(n)))
    graph = n.to(decoder(n, x))
    flat = next(node for node in graph.nodes if node.op == "reshape").result
    if what == "channels":
        n = Network()
        x = n.relu(product(n, weights(n)))
        graph = n.to(decoder(n, n.relu(x, "after")))
        x.type = replace(x.type, quantization=Quantization((0.5,) * 24, (0,) * 24, 1))
    else:
        changed = {"dtype": {"dtype": DType.UINT8}, "quantization": {"quantization": Quantization.per_tensor(0.25)}}
        flat.type = replace(flat.type, **changed[what])  # type: ignore[arg-type]
        transpose = next(node for node in graph.nodes if node.op == "transpose")
        transpose.result.type = replace(flat.type, shape=transpose.result.type.shape)
    assert slug(graph) == "no-product"


@pytest.mark.parametrize("between", [False, True])
def test_outputs_keep_their_order(between: bool) -> None:
    n = Network()
    x = product(n, weights(n))
    y = n.relu(x)
    assert said(n.to(decoder(n, y), y if between else x)) == "missed intermediate-is-output"


@pytest.mark.parametrize("between", [False, True])
def test_what_others_read_keeps_its_order(between: bool) -> None:
    n = Network()
    x = product(n, weights(n))
    y = n.relu(x)
    assert said(n.to(decoder(n, y), n.relu(y if between else x, "other"))) == "missed several-readers"


@pytest.mark.parametrize("which", ["w", "bias"])
@pytest.mark.parametrize("how", ["read", "output", "rows"])
def test_weights_that_are_needed_otherwise(which: str, how: str) -> None:
    n = Network("float32")
    w, bias = weights(n), biases(n)
    value = w if which == "w" else bias
    y = decoder(n, product(n, w, bias))
    if how == "rows":
        value.type = replace(value.type, quantization=Quantization((0.5,) * 24, (0,) * 24, 0))
        assert slug(n.to(y)) == "per-row"
        return
    assert said(n.to(y, value if how == "output" else n.relu(value, "other"))) == "missed shared-weights"


def test_biases_that_are_computed() -> None:
    n = Network("float32")
    bias = n.b.input("bias", n.type((24,)))
    assert slug(n.to(decoder(n, product(n, weights(n), bias)))) == "no-product"


def test_a_bias_that_is_absent() -> None:
    n = Network()
    x, w = n.b.input("x", n.type((1, 5))), weights(n)
    node = n.b.node("fully_connected", [x, w, None], [n.type((1, 24))], FullyConnectedAttrs(), name="dense")
    assert said(n.to(decoder(n, node.result))) == "passed ordered"
