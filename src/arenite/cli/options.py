"""Options and arguments that several commands take."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from arenite._base.errors import UsageError

Choice = TypeVar("Choice", bound=str)

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite or .onnx model.")]
TfliteArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite model.")]
TargetOption = Annotated[
    str, typer.Option("--target", metavar="TARGET", help="Core, see 'arenite targets', or a board's .toml.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
CompilerOption = Annotated[
    str | None, typer.Option("--cc", metavar="zig|PATH", help="Cross compiler; default: zig, else arm-none-eabi-gcc.")
]


def choose(option: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    """The choice that equals `value`.

    Raises:
        UsageError: none does.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise UsageError(f"{option} takes {', '.join(choices)}, not '{value}'")


def print_json(content: object) -> None:
    """Strict JSON on stdout: NaN is not JSON. In ASCII, which every locale has."""
    import json  # noqa: PLC0415

    typer.echo(json.dumps(content, indent=1, allow_nan=False))
