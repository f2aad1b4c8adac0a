"""Tables of a .tflite file that can be changed and written again."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from arenite.formats.tflite.flat import Record, Schema, Table
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema
from arenite.formats.tflite.writer import write

_ALIGNMENTS = {("Buffer", "data"): 16}


@dataclass
class Draft:
    """A table that can be changed: values are numbers, texts, arrays (replaced, not changed), drafts, lists of drafts.

    None stands for absent.
    """

    table: Table
    values: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Record) -> "Draft":
        return cls(record.table, {field.name: _thawed(value) for field, value in record.items()})

    def record(self) -> Record:
        return Record(self.table, {name: _frozen(value) for name, value in self.values.items()})

    def drafts(self, name: str) -> list["Draft"]:
        """A vector of tables, which may be changed: it comes to be when it is not there."""
        value = self.values.get(name)
        if value is None:
            self.values[name] = value = []
        assert isinstance(value, list), name
        return value

    def draft(self, name: str) -> "Draft | None":
        value = self.values.get(name)
        assert value is None or isinstance(value, Draft), name
        return value

    def integer(self, name: str) -> int:
        value = self.values.get(name, self.table.field(name).default)
        return int(value) if isinstance(value, int | float) else 0

    def walk(self) -> Iterator["Draft"]:
        """This table and all below it."""
        yield self
        for value in self.values.values():
            for below in value if isinstance(value, list) else [value]:
                if isinstance(below, Draft):
                    yield from below.walk()

    def copy(self) -> "Draft":
        return Draft.of(self.record())


def _thawed(value: object) -> object:
    if isinstance(value, tuple):
        return [Draft.of(item) for item in value]
    return Draft.of(value) if isinstance(value, Record) else value


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(item.record() for item in value)
    return value.record() if isinstance(value, Draft) else value


@dataclass
class Sketch:
    """A file while it is changed: what changes need besides the tables."""

    model: Draft
    rng: random.Random

    @property
    def schema(self) -> Schema:
        return tflite_schema()

    def made(self, table: str, **values: object) -> Draft:
        return Draft.of(self.schema.record(table, **values))

    @property
    def subgraph(self) -> Draft:
        """One of them, most often the first."""
        subgraphs = self.model.drafts("subgraphs") or [self.made("SubGraph")]
        return subgraphs[0] if self.rng.random() < 0.9 else self.rng.choice(subgraphs)

    @cached_property
    def by_table(self) -> dict[str, list[Draft]]:
        """All tables as they were at first, by kind."""
        found: dict[str, list[Draft]] = {}
        for draft in self.model.walk():
            found.setdefault(draft.table.name, []).append(draft)
        return found


def written(model: Draft) -> bytes:
    """The file of a model."""
    return write(model.record(), FILE_IDENTIFIER, _ALIGNMENTS, 1 << 16)
