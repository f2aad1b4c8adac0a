"""Changes to what a .tflite file says: see `structure`. Each takes the file as it is by then, and may leave it so."""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from arenite.formats.tflite.flat import EnumKind, Field, Scalar, StringKind, TableKind, UnionKind, VectorKind
from hostile.drafts import Draft, Sketch

Change = Callable[[Sketch], None]
Integers = npt.NDArray[np.int32]

_LONG = 64
"""A vector with more numbers is data, and has changes of its own."""

_INTEGERS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536)
_LIMITS = (2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, 2**30, 2**24 + 1)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1.2e-38, 3.4e38, 1e30, 2.0**31, 2.0**-31, 1e-10, 0.5, np.inf, -np.inf, np.nan)

MARKUP = "<hostile>"
TEXTS = (
    "",
    " ",
    "/",
    ".",
    "a\nb",
    "a\r\n#error hostile\n",
    "a\0b",
    "\x07\x1b[31m",
    "*/ #error hostile /*",
    "//\\",
    "??/",
    "??)*/",
    "\\",
    '"; #error hostile',
    "'",
    "%s%n{}{0}{{%",
    f"</script></style></textarea>--> ]]>{MARKUP}",
    f"\"'>{MARKUP}",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;&amp;",
    "x" * 5000,
    "\u202eevil\u202c",
    "\u00e9\u4e2d\U0001f600",
    "e\u0301",
    "\u2028\u2029\ufeff\u200b",
    "\udcff\udc80",
    "int",
    "main",
    "__attribute__",
    "../../../escape",
    "C:\\nul",
    "-o",
    "%0",
    "0",
    "serving_default_x:0",
    "$(touch hostile)`touch hostile`",
    "\uff1c\uff0f\uff1e",
)


