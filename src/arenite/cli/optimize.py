"""`arenite optimize`: a model becomes a smaller one of the same format."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arenite._base.errors import UsageError
from arenite.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from arenite.driver.output import Array

# What users of other optimisers type, and what it is here.
FOREIGN = {
    "--overwrite-input-shape": "--input-shape NAME:DIMS",
    "--input-shapes": "--input-shape NAME:DIMS, once for each input",
    "--test-input-shape": "--input-shape NAME:DIMS",
    "--no-large-tensor": "--fold-max-bytes N",
    "--size-threshold": "--fold-max-bytes N",
    "--no-constant-folding": "--no-fold-constants",
    "--skip-constant-folding": "--no-fold-constants",
    "--skip-optimization": "--no-fold-constants and the other --no-... options",
    "--skip-fusion": "--no-fold-batch-norm and the other --no-... options",
    "--skip-fuse-bn": "--no-fold-batch-norm",
    "--model-check": "--check N",
    "--model-check-inputs": "--check N",
    "--skip-shape-inference": "nothing: shapes are always inferred, and not written",
    "--unused-output": "--outputs NAME, once for each output to keep",
    "--outputs-name": "--outputs NAME",
    "--inspect": "'arenite inspect MODEL'",
    "--dtype": "'arenite quantize'",
    "--output-model": "-o OUT",
}

OptimizeModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A .onnx or .tflite model.")]


def optimize(
    context: typer.Context,
    model: OptimizeModel,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="Where the result goes.")] = None,
    input_shape: Annotated[
        list[str] | None,
        typer.Option("--input-shape", metavar="NAME:DIMS", help="Shape of an input, as in image:1,3,224,224."),
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--outputs", metavar="NAME", help="Keep this output; the others go.")
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option("--pin", metavar="NAME=VALUE|FILE.npy", help="An input becomes a constant, as in sr=16000."),
    ] = None,
    fold_max_bytes: Annotated[
        int | None,
        typer.Option("--fold-max-bytes", metavar="N", min=0, help="Bytes of constants that one folding may add."),
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
    pure: Annotated[
        list[str] | None,
        typer.Option("--pure", metavar="DOMAIN::OP", help="This custom operator has no side effects."),
    ] = None,
    check: Annotated[
        int, typer.Option("--check", metavar="N", min=0, help="Compare with the original on N inputs; 0: do not.")
    ] = 3,
    explain: Annotated[
        Path | None, typer.Option("--explain", metavar="FILE.json", help="Write what became of each node, and why.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a model smaller without changing what it computes."""
    _refuse_strangers(context)
    if output is None:
        raise UsageError("optimize needs -o OUT: where the result goes")
    shapes = dict(_shape(text) for text in input_shape or ())
    pins = dict(_pin(text) for text in pin or ())
    off = [("constants", no_fold_constants), ("branches", no_fold_branches), ("batch-norm", no_fold_batch_norm)]
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
    )
    result, notes = optimize_file(model, output, options, explain=explain)
    for note in notes:
        typer.echo(note, err=True)
    if as_json:
        print_json(result.to_json())
        return
    from arenite.cli.tables import print_table  # noqa: PLC0415

    print_table(result.table())
    typer.echo(f"{output}: {result.checked}")


KINDS = {
    "constants": ("onnx-fold", "fold"),
    "branches": ("inline-branches",),
    "batch-norm": ("fuse-batch-norm",),
}
"""Names of the passes that an option --no-fold-... leaves out."""


def _refuse_strangers(context: typer.Context) -> None:
    """Refuse what is left on the command line, with what it should be."""
    problems = []
    known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
    for word in context.args:
        option = word.partition("=")[0]
        if option in FOREIGN:
            problems.append(f"there is no option {option} here: use {FOREIGN[option]}")
        elif word.startswith("-"):
            near = difflib.get_close_matches(option, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "see 'arenite optimize --help'"
            problems.append(f"there is no option {option}: {hint}")
    if not problems and context.args:
        problems = [f"'{context.args[0]}' is one argument too many; where the result goes is said by -o OUT"]
    if problems:
        raise UsageError(problems)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """NAME:DIMS, split at the last colon; no dims: a scalar."""
    name, colon, dims = text.rpartition(":")
    parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
    if not colon or not name or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise UsageError(f"--input-shape takes NAME:DIMS, as in image:1,3,224,224, not '{text}'")
    return name, tuple(int(part) for part in parts)


def _pin(text: str) -> "tuple[str, Array]":
    """NAME=VALUE or NAME=FILE.npy, split at the last equals sign."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"--pin takes NAME=VALUE or NAME=FILE.npy, not '{text}'")
    import numpy as np  # noqa: PLC0415 - heavy

    if value.endswith(".npy"):
        from arenite.driver.output import read_array  # noqa: PLC0415

        return name, read_array(Path(value))
    import json  # noqa: PLC0415

    words = {"true": True, "false": False}
    try:
        number = words[value.lower()] if value.lower() in words else json.loads(value)
        array = np.array(number)
    except ValueError:
        array = np.array(None)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise UsageError(f"--pin {name}: '{value}' is no number, no list of numbers and no .npy file")
    return name, array
