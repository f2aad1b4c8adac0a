"""What `arenite convert` makes of models: `python benchmarks/convert.py FOLDER [--shapes FILE.json] [--only TEXT]`.

FOLDER holds .onnx models, in folders of its own, too. FILE.json says the shapes of inputs that models leave open,
{MODEL: {INPUT: {"shape": [...]}}}; sizes that nobody says are 1. Each row: nodes before and after, TRANSPOSE and PAD
operators of the file, multiply-accumulates before and after, the largest difference of an output from the original by
our interpreter, and by LiteRT where that is installed (max|difference| / max|reference|), seconds; or the refusal.
Exit status 1 if a result is wrong, or an error is no refusal.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import arenite
from arenite.api import ConvertResult, Model
from arenite.driver.onnx_references import TOLERANCE, made_up
from arenite.formats.tflite import read_layouts
from arenite.ir.opdef import OpError
from arenite.ops.onnx.engine import whole_model
from arenite.passes.differential import max_error

HEADER = (
    f"{'model':36} {'onnx':>5} {'tflite':>6} {'transp':>6} {'pads':>4} {'MACs before':>13} {'MACs after':>13} "
    f"{'error':>7} {'LiteRT':>7} {'s':>5}"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shapes", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", type=int, default=1)
    parser.add_argument("--pad", default="taps")
    options = parser.parse_args(arguments)
    hints = json.loads(options.shapes.read_text(encoding="utf-8")) if options.shapes else {}
    paths = [path for path in sorted(options.folder.rglob("*.onnx")) if options.only in path.name]
    print(HEADER)
    converted = failed = 0
    for path in paths:
        try:
            text, wrong = row(path, hints.get(path.name, {}), options.check, options.pad)
            converted += 1
        except arenite.AreniteError as error:
            more = f" (and {len(error.problems) - 1} more)" if error.problems[1:] else ""
            text, wrong = f"{path.stem:36} {error.problems[0][:160]}{more}", error.exit_status != 1
        except Exception as error:
            text, wrong = f"{path.stem:36} internal error: {type(error).__name__}: {error}", True
        failed += wrong
        print(text, flush=True)
    print(f"{converted} of {len(paths)} converted, {failed} wrong")
    return 1 if failed else 0


def row(path: Path, hints: Mapping[str, Any], check: int, pad: Any) -> tuple[str, bool]:
    """Figures of one conversion, and whether the result is wrong."""
    model = arenite.load(path)
    start = time.perf_counter()
    shapes = static_shapes(model, hints)
    result = arenite.convert(model, input_shapes=shapes, freeze_defaults=True, check=check, pad=pad)
    seconds = time.perf_counter() - start
    checked = result.checked
    error = f"{checked.max_error:.0e}" if checked.inputs else "-"
    other = by_litert(path, result)
    apart = "-" if other is None else f"{other:.0e}"
    macs = [f"{costs.macs:,}" if costs.macs is not None else "?" for costs in (result.before, result.after)]
    note = f"  {checked}" if check and not checked.inputs else ""
    text = (
        f"{path.stem:36} {result.before.nodes:>5} {result.after.nodes:>6} {len(result.transposes):>6} "
        f"{len(result.pads):>4} {macs[0]:>13} {macs[1]:>13} {error:>7} {apart:>7} {seconds:>5.1f}{note}"
    )
    return text, other is not None and not other <= max(TOLERANCE, checked.tolerance)


def static_shapes(model: Model, hints: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs that the model leaves open."""
    if all(value.type.is_static for value in model.graph.inputs):
        return {}
    found = {}
    for value in model.graph.inputs:
        dims = hints.get(value.name, {}).get("shape", value.type.shape or ())
        found[value.name] = tuple(dim if isinstance(dim, int) and dim > 0 else 1 for dim in dims)
    return found


def by_litert(path: Path, result: ConvertResult) -> float | None:
    """How far LiteRT's outputs of the file are from onnxruntime's of the model; None where one does not run."""
    layouts = read_layouts(result.model)
    assert layouts is not None
    model = arenite.load(path)
    graph = arenite.optimize(
        model, input_shapes={port.name: port.dims for port in result.inputs}, freeze_defaults=True, check=0
    ).model.graph
    feeds = made_up(graph)
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = Interpreter(model_content=result.data, experimental_op_resolver_type=plain)
        interpreter.allocate_tensors()
        expected = whole_model(path)(feeds[0])
    except (ImportError, ValueError, RuntimeError, OpError) as error:
        print(f"  {path.stem}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
        return None
    for detail, layout in zip(interpreter.get_input_details(), layouts.inputs, strict=True):
        interpreter.set_tensor(detail["index"], layout.into_file(feeds[0][layout.name]))
    interpreter.invoke()
    found = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    pairs = zip(expected, found, layouts.outputs, strict=True)
    return max(max_error(one, layout.out_of_file(other)) for one, other, layout in pairs)


if __name__ == "__main__":
    sys.exit(main())
