"""Options and arguments that several commands take."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from arenite._base.errors import UsageError
from arenite._base.text import printable

if TYPE_CHECKING:
    from arenite.driver.output import Array

Choice = TypeVar("Choice", bound=str)
Given = TypeVar("Given")

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite or .onnx model.")]
TfliteArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite model.")]
TargetOption = Annotated[
    str, typer.Option("--target", metavar="TARGET", help="Core, see 'arenite targets', or a board's .toml.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
InputShapeOption = Annotated[
    list[str] | None,
    typer.Option("--input-shape", metavar="NAME:DIMS", help="Shape of an input, as in image:1,3,224,224 (.onnx)."),
]
PinOption = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="NAME=VALUE|FILE.npy", help="An input becomes a constant, as in sr=16000 (.onnx)."),
]
OutputsOption = Annotated[
    list[str] | None, typer.Option("--outputs", metavar="NAME", help="Keep this output; the others go.")
]
FreezeDefaultsOption = Annotated[
    bool,
    typer.Option("--freeze-defaults", help="Inputs with default values, which callers may replace, become constants."),
]
PureOption = Annotated[
    list[str] | None, typer.Option("--pure", metavar="DOMAIN::OP", help="This custom operator has no side effects.")
]
CheckOption = Annotated[
    int, typer.Option("--check", metavar="N", min=0, help="Compare with the original on N inputs; 0: do not.")
]
CompilerOption = Annotated[
    str | None, typer.Option("--cc", metavar="zig|PATH", help="Cross compiler; default: zig, else arm-none-eabi-gcc.")
]


_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_NBYTES = re.compile(r"([0-9]{1,15})(?:([kmg])(?:ib)?)?", re.IGNORECASE | re.ASCII)


def parse_nbytes(text: str) -> int:
    """A number of bytes: 65536, 64K or 64KiB, of 1024."""
    # Defaults come here too, as they are.
    match = _NBYTES.fullmatch(str(text).strip())
    if match is None:
        raise typer.BadParameter(
            f"'{text}' is no number of bytes: expected one as in 65536, 64K, 64KiB or 1M (of 1024)"
        )
    return int(match[1]) * _UNITS[(match[2] or "").lower()]


def nbytes_option(name: str, text: str) -> Any:
    """An option that takes a number of bytes; all of them are written alike."""
    return typer.Option(name, metavar="N", parser=parse_nbytes, help=f"{text}: 65536, 64K, 64KiB, 1M.")


def choose(option: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    """The choice that equals `value`.

    Raises:
        UsageError: none does.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise UsageError(f"{option} takes {', '.join(choices)}, not '{value}'")


def say(text: str, *, err: bool = False) -> None:
    """Print a text for people, whatever names are in it."""
    typer.echo(printable(text), err=err)


def print_json(content: object) -> None:
    """Strict JSON on stdout: NaN is not JSON. In ASCII, which every locale has."""
    import json  # noqa: PLC0415

    typer.echo(json.dumps(content, indent=1, allow_nan=False))


def by_name(option: str, given: Iterable[tuple[str, Given]]) -> dict[str, Given]:
    """What an option that may be repeated says of each name.

    Raises:
        UsageError: it speaks of one name twice.
    """
    found: dict[str, Given] = {}
    for name, value in given:
        if name in found:
            raise UsageError(f"{option} is given twice for '{name}'")
        found[name] = value
    return found


def parse_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME:DIMS, split at the last colon; no dims: a scalar."""
    name, colon, dims = text.rpartition(":")
    parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
    if not colon or not name or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise UsageError(f"--input-shape takes NAME:DIMS, as in image:1,3,224,224, not '{text}'")
    return name, tuple(int(part) for part in parts)


def pin_files(pins: Sequence[str] | None) -> list[Path]:
    """The files that --pin reads."""
    values = (text.rpartition("=")[2] for text in pins or ())
    return [Path(value) for value in values if value.endswith(".npy")]


def parse_pin(text: str) -> "tuple[str, Array]":
    """NAME=VALUE or NAME=FILE.npy, split at the last equals sign."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"--pin takes NAME=VALUE or NAME=FILE.npy, not '{text}'")
    import numpy as np  # noqa: PLC0415 - heavy

    if value.endswith(".npy"):
        from arenite.driver.output import read_array  # noqa: PLC0415

        return name, read_array(Path(value))
    import json  # noqa: PLC0415

    words = {"true": True, "false": False}
    try:
        number = words[value.lower()] if value.lower() in words else json.loads(value)
        array = np.array(number)
    except ValueError:
        array = np.array(None)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise UsageError(f"--pin {name}: '{value}' is no number, no list of numbers and no .npy file")
    return name, array
