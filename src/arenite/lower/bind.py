"""Turns steps into kernel calls: every argument becomes a place in the arena or a constant in flash."""

import dataclasses
from collections.abc import Sequence
from enum import Enum

import numpy as np

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.errors import SelfCheckError
from arenite.ir.graph import Array, Node, Value
from arenite.ir.types import TensorType
from arenite.kernels.manifest import Argument
from arenite.lower.aliases import Aliases
from arenite.lower.kernel import OperandRef, PreparedConstant, ResultRef
from arenite.lower.program import BufferRef, Constant, ConstantKind, ConstantRef, KernelCall, Ref, StateRef
from arenite.lower.steps import Step


class ConstantPool:
    """Constants of a program; equal bytes of one C type are stored once, under the name of the first."""

    def __init__(self) -> None:
        self._by_content: dict[tuple[np.dtype[np.generic], bytes], str] = {}
        self._constants: list[Constant] = []

    def add(self, name: str, data: Array, kind: ConstantKind) -> ConstantRef:
        flat = np.ascontiguousarray(data).reshape(-1)
        key = (flat.dtype, flat.tobytes())
        if key not in self._by_content:
            self._by_content[key] = name
            flat.flags.writeable = False
            self._constants.append(Constant(name, flat, kind))
        return ConstantRef(self._by_content[key])

    @property
    def constants(self) -> tuple[Constant, ...]:
        return tuple(self._constants)


def bind_steps(steps: Sequence[Step], aliases: Aliases, pool: ConstantPool) -> tuple[KernelCall, ...]:
    """The kernel calls of a schedule; constants go into the pool.

    Raises:
        SelfCheckError: an argument's constant has another type than the manifest says.
    """
    return tuple(_bind(index, step, aliases, pool) for index, step in enumerate(steps))


def value_ref(value: Value, aliases: Aliases, pool: ConstantPool, name: str, offset_nbytes: int = 0) -> Ref:
    """Where the bytes of a value are, from an offset on.

    A constant is there whole; `name` is for one that nobody has named yet.
    """
    root = aliases.root(value)
    if root.is_variable:
        return StateRef(root.name, offset_nbytes, root.type.nbytes - offset_nbytes)
    if root.constant is None:
        return BufferRef(aliases.host(value).name, offset_nbytes, root.type.nbytes - offset_nbytes, root.name)
    return pool.add(name, root.constant, ConstantKind.WEIGHTS)


def _bind(index: int, step: Step, aliases: Aliases, pool: ConstantPool) -> KernelCall:
    kernel, prepared = step.choice.kernel, step.prepared
    arguments = {argument.name: _argument(index, step, argument, aliases, pool) for argument in kernel.info.arguments}
    return KernelCall(
        name=step.name,
        op=step.node.op,
        kernel=kernel.info.symbol,
        variant=kernel.variant,
        params={field.name: prepared.params[field.name] for field in kernel.info.fields},
        arguments=arguments,
        macs=prepared.macs,
        origin=step.node.origin,
        summary=summary(step.node),
        why=step.choice.why,
        alternatives=step.choice.alternatives,
        scratch_nbytes=sum(given for given in prepared.arguments.values() if isinstance(given, int)),
    )


def _argument(index: int, step: Step, argument: Argument, aliases: Aliases, pool: ConstantPool) -> Ref | None:
    given = step.prepared.arguments[argument.name]
    constant_name = f"layer_{index:02d}_{argument.name}"
    match given:
        case None:
            return None
        case int():
            return BufferRef(step.scratch[argument.name], 0, given, step.scratch[argument.name])
        case PreparedConstant():
            return pool.add(constant_name, _typed(given.data, step, argument), given.kind)
        case OperandRef() | ResultRef():
            value = step.value_of(given)
            constant = aliases.root(value).constant
            if constant is not None and not aliases.root(value).is_variable:
                flat = np.ascontiguousarray(constant).reshape(-1)[given.offset_nbytes // constant.itemsize :]
                return pool.add(constant_name, _typed(flat, step, argument), ConstantKind.WEIGHTS)
            return value_ref(value, aliases, pool, constant_name, given.offset_nbytes)


def _typed(data: Array, step: Step, argument: Argument) -> Array:
    """The data as the argument's type.

    Bytes are bytes, as they are in the arena: tables are read by unsigned codes, and what only moves reads any type.
    """
    wanted = NUMPY_OF_CTYPE[argument.ctype]
    is_bytes = wanted == np.uint8 or data.itemsize == wanted.itemsize == 1
    found = data.view(wanted) if is_bytes else data
    if found.dtype != wanted:
        raise SelfCheckError(
            f"step '{step.name}', kernel {step.choice.kernel.info.symbol}: argument {argument.name} is "
            f"{argument.ctype}, but its constant is {found.dtype}"
        )
    return found


def summary(node: Node) -> str:
    """Shapes and attributes of a node: `int8[1, 49, 10, 1], int8[64, 10, 4, 1] -> int8[1, 25, 5, 64]; stride 2x2`."""
    operands = ", ".join(_type_text(value.type) for value in node.present_operands)
    results = ", ".join(_type_text(value.type) for value in node.results)
    attributes = (
        f"{field.name} {_attribute_text(getattr(node.attrs, field.name))}"
        for field in dataclasses.fields(node.attrs)
        if getattr(node.attrs, field.name) != field.default
    )
    return "; ".join((f"{operands} -> {results}", *attributes))


def _type_text(type_: TensorType) -> str:
    return f"{type_.dtype}[{', '.join(map(str, type_.shape or ()))}]"


def _attribute_text(value: object) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value.value) if isinstance(value, Enum) else str(value)
