"""Ops on uint8 go to int8 where they mean the same there, and nowhere else."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.interp.interpreter import Interpreter
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.arena import run
from arenite.lower.lower import lower
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.passes.base import Context
from arenite.passes.legalize_uint8 import LegalizeUint8
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import default_passes, legalizing_passes
from passes.support import ops, verdicts
from unsigned_cases import UNSIGNED_CASES

REGISTRY = core_registry()
TYPE = TensorType(DType.UINT8, (1, 2, 2, 3), Quantization.per_tensor(0.5, 9))


def test_a_chain_is_converted_once_at_each_end() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TYPE)
    constant = builder.constant("c", np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3), TYPE.quantization)
    a = builder.node("add", [x, constant], [TYPE], ArithmeticAttrs(), name="a").result
    graph = builder.output(builder.node("add", [a, x], [TYPE], ArithmeticAttrs(), name="b").result)
    before = clone_graph(graph)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {"a": ["passed legalized"], "b": ["passed legalized"]}
    assert [value.type.dtype for value in graph.constants()] == [DType.INT8]
    run_pipeline(graph, default_passes(), REGISTRY)
    assert ops(graph) == ["quantize", "add", "add", "quantize"]
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["x", "b"]
    feed = [np.random.default_rng(0).integers(0, 256, (1, 2, 2, 3)).astype(np.uint8)]
    one, other = (Interpreter(g, REGISTRY).run(feed)[0] for g in (before, graph))
    np.testing.assert_array_equal(one, other)


def test_precondition_rounding_is_the_same() -> None:
    builder = GraphBuilder()
    pooled = TensorType(DType.UINT8, (1, 1, 1, 3), TYPE.quantization)
    pool = builder.node("average_pool2d", [builder.input("x", TYPE)], [pooled], Pool2dAttrs((2, 2)), name="pool")
    graph = builder.output(pool.result)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {"pool": ["missed own-rounding"]}


@pytest.mark.parametrize("op", ["relu", "tanh"])
def test_a_table_of_bytes_serves_uint8_too(op: str) -> None:
    builder = GraphBuilder()
    graph = builder.output(builder.node(op, [builder.input("x", TYPE)], [TYPE], name="y").result)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {"y": ["missed bytes-alone"]}


def test_truth_values_stay_as_they_are() -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", TYPE), builder.input("b", TYPE)
    truth = TensorType(DType.BOOL, TYPE.shape)
    graph = builder.output(builder.node("less", [a, b], [truth], name="y").result)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {"y": ["passed legalized"]}
    assert ops(graph) == ["quantize", "quantize", "less"]
    assert graph.outputs[0].name == "y"


def test_truth_values_alone_are_no_candidate() -> None:
    builder = GraphBuilder()
    truth = TensorType(DType.BOOL, (3,))
    x = builder.input("x", truth)
    graph = builder.output(builder.node("logical_and", [x, x], [truth], name="y").result)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {}


def test_int8_is_no_candidate() -> None:
    builder = GraphBuilder()
    type_ = TensorType(DType.INT8, (1, 3), Quantization.per_tensor(0.5, 9))
    x = builder.input("x", type_)
    graph = builder.output(builder.node("add", [x, x], [type_], ArithmeticAttrs()).result)
    assert verdicts(LegalizeUint8(), graph, REGISTRY) == {}


PER_CHANNEL = TensorType(DType.UINT8, (1, 3), Quantization((0.5, 0.25, 0.125), (9, 9, 9), 1))
BYTES = TensorType(DType.UINT8, (1, 3))
CODES = TensorType(DType.UINT8, (1, 3), Quantization.per_tensor(0.5, 9))
SIGNED = TensorType(DType.INT8, (1, 3), Quantization.per_tensor(0.5, 9))


@pytest.mark.parametrize(
    ("op", "before", "after"),
    [
        ("quantize", CODES, CODES),
        ("relu", BYTES, BYTES),
        ("relu", PER_CHANNEL, PER_CHANNEL),
        ("relu", SIGNED, CODES),
        ("relu", CODES, SIGNED),
    ],
)
def test_precondition_takes_and_gives_uint8_of_one_scale(op: str, before: TensorType, after: TensorType) -> None:
    builder = GraphBuilder()
    graph = builder.output(builder.node(op, [builder.input("x", before)], [after]).result)
    assert LegalizeUint8().run(graph, Context(REGISTRY)).candidates == 0


def test_precondition_gives_something() -> None:
    builder = GraphBuilder()
    builder.node("assign_variable", [builder.variable("state", CODES), builder.input("x", CODES)], [])
    assert verdicts(LegalizeUint8(), builder.graph, REGISTRY) == {}


def converted(source: TensorType, op: str = "quantize") -> Graph:
    """max_pool2d of what a node makes of an input."""
    builder = GraphBuilder()
    first = builder.node(op, [builder.input("x", source)], [TYPE], name="first").result
    attrs = Pool2dAttrs((1, 1), (1, 1))
    graph = builder.output(builder.node("max_pool2d", [first], [TYPE], attrs, name="pool").result)
    LegalizeUint8().run(graph, Context(REGISTRY))
    return graph


def test_what_was_128_lower_before_is_taken() -> None:
    lower = TensorType(DType.INT8, TYPE.shape, Quantization.per_tensor(0.5, 9 - 128))
    graph = converted(lower)
    pool = next(node for node in graph.nodes if node.op == "max_pool2d")
    assert pool.operand(0) is graph.inputs[0]
    for source, op in ((TensorType(DType.INT8, TYPE.shape, TYPE.quantization), "quantize"), (lower, "dequantize")):
        pool = next(node for node in converted(source, op).nodes if node.op == "max_pool2d")
        producer = pool.operand(0).producer
        assert producer is not None
        assert (producer.op, producer.operand(0).name) == ("quantize", "first")


def test_state_is_converted_each_time() -> None:
    builder = GraphBuilder()
    state = builder.variable("state", TYPE)
    state.constant = np.zeros(TYPE.dims, np.uint8)
    pool = builder.node("max_pool2d", [state], [TYPE], Pool2dAttrs((1, 1), (1, 1))).result
    graph = builder.output(pool)
    LegalizeUint8().run(graph, Context(REGISTRY))
    assert ops(graph) == ["quantize", "max_pool2d", "quantize"]


@pytest.mark.parametrize("kind", UNSIGNED_CASES)
@given(data=st.data())
def test_any_case_keeps_its_bytes_down_to_the_arena(kind: str, data: st.DataObject) -> None:
    case = data.draw(UNSIGNED_CASES[kind])
    assume(not case.problems())
    try:
        expected = case.evaluate()
    except OpError:
        assume(False)
    graph = case.graph()
    run_pipeline(graph, (*legalizing_passes(), *default_passes()), REGISTRY)
    (found,) = run(lower(graph, REGISTRY, kernels(), name="case"), kernels(), case.feeds)
    np.testing.assert_array_equal(found, expected)
