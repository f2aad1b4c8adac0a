"""Translation of one operator between TFLite's words and ours; one description for both directions."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import cast

import numpy as np

from arenite._base.dtypes import DType
from arenite.formats.tflite.flat import EnumKind, Record, Table
from arenite.ir.attrs import Attrs, AttrValue
from arenite.ir.opdef import OpCall


@dataclass(frozen=True)
class OptionMap:
    """How one field of an attribute dataclass is made of options, and the options of it."""

    attr: str
    options: tuple[str, ...]
    read: Callable[[Record], AttrValue]
    write: Callable[[Table, AttrValue], dict[str, object]]


def same(attr: str, option: str | None = None) -> OptionMap:
    """A number or flag that both have."""
    name = option or attr
    return OptionMap(attr, (name,), lambda record: _plain(record.get(name)), lambda _, value: {name: value})


def pair(attr: str, first: str, second: str) -> OptionMap:
    """Two integers that are one tuple for us."""

    def write(_: Table, value: AttrValue) -> dict[str, object]:
        assert isinstance(value, tuple)
        return {first: value[0], second: value[1]}

    return OptionMap(attr, (first, second), lambda r: (r.integer(first), r.integer(second)), write)


_MOST_INTEGERS = 8
"""In a vector among the options: TFLite's reader has room for no more (builtin_op_data.h)."""


def integers(attr: str, option: str) -> OptionMap:
    """A vector of int32, or None. Reading raises ValueError for a longer one than TFLite reads."""

    def read(record: Record) -> AttrValue:
        found = record.integers(option) if record.has(option) else None
        if found is not None and len(found) > _MOST_INTEGERS:
            raise ValueError(f"option {option}: expected at most {_MOST_INTEGERS} numbers, found {len(found)}")
        return found

    def write(_: Table, value: AttrValue) -> dict[str, object]:
        return {option: None if value is None else np.array(value, np.int32)}

    return OptionMap(attr, (option,), read, write)


def choice(attr: str, option: str, kind: type[Enum]) -> OptionMap:
    """An enum whose member names are TFLite's labels. Reading raises ValueError for an unknown value."""

    def read(record: Record) -> AttrValue:
        label = _enum_of(record.table, option).label(record.integer(option))
        if isinstance(label, int) or label not in kind.__members__:
            known = ", ".join(kind.__members__)
            raise ValueError(f"option {option}: expected one of {known}, found {label}")
        return kind[label]

    def write(table: Table, value: AttrValue) -> dict[str, object]:
        assert isinstance(value, kind)
        return {option: _enum_of(table, option).value(value.name)}

    return OptionMap(attr, (option,), read, write)


MinVersion = Callable[[OpCall], int]
"""The least operator version that has what a node uses."""


@dataclass(frozen=True)
class Codec:
    """One TFLite operator and the op that means the same.

    Attributes:
        builtin: the operator's name.
        op: ours.
        attrs: ours.
        options: the operator's options table; None when it has none.
        maps: how attributes are made of options. Options that are not mapped do not change what is computed.
        max_version: the newest operator version whose meaning ours covers.
        min_version: for writing.
        must_be_default: options that ours cannot express: the operator stays foreign when one is set.
        has_intermediates: the operator has tensors for its own use, which do not change what is computed.
    """

    builtin: str
    op: str
    attrs: type[Attrs]
    options: str | None
    maps: tuple[OptionMap, ...]
    max_version: int
    min_version: MinVersion
    must_be_default: tuple[str, ...] = ()
    has_intermediates: bool = False

    def decode(self, options: Record) -> Attrs:
        """Attributes.

        Raises:
            ValueError: an option has a value without meaning.
        """
        attrs = self.attrs(**{item.attr: item.read(options) for item in self.maps})
        # Runtimes refuse such options even where their values do not matter.
        for field in options.table.fields:
            if isinstance(field.kind, EnumKind) and isinstance(
                found := field.kind.label(options.integer(field.name)), int
            ):
                raise ValueError(f"option {field.name}: expected a {field.kind.name}, found {found}")
        return attrs

    def encode(self, table: Table, attrs: Attrs) -> dict[str, object]:
        """Values of the options, which are of the kind `table`."""
        values: dict[str, object] = {}
        for item in self.maps:
            values.update(item.write(table, cast("AttrValue", getattr(attrs, item.attr))))
        return values

    def inexpressible(self, options: Record) -> str | None:
        """The name of an option that ours cannot express and that is set; None when all is well."""
        for name in self.must_be_default:
            default = options.table.field(name).default
            if options.has(name) and options.get(name) is not default and options.get(name) != default:
                return name
        return None


def by_dtype(operand: int = 0, **versions: int) -> MinVersion:
    """The version by the element type of an operand (`int8=2`); 1 for others."""
    table = {DType(name): version for name, version in versions.items()}

    def version(call: OpCall) -> int:
        found = call.operands[operand] if operand < len(call.operands) else None
        return 1 if found is None else table.get(found.dtype, 1)

    return version


def _enum_of(table: Table, option: str) -> EnumKind:
    kind = table.field(option).kind
    assert isinstance(kind, EnumKind)
    return kind


def _plain(value: object) -> AttrValue:
    assert isinstance(value, (bool, int, float))
    return value
