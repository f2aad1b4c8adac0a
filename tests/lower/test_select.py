"""The cheapest kernel that takes a node wins; who is refused says why."""

from dataclasses import replace

import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Node
from arenite.ir.opdef import Constraint
from arenite.ir.types import TensorType
from arenite.lower.kernel import Kernel, KernelCost
from arenite.lower.kernelset import KernelSet
from arenite.lower.select import Choice, Objective, select
from lower.toy import KERNELS, TAKES_INT8, int8

DIRECT = KERNELS.get("toy.reverse", "direct")
EVEN = Constraint("the length is even", lambda call: call.operand(0).nelem % 2 == 0)


def variant(name: str, cost: KernelCost, *constraints: Constraint) -> Kernel:
    return replace(DIRECT, variant=name, constraints=constraints, cost=lambda call: cost)


SLOW = variant("slow", KernelCost(2.5e6, 100, 50), TAKES_INT8)
FAST = variant("fast", KernelCost(1.2e6, 900, 60), TAKES_INT8, EVEN)
LEAN = variant("lean", KernelCost(3.0e6, 200, 0), TAKES_INT8)
SET = KernelSet((SLOW, FAST, LEAN))


def node(nelem: int = 4, dtype: DType = DType.INT8) -> Node:
    builder = GraphBuilder()
    type_ = TensorType(dtype, (nelem,))
    return builder.node("toy.reverse", [builder.input("x", type_)], [type_], name="r")


def choose(subject: Node, objective: Objective) -> Choice:
    return select([subject], SET, objective)[subject]


@pytest.mark.parametrize(
    ("objective", "winner"), [(Objective.SPEED, FAST), (Objective.FLASH, SLOW), (Objective.RAM, LEAN)]
)
def test_the_objective_decides(objective: Objective, winner: Kernel) -> None:
    assert choose(node(), objective).kernel is winner


def test_why_tells_what_is_special_and_who_was_beaten() -> None:
    why = choose(node(), Objective.SPEED).why
    assert why == (
        "fast: the length is even; est. 1.2 M instructions, 900 B of flash, 60 B of scratch; "
        "slow est. 2.5 M instructions, 100 B of flash, 50 B of scratch; "
        "lean est. 3.0 M instructions, 200 B of flash"
    )


def test_alternatives_tell_why_not() -> None:
    alternatives = choose(node(5), Objective.SPEED).alternatives
    assert [(a.kernel, a.cost, a.why_not) for a in alternatives] == [
        ("fast", None, "it wants that the length is even"),
        ("lean", 3.0e6, "dearer in speed: est. 3.0 M instructions, 200 B of flash"),
    ]


def test_equals_go_by_their_order() -> None:
    twins = KernelSet((variant("one", KernelCost(1, 1)), variant("two", KernelCost(1, 1))))
    subject = node()
    assert select([subject], twins, Objective.SPEED)[subject].kernel.variant == "one"


def test_every_node_without_a_kernel_is_named_with_every_refusal() -> None:
    builder = GraphBuilder()
    foreign = [builder.node("tflite.SVDF", [builder.input("f", int8(4))], [int8(4)], name="svdf") for _ in range(7)]
    with pytest.raises(ModelError) as caught:
        select([node(4, DType.INT16), *foreign], SET, Objective.SPEED)
    first, second = caught.value.problems
    assert first == (
        "node 'r': no kernel of toy.reverse takes (int16) -> int16: 'slow' wants that the input is int8 (found int16); "
        "'fast' wants that the input is int8 (found int16); 'lean' wants that the input is int8 (found int16)"
    )
    assert second == (
        "nodes 'svdf', 'svdf_1', 'svdf_2', 'svdf_3', 'svdf_4' and 2 more: there is no kernel for op tflite.SVDF, "
        "here (int8) -> int8"
    )


def test_a_set_refuses_two_of_a_name() -> None:
    with pytest.raises(ValueError, match="two kernels called 'fast'"):
        SET.extended_with((FAST,))
    with pytest.raises(ValueError, match="two different C kernels are called toy_reverse"):
        SET.extended_with((replace(FAST, variant="new", info=replace(FAST.info, summary="other")),))
    assert [k.variant for k in SET.extended_with((variant("new", KernelCost(1, 1)),)).of_op("toy.reverse")] == [
        "slow",
        "fast",
        "lean",
        "new",
    ]


def test_a_kernel_whose_scratch_would_raise_the_arena_loses() -> None:
    subject = node()
    for room, winner in ((60, FAST), (59, SLOW), (49, LEAN)):
        choice = select([subject], SET, Objective.SPEED, {subject: room})[subject]
        assert choice.kernel is winner
    (why_not,) = (a.why_not for a in choice.alternatives if a.kernel == "fast")
    assert why_not.startswith("its 60 B of scratch would raise the arena, which has 49 B free at this step; est. 1.2 M")


def test_where_all_want_more_than_there_is_the_least_scratch_wins() -> None:
    subject = node()
    choice = select([subject], KernelSet((SLOW, FAST)), Objective.SPEED, {subject: 3})[subject]
    assert choice.kernel is SLOW


def test_a_result_in_place_gives_its_own_bytes_for_scratch() -> None:
    in_place = replace(FAST, in_place=(0,))
    offered = KernelSet((in_place, LEAN))
    subject = node(64)
    assert select([subject], offered, Objective.SPEED, {subject: 0})[subject].kernel is in_place
    assert select([subject], offered, Objective.RAM)[subject].kernel is in_place
    # Another reader needs the operand as it is: then nothing is given back.
    builder = GraphBuilder()
    value = builder.input("x", subject.result.type)
    shared, _ = (builder.node("toy.reverse", [value], [value.type]) for _ in range(2))
    assert select([shared], offered, Objective.SPEED, {shared: 0})[shared].kernel is LEAN
    assert select([shared], offered, Objective.RAM)[shared].kernel is LEAN
