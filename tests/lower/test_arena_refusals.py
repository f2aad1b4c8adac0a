"""What the arena refuses, and what it says of it: each condition has a test that fails when it is taken away."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, SelfCheckError
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.arena import States, _Arena, _Owner, run
from arenite.lower.kernel import Kernel
from arenite.lower.kernelset import KernelSet
from arenite.lower.lower import lower
from arenite.lower.placing import place
from arenite.lower.program import Buffer, BufferRef, Placement, Program
from arenite.ops import core_registry
from arenite.ops.svdf import SvdfAttrs
from lower.toy import KERNELS, REGISTRY, Arguments, Params, ScaleAttrs, int8

X = np.arange(4, dtype=np.int8)


def scaled(factor: int) -> Program:
    """y = x * factor; an odd factor has a bias."""
    builder = GraphBuilder()
    x = builder.input("x", int8(4))
    return lower(
        builder.output(builder.node("toy.scale", [x], [int8(4)], ScaleAttrs(factor), name="y").result),
        REGISTRY,
        KERNELS,
        name="scaled",
        alignment=4,
    )


def with_reference(variant: str, kernel_set: KernelSet, reference: Callable[[Params, Arguments], None]) -> KernelSet:
    def changed(kernel: Kernel) -> Kernel:
        return replace(kernel, reference=reference) if kernel.variant == variant else kernel

    return KernelSet(map(changed, kernel_set))


def test_inputs_of_another_shape_are_refused() -> None:
    with pytest.raises(DataError, match=r"'x' is int8\[4\], the array given is int8\[2, 2\]"):
        run(scaled(2), KERNELS, [X.reshape(2, 2)])


@pytest.mark.parametrize("factor", [2, 3])
def test_constants_may_be_absent(factor: int) -> None:
    (found,) = run(scaled(factor), KERNELS, [X])
    assert found.tolist() == (X * factor + (factor if factor % 2 else 0)).tolist()


def test_constants_that_are_computed_are_read_only() -> None:
    """A bias may lie in the arena: it is read, not claimed."""
    program = scaled(3)
    (call,) = program.calls
    x = call.arguments["x"]
    assert isinstance(x, BufferRef)
    broken = replace(program, calls=(replace(call, arguments={**call.arguments, "bias": x}),))

    def vandal(params: Params, arguments: Arguments) -> None:
        bias = arguments["bias"]
        assert bias is not None
        bias[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        run(broken, with_reference("table", KERNELS, vandal), [X])


def test_an_operand_that_is_overwritten_in_place_is_not_claimed_again() -> None:
    """Whatever the order in which a kernel has its arguments."""

    def turned(kernel: Kernel) -> Kernel:
        return replace(kernel, info=replace(kernel.info, arguments=kernel.info.arguments[::-1]))

    builder = GraphBuilder()
    value = builder.input("x", int8(4))
    for name in "ab":
        value = builder.node("toy.scale", [value], [int8(4)], ScaleAttrs(2), name=name).result
    kernel_set = KernelSet(map(turned, KERNELS))
    program = lower(builder.output(value), REGISTRY, kernel_set, name="twice", alignment=1)
    assert len(program.buffers) == 1
    (found,) = run(program, kernel_set, [X])
    assert found.tolist() == (4 * X).tolist()


def test_what_is_nobodys_is_not_written() -> None:
    builder = GraphBuilder()
    x = builder.input("x", int8(8))
    joined = builder.node("toy.join", [x, x], [int8(16)], name="j").result
    program = lower(builder.output(joined), REGISTRY, KERNELS, name="joined", alignment=1)
    buffers = tuple(replace(b, first=b.first + 1) if b.name == "j" else b for b in program.buffers)
    offsets = {b.name: 8 * place for place, b in enumerate(sorted(buffers, key=lambda b: b.nbytes))}
    broken = replace(program, buffers=buffers, placement=replace(place(buffers, 1), offsets=offsets, arena_nbytes=24))
    with pytest.raises(SelfCheckError, match=r"writes 'j' .*: bytes \[8, 24\) of the arena, which are nobody's$"):
        run(broken, KERNELS, [np.arange(8, dtype=np.int8)])


Q = Quantization.per_tensor(0.5, -7)
ROW = TensorType(DType.INT8, (1, 4), Q)


def svdf() -> Program:
    builder = GraphBuilder()
    x, state = builder.input("x", ROW), builder.variable("state", TensorType(DType.INT8, (1, 12), Q))
    features = builder.constant("features", np.ones((4, 4), np.int8), Quantization.per_tensor(0.25))
    time = builder.constant("time", np.ones((4, 3), np.int8), Quantization.per_tensor(0.25))
    y = builder.node("svdf", [x, features, time, None, state], [ROW], SvdfAttrs(), name="y").result
    return lower(builder.output(y), core_registry(), kernels(), name="svdf")


def test_state_that_depends_on_what_nobody_wrote_is_refused() -> None:
    def leaky(params: Params, arguments: Arguments) -> None:
        y, state = arguments["output"], arguments["state"]
        assert y is not None
        assert state is not None
        state[0] = y[0]
        y[:] = 0

    program = svdf()
    (call,) = program.calls
    with pytest.raises(SelfCheckError, match="state 'state' now depends on memory that nobody wrote"):
        run(program, with_reference(call.variant, kernels(), leaky), [np.zeros((1, 4), np.int8)])


def test_state_that_is_a_result_must_be_written_by_what_is_known() -> None:
    builder = GraphBuilder()
    x, state = builder.input("x", ROW), builder.variable("state", ROW)
    builder.node("assign_variable", [state, x], [], Attrs(), name="after")
    program = lower(builder.output(x), core_registry(), kernels(), name="kept")
    counter = iter(range(9))

    def leaky(params: Params, arguments: Arguments) -> None:
        for argument in arguments.values():
            if argument is not None and argument.flags.writeable:
                argument[:] = next(counter)

    (call,) = program.calls
    with pytest.raises(SelfCheckError, match="state 'state' now depends"):
        run(program, with_reference(call.variant, kernels(), leaky), [np.zeros((1, 4), np.int8)])


# What is said


def arena(*buffers: tuple[str, int, int, int, int]) -> _Arena:
    """Buffers by name, offset, size and lifetime."""
    made = tuple(Buffer(name, nbytes, 1, first, end) for name, _, nbytes, first, end in buffers)
    offsets = {name: offset for name, offset, *_ in buffers}
    nbytes = max(offset + size for _, offset, size, *_ in buffers)
    placement = Placement(offsets, nbytes, nbytes, True, 1)
    program = Program("planted", (), (), made, (), (), placement)
    return _Arena(program, States(program))


WRONG = np.array([False, False, True, True, False, True, False, False])


def test_the_first_run_of_wrong_bytes_is_named() -> None:
    found = arena(("mine", 4, 8, 0, 2))
    ref = BufferRef("mine", 0, 8, "mine")
    assert found._run(ref, WRONG) == ((6, 8), "'mine' [0, 2): bytes [6, 8) of the arena")
    assert found._run(ref, WRONG[::-1].copy())[0] == (6, 7)
    assert found._run(ref, np.arange(8) > 4)[0] == (9, 12)
    assert found._run(ref, np.ones(8, np.bool_))[0] == (4, 12)


def test_rivals_are_those_planned_there_at_the_same_time() -> None:
    """Wrong are bytes [6, 8), in steps [2, 4)."""
    found = arena(
        ("mine", 4, 8, 2, 4),
        ("owner", 4, 8, 2, 4),
        ("rival", 7, 1, 3, 9),
        ("other", 0, 7, 0, 3),
        ("gone", 6, 2, 0, 2),
        ("later", 6, 2, 4, 6),
        ("below", 0, 6, 2, 4),
        ("above", 8, 2, 2, 4),
    )
    ref = BufferRef("mine", 0, 8, "mine")
    owner = _Owner(found._buffers["owner"], "owner")
    text = "'mine' [2, 4): bytes [6, 8) of the arena, which are "
    rivals = "; planned there at the same time: 'rival' [3, 9), 'other' [0, 3)"
    assert found._text(ref, WRONG, owner) == f"{text}those of 'owner' [2, 4){rivals}"
    all_rivals = rivals.replace("'rival'", "'owner' [2, 4), 'rival'")
    assert found._text(ref, WRONG, None) == f"{text}nobody's{all_rivals}"
