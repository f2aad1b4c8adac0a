"""Operators that are no op of ours: all that the file says of them as ForeignAttrs, and back.

The node's op is `tflite.<NAME>`, or `tflite.custom.<code>`. The attributes are the fields of the operator's options
under their own names, enums as labels, and besides: `operator_version`, `options` (the options' table),
`custom_code`, `custom_options`, `custom_options_format`, `mutating_variable_inputs`, `debug_metadata_index`, and
`intermediates`: (name, dtype, shape, scales, zero points, axis) of each.
"""

import re
from collections.abc import Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.formats.tflite.flat import EnumKind, Field, Record, Scalar, Schema, StringKind, Table, VectorKind
from arenite.formats.tflite.words import clean
from arenite.ir.attrs import AttrValue, ForeignAttrs
from arenite.ir.types import Quantization, TensorType

PREFIX = "tflite."
CUSTOM_PREFIX = "tflite.custom."
_UNFIT = re.compile(r"[^\w.:/+-]")
Intermediate = tuple[str | None, TensorType]


def foreign_op(builtin: str | int, custom_code: str | None) -> str:
    """The name of the node's op."""
    if custom_code is not None:
        return CUSTOM_PREFIX + _UNFIT.sub("_", clean(custom_code))
    return PREFIX + (builtin if isinstance(builtin, str) else f"BUILTIN_{builtin}")


def builtin_of(schema: Schema, op: str) -> int | None:
    """TFLite's operator code of a foreign op; None when it is none."""
    enum = schema.enums["BuiltinOperator"]
    if op.startswith(CUSTOM_PREFIX):
        return enum.value("CUSTOM")
    name = op.removeprefix(PREFIX)
    if not op.startswith(PREFIX):
        return None
    if name in enum.names:
        return enum.value(name)
    number = name.removeprefix("BUILTIN_")
    return int(number) if number.isdecimal() else None


def read_foreign(
    operator: Record,
    version: int,
    custom_code: str | None,
    custom_options: bytes | None,
    intermediates: Sequence[Intermediate | None],
) -> ForeignAttrs:
    """Attributes that hold all of an operator but its operands and results.

    Raises:
        ValueError: the operator has two kinds of options.
    """
    found: list[tuple[str, AttrValue]] = [("operator_version", version)]
    if custom_code is not None:
        found.append(("custom_code", _text(custom_code)))
    first, second = operator.record("builtin_options"), operator.record("builtin_options2")
    if first is not None and second is not None:
        raise ValueError(f"it has two kinds of options, {first.table.name} and {second.table.name}")
    options = first or second
    if options is not None:
        found.append(("options", options.table.name))
        found += [(f.name, _value(f, options)) for f in options.table.fields if f.scalar or options.has(f.name)]
    if custom_options is not None:
        found.append(("custom_options", custom_options))
        found.append(("custom_options_format", operator.integer("custom_options_format")))
    if operator.has("mutating_variable_inputs"):
        flags = operator.integers("mutating_variable_inputs")
        found.append(("mutating_variable_inputs", tuple(bool(flag) for flag in flags)))
    if operator.integer("debug_metadata_index") != -1:
        found.append(("debug_metadata_index", operator.integer("debug_metadata_index")))
    if intermediates:
        found.append(("intermediates", tuple(None if i is None else _intermediate(*i) for i in intermediates)))
    return ForeignAttrs(tuple(found))


def write_foreign(schema: Schema, attrs: ForeignAttrs) -> dict[str, object]:
    """Values of the operator's fields but opcode, operands, results and intermediates.

    Raises:
        ValueError: the attributes are not such as `read_foreign` makes.
    """
    given = dict(attrs.fields)
    values: dict[str, object] = {}
    table_name = given.get("options")
    if isinstance(table_name, str):
        table = schema.tables[table_name]
        union = "builtin_options" if table_name in schema.unions["BuiltinOptions"].members else "builtin_options2"
        values[union] = Record(table, {f.name: _stored(f, given[f.name]) for f in table.fields if f.name in given})
    custom = given.get("custom_options")
    if isinstance(custom, bytes):
        values["custom_options"] = np.frombuffer(custom, np.uint8)
        values["custom_options_format"] = given.get("custom_options_format", 0)
    flags = given.get("mutating_variable_inputs")
    if isinstance(flags, tuple):
        values["mutating_variable_inputs"] = np.array(flags, np.uint8)
    values["debug_metadata_index"] = given.get("debug_metadata_index", -1)
    return values


