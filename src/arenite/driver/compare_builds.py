"""`compare BUILD_A BUILD_B`: what two folders that `compile` wrote cost, as a whole and layer by layer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from arenite._base.errors import DataError, UsageError
from arenite._base.files import read_file
from arenite._base.text import short_name

REPORT = "report.json"
_LIMIT_NBYTES = 2**28
_FIGURES = (
    ("arena, bytes", "memory.arena_nbytes"),
    ("static, bytes", "ram.static_nbytes"),
    ("stack, bytes", "ram.stack_nbytes"),
    ("weights, bytes", "flash.weights_nbytes"),
    ("tables, bytes", "flash.tables_nbytes"),
    ("code, bytes", "flash.code_nbytes"),
    ("instructions", "simulation.instructions"),
    ("cycles, est.", "simulation.cycles_estimate"),
)


@dataclass(frozen=True)
class Figure:
    """One number of both builds; None where a build does not know it."""

    name: str
    a: int | None
    b: int | None

    @property
    def text(self) -> str:
        change = ""
        if self.a is not None and self.b is not None and self.a != self.b:
            share = f", {100 * (self.b - self.a) / self.a:+.1f} %" if self.a else ""
            change = f"  {self.b - self.a:+,}{share}"
        cells = "".join(f"{'-' if cell is None else format(cell, ','):>14}" for cell in (self.a, self.b))
        return f"{self.name:16}{cells}{change}"


@dataclass(frozen=True)
class LayerChange:
    """A layer that both builds name, or one that only one of them has.

    Attributes:
        kernels: of A and of B; empty where there is no such layer.
    """

    name: str
    kernels: tuple[str, str]
    instructions: Figure

    @property
    def differs(self) -> bool:
        return self.kernels[0] != self.kernels[1] or self.instructions.a != self.instructions.b


@dataclass(frozen=True)
class BuildComparison:
    """Figures of two builds, and their layers in A's order, then those of B alone."""

    a: Path
    b: Path
    same_model: bool
    targets: tuple[str, str]
    figures: tuple[Figure, ...]
    layers: tuple[LayerChange, ...]

    def problem(self, limit: float | None) -> str:
        """Builds have no outputs that could differ.

        Raises:
            UsageError: there is a limit.
        """
        if limit is not None:
            raise UsageError("--fail-above is for outputs: two builds are compared by what they cost")
        return ""

    def to_json(self) -> dict[str, object]:
        return {
            "a": str(self.a),
            "b": str(self.b),
            "same_model": self.same_model,
            "targets": list(self.targets),
            "figures": [vars(figure) for figure in self.figures],
            "layers": [
                {
                    "name": each.name,
                    "kernels": list(each.kernels),
                    "instructions": [each.instructions.a, each.instructions.b],
                }
                for each in self.layers
            ],
        }

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"A {self.a}, {self.targets[0]}"
        yield f"B {self.b}, {self.targets[1]}"
        yield "of the same model" if self.same_model else "of different models"
        yield f"{'':16}{'A':>14}{'B':>14}"
        yield from (figure.text for figure in self.figures)
        changed = [layer for layer in self.layers if layer.differs]
        if not changed:
            yield "every layer is the same"
            return
        yield f"{len(changed)} of {len(self.layers)} layers differ (kernel, instructions):"
        for layer in changed:
            before, after = (kernel.removeprefix("arenite_") or "-" for kernel in layer.kernels)
            kernel = before if before == after else f"{before} -> {after}"
            yield f"  {short_name(layer.name)}: {kernel}, {layer.instructions.text.strip()}"


def is_build(path: Path) -> bool:
    """Whether a path is a folder, as `compile` writes one."""
    return path.is_dir()


def compare_builds(a: Path, b: Path) -> BuildComparison:
    """Compare the reports of two builds.

    Raises:
        DataError: a folder has no report, or one that is none.
    """
    one, two = _reports(a, b)
    figures = tuple(Figure(label, _number(one, path), _number(two, path)) for label, path in _FIGURES)
    layers = tuple(_layers(_layer_map(one), _layer_map(two)))
    hashes = [_text(report, "model.sha256") for report in (one, two)]
    return BuildComparison(a, b, hashes[0] == hashes[1], (_text(one, "target"), _text(two, "target")), figures, layers)


def _reports(*folders: Path) -> list[Mapping[str, object]]:
    reports, problems = [], []
    for folder in folders:
        try:
            reports.append(_report(folder))
        except DataError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise DataError(problems)
    return reports


def _report(folder: Path) -> Mapping[str, object]:
    path = folder / REPORT
    try:
        content = json.loads(read_file(path, limit_nbytes=_LIMIT_NBYTES))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a report of arenite: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("layers"), list):
        raise DataError(f"{path}: not a report of arenite: give a folder that 'arenite compile' wrote")
    return content


def _at(content: object, path: str) -> object:
    for key in path.split("."):
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _number(content: object, path: str) -> int | None:
    value = _at(content, path)
    # What is beyond any computer is no figure, nor is true.
    return value if type(value) is int and abs(value) < 2**63 else None


def _text(content: object, path: str) -> str:
    value = _at(content, path)
    return value if isinstance(value, str) else "?"


def _layer_map(report: Mapping[str, object]) -> dict[str, object]:
    layers = report["layers"]
    assert isinstance(layers, list), "checked when it was read"
    return {_text(layer, "name"): layer for layer in layers}


def _layers(one: Mapping[str, object], two: Mapping[str, object]) -> Iterator[LayerChange]:
    for name in dict.fromkeys((*one, *two)):
        both = one.get(name), two.get(name)
        kernels = [_text(layer, "kernel") if layer is not None else "" for layer in both]
        counts = [_number(layer, "instructions") for layer in both]
        yield LayerChange(name, (kernels[0], kernels[1]), Figure("", counts[0], counts[1]))
