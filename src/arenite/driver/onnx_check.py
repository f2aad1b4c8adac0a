"""Compares an optimised onnx model with its original, and finds the pass that is to blame when they differ."""

import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError, ModelError, SelfCheckError
from arenite.driver.optimize_result import Comparison
from arenite.formats.onnx import export_model
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpError
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.engine import has_onnxruntime, whole_model
from arenite.passes.base import BitExact, Close, Pass
from arenite.passes.differential import in_precision, max_error
from arenite.passes.onnx.presets import run_rounds

BUDGET_SECONDS = 60.0
"""Time for running models; what is left undone is said."""

TOLERANCE = 1e-4
"""For floats: max|difference| / max|reference| of an output; more where a model computes in narrow ones."""

# What named dimensions are taken to be, the first dimension of an input and the others, until the model runs.
_SIZES = ((1, 8), (2, 5), (2, 16), (3, 32), (1, 64), (2, 96), (1, 512), (2, 1024), (1, 16000), (2, 20000))
_MOST_NELEM = 1 << 18
_MOST_FIXED_NELEM = 1 << 25
"""Of all inputs whose sizes nobody chose here; there are several of each, and the model makes more of them."""
_MOST_NAMED = 3
"""How many inputs a message gives the sizes of."""

Feed = dict[str, Array]
Run = Callable[[Mapping[str, Array]], list[Array]]


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
        self._step = step
        self._worst = 0.0
        self._registry = registry
        self._passes = passes
        self._count = count
        self._source = source
        self._reproducer = reproducer
        allowed = in_precision(Close(TOLERANCE), original.graph)
        self._tolerance = allowed.tolerance if isinstance(allowed, Close) else TOLERANCE
        self._exact = all(isinstance(each.equivalence, BitExact) for each in passes)
        self._deadline = time.monotonic() + BUDGET_SECONDS

    def of(self, model: Model) -> Comparison:
        """Compare; what was done.

        Raises:
            SelfCheckError: the two differ: which pass did it, where it shows, and where the reproducer lies.
        """
        with tempfile.TemporaryDirectory() as folder:
            references, how, short = self._references(Path(folder))
            if not references:
                return Comparison(0, self._count, problem=short)
            problem = self._problem(model, references, how, Path(folder))
            if problem is not None:
                self._blame(references, how, problem, Path(folder))
        graph, (_, outputs) = self._original.graph, references[0]
        sizes = dict.fromkeys(_sizes(graph, feed) for feed, _ in references)
        return Comparison(
            inputs=len(references),
            asked=self._count,
            sizes=tuple(size for size in sizes if size),
            engine=how,
            max_error=self._worst,
            tolerance=self._tolerance,
            problem=short,
            skipped=tuple(
                v.name for v, array in zip(graph.outputs, outputs, strict=True) if not isinstance(array, np.ndarray)
            ),
        )

    def _references(self, folder: Path) -> tuple[list[tuple[Feed, list[Array]]], str, str]:
        """Inputs, and what the original makes of them; what ran it; and why there are fewer than asked for."""
        try:
            run, how = self._runner(self._original, folder, self._source), "onnxruntime"
        except OpError as error:
            try:
                run, how = self._interpreter(self._original), "the numpy reference"
            except AreniteError as other:
                return [], "", f"{error}; {other.problems[0].splitlines()[0]}"
        found: list[tuple[Feed, list[Array]]] = []
        feeds = made_up(self._original.graph)
        problem = "nothing else can be made up" if feeds else "the inputs are no tensors, or too large"
        for number, feed in enumerate(feeds):
            if len(found) == self._count:
                break
            self._step(f"comparing with the original: input {len(found) + 1} of {self._count}, by {how}")
            if time.monotonic() > self._deadline:
                problem = f"{BUDGET_SECONDS:.0f} s were not enough"
                break
            try:
                with np.errstate(all="ignore"):
                    outputs = run(feed)
                    again = run(feed) if number == 0 else outputs
            except (OpError, AreniteError) as error:
                problem = str(error).splitlines()[0]
                continue
            if any(isinstance(a, np.ndarray) and not _same(a, b) for a, b in zip(outputs, again, strict=True)):
                return [], "", "the model gives other outputs each time"
            found.append((feed, outputs))
        return found, how, problem if len(found) < self._count else ""

    def _runner(self, model: Model, folder: Path, source: Path | None) -> Run:
        """Runs a model by onnxruntime."""
        if not has_onnxruntime():
            raise OpError("onnxruntime is not installed")
        path = source
        if path is None:
            path = folder / "model.onnx"
            export_model(model, path)
        return whole_model(path)

    def _interpreter(self, model: Model) -> Run:
        details = model.details
        defaults = getattr(details, "defaults", {})
        interpreter = OnnxInterpreter(model.graph, self._registry, defaults)

        def run(feed: Mapping[str, Array]) -> list[Array]:
            names = {value.name for value in model.graph.inputs}
            return interpreter.run({name: array for name, array in feed.items() if name in names})

        return run

    def _problem(
        self, model: Model, references: Sequence[tuple[Feed, list[Array]]], how: str, folder: Path
    ) -> str | None:
        """How a model differs from the original; None when it does not."""
        try:
            run = self._runner(model, folder, None) if how == "onnxruntime" else self._interpreter(model)
            self._worst = 0.0
            results = [run(feed) for feed, _ in references]
        except (OpError, AreniteError) as error:
            return f"{how} does not run the result: {str(error).splitlines()[0]}"
        names = [value.name for value in self._original.graph.outputs]
        for (feed, expected), found in zip(references, results, strict=True):
            for name, one, other in zip(names, expected, found, strict=True):
                apart = self._difference(one, other)
                if apart is not None:
                    sizes = ", ".join(f"'{key}' {list(array.shape)}" for key, array in feed.items())
                    return f"output '{name}' {apart}, with inputs {sizes}"
        return None

    def _difference(self, one: Array, other: Array) -> str | None:
        if not isinstance(one, np.ndarray):
            return None if type(one) is type(other) else "is no tensor any more"
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"was {one.dtype}{list(one.shape)} and is {other.dtype}{list(other.shape)}"
        if one.dtype == object or one.dtype.kind not in "fiu" or (self._exact and one.dtype.kind != "f"):
            return None if np.array_equal(one, other) else "has other elements"
        if one.dtype.kind != "f":
            # A fused float computation may round a quantized result to the step beside.
            apart = float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))
            self._worst = max(self._worst, max_error(one, other))
            return None if apart <= 1 else f"is off by {apart:g}"
        error = max_error(one, other)
        self._worst = max(self._worst, error)
        return None if error <= self._tolerance else f"is off by {error:g} of its largest element"

    # Blame

    def _blame(self, references: Sequence[tuple[Feed, list[Array]]], how: str, problem: str, folder: Path) -> None:
        """Find the first run of a pass after which the model is wrong, write a reproducer, and raise.

        Raises:
            SelfCheckError: always.
        """
        low, high = 0, len(self._rerun(None)[1])
        while high - low > 1:
            middle = (low + high) // 2
            graph, _ = self._rerun(middle)
            wrong = self._problem(replace(self._original, graph=graph), references, how, folder)
            if wrong is None:
                low = middle
            else:
                high, problem = middle, wrong
        before, names = self._rerun(low)
        after, _ = self._rerun(high)
        blamed = self._rerun(None)[1][high - 1] if high else "export"
        self._write(before, after, references, blamed, problem)
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

    def _write(
        self, before: Graph, after: Graph, references: Sequence[tuple[Feed, list[Array]]], blamed: str, problem: str
    ) -> None:
        folder = self._reproducer
        try:
            folder.mkdir(parents=True, exist_ok=True)
            export_model(replace(self._original, graph=before), folder / "before.onnx")
            export_model(replace(self._original, graph=after), folder / "after.onnx")
            for number, (feed, _) in enumerate(references):
                arrays = {f"arr_{place}": array for place, array in enumerate(feed.values())}
                np.savez(folder / f"inputs-{number}.npz", **arrays)  # type: ignore[arg-type]
            content = {"pass": blamed, "problem": problem, "inputs": list(references[0][0])}
            (folder / "error.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except (OSError, ModelError, ValueError) as error:
            raise SelfCheckError(f"pass '{blamed}' is wrong, and no reproducer can be written: {error}") from None


def _sizes(graph: Graph, feed: Feed) -> str:
    """The shapes of those inputs whose sizes the model leaves open; of the first few."""
    open_ = [value.name for value in graph.inputs if not value.type.is_static and value.name in feed]
    shown = [f"{name} {'x'.join(map(str, feed[name].shape)) or 'scalar'}" for name in open_[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(open_) - _MOST_NAMED} more" if len(open_) > _MOST_NAMED else "")


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def made_up(graph: Graph) -> "list[Feed]":
    """Inputs to try a graph on: at several sizes where dimensions are not fixed."""
    rng = np.random.default_rng(0)
    dynamic = any(not value.type.is_static for value in graph.inputs)
    sizes = _SIZES if dynamic else _SIZES[:1] * 4
    feeds: list[Feed] = []
    for batch, other in sizes:
        for high in (10, 1):
            feed = _feed(graph.inputs, batch, other, high, rng)
            if feed is not None:
                feeds.append(feed)
            if not any(value.type.dtype.is_integer for value in graph.inputs):
                break
    return feeds


def _feed(inputs: Sequence[Value], batch: int, other: int, high: int, rng: np.random.Generator) -> Feed | None:
    """One array for each input; None when one is no tensor, or large. Integers are small, being indices often."""
    named: dict[str, int] = {}
    feed: Feed = {}
    fixed_nelem = 0
    for value in inputs:
        type_ = value.type
        if type_.dtype is DType.OPAQUE or type_.shape is None:
            return None
        for axis, dim in enumerate(type_.shape):
            if isinstance(dim, str):
                named.setdefault(dim, batch if axis == 0 else other)
        shape = tuple(named[dim] if isinstance(dim, str) else dim for dim in type_.shape)
        if math.prod(shape) > _MOST_NELEM and not type_.is_static:
            return None
        fixed_nelem += math.prod(shape)
        if fixed_nelem > _MOST_FIXED_NELEM:
            return None
        if type_.dtype is DType.STRING:
            feed[value.name] = np.full(shape, "ab", object)
        elif type_.dtype is DType.BOOL:
            feed[value.name] = rng.integers(0, 2, shape).astype(bool)
        elif type_.dtype.is_integer:
            feed[value.name] = rng.integers(0, high, shape).astype(type_.dtype.numpy)
        else:
            feed[value.name] = rng.standard_normal(shape).astype(type_.dtype.numpy)
    return feed
