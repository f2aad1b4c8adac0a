"""`arenite plan`: places buffers from a CSV file."""

from pathlib import Path
from typing import Annotated

import typer

from arenite.cli.options import JsonOption, nbytes_option, print_json


def plan(
    problem: Annotated[Path, typer.Argument(metavar="FILE.csv", help="id,lower,upper,size[,alignment][,offset]")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.csv", help="With every offset.")] = None,
    capacity: Annotated[int | None, nbytes_option("--capacity", "Bytes not to exceed")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.0, help="Most time of the exact search.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Place buffers with lifetimes in as few bytes as can be, with a proof where there is one."""
    from arenite.driver.plan import plan_file  # noqa: PLC0415 - heavy

    planned = plan_file(problem, output, capacity=capacity, seconds=seconds)
    if as_json:
        print_json(planned.to_json())
    else:
        typer.echo(planned.summary())
