"""`arenite optimize`: a model becomes a smaller one of the same format."""

from pathlib import Path
from typing import Annotated

import typer

from arenite._base.errors import UsageError
from arenite.cli.foreign import answer_to, refuse_strangers
from arenite.cli.options import (
    CheckOption,
    FreezeDefaultsOption,
    InputShapeOption,
    JsonOption,
    OutputsOption,
    PinOption,
    PureOption,
    by_name,
    nbytes_option,
    parse_pin,
    parse_shape,
    pin_files,
    print_json,
    say,
)

OptimizeModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A .onnx or .tflite model.")]


def optimize(
    context: typer.Context,
    model: OptimizeModel,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="Where the result goes.  [required]")
    ] = None,
    input_shape: InputShapeOption = None,
    outputs: OutputsOption = None,
    pin: PinOption = None,
    fold_max_bytes: Annotated[
        int | None, nbytes_option("--fold-max-bytes", "Bytes of constants that one folding may add")
    ] = None,
    no_fold_constants: Annotated[bool, typer.Option("--no-fold-constants", help="Compute nothing beforehand.")] = False,
    no_fold_branches: Annotated[
        bool, typer.Option("--no-fold-branches", help="Keep If and Loop, whatever is known of their conditions.")
    ] = False,
    no_fold_batch_norm: Annotated[
        bool, typer.Option("--no-fold-batch-norm", help="Keep BatchNormalization beside what it could go into.")
    ] = False,
    keep_fp16: Annotated[
        bool, typer.Option("--keep-fp16", help="Keep float16 weights, which are made floats when the model runs.")
    ] = False,
    fold_channels: Annotated[
        bool,
        typer.Option("--fold-channels", help="Remove constant channels of int8 layers, as compile does (.tflite)."),
    ] = False,
    freeze_defaults: FreezeDefaultsOption = False,
    ignore_signed_zeros: Annotated[
        bool, typer.Option("--ignore-signed-zeros", help="-0.0 may become 0.0, so that x + 0 is x (.onnx).")
    ] = False,
    pure: PureOption = None,
    check: CheckOption = 3,
    explain: Annotated[
        Path | None, typer.Option("--explain", metavar="FILE.json", help="Write what became of each node, and why.")
    ] = None,
    diff: Annotated[
        Path | None, typer.Option("--diff", metavar="FILE.html", help="Write a picture of both graphs, side by side.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a model smaller without changing what it computes."""
    refuse_strangers(context, str(model), answer_to)
    if output is None:
        raise UsageError("optimize needs -o OUT: where the result goes")
    if explain is not None and explain.suffix.lower() != ".json":
        raise UsageError(f"--explain takes FILE.json; of one node tells: arenite explain {model} --node '{explain}'")
    if diff is not None and diff.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--diff takes FILE.html, not '{diff}'")
    shapes = by_name("--input-shape", map(parse_shape, input_shape or ()))
    pins = by_name("--pin", map(parse_pin, pin or ()))
    off = [("constants", no_fold_constants), ("branches", no_fold_branches), ("batch-norm", no_fold_batch_norm)]
    from arenite.cli.progress import progress  # noqa: PLC0415
    from arenite.driver.optimize import optimize_file  # noqa: PLC0415 - heavy
    from arenite.driver.optimize_result import OptimizeOptions  # noqa: PLC0415

    options = OptimizeOptions(
        input_shapes=shapes,
        outputs=tuple(outputs or ()),
        pins=pins,
        fold_max_nbytes=fold_max_bytes,
        without=tuple(name for kind, given in off if given for name in KINDS[kind]),
        pure=tuple(pure or ()),
        check=check,
        keep_float16=keep_fp16,
        fold_channels=fold_channels,
        freeze_defaults=freeze_defaults,
        ignore_signed_zeros=ignore_signed_zeros,
    )
    with progress() as step:
        result, notes = optimize_file(
            model, output, options, explain=explain, diff=diff, also_read=pin_files(pin), step=step
        )
    for note in notes:
        say(note, err=True)
    if as_json:
        print_json(result.to_json())
        return
    from arenite.cli.tables import print_table  # noqa: PLC0415

    print_table(result.table())
    say(f"{output}: {result.checked}")


KINDS = {
    "constants": ("onnx-fold", "fold"),
    "branches": ("inline-branches",),
    "batch-norm": ("fuse-batch-norm",),
}
"""Names of the passes that an option --no-fold-... leaves out."""
