"""What else is done with a copy that compiles: the other commands, and how the C and the report come out.

Names in the file are a stranger's, and stand in comments of the C and in the report.
"""

import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from arenite.formats.tflite import import_model
from hostile.changes import MARKUP
from hostile.commands import command, faults_of_message, limit

_GCC = ("gcc", "-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")


def further_faults(original: bytes, model: Path, bundle: Path, *, compiler: bool) -> list[str]:
    """What is wrong with what follows a compilation.

    Args:
        original: the file that the model was made from.
        model: the copy, which compiled.
        bundle: what `compile` wrote.
        compiler: whether there is a gcc, to check the C.
    """
    folder = model.parent
    faults = _faults_of_page(bundle / "report.html") + (_faults_of_c(bundle) if compiler else [])
    for name in ("report.json", "trim.json"):
        json.loads((bundle / name).read_text(encoding="utf-8"))
    whole, smaller = folder / "whole.tflite", folder / "smaller.tflite"
    given, got = folder / "given.npz", folder / "got.npz"
    explained, pictured = folder / "explain.json", folder / "diff.html"
    whole.write_bytes(original)
    _write_inputs(model, given)
    # Both are ends of a comparison: models with other inputs cannot be compared.
    anyhow, must = (0, 1), (0,)
    for arguments, ends in (
        (("optimize", str(model), "-o", str(smaller), "--explain", str(explained), "--diff", str(pictured)), must),
        (("explain", str(model), "--all"), must),
        (("inspect", str(model), "--text"), must),
        (("inspect", str(model), "--json"), must),
        (("compare", str(model), str(smaller), "--fail-above", "0"), must),
        (("compare", str(whole), str(model)), anyhow),
        (("run", str(model), "--inputs", str(given), "--outputs", str(got)), must),
    ):
        limit()
        ended = command(*arguments)
        faults += [f"{arguments[0]}: {fault}" for fault in faults_of_message(ended)]
        if ended.status not in ends:
            faults.append(f"{arguments[0]} does not do what compile does: exit {ended.status}: {ended.err}")
    if pictured.exists():
        faults += _faults_of_page(pictured)
    for path in (whole, smaller, given, got, explained, pictured):
        path.unlink(missing_ok=True)
    return faults


def _write_inputs(model: Path, path: Path) -> None:
    inputs = import_model(model.read_bytes(), "m").graph.inputs
    arrays = [np.zeros(value.type.dims, value.type.dtype.numpy) for value in inputs]
    np.savez(path, *arrays)


class _Markup(HTMLParser):
    """Finds what a name brought into a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == MARKUP.strip("<>") or any(MARKUP.strip("<>") in name for name, _ in attrs):
            self.found.append(f"<{tag} {attrs}>")


def _faults_of_page(path: Path) -> list[str]:
    page = _Markup()
    page.feed(path.read_text(encoding="utf-8"))
    return [f"{path.name} has a stranger's markup: {page.found[0]}"] if page.found else []


def _faults_of_c(bundle: Path) -> list[str]:
    files = sorted(str(path) for path in bundle.glob("*.c"))
    helpers = [part for path in bundle.glob("*_helpers.h") for part in ("-include", str(path))]
    done = subprocess.run([*_GCC, "-I", str(bundle), *helpers, *files], capture_output=True, text=True, check=False)
    return [f"the C does not compile: {done.stderr[:1000]}"] if done.returncode else []
