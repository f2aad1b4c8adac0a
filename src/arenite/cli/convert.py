"""`arenite convert`: an onnx model becomes a .tflite file."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from arenite._base.errors import UsageError
from arenite.cli.foreign import refuse_strangers
from arenite.cli.foreign_convert import answer_to
from arenite.cli.options import (
    CheckOption,
    FreezeDefaultsOption,
    InputShapeOption,
    JsonOption,
    OutputsOption,
    PinOption,
    PureOption,
    by_name,
    choose,
    nbytes_option,
    parse_pin,
    parse_shape,
    pin_files,
    print_json,
    say,
)

PadName = Literal["taps", "operators"]
PADS: tuple[PadName, ...] = ("taps", "operators")

ConvertModel = Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="A .onnx model.")]


def convert(
    context: typer.Context,
    model: ConvertModel,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT.tflite", help="Where the result goes.  [required]")
    ] = None,
    input_shape: InputShapeOption = None,
    outputs: OutputsOption = None,
    pin: PinOption = None,
    fold_max_bytes: Annotated[
        int | None, nbytes_option("--fold-max-bytes", "Bytes of constants that one folding may add")
    ] = None,
    freeze_defaults: FreezeDefaultsOption = False,
    pure: PureOption = None,
    keep_layout: Annotated[
        list[str] | None,
        typer.Option("--keep-layout", metavar="NAME", help="This input or output keeps ONNX's order of dimensions."),
    ] = None,
    keep_layouts: Annotated[
        bool, typer.Option("--keep-layouts", help="Every input and output keeps ONNX's order of dimensions.")
    ] = False,
    pad: Annotated[
        str,
        typer.Option(
            "--pad",
            metavar="|".join(PADS),
            help="How margins are said that a .tflite lacks: as weights of zero where that is cheap, or by PAD.",
        ),
    ] = "taps",
    check: CheckOption = 3,
    explain: Annotated[
        Path | None, typer.Option("--explain", metavar="FILE.json", help="Write what became of each node, and why.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert an .onnx model into a .tflite file, channels last, still float, that computes the same."""
    refuse_strangers(context, str(model), answer_to)
    if output is None:
        raise UsageError("convert needs -o OUT.tflite: where the result goes")
    if explain is not None and explain.suffix.lower() != ".json":
        raise UsageError(f"--explain takes FILE.json, not '{explain}'")
    shapes = by_name("--input-shape", map(parse_shape, input_shape or ()))
    pins = by_name("--pin", map(parse_pin, pin or ()))
    pad_as = choose("--pad", pad, PADS)
    from arenite.cli.progress import progress  # noqa: PLC0415
    from arenite.driver.convert import convert_file  # noqa: PLC0415 - heavy
    from arenite.driver.convert_result import ConvertOptions  # noqa: PLC0415 - heavy
    from arenite.driver.optimize_result import OptimizeOptions  # noqa: PLC0415 - heavy

    options = ConvertOptions(
        optimize=OptimizeOptions(
            input_shapes=shapes,
            outputs=tuple(outputs or ()),
            pins=pins,
            fold_max_nbytes=fold_max_bytes,
            pure=tuple(pure or ()),
            freeze_defaults=freeze_defaults,
            check=check,
        ),
        keep_layouts=tuple(keep_layout or ()),
        keep_all_layouts=keep_layouts,
        pad=pad_as,
    )
    with progress() as step:
        result = convert_file(model, output, options, explain=explain, also_read=pin_files(pin), step=step)
    for note in result.notes:
        say(note, err=True)
    if as_json:
        print_json(result.to_json())
        return
    from arenite.cli.tables import print_table  # noqa: PLC0415

    for line in result.facts():
        say(line)
    print_table(result.table())
    say(f"{output}: {result.checked}")
