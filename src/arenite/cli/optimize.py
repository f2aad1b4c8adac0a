"""`arenite optimize`: a model becomes a smaller one of the same format."""

import difflib
from pathlib import Path
from typing import Annotated

import typer

from arenite._base.errors import UsageError
from arenite.cli.options import InputShapeOption, JsonOption, PinOption, parse_pin, parse_shape, print_json

# What users of other optimisers type, and what it is here.
FOREIGN = {
    # onnxsim
    "--overwrite-input-shape": "use --input-shape NAME:DIMS",
    "--dynamic-input-shape": "leave it out: sizes that the model leaves open stay open",
    "--test-input-shape": "use --check N, which makes inputs up, or --input-shape NAME:DIMS",
    "--input-data-path": "use --check N, which makes inputs up, or 'arenite compare A B --inputs IN.npz'",
    "--input-fill": "use --check N, which makes inputs up, or 'arenite compare A B --inputs IN.npz'",
    "--check-rtol": "use 'arenite compare A B --fail-above ERROR'",
    "--check-atol": "use 'arenite compare A B --fail-above ERROR'",
    "--certify": "use --check N",
    "--no-certify": "use --check 0",
    "--enable-fuse-bn": "leave it out: BatchNormalization is fused unless --no-fold-batch-norm is given",
    "--skip-fuse-bn": "use --no-fold-batch-norm",
    "--skip-optimization": "use --no-fold-constants, --no-fold-branches, --no-fold-batch-norm",
    "--skip-optimizer": "use --no-fold-constants, --no-fold-branches, --no-fold-batch-norm",
    "--enable-optimization": "leave it out: every pass of 'arenite passes' runs",
    "--enable-onnxruntime-optimization": "leave it out: every pass of 'arenite passes' runs",
    "--list-default-optimizers": "use 'arenite passes'",
    "--list-other-optimizers": "use 'arenite passes'",
    "--skip-constant-folding": "use --no-fold-constants",
    "--skip-shape-inference": "leave it out: shapes are always inferred, and not written",
    "--include-subgraph": "leave it out: nested graphs are optimised too",
    "--inline-functions": "leave it out: functions of the model are kept as they are",
    "--no-large-tensor": "use --fold-max-bytes N",
    "--mutable-initializer": "leave it out: inputs with default values stay inputs unless --freeze-defaults is given",
    "--initializers-as-non-constants": "leave it out: only inputs with default values are no constants",
    "--unused-output": "use --outputs NAME, once for each output to keep",
    "--custom-lib": "use --pure DOMAIN::OP, if the operator has no side effects",
    "--save-as-external-data": "leave it out: large data stays beside the file where it was",
    "--external-data-threshold": "leave it out: large data stays beside the file where it was",
    "--target-opset": "leave it out: the opset stays the model's own",
    "--profile": "use --explain FILE.json, which has each pass's milliseconds",
    "--graph-diff": "use --diff FILE.html",
    "--node-reduction-plot": "use --diff FILE.html",
    # onnxslim
    "--input-shapes": "use --input-shape NAME:DIMS, once for each input",
    "--inputs": "use --input-shape NAME:DIMS; dtypes stay the model's own",
    "--no-shape-infer": "leave it out: shapes are always inferred, and not written",
    "--no-constant-folding": "use --no-fold-constants",
    "--skip-optimizations": "use --no-fold-constants, --no-fold-branches, --no-fold-batch-norm",
    "--skip-fusion-patterns": "use --no-fold-batch-norm",
    "--skip-fusion": "use --no-fold-batch-norm",
    "--size-threshold": "use --fold-max-bytes N",
    "--model-check": "use --check N",
    "--model-check-inputs": "use --check N, which makes inputs up, or 'arenite compare A B --inputs IN.npz'",
    "--inspect": "use 'arenite inspect MODEL'",
    "--dtype": "leave it out: dtypes stay the model's own",
    "--dump-to-disk": "use --explain FILE.json or --diff FILE.html",
    "--verbose": "use --explain FILE.json",
    # onnxruntime's tools: optimize_onnx_model, make_dynamic_shape_fixed, remove_initializer_from_input, optimizer
    "--input_name": "use --input-shape NAME:DIMS",
    "--input_shape": "use --input-shape NAME:DIMS",
    "--dim_param": "use --input-shape NAME:DIMS: a named size is then the same wherever it stands",
    "--dim_value": "use --input-shape NAME:DIMS",
    "--opt_level": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--optimization_level": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--optimization_style": "leave it out: the result is for any runtime",
    "--model_type": "leave it out: what a model is for makes no difference",
    "--num_heads": "leave it out: what a model is for makes no difference",
    "--hidden_size": "leave it out: what a model is for makes no difference",
    "--use_gpu": "leave it out: the result is for any runtime",
    "--only_onnxruntime": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--float16": "leave it out: dtypes stay the model's own",
    "--use_external_data_format": "leave it out: large data stays beside the file where it was",
    "--input": "give the model without an option",
    "--model": "give the model without an option",
    # others
    "--output-model": "use -o OUT",
    "--outputs-name": "use --outputs NAME",
}

OptimizeModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A .onnx or .tflite model.")]


def optimize(
    context: typer.Context,
    model: OptimizeModel,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="Where the result goes.")] = None,
    input_shape: InputShapeOption = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--outputs", metavar="NAME", help="Keep this output; the others go.")
    ] = None,
    pin: PinOption = None,
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
    freeze_defaults: Annotated[
        bool,
        typer.Option(
            "--freeze-defaults", help="Inputs with default values, which callers may replace, become constants."
        ),
    ] = False,
    ignore_signed_zeros: Annotated[
        bool, typer.Option("--ignore-signed-zeros", help="-0.0 may become 0.0, so that x + 0 is x (.onnx).")
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
    diff: Annotated[
        Path | None, typer.Option("--diff", metavar="FILE.html", help="Write a picture of both graphs, side by side.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a model smaller without changing what it computes."""
    _refuse_strangers(context)
    if output is None:
        raise UsageError("optimize needs -o OUT: where the result goes")
    shapes = dict(parse_shape(text) for text in input_shape or ())
    pins = dict(parse_pin(text) for text in pin or ())
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
        result, notes = optimize_file(model, output, options, explain=explain, diff=diff, step=step)
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
            problems.append(f"there is no option {option} here: {FOREIGN[option]}")
        elif word.startswith("-"):
            near = difflib.get_close_matches(option, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "see 'arenite optimize --help'"
            problems.append(f"there is no option {option}: {hint}")
    if not problems and context.args:
        problems = [f"'{context.args[0]}' is one argument too many; where the result goes is said by -o OUT"]
    if problems:
        raise UsageError(problems)