def version_and_code(attrs: ForeignAttrs) -> tuple[int, str | None]:
    """Version and custom code, as stored."""
    given = dict(attrs.fields)
    version, code = given.get("operator_version", 1), given.get("custom_code")
    assert isinstance(version, int)
    return version, _stored_text(code) if isinstance(code, (str, bytes)) else None


def intermediates_of(attrs: ForeignAttrs) -> list[Intermediate | None]:
    """Name and type of each intermediate tensor."""
    given = dict(attrs.fields).get("intermediates", ())
    assert isinstance(given, tuple)
    return [_to_intermediate(item) if isinstance(item, tuple) else None for item in given]


def option_values(options: Record, without: set[str]) -> tuple[tuple[str, AttrValue], ...]:
    """Options that are there, are not the default and are not in `without`."""
    fields = (f for f in options.table.fields if f.name not in without and options.has(f.name))
    return tuple((f.name, _value(f, options)) for f in fields if not f.scalar or options.get(f.name) != f.default)


def stored_options(table: Table, options: Sequence[tuple[str, AttrValue]]) -> dict[str, object]:
    """Values for the file of what `option_values` gave."""
    return {name: _stored(table.field(name), value) for name, value in options}


def _intermediate(name: str | None, type_: TensorType) -> AttrValue:
    q = type_.quantization
    quantization: tuple[AttrValue, ...] = ((), (), None) if q is None else (q.scales, q.zero_points, q.axis)
    return (None if name is None else _text(name), type_.dtype, type_.dims, *quantization)


def _to_intermediate(item: tuple[AttrValue, ...]) -> Intermediate:
    name, dtype, shape, scales, zero_points, axis = item
    assert isinstance(dtype, DType)
    assert isinstance(shape, tuple)
    assert isinstance(scales, tuple)
    assert isinstance(zero_points, tuple)
    assert axis is None or isinstance(axis, int)
    quantization = None
    if scales:
        numbers = tuple(x for x in scales if isinstance(x, (int, float)))
        points = tuple(x for x in zero_points if isinstance(x, int))
        quantization = Quantization(numbers, points, axis)
    type_ = TensorType(dtype, tuple(x for x in shape if isinstance(x, int)), quantization)
    return _stored_text(name) if isinstance(name, (str, bytes)) else None, type_


def _text(text: str) -> str | bytes:
    """Text that can be printed, or its bytes."""
    return text if clean(text) == text else text.encode("utf-8", "surrogateescape")


def _stored_text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")


def _value(field: Field, record: Record) -> AttrValue:
    match field.kind:
        case StringKind():
            return _text(record.text(field.name) or "")
        case EnumKind() as enum:
            return enum.label(record.integer(field.name))
        case VectorKind(item):
            array = record.array(field.name)
            assert array is not None
            if item is Scalar.UINT8:
                return array.tobytes()
            if isinstance(item, EnumKind):
                return tuple(item.label(int(x)) for x in array.tolist())
            return tuple(bool(x) if item is Scalar.BOOL else x for x in array.tolist())
    value = record.get(field.name)
    assert isinstance(value, (bool, int, float))
    return value


def _stored(field: Field, value: AttrValue) -> object:
    match field.kind, value:
        case StringKind(), (str() | bytes()) as text:
            return _stored_text(text)
        case EnumKind() as enum, (str() | int()) as label:
            return enum.value(label)
        case VectorKind(Scalar.UINT8), bytes() as data:
            return np.frombuffer(data, np.uint8)
        case VectorKind(EnumKind() as enum), tuple() as labels:
            return np.array([enum.value(x) for x in labels if isinstance(x, (str, int))], enum.scalar.dtype)
        case VectorKind(Scalar() as scalar), tuple() as numbers:
            return np.array(numbers, scalar.dtype)
        case Scalar(), (bool() | int() | float()) as number:
            return number
    raise ValueError(f"option {field.name} cannot be {value!r}")
