"""Random records of any table, and their comparison."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from arenite.formats.tflite.flat import (
    EnumKind,
    Kind,
    Record,
    Scalar,
    Schema,
    StringKind,
    Table,
    TableKind,
    UnionKind,
    VectorKind,
)

_FLOATS = st.floats(width=32, allow_nan=False)


def records(schema: Schema, table: Table) -> st.SearchStrategy[Record]:
    """Records of a table with any of its fields present, nested ones included."""
    fields = {field.name: st.none() | _values(schema, field.kind) for field in table.fields}
    return st.fixed_dictionaries(fields).map(lambda values: Record(table, values))


def _values(schema: Schema, kind: Kind) -> st.SearchStrategy[Any]:
    match kind:
        case Scalar() as scalar:
            return _numbers(scalar)
        case EnumKind(names=names):
            return st.integers(0, len(names) - 1)
        case StringKind():
            return st.text(max_size=6)
        case TableKind(name):
            return st.deferred(lambda: records(schema, schema.tables[name]))
        case UnionKind(members=members):
            return st.sampled_from(members[1:]).flatmap(lambda name: records(schema, schema.tables[name]))
        case VectorKind(TableKind(name)):
            return st.lists(st.deferred(lambda: records(schema, schema.tables[name])), max_size=2).map(tuple)
        case VectorKind(item):
            assert not isinstance(item, TableKind)
            scalar = item.scalar if isinstance(item, EnumKind) else item
            return st.lists(_numbers(scalar), max_size=4).map(lambda items: np.array(items, scalar.dtype))


def _numbers(scalar: Scalar) -> st.SearchStrategy[Any]:
    if scalar is Scalar.BOOL:
        return st.booleans()
    if scalar is Scalar.FLOAT32:
        return _FLOATS
    limits = np.iinfo(scalar.value)
    return st.integers(int(limits.min), int(limits.max))


def plain(record: Record) -> dict[str, Any]:
    """A record as nested dicts and lists of Python values, defaults included."""
    return {field.name: _plain(record.get(field.name)) for field in record.table.fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return {"": value.table.name, **plain(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value
