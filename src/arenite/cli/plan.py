"""`arenite plan`: places buffers from a CSV file."""

import re
from pathlib import Path
from typing import Annotated

import typer

from arenite._base.errors import UsageError
from arenite.cli.options import JsonOption, nbytes_option, parse_nbytes, print_json, say

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,18}")


def plan(
    problem: Annotated[Path, typer.Argument(metavar="FILE.csv", help="id,lower,upper,size[,alignment][,offset]")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT.csv", help="With every offset.")] = None,
    capacity: Annotated[int | None, nbytes_option("--capacity", "Bytes not to exceed")] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            "--region",
            metavar="ORIGIN:N",
            help="A memory, as in 0x20000000:64K; give one --region for each. Offsets are addresses then.",
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.0, help="Most time of the exact search.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Place buffers with lifetimes in as few bytes as can be, with a proof where there is one."""
    from arenite.driver.plan import plan_file  # noqa: PLC0415 - heavy

    if region and capacity is not None:
        raise UsageError("--capacity is of one arena; with --region, the regions say how much there is")
    regions = [_region(text) for text in region or ()]
    planned = plan_file(problem, output, capacity=capacity, regions=regions, seconds=seconds)
    if as_json:
        print_json(planned.to_json())
    else:
        say(planned.summary())


def _region(text: str) -> tuple[int, int]:
    origin, colon, nbytes = text.partition(":")
    if not colon or not _ADDRESS.fullmatch(origin):
        raise UsageError(f"--region takes ORIGIN:N, as in 0x20000000:64K, not '{text}'")
    return int(origin, 0), parse_nbytes(nbytes)
