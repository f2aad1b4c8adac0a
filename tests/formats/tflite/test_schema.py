"""Our tables against LiteRT's own schema module: every table, slot, kind, default and enum."""

import inspect
from typing import Any

import pytest

from arenite.formats.tflite.flat import EnumKind, Field, Scalar, StringKind, Table, TableKind, UnionKind, VectorKind
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema

pytestmark = pytest.mark.litert

SCHEMA = tflite_schema()


def litert() -> Any:
    from ai_edge_litert import schema_py_generated

    return schema_py_generated


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def members(enum: Any) -> dict[str, int]:
    return {name: value for name, value in vars(enum).items() if isinstance(value, int)}


def test_the_same_tables() -> None:
    module = litert()
    theirs = {name for name, item in vars(module).items() if inspect.isclass(item) and hasattr(item, "GetRootAs")}
    assert set(SCHEMA.tables) == theirs


class Recorder:
    """Takes the place of a builder and keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, args))


def recorded(function: Any, *args: Any) -> tuple[str, tuple[Any, ...]]:
    recorder = Recorder()
    function(recorder, *args)
    (call,) = recorder.calls
    return call


def expected_prepend(field: Field) -> tuple[str, tuple[Any, ...]]:
    """The builder's call for the value 7 (True for a flag, which is no default of an integer)."""
    if field.scalar is None:
        return "PrependUOffsetTRelativeSlot", (field.slot, 7, 0)
    return f"Prepend{field.scalar.name.capitalize()}Slot", (field.slot, 7, field.default)


@pytest.mark.parametrize("table", SCHEMA.tables.values(), ids=lambda table: table.name)
def test_slots_kinds_and_defaults(table: Table) -> None:
    module = litert()
    assert recorded(getattr(module, f"{table.name}Start")) == ("StartObject", (table.slots,))
    for field in table.fields:
        found = recorded(getattr(module, f"{table.name}Add{camel(field.name)}"), 7)
        assert found == expected_prepend(field), field.name
        if isinstance(field.kind, UnionKind):
            found = recorded(getattr(module, f"{table.name}Add{camel(field.name)}Type"), 7)
            assert found == ("PrependUint8Slot", (field.slot - 1, 7, 0)), field.name
        if isinstance(field.kind, VectorKind):
            nbytes = item_nbytes(field.kind)
            found = recorded(getattr(module, f"{table.name}Start{camel(field.name)}Vector"), 3)
            assert found == ("StartVector", (nbytes, 3, nbytes)), field.name


def item_nbytes(kind: VectorKind) -> int:
    match kind.item:
        case Scalar() as scalar:
            return scalar.nbytes
        case EnumKind(scalar=scalar):
            return scalar.nbytes
        case TableKind():
            return 4


@pytest.mark.parametrize("table", SCHEMA.tables.values(), ids=lambda table: table.name)
def test_no_field_is_missing_and_nested_tables_are_the_right_ones(table: Table) -> None:
    module = litert()
    parameters = inspect.signature(getattr(module, f"{table.name}T").__init__).parameters
    theirs = [name for name in parameters if name != "self"]
    ours: list[str] = []
    for field in table.fields:
        name = camel(field.name)[:1].lower() + camel(field.name)[1:]
        ours += [f"{name}Type", name] if isinstance(field.kind, UnionKind) else [name]
    assert ours == theirs
    comments = inspect.getsource(getattr(module, f"{table.name}T").__init__)
    for field in table.fields:
        match field.kind:
            case TableKind(name) | VectorKind(TableKind(name)):
                assert f"[{name}T]" in comments or f"[{name}T]]" in comments, field.name
            case StringKind():
                assert "Optional[str]" in comments


def test_enums() -> None:
    module = litert()
    for enum in SCHEMA.enums.values():
        assert {name: value for value, name in enumerate(enum.names)} == members(getattr(module, enum.name))


def test_unions() -> None:
    module = litert()
    for union in SCHEMA.unions.values():
        assert {name: value for value, name in enumerate(union.members)} == members(getattr(module, union.name))


def test_every_enum_of_their_module_is_ours_or_a_union() -> None:
    module = litert()
    theirs = {
        name
        for name, item in vars(module).items()
        if inspect.isclass(item) and members(item) and not hasattr(item, "Init")
    }
    assert set(SCHEMA.enums) | set(SCHEMA.unions) == theirs


def test_file_identifier() -> None:
    data = bytes(4) + FILE_IDENTIFIER + bytes(8)
    assert litert().Model.ModelBufferHasIdentifier(data, 0)
