"""`arenite compile`: a model becomes C99 and a report."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from arenite.cli.options import (
    CompilerOption,
    JsonOption,
    TargetOption,
    TfliteArgument,
    choose,
    nbytes_option,
    print_json,
    say,
)

Objective = Literal["speed", "flash", "ram"]
Simulate = Literal["auto", "on", "off"]
Bundle = Literal["cmake", "arduino", "zephyr", "esp-idf"]
OBJECTIVES: tuple[Objective, ...] = ("speed", "flash", "ram")
BUNDLES: tuple[Bundle, ...] = ("cmake", "arduino", "zephyr", "esp-idf")
SIMULATE: tuple[Simulate, ...] = ("auto", "on", "off")


def compile_model(
    model: TfliteArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Default: ./<stem>-arenite.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Prefix of every symbol and file; default: the stem.")
    ] = None,
    target: TargetOption = "cortex-m4",
    optimize: Annotated[
        str, typer.Option("--optimize", metavar="|".join(OBJECTIVES), help="What to prefer.")
    ] = "speed",
    ram_limit: Annotated[
        int | None, nbytes_option("--ram-limit", "Bytes of RAM for arena, static data and stack")
    ] = None,
    flash_limit: Annotated[
        int | None, nbytes_option("--flash-limit", "Bytes of flash for weights, tables and code")
    ] = None,
    simulate: Annotated[
        str, typer.Option("--simulate", metavar="|".join(SIMULATE), help="Build and run on an emulated core.")
    ] = "auto",
    fold_max_bytes: Annotated[
        int | None, nbytes_option("--fold-max-bytes", "Bytes of constants that one folding may add")
    ] = None,
    no_fold_constants: Annotated[bool, typer.Option("--no-fold-constants", help="Compute nothing beforehand.")] = False,
    no_fold_channels: Annotated[
        bool, typer.Option("--no-fold-channels", help="Keep channels that are the same for every input.")
    ] = False,
    bundle: Annotated[
        str,
        typer.Option("--bundle", metavar="|".join(BUNDLES), help="For which build system the files are laid out."),
    ] = "cmake",
    keep: Annotated[
        str,
        typer.Option("--keep", metavar="OP,...", help="Keep the kernels of these operators for later models."),
    ] = "",
    debug_layers: Annotated[
        bool,
        typer.Option("--debug-layers", help="The firmware logs what each layer computes, for 'arenite compare'."),
    ] = False,
    cc: CompilerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compile a model into C99 for a microcontroller, and report what it costs."""
    objective = choose("--optimize", optimize, OBJECTIVES)
    when = choose("--simulate", simulate, SIMULATE)
    kind = choose("--bundle", bundle, BUNDLES)
    from arenite.cli.progress import progress  # noqa: PLC0415
    from arenite.driver.compile import compile_file  # noqa: PLC0415 - heavy
    from arenite.driver.options import CompileOptions  # noqa: PLC0415

    options = CompileOptions(
        target=target,
        name=name,
        objective=objective,
        ram_limit_nbytes=ram_limit,
        flash_limit_nbytes=flash_limit,
        simulate=when,
        compiler=cc,
        fold_max_nbytes=fold_max_bytes,
        without=("fold",) * no_fold_constants + ("fold-channels",) * no_fold_channels,
        bundle=kind,
        keep=tuple(filter(None, (op.strip() for op in keep.split(",")))),
        debug_layers=debug_layers,
    )
    with progress() as step:
        result, folder = compile_file(model, output, options, step)
    if result.note:
        say(result.note, err=True)
    if as_json:
        print_json(result.report.to_json())
        return
    say(result.summary(folder))
