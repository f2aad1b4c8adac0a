"""What users of other tools type, and what it is here. The table here is that of `optimize`."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from arenite._base.errors import UsageError

WORDS = "arenite.words"
"""Where a command finds what was typed, in its context's meta."""


class ForeignWordsCommand(TyperCommand):
    """A command that knows what was typed: `-osd` is read as `-o sd` otherwise, and nobody notices."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[WORDS] = list(args)
        return super().parse_args(ctx, args)


def refuse_strangers(context: typer.Context, model: str, answer: Callable[[str], str]) -> None:
    """Refuse what a command has no option for, with what it should be.

    Args:
        context: of a command that takes unknown words.
        model: the command's argument, which may be an option that is not known.
        answer: what to do instead of an option; empty when no other tool is known to have it.

    Raises:
        UsageError: every such word.
    """
    problems: list[str] = []
    known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
    words: Sequence[str] = context.meta.get(WORDS, ())
    typed = [word.partition("=")[0] for word in words if word.startswith("-")]
    problems += [
        f"there is no option {word} here: {said}" for word in typed if word not in known and (said := answer(word))
    ]
    for word in dict.fromkeys((model, *context.args)):
        option = word.partition("=")[0]
        if word.startswith("-") and not answer(option):
            near = difflib.get_close_matches(option, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"see 'arenite {context.info_name} --help'"
            problems.append(f"there is no option {option}: {hint}")
    if not problems and context.args:
        problems = [f"'{context.args[0]}' is one argument too many; where the result goes is said by -o OUT"]
    if problems:
        raise UsageError(dict.fromkeys(problems))


def answer_among(option: str, names: Mapping[str, str], prefixes: Mapping[str, str]) -> str:
    """What to do instead of an option of another tool, which may be written with underscores.

    Args:
        option: as typed.
        names: what is said of options, written with hyphens.
        prefixes: what is said of families of options, by what they begin with.

    Returns:
        Empty when neither knows it.
    """
    name = option.replace("_", "-")
    return names.get(name) or next((text for prefix, text in prefixes.items() if name.startswith(prefix)), "")


_FORMATS = "leave it out: optimize writes the format that it reads"
_TFLITE = "use 'arenite convert MODEL.onnx -o OUT.tflite': optimize writes the format that it reads"
_NUMBERS = "leave it out: optimize keeps numbers as they are, and quantizes nothing"
_STANDARD = "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones"

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
    "--ort-profile": "use --explain FILE.json, which has each pass's milliseconds",
    "--merge-ort-profile": "use --explain FILE.json, which has each pass's milliseconds",
    "--skip-schema-import": "leave it out: custom operators need no schema here",
    "--providers": "leave it out: the result is for any runtime",
    "--cuda": "leave it out: the result is for any runtime",
    "--version": "use 'arenite --version'",
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
    "--input-name": "use --input-shape NAME:DIMS",
    "--input-shape": "use --input-shape NAME:DIMS",
    "--dim-param": "use --input-shape NAME:DIMS: a named size is then the same wherever it stands",
    "--dim-value": "use --input-shape NAME:DIMS",
    "--opt-level": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--optimization-level": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--optimization-style": "leave it out: the result is for any runtime",
    "--model-type": "leave it out: what a model is for makes no difference",
    "--num-heads": "leave it out: what a model is for makes no difference",
    "--hidden-size": "leave it out: what a model is for makes no difference",
    "--use-gpu": "leave it out: the result is for any runtime",
    "--only-onnxruntime": "leave it out: every pass of 'arenite passes' runs, and operators stay standard ones",
    "--float16": "leave it out: dtypes stay the model's own",
    "--use-external-data-format": "leave it out: large data stays beside the file where it was",
    "--input": "give the model without an option",
    "--model": "give the model without an option",
    "--provider": "leave it out: the result is for any runtime",
    "--disable-shape-inference": "leave it out: shapes are always inferred, and not written",
    "--disable-symbolic-shape-infer": "leave it out: shapes are always inferred, and not written",
    "--skip-symbolic-shape": "leave it out: shapes are always inferred, and not written",
    "--skip-onnx-shape": "leave it out: shapes are always inferred, and not written",
    "--auto-merge": "leave it out: sizes that contradict each other are refused",
    "--int-max": "leave it out: sizes of any magnitude are inferred",
    "--guess-output-rank": "leave it out: nothing is guessed",
    "--input-int32": "leave it out: dtypes stay the model's own",
    "--all-tensors-to-one-file": "leave it out: large data stays beside the file where it was",
    "--external-data-location": "leave it out: large data stays beside the file where it was",
    "--external-data-size-threshold": "leave it out: large data stays beside the file where it was",
    "--log-level": "use --explain FILE.json",
    # others
    "--output-model": "use -o OUT",
    "--outputs-name": "use --outputs NAME",
}
"""Of onnxsim, onnxslim and the tools that come with onnxruntime; written with hyphens."""

PREFIXES = {
    "--emit-tflite": _TFLITE,
    "--emit-": _FORMATS,
    "--tflite-": _TFLITE,
    "--coreml-": _FORMATS,
    "--mlir-": _FORMATS,
    "--onnx-mlir": _FORMATS,
    "--calibration-": _NUMBERS,
    "--static-quantize": _NUMBERS,
    "--dynamic-quantize": _NUMBERS,
    "--ternary-quantize": _NUMBERS,
    "--weight-only-quantize": _NUMBERS,
    "--qoperator-quantize": _NUMBERS,
    "--fp16-": _NUMBERS,
    "--bf16-": _NUMBERS,
    "--fp8-": _NUMBERS,
    "--disable-": _STANDARD,
    "--enable-": _STANDARD,
    "--use-": _STANDARD,
    "--convert-": _STANDARD,
    "--no-attention-mask": _STANDARD,
}
"""Families of options, by what they begin with."""


def answer_to(option: str) -> str:
    """What to do instead; empty when no other tool is known to have such an option."""
    return answer_among(option, FOREIGN, PREFIXES)
