"""Which results may take over an operand's buffer, and which must not."""

import numpy as np

from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.lower.arena import run
from arenite.lower.lower import lower
from arenite.lower.program import BufferRef, Program
from lower.graphs import random_inputs, run_reference
from lower.toy import KERNELS, REGISTRY, ScaleAttrs, int8


def build(builder: GraphBuilder, *outputs: Value) -> Program:
    graph = builder.output(*outputs)
    program = lower(graph, REGISTRY, KERNELS, name="toy")
    inputs = random_inputs(graph, 0)
    for got, wanted in zip(run(program, KERNELS, inputs), run_reference(graph, inputs), strict=True):
        np.testing.assert_array_equal(got, wanted)
    return program


def buffers_of(program: Program) -> dict[str, str]:
    """Value → buffer of every result that a call writes."""
    refs = (call.arguments["y"] for call in program.calls)
    return {ref.value: ref.buffer for ref in refs if isinstance(ref, BufferRef)}


def test_a_chain_shares_one_buffer_through_views() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    s = b.node("toy.scale", [x], [int8(6)], ScaleAttrs(2), name="s").result
    v = b.node("toy.view", [s], [int8(2, 3)], name="v").result
    w = b.node("toy.view", [v], [int8(3, 2)], name="w").result
    t = b.node("toy.scale", [w], [int8(3, 2)], ScaleAttrs(3), name="t").result
    program = build(b, t)
    assert buffers_of(program) == {"s": "x", "t": "x"}
    assert program.placement.arena_nbytes == 6


def test_an_operand_that_is_read_later_stays() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    s = b.node("toy.scale", [x], [int8(6)], ScaleAttrs(2), name="s").result
    t = b.node("toy.add", [s, x], [int8(6)], name="t").result
    # s must not take x, which t reads; t may take either.
    assert buffers_of(build(b, t)) == {"s": "s", "t": "s"}


def test_an_operand_whose_view_is_read_later_stays() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    r = b.node("toy.reverse", [x], [int8(6)], name="r").result
    v = b.node("toy.view", [r], [int8(2, 3)], name="v").result
    s = b.node("toy.scale", [r], [int8(6)], ScaleAttrs(2), name="s").result
    t = b.node("toy.reverse", [v], [int8(2, 3)], name="t").result
    assert buffers_of(build(b, s, t)) == {"r": "r", "s": "s", "t": "t"}


def test_an_output_is_never_overwritten_and_its_views_neither() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    r = b.node("toy.reverse", [x], [int8(6)], name="r").result
    v = b.node("toy.view", [r], [int8(2, 3)], name="v").result
    s = b.node("toy.scale", [r], [int8(6)], ScaleAttrs(2), name="s").result
    assert buffers_of(build(b, v, s)) == {"r": "r", "s": "s"}


def test_an_input_that_is_an_output_is_never_overwritten() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    s = b.node("toy.scale", [x], [int8(6)], ScaleAttrs(2), name="s").result
    assert buffers_of(build(b, s, x)) == {"s": "s"}


def test_both_operands_may_be_the_same_value() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    t = b.node("toy.add", [x, x], [int8(6)], name="t").result
    assert buffers_of(build(b, t)) == {"t": "x"}


def test_kernels_that_cannot_work_in_place_get_their_own_buffer() -> None:
    b = GraphBuilder()
    x = b.input("x", int8(6))
    assert buffers_of(build(b, b.node("toy.reverse", [x], [int8(6)], name="r").result)) == {"r": "r"}


def test_a_constant_operand_is_not_overwritten() -> None:
    b = GraphBuilder()
    c = b.constant("c", np.arange(6, dtype=np.int8))
    assert buffers_of(build(b, b.node("toy.scale", [c], [int8(6)], ScaleAttrs(2), name="s").result)) == {"s": "s"}