def an_integer(rng: random.Random, low: int, high: int, now: int) -> int:
    near = [now - 1, now + 1, -now, 2 * now, now // 2]
    many = [*_INTEGERS, *near, *near, *_LIMITS, *(-n for n in (1, 1, 2, *_INTEGERS[:8], *_LIMITS))]
    return rng.choice([number for number in many if low <= number <= high])


def a_float(rng: random.Random, now: float) -> float:
    return float(np.float32(rng.choice([*_FLOATS, *((now * 2, now / 2, -now) if np.isfinite(now) else ())])))


def _scalar(rng: random.Random, field: Field, scalar: Scalar, now: object) -> object:
    assert isinstance(now, bool | int | float | np.generic)
    if scalar is Scalar.BOOL:
        return not now
    if scalar is Scalar.FLOAT32:
        return a_float(rng, float(now))
    if isinstance(field.kind, EnumKind) and rng.random() < 0.8:
        return rng.randrange(len(field.kind.names))
    limits = np.iinfo(scalar.name.lower())
    return an_integer(rng, int(limits.min), int(limits.max), int(now))


def _item_scalar(field: Field) -> Scalar | None:
    if not isinstance(field.kind, VectorKind) or isinstance(field.kind.item, TableKind):
        return None
    return field.kind.item.scalar if isinstance(field.kind.item, EnumKind) else field.kind.item


def _array(draft: Draft, field: Field) -> npt.NDArray[np.generic]:
    scalar, value = _item_scalar(field), draft.values.get(field.name)
    assert scalar is not None
    return value if isinstance(value, np.ndarray) else np.empty(0, scalar.dtype)


def _items(rng: random.Random, field: Field, scalar: Scalar, array: npt.NDArray[np.generic]) -> list[object]:
    """A vector of numbers, changed in one way."""
    items: list[object] = array.tolist()
    at = rng.randrange(len(items)) if items else 0
    way = rng.randrange(8)
    if way < 3 and items:
        items[at] = _scalar(rng, Field(field.name, 0, scalar), scalar, items[at])
    elif way == 3 and items:
        del items[at]
    elif way == 4:
        items.insert(at, items[at] if items else 0)
    elif way == 5:
        rng.shuffle(items)
    elif way == 6:
        items = [] if rng.random() < 0.5 else items[:1] * rng.choice((2, 4, 9, 40))
    else:
        items.append(_scalar(rng, Field(field.name, 0, scalar), scalar, 1))
    return items


def _change_field(sketch: Sketch, draft: Draft, field: Field) -> None:
    rng, scalar, now = sketch.rng, field.scalar, draft.values.get(field.name, field.default)
    if scalar is not None:
        draft.values[field.name] = _scalar(rng, field, scalar, now)
    elif (item := _item_scalar(field)) is not None:
        array = _array(draft, field)
        if array.size <= _LONG:
            draft.values[field.name] = np.array(_items(rng, field, item, array), item.dtype)
    elif isinstance(field.kind, StringKind):
        draft.values[field.name] = rng.choice(TEXTS)
    elif isinstance(field.kind, UnionKind):
        draft.values[field.name] = Draft(sketch.schema.tables[rng.choice(field.kind.members[1:])])
    elif isinstance(field.kind, TableKind):
        draft.values[field.name] = Draft(sketch.schema.tables[field.kind.name])
    else:
        tables = draft.drafts(field.name)
        if tables:
            tables.insert(rng.randrange(len(tables) + 1), rng.choice(tables).copy())


def _any_table(sketch: Sketch) -> Draft:
    kinds = [name for name in sketch.by_table if name not in ("Model", "Buffer")]
    return sketch.rng.choice(sketch.by_table[sketch.rng.choice(kinds)])


def any_field(sketch: Sketch) -> None:
    draft = _any_table(sketch)
    if draft.table.fields:
        _change_field(sketch, draft, sketch.rng.choice(draft.table.fields))


def without_a_field(sketch: Sketch) -> None:
    draft = sketch.model if sketch.rng.random() < 0.1 else _any_table(sketch)
    if draft.values:
        del draft.values[sketch.rng.choice(list(draft.values))]


def field_of_another(sketch: Sketch) -> None:
    """A field as another table of the kind has it."""
    several = [drafts for drafts in sketch.by_table.values() if len(drafts) > 1 and drafts[0].table.name != "Buffer"]
    if several:
        draft, other = sketch.rng.sample(sketch.rng.choice(several), 2)
        if names := list(draft.values | other.values):
            name = sketch.rng.choice(names)
            draft.values[name] = other.copy().values.get(name)


# Options


def options(sketch: Sketch) -> None:
    """An option of some operator."""
    tables = [draft for kind, all_ in sketch.by_table.items() if kind.endswith("Options") for draft in all_]
    tables = [draft for draft in tables if draft.table.fields]
    if tables:
        draft = sketch.rng.choice(tables)
        _change_field(sketch, draft, sketch.rng.choice(draft.table.fields))


def other_options(sketch: Sketch) -> None:
    operator = an_operator(sketch)
    if operator is None:
        return
    rng, values = sketch.rng, operator.values
    way = rng.randrange(6)
    if way == 0:
        values["builtin_options"] = None
    elif way == 1:
        name = rng.choice(sketch.schema.unions["BuiltinOptions"].members[1:])
        values["builtin_options"] = Draft(sketch.schema.tables[name])
    elif way == 2:
        name = rng.choice(sketch.schema.unions["BuiltinOptions2"].members[1:])
        values["builtin_options2"] = Draft(sketch.schema.tables[name])
    elif way == 3:
        values["custom_options"] = np.array([rng.randrange(256) for _ in range(rng.randrange(20))], np.uint8)
    elif way == 4:
        values["large_custom_options_offset"] = an_integer(rng, 0, 2**64 - 1, 1)
        values["large_custom_options_size"] = an_integer(rng, 0, 2**64 - 1, 1)
    else:
        values["mutating_variable_inputs"] = np.array([rng.randrange(2) for _ in range(rng.randrange(9))], np.uint8)


# Operators and their tensors


def an_operator(sketch: Sketch) -> Draft | None:
    operators = sketch.subgraph.drafts("operators")
    return sketch.rng.choice(operators) if operators else None


def indices_of(draft: Draft, name: str) -> list[int]:
    value = draft.values.get(name)
    return [int(index) for index in value] if isinstance(value, np.ndarray) else []


def operands(sketch: Sketch) -> None:
    """Which tensors an operator reads or writes."""
    rng, subgraph = sketch.rng, sketch.subgraph
    operators, n_tensors = subgraph.drafts("operators"), len(subgraph.drafts("tensors"))
    if not operators:
        return
    operator = rng.choice(operators)
    side = rng.choice(("inputs", "inputs", "outputs", "intermediates"))
    indices, other = indices_of(operator, side), rng.choice(operators)
    others = indices_of(other, rng.choice(("inputs", "outputs"))) + indices_of(operator, "outputs")
    new = rng.choice([*others, -1, -2, n_tensors, n_tensors - 1, rng.randrange(max(n_tensors, 1)), 2**31 - 1])
    way = rng.randrange(5)
    if way < 2 and indices:
        indices[rng.randrange(len(indices))] = new
    elif way == 2:
        indices.append(new)
    elif way == 3 and indices:
        indices.pop()
    else:
        rng.shuffle(indices)
    operator.values[side] = np.array(indices, np.int32)


def order_of_operators(sketch: Sketch) -> None:
    operators, rng = sketch.subgraph.drafts("operators"), sketch.rng
    if not operators:
        return
    way, at = rng.randrange(4), rng.randrange(len(operators))
    if way == 0:
        rng.shuffle(operators)
    elif way == 1:
        operators[at], operators[at - 1] = operators[at - 1], operators[at]
    elif way == 2:
        operators.insert(rng.randrange(len(operators) + 1), operators[at].copy())
    else:
        del operators[at]


def ends_of_the_graph(sketch: Sketch) -> None:
    """Inputs that are constants, outputs that are inputs, either twice or not at all."""
    rng, subgraph = sketch.rng, sketch.subgraph
    n_tensors = len(subgraph.drafts("tensors"))
    side = rng.choice(("inputs", "outputs"))
    indices = indices_of(subgraph, side)
    pool = [*indices_of(subgraph, "inputs"), *indices, rng.randrange(max(n_tensors, 1)), -1, n_tensors]
    way = rng.randrange(5)
    if way == 0 and indices:
        indices[rng.randrange(len(indices))] = rng.choice(pool)
    elif way == 1:
        indices.append(rng.choice(pool))
    elif way == 2 and indices:
        indices.pop()
    elif way == 3:
        indices = []
    else:
        indices.append(rng.randrange(max(n_tensors, 1)))
    subgraph.values[side] = np.array(indices, np.int32)


def operator_codes(sketch: Sketch) -> None:
    rng, codes = sketch.rng, sketch.model.drafts("operator_codes")
    if not codes:
        return
    values = rng.choice(codes).values
    builtin = rng.randrange(len(sketch.schema.enums["BuiltinOperator"].names))
    way = rng.randrange(6)
    if way == 0:
        values["version"] = an_integer(rng, -(2**31), 2**31 - 1, 1)
    elif way == 1:
        values["builtin_code"], values["deprecated_builtin_code"] = builtin, min(builtin, 127)
    elif way == 2:
        values["deprecated_builtin_code"] = rng.choice((-128, -1, 0, 9, 126, 127))
    elif way == 3:
        values["builtin_code"] = rng.choice((-1, -(2**31), 0, 9, 127, 128, 211, 5000, 2**31 - 1))
    elif way == 4:
        values["builtin_code"], values["deprecated_builtin_code"] = 32, 32
        values["custom_code"] = rng.choice((None, *TEXTS))
    else:
        values["custom_code"] = rng.choice(TEXTS)


def unused(sketch: Sketch) -> None:
    """Tensors, buffers and operator codes that nothing uses."""
    rng, model = sketch.rng, sketch.model
    tensors = sketch.subgraph.drafts("tensors")
    for drafts in (tensors, model.drafts("buffers"), model.drafts("operator_codes")):
        if drafts and rng.random() < 0.7:
            drafts.append(rng.choice(drafts).copy())


# The rest of the file


def texts(sketch: Sketch) -> None:
    """Names, in one place or in all."""
    rng, everywhere = sketch.rng, sketch.rng.random() < 0.5
    places = [(d, f.name) for d in sketch.model.walk() for f in d.table.fields if isinstance(f.kind, StringKind)]
    same = rng.choice(TEXTS) if rng.random() < 0.5 else None
    for draft, name in places if everywhere else rng.sample(places, min(3, len(places))):
        draft.values[name] = rng.choice(TEXTS) if same is None else same


def subgraphs(sketch: Sketch) -> None:
    rng, all_ = sketch.rng, sketch.model.drafts("subgraphs")
    way = rng.randrange(4)
    if way == 0 or not all_:
        all_.append(sketch.made("SubGraph"))
    elif way == 1:
        all_.insert(rng.randrange(2), sketch.made("SubGraph"))
    else:
        all_.append(rng.choice(all_).copy())
    if rng.random() < 0.5:
        calls(sketch)


_CALLS = {"CALL_ONCE": "CallOnceOptions", "IF": "IfOptions", "WHILE": "WhileOptions", "CALL": "CallOptions"}


def calls(sketch: Sketch) -> None:
    """An operator that runs a subgraph: its own, another one, or none that there is."""
    rng, codes, subgraph = sketch.rng, sketch.model.drafts("operator_codes"), sketch.subgraph
    name, options_name = rng.choice(list(_CALLS.items()))
    number = sketch.schema.enums["BuiltinOperator"].value(name)
    codes.append(sketch.made("OperatorCode", builtin_code=number, deprecated_builtin_code=min(number, 127)))
    table = sketch.schema.tables[options_name]
    targets = (0, 0, 1, 2, 2**31 - 1)
    given = Draft(table, {field.name: rng.choice(targets) for field in table.fields})
    ends = {side: np.array(indices_of(subgraph, side) if name != "CALL_ONCE" else [], np.int32) for side in _SIDES}
    call = sketch.made("Operator", opcode_index=len(codes) - 1, **ends)
    call.values["builtin_options"] = given
    operators = subgraph.drafts("operators")
    if operators and name != "CALL_ONCE" and rng.random() < 0.7:
        operators[-1] = call
    else:
        operators.insert(0, call)


_SIDES = ("inputs", "outputs")


def signatures(sketch: Sketch) -> None:
    rng, all_ = sketch.rng, sketch.model.drafts("signature_defs")

    def side() -> tuple[object, ...]:
        return tuple(
            sketch.made("TensorMap", name=rng.choice(TEXTS), tensor_index=rng.choice((0, 0, 1, 5, 2**32 - 1))).record()
            for _ in range(rng.randrange(4))
        )

    made = sketch.made(
        "SignatureDef", inputs=side(), outputs=side(), subgraph_index=rng.choice((0, 0, 0, 1, 2**32 - 1))
    )
    made.values["signature_key"] = rng.choice((None, "serving_default", *TEXTS))
    all_.append(made)


def metadata(sketch: Sketch) -> None:
    rng, all_, held = sketch.rng, sketch.model.drafts("metadata"), sketch.model.drafts("buffers")
    names = (
        "arenite.layouts",
        "min_runtime_version",
        "TFLITE_METADATA",
        "CONVERSION_METADATA",
        "OfflineMemoryAllocation",
    )
    contents = (b"", b"{}", b"[" * 3000, b'{"schema": 1, "inputs": [], "outputs": []}', b"\xff\xfe\0", b"\0" * 16)
    if rng.random() < 0.7:
        held.append(sketch.made("Buffer", data=np.frombuffer(rng.choice(contents), np.uint8)))
    index = len(held) - 1 if rng.random() < 0.8 else rng.choice((0, len(held), 2**31 - 1))
    if rng.random() < 0.8:
        all_.append(sketch.made("Metadata", name=rng.choice((*names, *names, *TEXTS)), buffer=index))
    else:
        sketch.model.values["metadata_buffer"] = np.array([index], np.int32)


def of_the_model(sketch: Sketch) -> None:
    _change_field(sketch, sketch.model, sketch.rng.choice(sketch.model.table.fields))


CHANGES: tuple[Change, ...] = (
    any_field,
    any_field,
    without_a_field,
    field_of_another,
    options,
    options,
    other_options,
    operands,
    operands,
    order_of_operators,
    ends_of_the_graph,
    operator_codes,
    unused,
    texts,
    subgraphs,
    calls,
    signatures,
    metadata,
    of_the_model,
)
"""What is there twice is done twice as often."""
