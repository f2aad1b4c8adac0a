"""Composing functions of one byte: each precondition has a test that fails when it is taken away."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import Trait
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.passes.base import Context
from arenite.passes.compose_unary import ComposeUnary
from passes.support import ops, verdicts

REGISTRY = core_registry()


def q8(scale: float = 0.5, zero_point: int = -5, dtype: DType = DType.INT8) -> TensorType:
    return TensorType(dtype, (16, 16), Quantization.per_tensor(float(np.float32(scale)), zero_point))


F = TensorType(DType.FLOAT32, (16, 16))


def chain(start: TensorType, *steps: tuple[str, TensorType], last: bool = False) -> Graph:
    """Ops in a row, between a sum that computes their operand and a float that reads their result."""
    b = GraphBuilder()
    x = b.input("x", start)
    value = b.node("add", [x, x], [start], ArithmeticAttrs(), name="start").result if not start.dtype.is_float else x
    for index, (op, type_) in enumerate(steps):
        value = b.node(op, [value], [type_], Attrs(), name=f"n{index}").result
    return b.output(value if last else b.node("dequantize", [value], [F], Attrs(), name="end").result)


def said(graph: Graph, subject: str = "n1", *, tables: bool = False) -> str:
    return verdicts(ComposeUnary(tables), graph, REGISTRY)[subject][-1]


def test_there_and_back_is_nothing() -> None:
    graph = chain(q8(), ("dequantize", F), ("quantize", q8()))
    assert said(graph) == "passed cancelled"
    assert ops(graph) == ["add", "dequantize"]
    assert next(iter(graph.nodes)).origin == ("start", "n0", "n1")


def test_by_way_of_floats_to_another_scale() -> None:
    graph = chain(q8(0.5), ("dequantize", F), ("quantize", q8(0.25, 3)))
    assert said(graph) == "passed composed"
    assert ops(graph) == ["add", "quantize", "dequantize"]
    assert list(graph.nodes)[1].origin == ("n1", "n0") or set(list(graph.nodes)[1].origin) == {"n0", "n1"}


def test_a_clamp_of_floats_between() -> None:
    graph = chain(q8(), ("dequantize", F), ("relu", F), ("quantize", q8()))
    assert said(graph, "n2") == "passed composed"
    assert ops(graph) == ["add", "relu", "dequantize"]


@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_relu6_does_not_rescale(scale: float) -> None:
    graph = chain(q8(), ("dequantize", F), ("relu6", F), ("quantize", q8(scale)))
    assert said(graph, "n2") == ("passed composed" if scale == 0.5 else "missed no-single-op")


def test_rescaling_twice_where_the_first_loses_nothing() -> None:
    graph = chain(q8(1.0, 0), ("quantize", q8(0.5, 0)), ("quantize", q8(1.0, 0)))
    # What the middle cannot hold is cut off: not what no rescaling would do.
    assert said(graph) == "missed no-single-op"
    graph = chain(q8(0.5, 0), ("quantize", q8(0.5, 7, DType.UINT8)), ("quantize", q8(0.5, 0)))
    assert said(graph) == "missed no-single-op"
    graph = chain(q8(0.5, 0), ("quantize", q8(0.5, 128, DType.UINT8)), ("quantize", q8(0.25, 3)))
    assert said(graph) == "passed composed"
    assert ops(graph) == ["add", "quantize", "dequantize"]


def test_no_op_of_ours_does_it() -> None:
    graph = chain(q8(0.1, 0), ("quantize", q8(0.7, 0)), ("quantize", q8(0.1, 0)))
    assert said(graph) == "missed no-single-op"
    assert ops(graph) == ["add", "quantize", "quantize", "dequantize"]


def test_bytes_that_differ_in_type_are_not_the_same() -> None:
    graph = chain(q8(0.5, 0), ("dequantize", F), ("quantize", q8(0.5, 128, DType.UINT8)))
    assert said(graph) == "passed composed"
    assert ops(graph) == ["add", "quantize", "dequantize"]


def test_a_scale_that_hardly_differs_is_another_type() -> None:
    graph = chain(q8(0.5), ("dequantize", F), ("quantize", q8(float(np.nextafter(np.float32(0.5), np.float32(1))))))
    assert said(graph) == "passed composed"
    assert ops(graph) == ["add", "quantize", "dequantize"]


def test_ops_take_the_types_that_they_are_for() -> None:
    """A relu from int8 to uint8 would do, if there were one."""
    graph = chain(q8(0.5, 0), ("relu", q8(0.5, 0)), ("quantize", q8(0.5, 128, DType.UINT8)))
    assert said(graph) == "missed no-single-op"


def test_functions_of_floats_are_not_the_same_everywhere() -> None:
    graph = chain(q8(), ("dequantize", F), ("exp", F), ("quantize", q8()))
    assert said(graph, "n2") == "missed inexact"


def test_the_first_value_must_be_a_byte() -> None:
    wide = TensorType(DType.INT16, (16, 16), Quantization.per_tensor(0.5))
    assert said(chain(wide, ("quantize", q8()), ("relu", q8()))) == "missed wide"
    assert said(chain(F, ("relu", F), ("quantize", q8()))) == "missed wide"


def shared(*, output: bool) -> Graph:
    b = GraphBuilder()
    x = b.input("x", q8())
    real = b.node("dequantize", [x], [F], Attrs(), name="n0").result
    back = b.node("quantize", [real], [q8()], Attrs(), name="n1").result
    end = b.node("dequantize", [back], [F], Attrs(), name="end").result
    other: Value = real if output else b.node("neg", [real], [F], Attrs(), name="neg").result
    return b.output(end, other)


@pytest.mark.parametrize("output", [False, True])
def test_what_others_read_stays(output: bool) -> None:
    assert said(shared(output=output)) == "missed shared"


def test_an_output_keeps_its_name() -> None:
    b = GraphBuilder()
    real = b.node("dequantize", [b.input("x", q8())], [F], Attrs(), name="n0").result
    graph = b.output(b.node("quantize", [real], [q8()], Attrs(), name="n1").result)
    assert said(graph) == "missed output-name"


def test_rescaling_what_is_no_function_of_a_byte() -> None:
    graph = chain(q8(), ("quantize", q8(0.25)))
    assert said(graph, "n0") == "missed rounds-twice"


def test_one_op_is_no_chain() -> None:
    b = GraphBuilder()
    graph = b.output(b.node("quantize", [b.input("x", q8())], [q8(0.25)], Attrs(), name="n0").result)
    assert verdicts(ComposeUnary(), graph, REGISTRY) == {}


def test_precondition_one_operand_each() -> None:
    b = GraphBuilder()
    x = b.input("x", q8())
    half = b.node("quantize", [x], [q8(0.25)], Attrs(), name="n0").result
    graph = b.output(b.node("add", [half, half], [q8()], ArithmeticAttrs(), name="n1").result)
    assert verdicts(ComposeUnary(), graph, REGISTRY) == {}


def test_rescaling_floats_or_clamping_bytes_that_are_computed_is_no_loss() -> None:
    b = GraphBuilder()
    x = b.input("x", F)
    real = b.node("add", [x, x], [F], ArithmeticAttrs(), name="start").result
    graph = b.output(b.node("quantize", [real], [q8()], Attrs(), name="n0").result)
    assert verdicts(ComposeUnary(), graph, REGISTRY) == {}
    assert verdicts(ComposeUnary(), chain(q8(), ("relu", q8())), REGISTRY) == {}


def test_floats_that_are_computed_of_no_byte() -> None:
    b = GraphBuilder()
    x = b.input("x", F)
    real = b.node("add", [x, x], [F], ArithmeticAttrs(), name="start").result
    clamped = b.node("relu", [real], [F], Attrs(), name="n0").result
    graph = b.output(b.node("quantize", [clamped], [q8()], Attrs(), name="n1").result)
    assert said(graph) == "missed wide"


WITHOUT_TRAIT = [Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE]


@pytest.mark.parametrize("missing", [*WITHOUT_TRAIT, None])
def test_precondition_a_pure_function_of_each_element(missing: Trait | None) -> None:
    known = REGISTRY["relu"]
    own = dataclasses.replace(known, name="own", traits=known.traits - {missing})
    changed = []
    for name, place in (("own", 0), ("own", 1), ("tflite.RELU", 0), ("tflite.RELU", 1)):
        names = ["relu", "relu"]
        names[place] = name
        graph = chain(q8(), *((each, q8()) for each in names))
        changed.append(ComposeUnary().run(graph, Context(REGISTRY.extended_with([own]))).changed)
    assert changed == [missing is None] * 2 + [False] * 2


def test_precondition_one_result_each() -> None:
    own = dataclasses.replace(REGISTRY["relu"], name="own", result_names=("one", "other"))
    b = GraphBuilder()
    results = b.node("own", [b.input("x", q8())], [q8(), q8()], Attrs(), name="n0").results
    graph = b.output(b.node("relu", results[:1], [q8()], Attrs(), name="n1").result)
    assert ComposeUnary().run(graph, Context(REGISTRY.extended_with([own]))).candidates == 0


def test_precondition_elements_stay_in_their_places() -> None:
    flat = dataclasses.replace(q8(), shape=(256,))
    assert ComposeUnary().run(chain(q8(), ("relu", flat), ("relu", flat)), Context(REGISTRY)).candidates == 0


def test_precondition_state_is_read_where_it_was() -> None:
    b = GraphBuilder()
    x, state = b.input("x", q8()), b.variable("state", q8())
    before = b.node("relu", [state], [q8()], Attrs(), name="n0").result
    b.node("assign_variable", [state, x], [], Attrs(), name="after")
    graph = b.output(b.node("relu", [before], [q8()], Attrs(), name="n1").result)
    assert verdicts(ComposeUnary(), graph, REGISTRY) == {}


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    scales, points = st.sampled_from([0.25, 0.5, 1.0, 0.7]), st.sampled_from([-128, 0, 3])
    steps: list[tuple[str, TensorType]] = []
    start = kind = q8(draw(scales), draw(points))
    for _ in range(draw(st.integers(1, 4))):
        op = draw(
            st.sampled_from(["quantize", "relu", "relu6", "dequantize"] if kind != F else ["quantize", "relu", "relu6"])
        )
        if op == "dequantize" or (op.startswith("relu") and kind == F):
            kind = F
        elif op != "relu6":
            kind = q8(draw(scales), draw(points))
        steps.append((op, kind))
    if kind == F:
        steps.append(("quantize", q8(draw(scales), draw(points))))
    return chain(start, *steps, last=True)


@pytest.mark.wheel
@given(graph=chains())
def test_the_oracle_sees_no_difference(graph: Graph) -> None:
    before = export_model(Model("m", clone_graph(graph)))
    verdicts(ComposeUnary(tables=False), graph, REGISTRY)
    # Twice a code less the zero point reaches every byte that a sum can have.
    x: Any = np.arange(256).astype(np.uint8).view(np.int8).reshape(16, 16)
    found = oracle.run_wheel(export_model(Model("m", graph)), [[x]])
    np.testing.assert_array_equal(found, oracle.run_wheel(before, [[x]]))


@given(graph=chains())
def test_whatever_is_left_is_one_table(graph: Graph) -> None:
    verdicts(ComposeUnary(), graph, REGISTRY)
    assert len(ops(graph)) <= 2
    assert not ComposeUnary().run(graph, Context(REGISTRY)).changed


def test_a_table_of_what_no_op_does() -> None:
    graph = chain(q8(0.1, 0), ("quantize", q8(0.7, 0)), ("quantize", q8(0.1, 0)))
    assert said(graph, tables=True) == "passed tabulated"
    assert ops(graph) == ["add", "lookup", "dequantize"]
    assert (
        said(chain(q8(0.1, 0), ("exp", q8(0.7, 0)), ("logistic", q8(1 / 256, -128))), tables=True) == "passed tabulated"
    )
