"""`arenite run`: a model on given inputs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from arenite.cli.options import (
    CompilerOption,
    InputShapeOption,
    ModelArgument,
    PinOption,
    TargetOption,
    by_name,
    choose,
    parse_pin,
    parse_shape,
    pin_files,
)

EngineName = Literal["interpreter", "native", "simulator"]
ENGINES: tuple[EngineName, ...] = ("interpreter", "native", "simulator")


def run(
    model: ModelArgument,
    inputs: Annotated[
        Path,
        typer.Option(
            "--inputs",
            metavar="IN.npz",
            help="One array per input, by name or arr_i. One more leading axis on all: invocations in a row.",
        ),
    ],
    outputs: Annotated[
        Path, typer.Option("--outputs", metavar="OUT.npz", help="Where the outputs go; a single one also as .npy.")
    ],
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="|".join(ENGINES),
            help="interpreter runs the model as it is; native and simulator what 'compile' ships.",
        ),
    ] = "interpreter",
    input_shape: InputShapeOption = None,
    pin: PinOption = None,
    target: TargetOption = "cortex-m4",
    cc: CompilerOption = None,
) -> None:
    """Run a model on inputs from a file."""
    chosen = choose("--engine", engine, ENGINES)
    from arenite.driver.run import run_model  # noqa: PLC0415 - heavy

    run_model(
        model,
        inputs,
        outputs,
        engine=chosen,
        target=target,
        compiler=cc,
        input_shapes=by_name("--input-shape", map(parse_shape, input_shape or ())),
        pins=by_name("--pin", map(parse_pin, pin or ())),
        also_read=pin_files(pin),
    )
