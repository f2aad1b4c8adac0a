"""`optimize`: a model file becomes a smaller, equivalent one of the same format."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from arenite._base.errors import UsageError
from arenite._base.remarks import Remark
from arenite.driver.load import load_model
from arenite.driver.output import read_file, written_whole
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.passes.pipeline import PassRow


@dataclass(frozen=True)
class OptimizeOptions:
    """Options of `arenite optimize`.

    Attributes:
        input_shapes: static shapes of inputs, by name (.onnx).
        outputs: those to keep; all when empty (.onnx).
        pins: inputs that become constants (.onnx).
        fold_max_nbytes: how many bytes of constants one folding may add; None: it depends on how many nodes go.
        without: names of passes that do not run.
        pure: custom operators, as `DOMAIN::OP`, that are pure and deterministic.
        check: on how many inputs original and result are compared; 0: not at all.
        fold_channels: constant channels of int8 layers go into the biases after them, as they do in C (.tflite).
        keep_float16: float16 weights stay so, with the DEQUANTIZE that makes floats of them (.tflite).
    """

    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    pins: Mapping[str, Array] = field(default_factory=dict)
    fold_max_nbytes: int | None = None
    without: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    check: int = 3
    keep_float16: bool = False
    fold_channels: bool = False


@dataclass(frozen=True)
class Costs:
    """What a model costs; None where it is not known.

    Attributes:
        operators: how many kinds there are.
        kernels: nodes that a microcontroller would run as a kernel call each.
        activations_nbytes: the most that values take that are alive at once.
    """

    operators: int
    nodes: int
    kernels: int
    weights_nbytes: int
    file_nbytes: int | None
    activations_nbytes: int | None
    macs: int | None

    def to_json(self) -> dict[str, object]:
        return dict(vars(self))


@dataclass(frozen=True)
class OptimizeResult:
    """An optimised model, and what was done.

    Attributes:
        changed: whether it is another graph than before.
        notes: what the user should know.
        checked: on how many inputs it was compared with the original, and by what.
    """

    model: Model
    changed: bool
    before: Costs
    after: Costs
    rows: tuple[PassRow, ...]
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...]
    checked: str

    def to_json(self) -> dict[str, object]:
        return {
            "schema": 1,
            "model": self.model.name,
            "changed": self.changed,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "passes": [
                {
                    "name": row.name,
                    "changed": row.changed,
                    "nodes_before": row.nodes_before,
                    "nodes_after": row.nodes_after,
                    "milliseconds": round(row.milliseconds, 3),
                    "equivalence": str(row.equivalence),
                }
                for row in self.rows
            ],
            "checked": self.checked,
            "notes": list(self.notes),
            "remarks": [remark.to_json() for remark in self.remarks],
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write the model, in its own format.

        Raises:
            DataError: the file cannot be written.
        """
        if self.model.format == "onnx":
            from arenite.formats.onnx import export_model  # noqa: PLC0415 - heavy

            export_model(self.model, Path(path))
            return
        from arenite.formats.tflite import export_model as export_tflite  # noqa: PLC0415 - heavy

        data = export_tflite(self.model)
        with written_whole(Path(path)) as temporary:
            temporary.write_bytes(data)

    def table(self) -> list[dict[str, str]]:
        """Before and after, a row for each figure."""
        words = {
            "operators": "operators",
            "nodes": "nodes",
            "kernels": "kernels",
            "weights_nbytes": "weights, bytes",
            "file_nbytes": "file, bytes",
            "activations_nbytes": "peak activations, bytes",
            "macs": "MACs",
        }
        return [
            {"": text, "before": _shown(getattr(self.before, key)), "after": _shown(getattr(self.after, key))}
            for key, text in words.items()
        ]


def _shown(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def optimize_file(
    path: Path, out: Path, options: OptimizeOptions, *, explain: Path | None = None
) -> tuple[OptimizeResult, tuple[str, ...]]:
    """Optimise a model file and write the result; the second value is what to tell on stderr.

    Raises:
        UsageError: the suffixes differ, or an option is not for this format.
        ModelError, DataError: the model or a value is at fault.
        SelfCheckError: the result is not what the original is; nothing is written but a reproducer.
    """
    if out.suffix.lower() != path.suffix.lower():
        raise UsageError(f"-o {out}: optimize writes the format that it reads: give a name that ends in {path.suffix}")
    model = load_model(path)
    if model.format == "onnx":
        result = _optimize_onnx(model, options, path, out)
    else:
        result = _optimize_tflite(model, options, path, out)
    if explain is not None:
        with written_whole(explain) as temporary:
            content = json.dumps(result.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
            temporary.write_text(content + "\n", encoding="utf-8", errors="surrogatepass")
    return result, result.notes


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


def _optimize_onnx(model: Model, options: OptimizeOptions, path: Path, out: Path) -> OptimizeResult:
    from arenite.driver.optimize_onnx import optimize_onnx, with_file_sizes  # noqa: PLC0415 - heavy
    from arenite.formats.onnx import export_model  # noqa: PLC0415 - heavy

    result = optimize_onnx(model, options, source=path, reproducer=out.with_name(out.name + ".reproducer"))
    data = export_model(result.model, out)
    return with_file_sizes(result, path.stat().st_size, len(data))


def _optimize_tflite(model: Model, options: OptimizeOptions, path: Path, out: Path) -> OptimizeResult:
    from dataclasses import replace  # noqa: PLC0415

    from arenite.driver.optimize_tflite import optimize_tflite, with_file_sizes  # noqa: PLC0415 - heavy
    from arenite.formats.tflite import export_model  # noqa: PLC0415 - heavy

    original = read_file(path)
    result = optimize_tflite(model, options, reproducer=out.with_name(out.name + ".reproducer"))
    data = export_model(result.model) if result.changed else original
    with written_whole(out) as temporary:
        temporary.write_bytes(data)
    if not result.changed:
        result = replace(result, notes=(*result.notes, f"nothing to do: {out} is a copy, byte for byte"))
    return with_file_sizes(result, len(original), len(data))
