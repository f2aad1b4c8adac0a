"""Planted faults: each must fail in the arena and in the validator, with the names of both buffers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite import memory
from arenite._base.dtypes import DType
from arenite._base.errors import DataError, SelfCheckError
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.types import TensorType
from arenite.lower import kernels
from arenite.lower.arena import Traced, run
from arenite.lower.kernel import Array, Kernel
from arenite.lower.kernelset import KernelSet
from arenite.lower.lower import lower
from arenite.lower.placing import place, problem_of
from arenite.lower.program import Buffer, BufferRef, Placement, Program
from arenite.lower.verify import verify
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs
from lower.graphs import graphs, random_inputs
from lower.toy import KERNELS, REGISTRY, Arguments, Params, int8

Mutation = Callable[[Buffer], Buffer]

MUTATIONS: dict[str, Mutation] = {
    "size": lambda b: replace(b, nbytes=b.nbytes - 1),
    "end": lambda b: replace(b, end=b.end - 1),
    "first": lambda b: replace(b, first=b.first + 1),
}


def chain() -> Program:
    """x → a → b → c → d, all of 8 bytes and none in place: two places of 8 bytes, taken in turn."""
    builder = GraphBuilder()
    value = builder.input("x", int8(8))
    for name in "abcd":
        value = builder.node("toy.reverse", [value], [int8(8)], name=name).result
    return lower(builder.output(value), REGISTRY, KERNELS, name="chain", alignment=1)


def joined() -> Program:
    """x of 8 bytes and j of 16."""
    builder = GraphBuilder()
    x = builder.input("x", int8(8))
    j = builder.node("toy.join", [x, x], [int8(16)], name="j").result
    return lower(builder.output(j), REGISTRY, KERNELS, name="joined", alignment=1)


def wide() -> Program:
    """x of 8 bytes, j of 16, and s of 16 with scratch of 64."""
    builder = GraphBuilder()
    x = builder.input("x", int8(8))
    j = builder.node("toy.join", [x, x], [int8(16)], name="j").result
    s = builder.node("toy.sum", [j], [int8(16)], name="s").result
    return lower(builder.output(s), REGISTRY, KERNELS, name="wide", alignment=1)


def solution_of(placement: Placement) -> memory.Solution:
    return memory.Solution(placement.offsets, placement.arena_nbytes, 0, "planted")


def overlaps(program: Program, placement: Placement) -> list[set[str]]:
    """The pairs that the validator finds overlapping when it knows the true buffers."""
    found = memory.validate(problem_of(program.buffers), solution_of(placement))
    return [set(violation.buffers) for violation in found if violation.kind == "overlap"]


def planted(program: Program, victim: str, mutation: Mutation) -> Program:
    """The program of a compiler that is wrong about one buffer."""
    buffers = tuple(mutation(b) if b.name == victim else b for b in program.buffers)
    return replace(program, buffers=buffers, placement=place(buffers, 1))


def inputs_of(program: Program) -> Sequence[Array]:
    return [np.arange(port.nelem, dtype=np.int8).reshape(port.shape) for port in program.inputs]


def assert_names_both(program: Program, pairs: list[set[str]]) -> None:
    with pytest.raises(SelfCheckError) as caught:
        run(program, KERNELS, inputs_of(program))
    named = {b.name for b in program.buffers if f"'{b.name}'" in str(caught.value)}
    assert any(pair <= named for pair in pairs), (str(caught.value), pairs)
    assert "step" in str(caught.value) or "input" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "make", "victim"),
    [
        ("size", joined, "j"),
        ("size", wide, "s/scratch"),
        ("end", chain, "a"),
        ("end", chain, "c"),
        ("first", chain, "b"),
    ],
)
def test_a_planted_fault_is_named_by_arena_and_validator(kind: str, make: Callable[[], Program], victim: str) -> None:
    program = make()
    broken = planted(program, victim, MUTATIONS[kind])
    pairs = overlaps(program, broken.placement)
    assert pairs
    assert all(victim in pair for pair in pairs)
    assert_names_both(broken, pairs)
    with pytest.raises(SelfCheckError, match=f"'{victim}'"):
        verify(broken, KERNELS)


@pytest.mark.parametrize("victim", ["x", "a", "b", "c", "d"])
@pytest.mark.parametrize("shift", [-1, 1])
def test_a_planted_offset_is_named_by_arena_and_validator(victim: str, shift: int) -> None:
    program = chain()
    offset = program.placement.offsets[victim] + shift
    broken = replace(
        program, placement=replace(program.placement, offsets={**program.placement.offsets, victim: offset})
    )
    if offset >= 0 and offset + 8 <= program.placement.arena_nbytes:
        pairs = overlaps(program, broken.placement)
        assert pairs
        assert all(victim in pair for pair in pairs)
        assert_names_both(broken, pairs)
    else:
        with pytest.raises(SelfCheckError, match=f"buffer '{victim}' leave the arena of 16 bytes"):
            run(broken, KERNELS, inputs_of(program))
        assert memory.validate(problem_of(program.buffers), solution_of(broken.placement))
    with pytest.raises(SelfCheckError, match=f"'{victim}'"):
        verify(broken, KERNELS)


@given(graphs(without_dead=True), st.data())
def test_whatever_the_validator_finds_the_arena_dies_of(graph: Graph, data: st.DataObject) -> None:
    program = lower(graph, REGISTRY, KERNELS, name="toy")
    kind = data.draw(st.sampled_from(sorted(MUTATIONS)))
    candidates = [b for b in program.buffers if MUTATIONS[kind](b).first < MUTATIONS[kind](b).end and b.nbytes]
    if not candidates:
        return
    victim = data.draw(st.sampled_from(candidates))
    broken = planted(program, victim.name, MUTATIONS[kind])
    if overlaps(program, broken.placement):
        with pytest.raises(SelfCheckError):
            run(broken, KERNELS, random_inputs(graph, 0))


def test_a_value_that_was_overwritten_in_place_is_named() -> None:
    program = chain()
    # Let b be computed in the place of a, and c read a afterwards.
    calls = list(program.calls)
    a = calls[0].arguments["y"]
    assert isinstance(a, BufferRef)
    calls[1] = replace(calls[1], arguments={**calls[1].arguments, "y": replace(a, value="b")})
    calls[2] = replace(calls[2], arguments={**calls[2].arguments, "x": a})
    buffers = tuple(replace(b, end=3) if b.name == "a" else b for b in program.buffers if b.name != "b")
    broken = replace(program, calls=tuple(calls), buffers=buffers, placement=place(buffers, 1))
    with pytest.raises(SelfCheckError, match=r"reads 'a' .* those of 'b' in buffer 'a'"):
        run(broken, KERNELS, inputs_of(program))


def _with_reference(symbol: str, reference: Callable[[Params, Arguments], None]) -> KernelSet:
    return KernelSet(_replaced(k, reference) if k.info.symbol == symbol else k for k in KERNELS)


def _replaced(kernel: Kernel, reference: Callable[[Params, Arguments], None]) -> Kernel:
    return replace(kernel, reference=reference)


def test_a_result_that_depends_on_poison_is_refused_where_it_is_read() -> None:
    def lazy(params: Params, arguments: Arguments) -> None:
        y, x = arguments["y"], arguments["x"]
        assert y is not None
        assert x is not None
        y[1:] = x[1:]

    with pytest.raises(SelfCheckError, match=r"step 1 'b' .*reads 'a' \[0, 2\): bytes \[\d+, \d+\) .*nobody wrote"):
        run(chain(), _with_reference("toy_reverse", lazy), inputs_of(chain()))


def test_operands_are_read_only() -> None:
    def vandal(params: Params, arguments: Arguments) -> None:
        x = arguments["x"]
        assert x is not None
        x[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        run(chain(), _with_reference("toy_reverse", vandal), inputs_of(chain()))


def test_inputs_that_do_not_fit_are_all_named() -> None:
    with pytest.raises(DataError, match="has 1 inputs, 2 arrays"):
        run(chain(), KERNELS, [np.zeros(8, np.int8)] * 2)
    with pytest.raises(DataError, match=r"'x' is int8\[8\], the array given is int16\[8\]"):
        run(chain(), KERNELS, [np.zeros(8, np.int16)])


def test_the_trace_tells_of_every_result() -> None:
    seen: list[Traced] = []
    run(chain(), KERNELS, inputs_of(chain()), seen.append)
    assert [(traced.step, traced.value) for traced in seen] == list(enumerate("abcd"))
    assert seen[0].data.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert all(traced.written.all() for traced in seen)


def test_the_trace_knows_what_is_not_written_yet() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, (2, 2)))
    y = builder.node("concatenation", [x, x], [TensorType(DType.INT8, (2, 4))], ConcatenationAttrs(axis=1)).result
    program = lower(builder.output(y), core_registry(), kernels(), name="joined")
    seen: list[Traced] = []
    run(program, kernels(), [np.array([[1, 2], [3, 4]], np.int8)], seen.append)
    first, second = seen
    assert first.written.tolist() == [True, True, False, False] * 2
    assert first.data[first.written].tolist() == [1, 2, 3, 4]
    assert second.written.all()
    assert second.data.tolist() == [1, 2, 3, 4, 3, 4]
