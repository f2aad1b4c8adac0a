"""Programs of random graphs compute what the graphs mean, and keep within their buffers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import LimitError, ModelError, SelfCheckError
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.types import Quantization, TensorType
from arenite.lower.arena import run
from arenite.lower.kernel import KernelCost
from arenite.lower.kernelset import KernelSet
from arenite.lower.lower import lower
from arenite.lower.program import BufferRef, ConstantRef, Program
from arenite.lower.select import Objective
from lower.graphs import graphs, random_inputs, run_reference
from lower.toy import KERNELS, REGISTRY, ScaleAttrs, int8


def lowered(graph: Graph, **options: int) -> Program:
    return lower(graph, REGISTRY, KERNELS, name="toy", **options)  # type: ignore[arg-type]


@given(graphs(), st.integers(0, 99))
def test_the_arena_computes_what_the_graph_means(graph: Graph, seed: int) -> None:
    inputs = random_inputs(graph, seed)
    outputs = run(lowered(graph), KERNELS, inputs)
    for got, wanted in zip(outputs, run_reference(graph, inputs), strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)


@given(graphs())
def test_equal_graphs_give_equal_programs(graph: Graph) -> None:
    first, second = lowered(graph), lowered(graph)
    assert first.calls == second.calls
    assert first.buffers == second.buffers
    assert first.placement == second.placement


def test_lifetimes_by_hand() -> None:
    builder = GraphBuilder()
    x, late = builder.input("x", int8(8)), builder.input("late", int8(4))
    a = builder.node("toy.reverse", [x], [int8(8)], name="a").result
    s = builder.node("toy.sum", [a], [int8(8)], name="s").result
    r = builder.node("toy.reverse", [late], [int8(4)], name="r").result
    program = lowered(builder.output(s, r))
    lifetimes = {b.name: (b.nbytes, b.first, b.end) for b in program.buffers}
    assert lifetimes == {
        "x": (8, 0, 1),
        "late": (4, 0, 3),
        "a": (8, 0, 2),
        "s": (8, 1, 3),
        "s/scratch": (32, 1, 2),
        "r": (4, 2, 3),
    }
    assert program.placement.arena_nbytes == 4 + 8 + 8 + 32
    assert program.calls[1].scratch_nbytes == 32


def test_an_operand_of_a_split_call_ends_with_the_call_that_reads_it() -> None:
    builder = GraphBuilder()
    a, b = builder.input("a", int8(4)), builder.input("b", int8(4))
    program = lowered(builder.output(builder.node("toy.join", [a, b], [int8(8)], name="j").result))
    assert [call.name for call in program.calls] == ["j", "j_1"]
    assert {x.name: (x.first, x.end) for x in program.buffers} == {"a": (0, 1), "b": (0, 2), "j": (0, 2)}


def test_scratch_never_takes_a_values_name() -> None:
    builder = GraphBuilder()
    x = builder.input("s/scratch", int8(4))
    program = lowered(builder.output(builder.node("toy.sum", [x], [int8(4)], name="s").result))
    assert sorted(b.name for b in program.buffers) == ["s", "s/scratch", "s/scratch_1"]


def test_equal_constants_are_stored_once() -> None:
    builder = GraphBuilder()
    x = builder.input("x", int8(4))
    for factor in (3, 2, 3):
        x = builder.node("toy.scale", [x], [int8(4)], ScaleAttrs(factor)).result
    program = lowered(builder.output(x))
    assert [c.name for c in program.constants] == ["layer_00_table", "layer_00_bias", "layer_01_table"]
    assert program.calls[0].arguments["table"] == program.calls[2].arguments["table"]
    assert program.calls[1].arguments["bias"] is None


def test_outputs_that_no_call_computes() -> None:
    builder = GraphBuilder()
    x, c = builder.input("x", int8(4)), builder.constant("c", np.array([1, 2, 3], np.int8))
    view = builder.node("toy.view", [x], [int8(2, 2)]).result
    program = lowered(builder.output(x, view, c, x))
    assert not program.calls
    assert program.outputs[2].ref == ConstantRef("constant_output_2")
    outputs = run(program, KERNELS, [np.array([5, 6, 7, 8], np.int8)])
    assert [o.tolist() for o in outputs] == [[5, 6, 7, 8], [[5, 6], [7, 8]], [1, 2, 3], [5, 6, 7, 8]]


def test_ports_carry_the_quantization() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, (4,), Quantization.per_tensor(0.5, -3)))
    (port,) = lowered(builder.output(x)).inputs
    assert (port.scale, port.zero_point, port.nelem, port.nbytes) == (0.5, -3, 4, 4)
    assert port.ref == BufferRef("x", 0, 4, "x")


def test_all_dynamic_shapes_are_named_at_once() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, ("batch", 4)))
    y = builder.node("toy.reverse", [x], [TensorType(DType.INT8, None)], name="y").result
    with pytest.raises(ModelError) as caught:
        lowered(builder.output(y))
    assert len(caught.value.problems) == 2
    assert "'x' has the shape int8[batch, 4]" in caught.value.problems[0]
    assert "--input-shape" in caught.value.problems[1]


def test_state_that_is_read_as_if_computed_is_refused() -> None:
    builder = GraphBuilder()
    x, v = builder.input("x", int8(4)), builder.variable("v", int8(4))
    w = builder.variable("w", int8(4))
    s = builder.node("toy.add", [x, v], [int8(4)]).result
    with pytest.raises(ModelError, match="reads the state 'v' as if it were computed") as caught:
        lower(builder.output(builder.node("toy.add", [s, w], [int8(4)]).result), REGISTRY, KERNELS, name="n")
    assert len(caught.value.problems) == 2


def test_an_input_without_a_c_type_is_refused() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT16, (4,)))
    with pytest.raises(ModelError, match="input 'x' has the type float16"):
        lowered(builder.output(builder.node("toy.reverse", [x], [int8(4)]).result))


def test_the_limit_is_explained_by_the_peak_step() -> None:
    builder = GraphBuilder()
    x = builder.input("x", int8(100))
    s = builder.node("toy.sum", [x], [int8(100)], name="s").result
    graph = builder.output(builder.node("toy.reverse", [s], [int8(100)], name="r").result)
    assert lowered(graph, ram_limit=600).placement.arena_nbytes == 600
    with pytest.raises(LimitError) as caught:
        lowered(graph, ram_limit=599)
    assert caught.value.problems == (
        "the arena needs 600 bytes of RAM, 1 more than the limit of 599: at step 0, 's' (toy.sum), 600 bytes are "
        "alive: 's/scratch' 400, 'x' 100, 's' 100; no plan of these buffers can do with less than 600, so 1 bytes of "
        "that step's buffers would have to go",
    )


def test_a_view_that_changes_its_size_is_a_defect() -> None:
    builder = GraphBuilder()
    x = builder.input("x", int8(4))
    with pytest.raises(SelfCheckError, match="turns 4 bytes into 5"):
        lowered(builder.output(builder.node("toy.view", [x], [int8(5)]).result))


@pytest.mark.parametrize("peak", ["at the scratch", "elsewhere"])
def test_scratch_is_taken_only_where_the_arena_is_not_raised_for_it(peak: str) -> None:
    """`toy.reverse` has a fast variant with scratch: it runs where another step fills the arena anyway."""
    direct = KERNELS.get("toy.reverse", "direct")
    hungry = KERNELS.get("toy.sum", "direct")
    fast = replace(
        direct,
        variant="fast",
        info=hungry.info,
        prepare=hungry.prepare,
        reference=hungry.reference,
        cost=lambda call: KernelCost(0.0, 0, 4 * call.operand(0).nelem),
    )
    builder = GraphBuilder()
    small = builder.node("toy.reverse", [builder.input("x", int8(8))], [int8(8)], name="small").result
    builder.output(small)
    if peak == "elsewhere":
        builder.output(builder.node("toy.reverse", [builder.input("z", int8(100))], [int8(100)], name="large").result)
    program = lower(builder.graph, REGISTRY, KERNELS.extended_with([fast]), name="net", alignment=1)
    variants = {call.name: call.variant for call in program.calls}
    assert variants["small"] == ("direct" if peak == "at the scratch" else "fast")
    assert program.placement.arena_nbytes == (16 if peak == "at the scratch" else 8 + 100 + 100)


def _bargain(saved: float, **options: object) -> Program:
    """One layer over 1,000 elements that fills the arena, and a fast variant that asks for 40 bytes of scratch more."""
    hungry = KERNELS.get("toy.sum", "direct")
    slow = replace(KERNELS.get("toy.reverse", "direct"), cost=lambda call: KernelCost(1000.0, 0))
    fast = replace(
        slow,
        variant="fast",
        info=hungry.info,
        reference=hungry.reference,
        prepare=lambda call: tuple(replace(p, arguments={**p.arguments, "sums": 40}) for p in hungry.prepare(call)),
        cost=lambda call: KernelCost(1000.0 * (1 - saved), 0, 40),
    )
    builder = GraphBuilder()
    builder.output(builder.node("toy.reverse", [builder.input("x", int8(1000))], [int8(1000)], name="r").result)
    return lower(builder.graph, REGISTRY, KernelSet((slow, fast)), name="net", alignment=1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("saved", "options", "arena_nbytes"),
    [
        (0.21, {}, 2040),
        (0.19, {}, 2000),
        (0.21, {"objective": Objective.FLASH}, 2000),
        (0.21, {"ram_limit": 2039}, 2000),
        (0.21, {"ram_limit": 2040}, 2040),
    ],
)
def test_two_percent_of_ram_must_save_twenty_of_time(
    saved: float, options: dict[str, object], arena_nbytes: int
) -> None:
    assert _bargain(saved, **options).placement.arena_nbytes == arena_nbytes
