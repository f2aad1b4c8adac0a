"""What a user may ask of a conversion, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import Literal

from arenite._base.files import written_whole
from arenite._base.text import short_name
from arenite.driver.optimize_result import Account, OptimizeOptions
from arenite.formats.tflite.layouts import Layout

PadAs = Literal["taps", "operators"]

_WIDTH = 100
_MOST_LISTED = 8


@dataclass(frozen=True)
class ConvertOptions:
    """Options of `arenite convert`.

    Attributes:
        optimize: what is asked of the onnx model first: shapes, outputs, pins, pure operators, and the check.
        keep_layouts: inputs and outputs whose dimensions stay in the order that ONNX has them in.
        keep_all_layouts: all of them.
        pad: `taps`: margins that a file cannot say become weights of zero where that is cheap; `operators`: a PAD each.
    """

    optimize: OptimizeOptions = field(default_factory=OptimizeOptions)
    keep_layouts: tuple[str, ...] = ()
    keep_all_layouts: bool = False
    pad: PadAs = "taps"


@dataclass(frozen=True)
class Port:
    """An input or output of the onnx model, and of the file.

    Attributes:
        dims: as ONNX has them.
        file_dims: as the file has them.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    file_dims: tuple[int, ...]
    layout: Layout

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "dims": list(self.dims),
            "file_dims": list(self.file_dims),
            "order": list(self.layout.order),
        }

    def __str__(self) -> str:
        moved = f" -> {list(self.file_dims)}  {self.layout.letters}" if self.layout.is_moved else ""
        return f"{self.name}  {self.dtype} {list(self.dims)}{moved}"


@dataclass(frozen=True)
class Extra:
    """A TRANSPOSE or PAD of the file.

    Attributes:
        name: of the node.
        dims: of its result.
        reason: who needs it; names are short ones.
    """

    name: str
    dims: tuple[int, ...]
    reason: str

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "dims": list(self.dims), "reason": self.reason}

    def __str__(self) -> str:
        return f"{short_name(self.name)}  {list(self.dims)}, {self.reason}"


@dataclass(frozen=True)
class Heirs:
    """What became of a node of the onnx model.

    Attributes:
        tensors: results of the operators of the file that stand for it; none when it was computed, or does nothing.
    """

    name: str
    op: str
    tensors: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "op": self.op, "tensors": list(self.tensors)}


@dataclass(frozen=True, kw_only=True)
class ConvertResult(Account):
    """A converted model, and what was done.

    Attributes:
        model: of the core dialect, as it is read back from the file.
        data: the file.
        before: of the onnx model, with the shapes that were asked for.
        operators: of the file, most frequent first.
        transposes, pads: those that the file has.
        nodes: what became of each node of the onnx model.
    """

    data: bytes
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operators: tuple[tuple[str, int], ...]
    transposes: tuple[Extra, ...]
    pads: tuple[Extra, ...]
    nodes: tuple[Heirs, ...]

    def write(self, path: str | PathLike[str]) -> None:
        """Write the .tflite file.

        Raises:
            DataError: the file cannot be written.
        """
        with written_whole(Path(path)) as temporary:
            temporary.write_bytes(self.data)

    def _own_json(self) -> dict[str, object]:
        return {
            "inputs": [port.to_json() for port in self.inputs],
            "outputs": [port.to_json() for port in self.outputs],
            "operators": dict(self.operators),
            "transposes": [extra.to_json() for extra in self.transposes],
            "pads": [extra.to_json() for extra in self.pads],
            "nodes": [heirs.to_json() for heirs in self.nodes],
        }

    def facts(self) -> list[str]:
        """What the file is like, in lines for a terminal."""
        operators = ", ".join(f"{op}\N{NO-BREAK SPACE}{count}" for op, count in self.operators)
        rows = (
            ("inputs", [str(port) for port in self.inputs]),
            ("outputs", [str(port) for port in self.outputs]),
            ("operators", [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrap(operators, _WIDTH)]),
            ("transposes", _few(self.transposes)),
            ("pads", _few(self.pads)),
        )
        return [
            f"{title if not number else '':<11} {text}"
            for title, texts in rows
            for number, text in enumerate(texts or ["none"])
        ]


def _few(extras: Sequence[Extra]) -> list[str]:
    more = len(extras) - _MOST_LISTED
    return [*map(str, extras[:_MOST_LISTED]), *([f"and {more:,} more, which --json lists"] if more > 0 else [])]
