"""Tables of a FlatBuffer described as data: one description reads and writes.

A schema is text, one table a line: `Name  field:kind[=default] ...`, fields in slot order, `_` for a slot that is not
used any more. Kinds: a scalar (`bool int8 uint8 ...`), `string`, an enum, a table, `[kind]` for a vector, `union:Name`
for a union (which takes two slots: the type's, then the value's). The FlatBuffers format itself is described at
https://flatbuffers.dev/internals.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt


class Scalar(Enum):
    """A number's type on disk, little endian; the value is its numpy code."""

    BOOL = "<u1?"  # a byte that is 0 or 1
    INT8 = "<i1"
    UINT8 = "<u1"
    INT16 = "<i2"
    UINT16 = "<u2"
    INT32 = "<i4"
    UINT32 = "<u4"
    INT64 = "<i8"
    UINT64 = "<u8"
    FLOAT32 = "<f4"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return np.dtype(self.value.rstrip("?"))

    @property
    def nbytes(self) -> int:
        return int(self.value[2])


@dataclass(frozen=True)
class EnumKind:
    """A scalar whose values have names; names[i] is the name of the value i."""

    name: str
    scalar: Scalar
    names: tuple[str, ...]

    def label(self, value: int) -> str | int:
        """The name of a value, or the value itself when it has none."""
        return self.names[value] if 0 <= value < len(self.names) else value

    def value(self, label: str | int) -> int:
        """The value of a label.

        Raises:
            ValueError: there is no such name.
        """
        return label if isinstance(label, int) else self.names.index(label)


@dataclass(frozen=True)
class StringKind:
    """UTF-8 text, by convention; other bytes come as lone surrogates (`surrogateescape`)."""


@dataclass(frozen=True)
class TableKind:
    """Another table of the schema."""

    name: str


