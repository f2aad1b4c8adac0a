"""Damaged files: each is refused at the byte where it is wrong."""

import struct

import flatbuffers
import pytest

from arenite._base.errors import ModelError
from arenite.formats.tflite.reader import Reader
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema

SCHEMA = tflite_schema()


def problem(data: bytes, table: str = "Buffer") -> str:
    with pytest.raises(ModelError) as caught:
        Reader(data, SCHEMA, "TFLite model").root(table, FILE_IDENTIFIER)
    (sentence,) = caught.value.problems
    return sentence


def buffer_file(*, vtable: tuple[int, ...] = (6, 8, 4), soffset: int = 8, field: int = 4, tail: bytes = b"") -> bytes:
    """A file whose root is a Buffer: root offset, identifier, vtable at 8, padding, table at 16 with one offset."""
    words = struct.pack("<I4s4H", 16, FILE_IDENTIFIER, *(*vtable, 0, 0, 0)[:4])
    return words + struct.pack("<iI", soffset, field) + tail


def test_the_file_that_the_others_are_damaged_copies_of() -> None:
    data = buffer_file(tail=struct.pack("<I3s", 3, b"abc"))
    record = Reader(data, SCHEMA, "TFLite model").root("Buffer", FILE_IDENTIFIER)
    array = record.array("data")
    assert array is not None
    assert array.tobytes() == b"abc"
    assert record.position == 16


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "byte 0: expected at least 8 bytes, found 0"),
        (b"\x08\0\0\0TFL", "byte 0: expected at least 8 bytes, found 7"),
        (b"\x08\0\0\0TFL2\0\0\0\0", "byte 4: expected the identifier b'TFL3', found b'TFL2'"),
        (b"\x18\0\0\0TFL3", "byte 0: Buffer: expected an offset into the file, found one that leads to 24"),
        (b"\0\0\0\0TFL3\0\0\0\0", "byte 0: Buffer: expected an offset into the file, found one that leads to 0"),
        (
            buffer_file(soffset=100),
            "byte 16: Buffer: expected an offset to a vtable in the file, found one that leads to -84",
        ),
        (
            buffer_file(soffset=-100),
            "byte 16: Buffer: expected an offset to a vtable in the file, found one that leads to 116",
        ),
        (buffer_file(vtable=(3, 8, 4)), "byte 8: Buffer: expected the size of a vtable, found 3"),
        (buffer_file(vtable=(2, 8, 4)), "byte 8: Buffer: expected the size of a vtable, found 2"),
        (buffer_file(vtable=(200, 8, 4)), "byte 8: Buffer: expected the size of a vtable, found 200"),
        (buffer_file(vtable=(6, 2, 4)), "byte 10: Buffer: expected the size of a Buffer at 16, found 2"),
        (buffer_file(vtable=(6, 9, 4)), "byte 10: Buffer: expected the size of a Buffer at 16, found 9"),
        (buffer_file(vtable=(6, 8, 6)), "byte 22: Buffer.data: expected a field inside its table of 8 bytes"),
        (buffer_file(vtable=(6, 8, 2)), "byte 18: Buffer.data: expected a field inside its table of 8 bytes"),
        (
            buffer_file(field=5, tail=struct.pack("<BI3s", 0, 3, b"abc")),
            "byte 25: Buffer.data: expected a number at a multiple of 4, found it here",
        ),
        (buffer_file(soffset=7), "byte 9: Buffer: expected a number at a multiple of 2, found it here"),
        (buffer_file(field=4), "byte 20: Buffer.data: expected an offset into the file, found one that leads to 24"),
        (buffer_file(field=0), "byte 20: Buffer.data: expected an offset into the file, found one that leads to 20"),
        (
            buffer_file(tail=struct.pack("<I3s", 4, b"abc")),
            "byte 24: Buffer.data: expected 4 numbers of 1 bytes, found the file's end before 32",
        ),
        (
            buffer_file(tail=struct.pack("<I3s", 0xFFFFFFFF, b"abc")),
            "byte 24: Buffer.data: expected 4294967295 numbers of 1 bytes",
        ),
    ],
)
def test_each_way_to_be_damaged(data: bytes, expected: str) -> None:
    assert expected in problem(data)
    assert problem(data).startswith("the file is truncated or is not a TFLite model: byte ")


def test_the_path_names_the_object() -> None:
    data = buffer_file(vtable=(8, 8, 0, 4), tail=struct.pack("<II", 1, 400))
    assert "byte 28: Model.operator_codes[0]: expected an offset into the file" in problem(data, "Model")


