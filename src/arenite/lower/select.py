"""Chooses a kernel for each node: constraints reject with their text, the cheapest survivor wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from arenite._base.errors import ModelError
from arenite.ir.graph import Node
from arenite.ir.opdef import OpCall, signature_text
from arenite.lower.kernel import Kernel, KernelCost
from arenite.lower.kernelset import KernelSet
from arenite.lower.program import Alternative

_MAX_NAMED = 5


class Objective(Enum):
    """What to be cheap in; what is left undecided goes by the other two."""

    SPEED = "speed"
    FLASH = "flash"
    RAM = "ram"


@dataclass(frozen=True)
class Choice:
    """The kernel of one node, and why it is that.

    Attributes:
        why: what it asks for that others do not, its estimate, and the estimates of those it beat.
        alternatives: every other kernel of the op.
    """

    kernel: Kernel
    cost: KernelCost
    why: str
    alternatives: tuple[Alternative, ...]


def select(
    nodes: Iterable[Node], kernels: KernelSet, objective: Objective, room: Mapping[Node, int] | None = None
) -> Mapping[Node, Choice]:
    """A kernel for each node.

    Args:
        nodes: to choose for.
        kernels: to choose from.
        objective: what to be cheap in.
        room: bytes of scratch that a node may take without raising the arena; a kernel that wants more loses to every
            one that does not. None: scratch is free.

    Raises:
        ModelError: for some nodes there is none; one sentence for those that are refused alike, with their names and
            what every kernel asks for.
    """
    choices: dict[Node, Choice] = {}
    refused: dict[str, list[str]] = {}
    for node in nodes:
        found = _choose(node, kernels.of_op(node.op), objective, None if room is None else room.get(node, 0))
        if isinstance(found, Choice):
            choices[node] = found
        else:
            refused.setdefault(found, []).append(f"'{node.name}'")
    if refused:
        raise ModelError(f"{_subject(names)}: {reason}" for reason, names in refused.items())
    return choices


def _subject(names: list[str]) -> str:
    listed = ", ".join(names[:_MAX_NAMED])
    surplus = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"node{'s' if len(names) > 1 else ''} {listed}{surplus}"


def _choose(node: Node, candidates: tuple[Kernel, ...], objective: Objective, room: int | None) -> Choice | str:
    """The choice, or why there is none."""
    call = OpCall.of(node)
    if not candidates:
        return f"there is no kernel for op {call.op}, here {signature_text(call)}"
    refusals: dict[str, str] = {}
    costs: dict[str, KernelCost] = {}
    for kernel in candidates:
        refusal = _refusal(kernel, call)
        if refusal is None:
            costs[kernel.variant] = kernel.cost(call)
        else:
            refusals[kernel.variant] = refusal
    if not costs:
        wants = "; ".join(f"'{variant}' wants that {text}" for variant, text in refusals.items())
        return f"no kernel of {call.op} takes {signature_text(call)}: {wants}"
    needs = {k.variant: _need_nbytes(k, node, costs[k.variant]) for k in candidates if k.variant in costs}
    fitting = {name: cost for name, cost in costs.items() if room is None or needs[name] <= room}
    if not fitting:
        fitting = {name: cost for name, cost in costs.items() if needs[name] == min(needs.values())}
    # min() keeps the first of equals, so the order of the family's tuple breaks ties.
    best = min(fitting, key=lambda variant: _rank(fitting[variant], needs[variant], objective))
    (winner,) = (kernel for kernel in candidates if kernel.variant == best)
    alternatives = tuple(
        _alternative(kernel, refusals.get(kernel.variant), costs.get(kernel.variant), objective)
        if kernel.variant not in costs or kernel.variant in fitting
        else _too_much_scratch(kernel, costs[kernel.variant], room or 0)
        for kernel in candidates
        if kernel is not winner
    )
    return Choice(winner, costs[best], _why(winner, candidates, costs), alternatives)


def _refusal(kernel: Kernel, call: OpCall) -> str | None:
    for constraint in kernel.constraints:
        verdict = constraint.holds(call)
        if isinstance(verdict, str):
            return f"{constraint.text} ({verdict})"
        if not verdict:
            # Later constraints may rely on earlier ones.
            return constraint.text
    return None


def _need_nbytes(kernel: Kernel, node: Node, cost: KernelCost) -> int:
    """Bytes of the arena that the kernel wants beside operands and results; a result in place gives its own back."""
    taken = (node.optional_operand(index) for index in kernel.in_place)
    in_place = any(value is not None and not value.is_constant and len(value.uses) == 1 for value in taken)
    return cost.scratch_nbytes - (node.result.type.nbytes if in_place else 0)


def _rank(cost: KernelCost, need_nbytes: int, objective: Objective) -> tuple[float, float, float]:
    if objective is Objective.SPEED:
        return cost.instructions, cost.flash_nbytes, need_nbytes
    if objective is Objective.FLASH:
        return cost.flash_nbytes, cost.instructions, need_nbytes
    return need_nbytes, cost.instructions, cost.flash_nbytes


def _alternative(kernel: Kernel, refusal: str | None, cost: KernelCost | None, objective: Objective) -> Alternative:
    if cost is None:
        return Alternative(kernel.variant, None, f"it wants that {refusal}")
    return Alternative(kernel.variant, cost.instructions, f"dearer in {objective.value}: {_estimate(cost)}")


def _too_much_scratch(kernel: Kernel, cost: KernelCost, room: int) -> Alternative:
    return Alternative(
        kernel.variant,
        cost.instructions,
        f"its {cost.scratch_nbytes:,} B of scratch would raise the arena, which has {room:,} B free at this step; "
        f"{_estimate(cost)}",
    )


def _why(winner: Kernel, candidates: tuple[Kernel, ...], costs: Mapping[str, KernelCost]) -> str:
    common = {c.text for other in candidates if other is not winner for c in other.constraints}
    special = [c.text for c in winner.constraints if c.text not in common] if len(candidates) > 1 else []
    parts = [*special[:3], _estimate(costs[winner.variant])]
    parts += [f"{name} {_estimate(cost)}" for name, cost in costs.items() if name != winner.variant]
    return f"{winner.variant}: {'; '.join(parts)}"


def _estimate(cost: KernelCost) -> str:
    scratch = f", {cost.scratch_nbytes:,} B of scratch" if cost.scratch_nbytes else ""
    return f"est. {_count(cost.instructions)} instructions, {cost.flash_nbytes:,} B of flash{scratch}"


def _count(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f}"
