"""`arenite inspect`: what is in a model."""

from typing import Annotated

import typer

from arenite.cli.options import JsonOption, ModelArgument, print_json, say


def inspect(
    model: ModelArgument,
    as_json: JsonOption = False,
    text: Annotated[bool, typer.Option("--text/--no-text", help="Show the graph as text IR, too.")] = False,
) -> None:
    """Show a model: inputs, outputs, operators, sizes, and whether it can be compiled."""
    from arenite.driver.inspect import inspect_model  # noqa: PLC0415 - heavy

    found = inspect_model(model)
    if as_json:
        print_json(found.to_json())
    else:
        say(found.to_text(with_ir=text))
