"""Reads a FlatBuffer that may be damaged or hostile.

Every offset, size, count and union type is checked before it is followed. The work is bounded: each visit of a table,
string or vector is charged with the bytes that it takes in the file, and the sum may not exceed twice the file. In a
well-formed file nothing is visited much more than once; in a bomb of shared tables everything is.
"""

import struct

import numpy as np
import numpy.typing as npt

from arenite._base.errors import ModelError
from arenite.formats.tflite.flat import (
    Field,
    Record,
    Scalar,
    Schema,
    StringKind,
    Table,
    TableKind,
    UnionKind,
    VectorKind,
)

MAX_TABLES = 100_000
"""Larger files are not read, and therefore not written."""
_FORMATS = {
    Scalar.BOOL: struct.Struct("<B"),
    Scalar.INT8: struct.Struct("<b"),
    Scalar.UINT8: struct.Struct("<B"),
    Scalar.INT16: struct.Struct("<h"),
    Scalar.UINT16: struct.Struct("<H"),
    Scalar.INT32: struct.Struct("<i"),
    Scalar.UINT32: struct.Struct("<I"),
    Scalar.INT64: struct.Struct("<q"),
    Scalar.UINT64: struct.Struct("<Q"),
    Scalar.FLOAT32: struct.Struct("<f"),
}
_NEWER_SLOTS = 16  # how many slots behind the known ones are looked at