@dataclass(frozen=True)
class UnionKind:
    """One of several tables; members[0] is NONE. The slot before the value's holds the index of the member."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class VectorKind:
    item: "Scalar | EnumKind | TableKind"


Kind = Scalar | EnumKind | StringKind | TableKind | UnionKind | VectorKind


@dataclass(frozen=True)
class Field:
    """A field of a table. `slot` is the index of its offset in the vtable (of a union: the value's)."""

    name: str
    slot: int
    kind: Kind
    default: int | float | bool = 0

    @property
    def scalar(self) -> Scalar | None:
        """The type on disk of a field that is a number."""
        if isinstance(self.kind, EnumKind):
            return self.kind.scalar
        return self.kind if isinstance(self.kind, Scalar) else None


@dataclass(frozen=True)
class Table:
    name: str
    fields: tuple[Field, ...]
    slots: int

    @cached_property
    def _by_name(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.fields}

    def field(self, name: str) -> Field:
        """The field of that name.

        Raises:
            KeyError: there is none.
        """
        return self._by_name[name]


class Record:
    """The contents of one table: every field that is there; the accessors give the default of those that are not.

    Attributes:
        table: what it is.
        position: byte offset in the file that it was read from; -1 when made here.
    """

    __slots__ = ("_values", "position", "table")

    def __init__(self, table: Table, values: Mapping[str, object], position: int = -1) -> None:
        for name in values:
            table.field(name)
        self.table = table
        self.position = position
        self._values = {name: value for name, value in values.items() if value is not None}

    def has(self, name: str) -> bool:
        self.table.field(name)
        return name in self._values

    def get(self, name: str) -> object:
        """The value, or the field's default (None for what is not a number)."""
        field = self.table.field(name)
        if name in self._values:
            return self._values[name]
        return field.default if field.scalar is not None else None

    def integer(self, name: str) -> int:
        value = self.get(name)
        assert isinstance(value, (int, np.integer)), name
        return int(value)

    def flag(self, name: str) -> bool:
        return bool(self.integer(name))

    def text(self, name: str) -> str | None:
        value = self.get(name)
        assert value is None or isinstance(value, str), name
        return value

    def array(self, name: str) -> npt.NDArray[np.generic] | None:
        """A vector of numbers, read only; None when absent."""
        value = self.get(name)
        assert value is None or isinstance(value, np.ndarray), name
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """A vector of integers; empty when absent."""
        array = self.array(name)
        return () if array is None else tuple(int(x) for x in array.tolist())

    def record(self, name: str) -> "Record | None":
        value = self.get(name)
        assert value is None or isinstance(value, Record), name
        return value

    def records(self, name: str) -> tuple["Record", ...]:
        """A vector of tables; empty when absent."""
        value = self.get(name)
        assert value is None or isinstance(value, tuple), name
        return value or ()

    @property
    def n_tables(self) -> int:
        """How many tables a file has for it: itself, and those that it holds."""
        return 1 + sum(
            each.n_tables
            for value in self._values.values()
            for each in (value if isinstance(value, tuple) else (value,))
            if isinstance(each, Record)
        )

    def items(self) -> Iterator[tuple[Field, object]]:
        """The fields that are there, in slot order."""
        return ((field, self._values[field.name]) for field in self.table.fields if field.name in self._values)


@dataclass(frozen=True)
class Schema:
    """Tables and enums by name."""

    tables: Mapping[str, Table]
    enums: Mapping[str, EnumKind]
    unions: Mapping[str, UnionKind]

    def record(self, table: str, **values: object) -> Record:
        """A new record; None stands for absent.

        Raises:
            KeyError: no such table or field.
        """
        return Record(self.tables[table], values)


def parse_schema(tables: Iterable[str], enums: Iterable[EnumKind], unions: Mapping[str, tuple[str, ...]]) -> Schema:
    """A schema from its text (see the module).

    Raises:
        KeyError, ValueError: the text is wrong.
    """
    enum_map = {enum.name: enum for enum in enums}
    union_map = {name: UnionKind(name, ("NONE", *members)) for name, members in unions.items()}
    lines = [line.split() for text in tables for line in text.splitlines() if line.strip()]
    names = {words[0] for words in lines}
    parsed: dict[str, Table] = {}
    for words in lines:
        parsed[words[0]] = _parse_table(words[0], words[1:], names, enum_map, union_map)
    missing = {member for union in union_map.values() for member in union.members[1:]} - names
    if missing:
        raise ValueError(f"unions name tables that are not there: {sorted(missing)}")
    return Schema(MappingProxyType(parsed), MappingProxyType(enum_map), MappingProxyType(union_map))


_FIELD = re.compile(r"(?P<name>\w+):(?P<vector>\[)?(?P<union>union:)?(?P<kind>\w+)\]?(=(?P<default>\S+))?")


def _parse_table(
    name: str, words: list[str], names: set[str], enums: Mapping[str, EnumKind], unions: Mapping[str, UnionKind]
) -> Table:
    fields: list[Field] = []
    slot = 0
    for word in words:
        if word == "_":
            slot += 1
            continue
        match = _FIELD.fullmatch(word)
        if match is None:
            raise ValueError(f"{name}: cannot read field '{word}'")
        if match["union"]:
            slot += 1  # the type's
            kind: Kind = unions[match["kind"]]
        else:
            item = _parse_kind(match["kind"], names, enums)
            kind = item
            if match["vector"]:
                assert not isinstance(item, StringKind), f"{name}: vectors of strings are not needed"
                kind = VectorKind(item)
        fields.append(Field(match["name"], slot, kind, _parse_default(match["default"], kind)))
        slot += 1
    return Table(name, tuple(fields), slot)


def _parse_kind(
    name: str, names: set[str], enums: Mapping[str, EnumKind]
) -> Scalar | EnumKind | StringKind | TableKind:
    if name == "string":
        return StringKind()
    if name in enums:
        return enums[name]
    if name in names:
        return TableKind(name)
    return Scalar[name.upper()]


def _parse_default(text: str | None, kind: Kind) -> int | float | bool:
    if kind is Scalar.BOOL:
        return text == "true"
    if kind is Scalar.FLOAT32:
        return float(text or 0)
    if isinstance(kind, EnumKind):
        return kind.value(text) if text else 0
    return int(text or 0)
