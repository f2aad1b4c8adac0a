"""Reproducers: a folder from which a pass that did wrong can be run again, by

python -m arenite.passes.reproduce FOLDER
"""

import dataclasses
import json
import shlex
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite._base.errors import AreniteError, DataError, SelfCheckError, UsageError
from arenite.interp.inputs import Inputs
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph
from arenite.ir.opdef import Registry
from arenite.ir.parser import parse_graph
from arenite.ir.printer import print_graph
from arenite.ops import core_registry
from arenite.passes.base import Pass
from arenite.passes.bisect import Culprit, bisect, computes_like
from arenite.passes.differential import named_inputs
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import Instrument, Step, run_pipeline
from arenite.passes.presets import all_passes


class Reproduce(Instrument):
    """When a pass does wrong, writes the graph it was given, its options and the samples, and says where.

    Files: `before.ir` (self-contained), `pass.json` (name, options), `inputs.npz` (`<sample>_<input>`), `error.txt`.
    """

    def __init__(self, folder: Path, samples: Sequence[Inputs] = ()) -> None:
        self._folder = folder
        self._samples = samples
        self._graph: Graph | None = None

    def before(self, step: Step) -> None:
        self._graph = clone_graph(step.graph)

    def failed(self, step: Step, error: SelfCheckError) -> SelfCheckError:
        if self._graph is None:
            return error
        graph = self._graph
        self._folder.mkdir(parents=True, exist_ok=True)
        text = print_graph(graph, self_contained=True).text
        (self._folder / "before.ir").write_text(text, encoding="utf-8")
        options = {f.name: getattr(step.spec, f.name) for f in dataclasses.fields(step.spec)}
        spec = json.dumps({"name": step.spec.name, "options": options}, default=repr)
        (self._folder / "pass.json").write_text(spec, encoding="utf-8")
        arrays: dict[str, Array] = {}
        for number, sample in enumerate(self._samples):
            named = named_inputs(graph, sample)
            arrays.update((f"{number}_{i}", named[value.name]) for i, value in enumerate(graph.inputs))
        np.savez(self._folder / "inputs.npz", **arrays)  # type: ignore[arg-type]
        (self._folder / "error.txt").write_text(f"{error}\n", encoding="utf-8", errors="backslashreplace")
        command = f"python -m arenite.passes.reproduce {shlex.quote(str(self._folder))}"
        return SelfCheckError([*error.problems, f"to reproduce it: {command}"])


def replay(folder: Path, registry: Registry, passes: Sequence[Pass]) -> None:
    """Run the pass of a reproducer on its graph, under every check.

    Args:
        folder: what `Reproduce` wrote.
        registry: the ops of the graph.
        passes: among which the pass is found, by name.

    Raises:
        SelfCheckError: the pass does wrong still.
        ModelError: the graph is damaged.
        DataError: another file is missing or damaged, no pass has that name, or it has no such option.
    """
    graph, spec, samples = _read(folder, registry, passes)
    run_pipeline(graph, [spec], registry, instruments=all_checks(samples))


def first_fault(folder: Path, registry: Registry, passes: Sequence[Pass]) -> Culprit | None:
    """The first change of a reproducer's pass after which the graph computes something else. Raises as `replay` does.

    None when it computes the same after all: then what the pass does wrong is something else.
    """
    graph, spec, samples = _read(folder, registry, passes)
    return bisect(graph, [spec], registry, computes_like(graph, registry, spec.equivalence, samples))


def _read(folder: Path, registry: Registry, passes: Sequence[Pass]) -> tuple[Graph, Pass, list[list[Array]]]:
    try:
        spec = _read_pass(json.loads((folder / "pass.json").read_text(encoding="utf-8")), passes)
        graph = parse_graph((folder / "before.ir").read_text(encoding="utf-8"), registry)
        with np.load(folder / "inputs.npz", allow_pickle=False) as arrays:
            count = len(arrays.files) // max(1, len(graph.inputs))
            samples = [[arrays[f"{number}_{i}"] for i in range(len(graph.inputs))] for number in range(count)]
    except (OSError, LookupError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"{folder} is not a whole reproducer: {error}") from error
    return graph, spec, samples


def _read_pass(content: Mapping[str, Any], passes: Sequence[Pass]) -> Pass:
    found = [each for each in passes if each.name == content["name"]]
    if not found:
        raise ValueError(f"no pass is called '{content['name']}'")
    return dataclasses.replace(found[0], **content["options"])


def main() -> int:
    """Replay the folder that the command line names; when the pass does wrong, say by which change first."""
    registry = core_registry()
    try:
        folder = _asked_folder(sys.argv[1:])
        replay(folder, registry, all_passes())
    except SelfCheckError as error:
        print(error, file=sys.stderr)
        culprit = first_fault(folder, registry, all_passes())
        if culprit is not None:
            print(f"the first change that does wrong: {culprit}", file=sys.stderr)
        return error.exit_status
    except AreniteError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    print("the pass does nothing wrong on this graph")
    return 0


def _asked_folder(arguments: Sequence[str]) -> Path:
    if len(arguments) != 1:
        raise UsageError("give the folder of one reproducer: python -m arenite.passes.reproduce FOLDER")
    return Path(arguments[0])


if __name__ == "__main__":
    raise SystemExit(main())
