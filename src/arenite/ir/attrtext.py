"""Makes attribute dataclasses from parsed fields, checking each value against the field's type."""

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from difflib import get_close_matches
from enum import Enum

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, AttrValue, Padding


def field_types(cls: type[Attrs]) -> dict[str, object]:
    """The type of each field of an attribute dataclass."""
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def enums_of(attrs: type[Attrs]) -> dict[str, type[Enum]]:
    """The enumerations that may occur in the text of such attributes, by class name."""
    found: dict[str, type[Enum]] = {e.__name__: e for e in (DType, Activation, Padding)}
    for hint in field_types(attrs).values():
        classes = (part for part in _parts(hint) if isinstance(part, type))
        found.update((cls.__name__, cls) for cls in classes if issubclass(cls, Enum))
    return found


def _parts(hint: object) -> Iterator[object]:
    yield hint
    for argument in typing.get_args(hint):
        yield from _parts(argument)


def make_attrs(cls: type[Attrs], fields: dict[str, AttrValue]) -> Attrs:
    """An instance of `cls`.

    Raises:
        ValueError: a field is unknown, missing or of another type; or the class itself refuses.
    """
    known = field_types(cls)
    for name, value in fields.items():
        if name not in known:
            near = get_close_matches(name, known) or sorted(known)
            raise ValueError(f"{cls.__name__} has no field '{name}'; it has {', '.join(near) or 'none at all'}")
        if not fits(value, known[name]):
            raise ValueError(f"{cls.__name__}.{name} is {_hint_text(known[name])}, not {value!r}")
    missing = [
        f.name
        for f in dataclasses.fields(cls)
        if f.name not in fields and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{cls.__name__} needs a value for {', '.join(missing)}")
    return cls(**fields)


def fits(value: AttrValue, hint: object) -> bool:
    """Whether a value is of a field's declared type. An integer fits a float."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(fits(element, arguments[0]) for element in value)
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (int, float)
    if isinstance(hint, type):
        return isinstance(value, hint) if issubclass(hint, Enum) else type(value) is hint
    # What is left is the recursive AttrValue, which holds whatever the parser makes.
    return True


def _hint_text(hint: object) -> str:
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__name__
    # Which module a type comes from is nobody's business.
    return re.sub(r"\b(?:\w+\.)+", "", str(hint))
