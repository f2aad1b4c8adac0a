"""`arenite compare`: two models, two builds, or a model and a board's log."""

from pathlib import Path
from typing import Annotated

import typer

from arenite.cli.options import JsonOption, print_json, say


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="The reference model, or a folder that compile wrote.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The model or folder to compare with it, or a board's log.")],
    inputs: Annotated[Path | None, typer.Option("--inputs", metavar="IN.npz", help="Default: made-up inputs.")] = None,
    fail_above: Annotated[
        float | None,
        typer.Option("--fail-above", metavar="ERROR", min=0.0, help="Exit 1 when an output's error is larger."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two models: outputs, every tensor that both name, size, RAM, MACs.

    Or two builds: sizes and instructions, layer by layer. Or, with the log of a firmware of 'arenite compile
    --debug-layers' in place of B, what a board computed: the first layer that differs.
    """
    from arenite.driver.compare import compare as compare_any  # noqa: PLC0415 - heavy

    found = compare_any(a, b, inputs)
    problem = found.problem(fail_above)
    if as_json:
        print_json(found.to_json())
    else:
        say(found.to_text())
    if problem:
        say(f"error: {problem}", err=True)
        raise typer.Exit(1)