class Reader:
    """Reads one file.

    Attributes:
        n_tables: how many tables were visited.
        unknown_fields: `Table slot n` for fields that the file has and the schema does not.
    """

    def __init__(self, data: bytes, schema: Schema, what: str) -> None:
        self._data = data
        self._schema = schema
        self._what = what
        self._budget = 2 * len(data) + (1 << 16)
        self.n_tables = 0
        self._path: list[str] = []
        self.unknown_fields: dict[str, None] = {}

    def root(self, table: str, identifier: bytes) -> Record:
        """The whole file.

        Raises:
            ModelError: with the byte offset, what was expected and what was found.
        """
        if len(self._data) < 8:
            raise ModelError(self._message(0, "at least 8 bytes", f"{len(self._data)}"))
        if self._data[4:8] != identifier:
            raise ModelError(self._message(4, f"the identifier {identifier!r}", repr(self._data[4:8])))
        self._path = [table]
        return self._table(self._schema.tables[table], self._follow(0))

    def _message(self, position: int, expected: str, found: str) -> str:
        where = f"{'.'.join(self._path)}: " if self._path else ""
        return (
            f"the file is truncated or is not a {self._what}: byte {position}: {where}expected {expected}, "
            f"found {found} (the file has {len(self._data)} bytes)"
        )

    def _fail(self, position: int, expected: str, found: str) -> ModelError:
        return ModelError(self._message(position, expected, found))

    def _number(self, scalar: Scalar, position: int) -> int | float:
        if not 0 <= position <= len(self._data) - scalar.nbytes:
            raise self._fail(position, f"{scalar.nbytes} more bytes", f"the end at {len(self._data)}")
        # A core that cannot read across words would stop here, and LiteRT's verifier refuses it.
        if position % scalar.nbytes:
            raise self._fail(position, f"a number at a multiple of {scalar.nbytes}", "it here")
        value: int | float = _FORMATS[scalar].unpack_from(self._data, position)[0]
        return value

    def _unsigned(self, scalar: Scalar, position: int) -> int:
        return int(self._number(scalar, position))

    def _follow(self, position: int) -> int:
        """Where the offset at `position` points."""
        target = position + self._unsigned(Scalar.UINT32, position)
        if target == position or target > len(self._data) - 4:
            raise self._fail(position, "an offset into the file", f"one that leads to {target}")
        return target

    def _charge(self, nbytes: int, position: int) -> None:
        self._budget -= nbytes
        if self._budget < 0:
            raise self._fail(position, "objects that do not overlap", "shared ones, more than twice the file in all")

    def _table(self, table: Table, position: int) -> Record:
        self.n_tables += 1
        if self.n_tables > MAX_TABLES:
            raise ModelError(f"the {self._what} has more than {MAX_TABLES} tables, which Arenite does not read")
        vtable = position - self._unsigned(Scalar.INT32, position)
        if not 0 <= vtable <= len(self._data) - 4:
            raise self._fail(position, "an offset to a vtable in the file", f"one that leads to {vtable}")
        vtable_nbytes = self._unsigned(Scalar.UINT16, vtable)
        table_nbytes = self._unsigned(Scalar.UINT16, vtable + 2)
        if vtable_nbytes < 4 or vtable_nbytes % 2 or vtable + vtable_nbytes > len(self._data):
            raise self._fail(vtable, "the size of a vtable", str(vtable_nbytes))
        if table_nbytes < 4 or position + table_nbytes > len(self._data):
            raise self._fail(vtable + 2, f"the size of a {table.name} at {position}", str(table_nbytes))
        self._charge(table_nbytes, position)
        count = min((vtable_nbytes - 4) // 2, table.slots + _NEWER_SLOTS)
        offsets = struct.unpack_from(f"<{count}H", self._data, vtable + 4)
        for slot in range(table.slots, count):
            if offsets[slot]:
                self._check_inside(position, table_nbytes, offsets[slot], 1)
                self.unknown_fields[f"{table.name} slot {slot}"] = None
        values: dict[str, object] = {}
        for field in table.fields:
            if field.slot < count:
                self._path.append(field.name)
                values[field.name] = self._field(field, position, table_nbytes, offsets)
                self._path.pop()
        return Record(table, values, position)

    def _field(self, field: Field, table: int, table_nbytes: int, offsets: tuple[int, ...]) -> object:
        offset, scalar = offsets[field.slot], field.scalar
        if isinstance(field.kind, UnionKind):
            return self._union(field, field.kind, table, table_nbytes, offsets)
        if offset == 0:
            return None
        self._check_inside(table, table_nbytes, offset, scalar.nbytes if scalar else 4)
        if scalar is not None:
            number = self._number(scalar, table + offset)
            return bool(number) if scalar is Scalar.BOOL else number
        target = self._follow(table + offset)
        match field.kind:
            case StringKind():
                return self._string(target)
            case TableKind(name):
                return self._table(self._schema.tables[name], target)
            case VectorKind():
                return self._vector(field.kind, target)
        raise AssertionError(field)

    def _check_inside(self, table: int, table_nbytes: int, offset: int, nbytes: int) -> None:
        if offset < 4 or offset + nbytes > table_nbytes:
            raise self._fail(table + offset, f"a field inside its table of {table_nbytes} bytes", f"offset {offset}")

    def _union(
        self, field: Field, kind: UnionKind, table: int, table_nbytes: int, offsets: tuple[int, ...]
    ) -> Record | None:
        type_offset, offset = offsets[field.slot - 1], offsets[field.slot]
        if offset:
            self._check_inside(table, table_nbytes, offset, 4)
            self._follow(table + offset)
        if type_offset == 0:
            return None
        self._check_inside(table, table_nbytes, type_offset, 1)
        member = self._unsigned(Scalar.UINT8, table + type_offset)
        if member == 0:
            return None
        if member >= len(kind.members):
            known = len(kind.members) - 1
            raise self._fail(
                table + type_offset,
                f"a {kind.name} type up to {known} (the file may be newer than Arenite)",
                str(member),
            )
        member_table = self._schema.tables[kind.members[member]]
        if offset == 0:
            return Record(member_table, {}, table)
        return self._table(member_table, self._follow(table + offset))

    def _extent(self, position: int, item_nbytes: int, what: str) -> tuple[int, int]:
        """First byte and number of items of a vector or string, which fits the file."""
        count = self._unsigned(Scalar.UINT32, position)
        end = position + 4 + count * item_nbytes
        if end > len(self._data):
            raise self._fail(position, f"{count} {what} of {item_nbytes} bytes", f"the file's end before {end}")
        self._charge(4 + count * item_nbytes, position)
        return position + 4, count

    def _string(self, position: int) -> str:
        start, count = self._extent(position, 1, "characters")
        if self._data[start + count : start + count + 1] != b"\0":
            raise self._fail(start + count, "a zero that ends the text", "none")
        return self._data[start : start + count].decode("utf-8", "surrogateescape")

    def _vector(self, kind: VectorKind, position: int) -> object:
        match kind.item:
            case TableKind(name):
                start, count = self._extent(position, 4, "tables")
                return self._records(self._schema.tables[name], start, count)
            case item:
                scalar = item if isinstance(item, Scalar) else item.scalar
                start, count = self._extent(position, scalar.nbytes, "numbers")
                return self._numbers(scalar, start, count)

    def _records(self, table: Table, start: int, count: int) -> tuple[Record, ...]:
        records = []
        name = self._path[-1]
        for index in range(count):
            self._path[-1] = f"{name}[{index}]"
            records.append(self._table(table, self._follow(start + 4 * index)))
        return tuple(records)

    def _numbers(self, scalar: Scalar, start: int, count: int) -> npt.NDArray[np.generic]:
        array: npt.NDArray[np.generic] = np.frombuffer(self._data, scalar.dtype, count, start)
        return array
