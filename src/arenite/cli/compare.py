"""`arenite compare`: two models side by side."""

from pathlib import Path
from typing import Annotated

import typer

from arenite.cli.options import JsonOption, print_json


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The reference model.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The model to compare with it, or a board's log.")],
    inputs: Annotated[Path | None, typer.Option("--inputs", metavar="IN.npz", help="Default: made-up inputs.")] = None,
    fail_above: Annotated[
        float | None,
        typer.Option("--fail-above", metavar="ERROR", min=0.0, help="Exit 1 when an output's error is larger."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two models: outputs, every tensor that both name, size, RAM, MACs.

    With the log of a firmware of 'arenite compile --debug-layers' in place of B: the first layer that differs.
    """
    from arenite.driver.compare import compare as compare_any  # noqa: PLC0415 - heavy

    found = compare_any(a, b, inputs)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
    if fail_above is not None and not found.worst_output <= fail_above:
        typer.echo(f"error: an output differs by {found.worst_output:.3g}, more than {fail_above:g}", err=True)
        raise typer.Exit(1)