def test_unknown_union_type() -> None:
    builder = flatbuffers.Builder(64)
    builder.StartObject(14)
    inner = builder.EndObject()
    builder.StartObject(14)
    builder.PrependUint8Slot(3, 250, 0)
    builder.PrependUOffsetTRelativeSlot(4, inner, 0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    assert "expected a BuiltinOptions type up to 126" in problem(bytes(builder.Output()), "Operator")


@pytest.mark.parametrize("member", [0, 1])
def test_the_value_of_a_union_is_in_its_table_whatever_its_type(member: int) -> None:
    builder = flatbuffers.Builder(64)
    builder.StartObject(14)
    inner = builder.EndObject()
    builder.StartObject(14)
    builder.PrependUint8Slot(3, member, 0)
    builder.PrependUOffsetTRelativeSlot(4, inner, 0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    data = bytearray(builder.Output())
    Reader(bytes(data), SCHEMA, "TFLite model").root("Operator", FILE_IDENTIFIER)
    (table,) = struct.unpack_from("<I", data)
    entry = table - struct.unpack_from("<i", data, table)[0] + 4 + 2 * 4
    struct.pack_into("<H", data, entry, 0x8000)
    assert "Operator.builtin_options: expected a field inside its table" in problem(bytes(data), "Operator")
    struct.pack_into("<H", data, entry, 4)  # the type, or nothing: it leads nowhere
    struct.pack_into("<I", data, table + 4, 0x7FFFFFFF)
    assert "Operator.builtin_options: expected an offset into the file" in problem(bytes(data), "Operator")


def test_a_field_of_a_newer_schema_is_in_its_table() -> None:
    data = buffer_file(vtable=(8, 8, 4, 300), tail=struct.pack("<I", 0))
    assert "byte 316: SqueezeOptions: expected a field inside its table of 8 bytes, found offset 300" in problem(
        data, "SqueezeOptions"
    )


def test_fields_of_a_newer_schema_are_noticed() -> None:
    builder = flatbuffers.Builder(64)
    builder.StartObject(6)
    builder.PrependUint32Slot(4, 9, 0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    reader = Reader(bytes(builder.Output()), SCHEMA, "TFLite model")
    reader.root("Buffer", FILE_IDENTIFIER)
    assert list(reader.unknown_fields) == ["Buffer slot 4"]


def bomb(width: int) -> bytes:
    """width² operators in 8 * width bytes: every subgraph is one table, and so is every operator."""
    builder = flatbuffers.Builder(1 << 16)

    def shared(slots: int, slot: int, target: int) -> int:
        builder.StartVector(4, width, 4)
        for _ in range(width):
            builder.PrependUOffsetTRelative(target)
        vector = builder.EndVector()
        builder.StartObject(slots)
        builder.PrependUOffsetTRelativeSlot(slot, vector, 0)
        return int(builder.EndObject())

    builder.StartObject(14)
    operator = builder.EndObject()
    builder.Finish(shared(10, 2, shared(6, 3, operator)), FILE_IDENTIFIER)
    return bytes(builder.Output())


def test_a_bomb_of_shared_tables_is_refused_early() -> None:
    data = bomb(20_000)
    assert len(data) < 170_000
    reader = Reader(data, SCHEMA, "TFLite model")
    with pytest.raises(ModelError, match="expected objects that do not overlap"):
        reader.root("Model", FILE_IDENTIFIER)
    # Not one work item beyond what the file's size allows.
    assert reader.n_tables <= (2 * len(data) + (1 << 16)) // 4


def test_a_bomb_of_shared_text_is_refused_early() -> None:
    builder = flatbuffers.Builder(1 << 16)
    name = builder.CreateString("n" * 50_000)
    metadata = []
    for _ in range(1000):
        builder.StartObject(2)
        builder.PrependUOffsetTRelativeSlot(0, name, 0)
        metadata.append(builder.EndObject())
    builder.StartVector(4, len(metadata), 4)
    for target in metadata:
        builder.PrependUOffsetTRelative(target)
    vector = builder.EndVector()
    builder.StartObject(10)
    builder.PrependUOffsetTRelativeSlot(6, vector, 0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    data = bytes(builder.Output())
    reader = Reader(data, SCHEMA, "TFLite model")
    with pytest.raises(ModelError, match="expected objects that do not overlap"):
        reader.root("Model", FILE_IDENTIFIER)
    assert reader.n_tables < 10


def test_more_tables_than_any_model_for_a_microcontroller_has() -> None:
    with pytest.raises(ModelError, match="has more than 100000 tables"):
        Reader(bomb(120_000), SCHEMA, "TFLite model").root("Model", FILE_IDENTIFIER)


def test_sharing_that_stays_small_is_fine() -> None:
    data = bomb(4)
    record = Reader(data, SCHEMA, "TFLite model").root("Model", FILE_IDENTIFIER)
    assert [len(subgraph.records("operators")) for subgraph in record.records("subgraphs")] == [4, 4, 4, 4]


@pytest.mark.parametrize("tail", [b"abcd", b"abc"])
def test_a_text_ends_in_zero(tail: bytes) -> None:
    """Readers in C rely on it. Metadata has a name in its first field."""
    good = buffer_file(tail=struct.pack("<I4s", 3, b"abc\0"))
    assert Reader(good, SCHEMA, "TFLite model").root("Metadata", FILE_IDENTIFIER).text("name") == "abc"
    bad = problem(buffer_file(tail=struct.pack("<I", 3) + tail), "Metadata")
    assert "byte 31: Metadata.name: expected a zero that ends the text, found none" in bad
