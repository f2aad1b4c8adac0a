"""`optimize`: a model file becomes a smaller, equivalent one of the same format."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arenite._base.errors import ModelError, UsageError
from arenite._base.files import check_outputs, read_file, written_whole
from arenite.driver.load import data_files, load_model
from arenite.driver.optimize_result import OptimizeOptions, OptimizeResult
from arenite.ir.model import Model

if TYPE_CHECKING:
    from arenite.report.result import NodeRecord

Tell = Callable[[str], None]
"""Is told what is being done now."""

_LEAST_SPARE = 100
"""One part in so many of a file: less is not worth another file than the one that was tested."""


def optimize_file(
    path: Path,
    out: Path,
    options: OptimizeOptions,
    *,
    explain: Path | None = None,
    diff: Path | None = None,
    also_read: Sequence[Path] = (),
    step: Tell = lambda _: None,
) -> tuple[OptimizeResult, tuple[str, ...]]:
    """Optimise a model file and write the result; the second value is what to tell on stderr.

    Args:
        path: the model.
        out: where the result goes.
        options: what is asked for.
        explain: where every verdict goes, as JSON.
        diff: where the picture of both graphs goes, as HTML.
        also_read: files that the options were read from.
        step: is told what is being done now.

    Raises:
        UsageError: the suffixes differ, or an option is not for this format.
        ModelError, DataError: the model or a value is at fault, or a file must not be written.
        SelfCheckError: the result is not what the original is; nothing is written but a reproducer.
    """
    if out.suffix.lower() != path.suffix.lower():
        other = (path.suffix.lower(), out.suffix.lower()) == (".onnx", ".tflite")
        instead = f"; for the other: arenite convert {path} -o {out}" if other else ""
        raise UsageError(
            f"-o {out}: optimize writes the format that it reads: give a name that ends in {path.suffix}{instead}"
        )
    if path.suffix.lower() == ".onnx" and (options.keep_float16 or options.fold_channels):
        raise UsageError("--keep-fp16 and --fold-channels are for .tflite models; this one is a .onnx")
    step("reading the model")
    model = load_model(path)
    read = [path, *(path.parent / name for name in data_files(model)), *also_read]
    check_outputs([*_written(model, out), *(file for file in (explain, diff) if file is not None)], read)
    before = _nodes(model) if diff is not None else ()
    if model.format == "onnx":
        result = _optimize_onnx(model, options, path, out, step)
    else:
        result = _optimize_tflite(model, options, path, out, step)
    if explain is not None:
        with written_whole(explain) as temporary:
            content = json.dumps(result.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
            temporary.write_text(content + "\n", encoding="utf-8", errors="surrogatepass")
    if diff is not None:
        from arenite.driver.diff import write_diff  # noqa: PLC0415 - heavy

        step("drawing both graphs")
        write_diff(diff, before, result)
    return result, result.notes


def _written(model: Model, out: Path) -> list[Path]:
    """The files that a model goes to."""
    if not data_files(model):
        return [out]
    from arenite.formats.onnx import data_path  # noqa: PLC0415 - heavy

    return [out, data_path(out)]


def _nodes(model: Model) -> "tuple[NodeRecord, ...]":
    from arenite.driver.diff import model_records  # noqa: PLC0415 - heavy

    return model_records(model)


def optimize_loaded(model: Model, options: OptimizeOptions) -> OptimizeResult:
    """Optimise a model in place.

    Raises:
        as `optimize_file` does.
    """
    if model.format == "onnx":
        from arenite.driver.optimize_onnx import optimize_onnx  # noqa: PLC0415 - heavy

        return optimize_onnx(model, options, source=None, reproducer=Path(f"{model.name}.reproducer"))
    from arenite.driver.optimize_tflite import optimize_tflite  # noqa: PLC0415 - heavy

    return optimize_tflite(model, options, reproducer=Path(f"{model.name}.reproducer"))


def _optimize_onnx(model: Model, options: OptimizeOptions, path: Path, out: Path, step: Tell) -> OptimizeResult:
    from arenite.driver.optimize_onnx import optimize_onnx  # noqa: PLC0415 - heavy
    from arenite.formats.onnx import export_model  # noqa: PLC0415 - heavy

    reproducer = out.with_name(out.name + ".reproducer")
    result = optimize_onnx(model, options, source=path, reproducer=reproducer, step=step)
    step("writing the result")
    data = export_model(result.model, out)
    return result.with_file_sizes(path.stat().st_size, len(data))


def _optimize_tflite(model: Model, options: OptimizeOptions, path: Path, out: Path, step: Tell) -> OptimizeResult:
    from dataclasses import replace  # noqa: PLC0415

    from arenite.driver.optimize_tflite import optimize_tflite  # noqa: PLC0415 - heavy
    from arenite.formats.tflite import export_model  # noqa: PLC0415 - heavy

    original = read_file(path)
    result = optimize_tflite(model, options, reproducer=out.with_name(out.name + ".reproducer"), step=step)
    data = export_model(result.model) if result.changed else _without_spare(result.model, original)
    with written_whole(out) as temporary:
        temporary.write_bytes(data)
    if data is original:
        result = replace(result, notes=(*result.notes, f"nothing to do: {out} is a copy, byte for byte"))
    elif not result.changed:
        text = (
            f"the graph is the same; {len(original) - len(data):,} bytes went with constants that nothing uses or that"
        )
        result = replace(result, notes=(*result.notes, f"{text} were there twice"))
    return result.with_file_sizes(len(original), len(data))


def _without_spare(model: Model, original: bytes) -> bytes:
    """The file written anew, when constants that are unused or there twice are a hundredth of it; else as it is."""
    from arenite.formats.tflite import export_model, stored_nbytes  # noqa: PLC0415 - heavy

    try:
        data = export_model(model)
        spare = stored_nbytes(original) - stored_nbytes(data)
    except (ModelError, ValueError):
        return original
    return data if len(data) < len(original) and spare * _LEAST_SPARE >= len(original) else original
