"""What a user may ask of an optimisation, and what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Self

from arenite._base.files import written_whole
from arenite._base.remarks import Remark
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.passes.pipeline import PassRow

FoldFunction = Callable[..., Array | Sequence[Array]]
"""Takes a node's operands as arrays (None for one left out) and its attributes by name; gives its results."""


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
        fold_functions: what computes such operators beforehand, by `DOMAIN::OP` (.onnx).
        ignore_signed_zeros: -0.0 may become 0.0 (.onnx).
        check: on how many inputs original and result are compared; 0: not at all.
        fold_channels: constant channels of int8 layers go into the biases after them, as they do in C (.tflite).
        keep_float16: float16 weights stay so, with the DEQUANTIZE that makes floats of them (.tflite).
        freeze_defaults: inputs with default values, which a caller may give or leave out, become constants (.onnx).
    """

    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    pins: Mapping[str, Array] = field(default_factory=dict)
    fold_max_nbytes: int | None = None
    without: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    ignore_signed_zeros: bool = False
    check: int = 3
    keep_float16: bool = False
    fold_channels: bool = False
    freeze_defaults: bool = False
    fold_functions: Mapping[str, FoldFunction] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """How a result was compared with its original.

    Attributes:
        inputs: on how many inputs; 0: it was not compared.
        asked: on how many it should have been.
        sizes: what sizes the inputs had, where the model leaves them open; each once.
        engine: what ran both.
        max_error: max|difference| / max|reference|, the largest of any output.
        tolerance: how large it may be; 0: every output is the same, bit for bit.
        problem: why it was not compared, or not as often as asked; else empty.
        skipped: outputs that are no tensors, which nobody compared.
    """

    inputs: int
    asked: int
    sizes: tuple[str, ...] = ()
    engine: str = ""
    max_error: float = 0.0
    tolerance: float = 0.0
    problem: str = ""
    skipped: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {**vars(self), "sizes": list(self.sizes), "skipped": list(self.skipped)}

    def __str__(self) -> str:
        """What a person reads, as the end of a sentence."""
        if not self.inputs:
            return f"not compared with the original: {self.problem or '--check 0'}"
        which = f"{self.inputs} made-up inputs" if self.inputs > 1 else "one made-up input"
        sizes = f" ({'; '.join(self.sizes)})" if self.sizes else " of the model's fixed sizes"
        short = f" (not {self.asked}: {self.problem})" if self.inputs < self.asked else ""
        apart = (
            "no difference" if not self.max_error else f"largest difference {self.max_error:.1e} of an output's peak"
        )
        allowed = f", {self.tolerance:.0e} is allowed" if self.max_error else ""
        skipped = f"; not compared, being no tensors: {', '.join(self.skipped)}" if self.skipped else ""
        return f"outputs equal the original's on {which}{sizes}{short}, by {self.engine}: {apart}{allowed}{skipped}"


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


@dataclass(frozen=True, kw_only=True)
class Account:
    """A model that was made of another, and what was done.

    Attributes:
        before, after: what the two cost.
        rows: what each pass did.
        notes: what the user should know.
        checked: whether and how it was compared with the original.
    """

    model: Model
    before: Costs
    after: Costs
    rows: tuple[PassRow, ...]
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...]
    checked: Comparison

    def to_json(self) -> dict[str, object]:
        return {
            "schema": 1,
            "model": self.model.name,
            **self._own_json(),
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "passes": [_pass_json(row) for row in self.rows],
            "checked": str(self.checked),
            "comparison": self.checked.to_json(),
            "notes": list(self.notes),
            "remarks": [remark.to_json() for remark in self.remarks],
        }

    def with_file_sizes(self, before: int, after: int) -> Self:
        """The same account with the sizes of the files."""
        return replace(
            self, before=replace(self.before, file_nbytes=before), after=replace(self.after, file_nbytes=after)
        )

    def table(self) -> list[dict[str, str]]:
        """Before and after, a row for each figure."""
        return [
            {"": text, "before": _shown(getattr(self.before, key)), "after": _shown(getattr(self.after, key))}
            for key, text in _FIGURES.items()
        ]

    def _own_json(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True, kw_only=True)
class OptimizeResult(Account):
    """An optimised model, and what was done.

    Attributes:
        changed: whether it is another graph than before.
    """

    changed: bool

    def _own_json(self) -> dict[str, object]:
        return {"changed": self.changed}

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


_FIGURES = {
    "operators": "operators",
    "nodes": "nodes",
    "kernels": "kernels",
    "weights_nbytes": "weights, bytes",
    "file_nbytes": "file, bytes",
    "activations_nbytes": "peak activations, bytes",
    "macs": "MACs",
}


def _pass_json(row: PassRow) -> dict[str, object]:
    return {
        "name": row.name,
        "changed": row.changed,
        "nodes_before": row.nodes_before,
        "nodes_after": row.nodes_after,
        "milliseconds": round(row.milliseconds, 3),
        "equivalence": str(row.equivalence),
    }


def _shown(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
