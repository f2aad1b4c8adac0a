"""The schedule: which C call is made at which step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.dtypes import DType
from arenite._base.errors import SelfCheckError
from arenite.ir.graph import Node, Value
from arenite.ir.names import NamePool
from arenite.ir.opdef import OpCall
from arenite.kernels.manifest import Field, Role
from arenite.lower.kernel import OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.program import ParamValue
from arenite.lower.select import Choice


@dataclass(frozen=True)
class Step:
    """One C call.

    Attributes:
        name: unique among steps: the node's, numbered when a node makes several calls.
        only: the node makes no other call.
        scratch: scratch argument → name of its buffer, which no value and no other buffer has.
    """

    name: str
    node: Node
    choice: Choice
    prepared: Prepared
    only: bool
    scratch: Mapping[str, str]

    def value_of(self, ref: OperandRef | ResultRef) -> Value:
        """The value that an argument refers to."""
        return self.node.operand(ref.index) if isinstance(ref, OperandRef) else self.node.results[ref.index]

    @property
    def accesses(self) -> tuple[tuple[str, OperandRef | ResultRef], ...]:
        """The arguments that are operands or results."""
        return tuple(
            (name, ref) for name, ref in self.prepared.arguments.items() if isinstance(ref, OperandRef | ResultRef)
        )


def make_steps(nodes: Iterable[Node], choices: Mapping[Node, Choice], taken: Iterable[str]) -> tuple[Step, ...]:
    """The calls of all nodes, in schedule order. `taken` are names of values, which scratch buffers must not have.

    Raises:
        SelfCheckError: a kernel's `prepare` does not fit its manifest.
    """
    names, buffer_names = NamePool(), NamePool(taken)
    steps: list[Step] = []
    problems: list[str] = []
    for node in nodes:
        choice = choices[node]
        calls = choice.kernel.prepare(OpCall.of(node))
        for prepared in calls:
            name = names.unique(node.name)
            scratch = {
                argument: buffer_names.unique(f"{name}/scratch")
                for argument, given in prepared.arguments.items()
                if isinstance(given, int)
            }
            steps.append(Step(name, node, choice, prepared, len(calls) == 1, scratch))
            problems += [f"step '{name}', kernel {choice.kernel.info.symbol}: {p}" for p in _misfits(steps[-1])]
    if problems:
        raise SelfCheckError(problems)
    return tuple(steps)


def _misfits(step: Step) -> list[str]:
    info, prepared = step.choice.kernel.info, step.prepared
    found: list[str] = []
    for what, wanted, given in (
        ("parameters", {field.name for field in info.fields}, set(prepared.params)),
        ("arguments", {argument.name for argument in info.arguments}, set(prepared.arguments)),
    ):
        if wanted != given:
            missing, surplus = sorted(wanted - given), sorted(given - wanted)
            found.append(f"{what} do not fit the manifest: missing {missing}, surplus {surplus}")
    if found:
        return found
    for field in info.fields:
        found += _misfits_of_parameter(field, prepared.params[field.name])
    fits: dict[Role, tuple[type, ...]] = {
        Role.INPUT: (OperandRef, ResultRef, PreparedConstant),
        Role.CONSTANT: (PreparedConstant, OperandRef),
        Role.OUTPUT: (ResultRef,),
        Role.SCRATCH: (int,),
        Role.STATE: (OperandRef,),
    }
    for argument in info.arguments:
        given_ = prepared.arguments[argument.name]
        if given_ is None:
            if not argument.optional:
                found.append(f"argument {argument.name} is a null pointer but not optional")
        elif not isinstance(given_, fits[argument.role]):
            found.append(f"argument {argument.name} is {argument.role.value} but gets {type(given_).__name__}")
    return found


def _misfits_of_parameter(field: Field, value: ParamValue) -> list[str]:
    elements = value if isinstance(value, tuple) else (value,)
    if len(elements) != field.length:
        return [f"parameter {field.name} has {len(elements)} elements, the manifest says {field.length}"]
    dtype = NUMPY_OF_CTYPE[field.ctype]
    if dtype.kind == "f":
        return []
    low, high = DType.of(dtype).limits
    return [
        f"parameter {field.name} is {element!r}, no {field.ctype}"
        for element in elements
        if not isinstance(element, int | np.integer) or not low <= element <= high
    ]
