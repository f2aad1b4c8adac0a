"""Writer and reader against each other and against LiteRT's own object API."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.formats.tflite.flat import EnumKind, Scalar, VectorKind, parse_schema
from arenite.formats.tflite.reader import Reader
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema
from arenite.formats.tflite.writer import write
from formats.tflite.records import plain, records

SCHEMA = tflite_schema()
ROOTS = ("Model", "SubGraph", "Operator", "Tensor", "QuantizationParameters", "SparsityParameters", "SignatureDef")


def read(data: bytes, table: str) -> Any:
    return Reader(data, SCHEMA, "TFLite model").root(table, FILE_IDENTIFIER)


@given(st.data())
@pytest.mark.parametrize("table", ROOTS)
def test_what_is_written_is_read(table: str, data: st.DataObject) -> None:
    record = data.draw(records(SCHEMA, SCHEMA.tables[table]))
    written = write(record, FILE_IDENTIFIER, {}, 0)
    assert plain(read(written, table)) == plain(record)
    assert write(record, FILE_IDENTIFIER, {}, 1 << 20) == written


@pytest.mark.litert
@given(st.data())
@pytest.mark.parametrize("table", ROOTS)
def test_litert_reads_what_we_write_and_we_read_what_litert_writes(table: str, data: st.DataObject) -> None:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as litert

    record = data.draw(records(SCHEMA, SCHEMA.tables[table]))
    theirs = getattr(litert, f"{table}T").InitFromPackedBuf(write(record, FILE_IDENTIFIER, {}, 0), 0)
    builder = flatbuffers.Builder(64)
    builder.Finish(theirs.Pack(builder), FILE_IDENTIFIER)
    assert plain(read(bytes(builder.Output()), table)) == plain(record)


def test_vectors_are_aligned() -> None:
    buffers = tuple(SCHEMA.record("Buffer", data=np.full(n, 0xA5, np.uint8)) for n in (1, 17, 5, 64))
    written = write(SCHEMA.record("Model", buffers=buffers), FILE_IDENTIFIER, {("Buffer", "data"): 16}, 0)
    base = np.frombuffer(written, np.uint8).__array_interface__["data"][0]
    for record in read(written, "Model").records("buffers"):
        assert (record.array("data").__array_interface__["data"][0] - base) % 16 == 0


def test_vectors_are_views_of_the_file_and_read_only() -> None:
    written = write(SCHEMA.record("Buffer", data=np.arange(9, dtype=np.uint8)), FILE_IDENTIFIER, {}, 0)
    array = read(written, "Buffer").array("data")
    assert not array.flags.writeable
    assert np.shares_memory(array, np.frombuffer(written, np.uint8))


def test_text_that_is_not_utf8_survives() -> None:
    name = b"a\xff\x00b".decode("utf-8", "surrogateescape")
    written = write(SCHEMA.record("Tensor", name=name), FILE_IDENTIFIER, {}, 0)
    assert b"a\xff\x00b" in written
    assert read(written, "Tensor").text("name") == name


def test_notation() -> None:
    colour = EnumKind("Colour", Scalar.INT8, ("RED", "GREEN"))
    schema = parse_schema(["A x:int32=7 _ c:Colour=GREEN u:union:U v:[A] w:[uint8]", "B"], [colour], {"U": ("A", "B")})
    fields = {field.name: field for field in schema.tables["A"].fields}
    assert {name: field.slot for name, field in fields.items()} == {"x": 0, "c": 2, "u": 4, "v": 5, "w": 6}
    assert fields["x"].default == 7
    assert fields["c"].default == 1
    assert fields["w"].kind == VectorKind(Scalar.UINT8)
    with pytest.raises(KeyError):
        schema.record("A", nonsense=1)
    with pytest.raises(ValueError, match="cannot read field"):
        parse_schema(["A x"], [], {})
    with pytest.raises(ValueError, match="not there"):
        parse_schema(["A"], [], {"U": ("C",)})
