"""Compares an optimised onnx model with its original, and finds the pass that is to blame when they differ."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite._base.errors import AreniteError, ModelError, SelfCheckError
from arenite.driver.onnx_references import (
    ONNXRUNTIME,
    Asked,
    Feed,
    References,
    by_interpreter,
    by_onnxruntime,
    difference,
    references_of,
    shapes_text,
    tolerance_for,
)
from arenite.driver.optimize_result import Comparison
from arenite.formats.onnx import export_model
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import OpError
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.passes.base import BitExact, Pass
from arenite.passes.onnx.presets import run_rounds


class Check:
    """Compares one original with what became of it."""

    def __init__(
        self,
        original: Model,
        registry: OnnxRegistry,
        passes: Sequence[Pass],
        count: int,
        source: Path | None,
        reproducer: Path,
        step: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._original = original
        self._worst = 0.0
        self._registry = registry
        self._passes = passes
        self._asked = Asked.within_budget(count, source, step)
        self._reproducer = reproducer
        self._tolerance = tolerance_for(original.graph)
        self._exact = all(isinstance(each.equivalence, BitExact) for each in passes)

    def of(self, model: Model) -> Comparison:
        """Compare; what was done.

        Raises:
            SelfCheckError: the two differ: which pass did it, where it shows, and where the reproducer lies.
        """
        graph, count = self._original.graph, self._asked.count
        with tempfile.TemporaryDirectory() as folder:
            references = references_of(self._original, self._registry, self._asked, Path(folder))
            if not references.pairs:
                return Comparison(0, count, problem=references.problem)
            problem = self._problem(model, references, Path(folder))
            if problem is not None:
                self._blame(references, problem, Path(folder))
        return Comparison(
            inputs=len(references.pairs),
            asked=count,
            sizes=references.sizes(graph),
            engine=references.engine,
            max_error=self._worst,
            tolerance=self._tolerance,
            problem=references.problem,
            skipped=references.skipped(graph),
        )

    def _problem(self, model: Model, references: References, folder: Path) -> str | None:
        """How a model differs from the original; None when it does not."""
        engine = references.engine
        try:
            by_runtime = engine == ONNXRUNTIME
            run = by_onnxruntime(model, folder, None) if by_runtime else by_interpreter(model, self._registry)
            self._worst = 0.0
            results = [run(feed) for feed, _ in references.pairs]
        except (OpError, AreniteError) as error:
            return f"{engine} does not run the result: {str(error).splitlines()[0]}"
        names = [value.name for value in self._original.graph.outputs]
        for (feed, expected), found in zip(references.pairs, results, strict=True):
            for name, one, other in zip(names, expected, found, strict=True):
                apart, wrong = difference(one, other, self._tolerance, exact=self._exact)
                self._worst = max(self._worst, apart)
                if wrong:
                    return f"output '{name}' {wrong}, with inputs {shapes_text(feed)}"
        return None

    # Blame

    def _blame(self, references: References, problem: str, folder: Path) -> None:
        """Find the first run of a pass after which the model is wrong, write a reproducer, and raise.

        Raises:
            SelfCheckError: always.
        """
        low, high = 0, len(self._rerun(None)[1])
        while high - low > 1:
            middle = (low + high) // 2
            graph, _ = self._rerun(middle)
            wrong = self._problem(replace(self._original, graph=graph), references, folder)
            if wrong is None:
                low = middle
            else:
                high, problem = middle, wrong
        before, names = self._rerun(low)
        after, _ = self._rerun(high)
        blamed = self._rerun(None)[1][high - 1] if high else "export"
        feeds = [feed for feed, _ in references.pairs]
        self._write(before, after, feeds, blamed, problem)
        raise SelfCheckError(
            [
                f"pass '{blamed}' changed what the model computes: {problem}",
                f"nothing was written but a reproducer: {self._reproducer} (after {len(names)} runs of passes)",
            ]
        )

    def _rerun(self, limit: int | None) -> tuple[Graph, list[str]]:
        """The original after so many runs of passes, and their names."""
        graph = clone_graph(self._original.graph)
        if limit == 0:
            return graph, []
        result = run_rounds(graph, self._passes, self._registry, limit=limit)
        return graph, [row.name for row in result.rows]

    def _write(self, before: Graph, after: Graph, feeds: Sequence[Feed], blamed: str, problem: str) -> None:
        folder = self._reproducer
        try:
            folder.mkdir(parents=True, exist_ok=True)
            export_model(replace(self._original, graph=before), folder / "before.onnx")
            export_model(replace(self._original, graph=after), folder / "after.onnx")
            write_feeds(folder, feeds)
            content = {"pass": blamed, "problem": problem, "inputs": list(feeds[0])}
            (folder / "error.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except (OSError, ModelError, ValueError) as error:
            raise SelfCheckError(f"pass '{blamed}' is wrong, and no reproducer can be written: {error}") from None


def write_feeds(folder: Path, feeds: Sequence[Feed]) -> None:
    """Write inputs as `inputs-0.npz`, ..., under the keys `arr_0`, ... in their order."""
    for number, feed in enumerate(feeds):
        arrays = {f"arr_{place}": array for place, array in enumerate(feed.values())}
        np.savez(folder / f"inputs-{number}.npz", **arrays)  # type: ignore[arg-type]
