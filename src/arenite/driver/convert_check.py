"""Compares a converted model with the onnx model that it was made from, and finds what is to blame when they differ."""

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arenite._base.errors import AreniteError, DataError, ModelError, SelfCheckError
from arenite.driver.layouts import alike
from arenite.driver.onnx_check import write_feeds
from arenite.driver.onnx_references import (
    BUDGET_SECONDS,
    ONNXRUNTIME,
    Asked,
    Feed,
    References,
    by_interpreter,
    difference,
    references_of,
    shapes_text,
    tolerance_for,
)
from arenite.driver.optimize_onnx import onnx_registry, optimize_onnx
from arenite.driver.optimize_result import Comparison, OptimizeOptions
from arenite.formats.onnx import export_model
from arenite.formats.tflite import Layouts
from arenite.interp import interpreter_for
from arenite.interp.interpreter import Interpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Node
from arenite.ir.model import Model
from arenite.ir.opdef import NotApplicable, OpCall, OpError, Registry
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.passes.base import Pass
from arenite.passes.differential import Differential
from arenite.passes.pipeline import run_pipeline
from arenite.passes.reproduce import Reproduce

ROUNDED_TOLERANCE = 1e-2
"""Where the model rounds to steps of its own: what lies beside the middle of two may go to either."""

_ROUNDING = ("onnx.QuantizeLinear", "onnx.DynamicQuantizeLinear")

_NUDGE = 1e-6
"""Of each input and weight: when that changes outputs as much as they differ, they differ by rounding."""

_OVERFLOWS = 1e30
"""Sums of such floats overflow in one order of addition and not in another."""

_LAST_BIT = 2.0**-24
"""Of a float32: what one addition may lose of a sum."""

_BY = "arenite's interpreter"


@dataclass(frozen=True)
class Converted:
    """The stages of a conversion.

    Attributes:
        onnx: the optimised model, and `onnx_registry` its operators.
        legalized: the core graph as it was before the passes.
        passes: what ran on it, with the ops of `registry`.
        layouts: of the inputs and outputs.
        data: the file.
    """

    onnx: Model
    onnx_registry: OnnxRegistry
    legalized: Graph
    passes: Sequence[Pass]
    registry: Registry
    layouts: Layouts
    data: bytes


@dataclass(frozen=True)
class _Outcome:
    """How a converted graph did: on how many inputs it was right, what is wrong, and why that may mean nothing.

    Attributes:
        apart: how far an output is off that is wrong; 0: it is not of numbers that are close.
    """

    done: int
    wrong: str = ""
    doubt: str = ""
    apart: float = 0.0


class ConvertCheck:
    """Compares one onnx model with what became of it.

    Args:
        original: the model with the interface that was asked for.
        untouched: the model as it was read.
        options: of the optimisation before.
        asked: on how many inputs, and until when.
        reproducer: the folder to write when the two differ.
    """

    def __init__(
        self, original: Model, untouched: Model, options: OptimizeOptions, asked: Asked, reproducer: Path
    ) -> None:
        self._original = original
        self._untouched = untouched
        self._options = options
        self._asked = asked
        self._reproducer = reproducer
        rounds = any(node.op in _ROUNDING for node in original.graph.nodes)
        self._tolerance = ROUNDED_TOLERANCE if rounds else tolerance_for(original.graph)
        self._worst = 0.0

    def of(self, converted: Converted, read_back: Model) -> Comparison:
        """Compare the model that was read back from the file; what was done.

        Raises:
            SelfCheckError: the two differ: where it shows, what is to blame, and where the reproducer lies.
        """
        registry = onnx_registry(self._original, self._options)
        with tempfile.TemporaryDirectory() as folder:
            references = references_of(self._original, registry, self._asked, Path(folder))
        if not references.pairs:
            return Comparison(0, self._asked.count, problem=references.problem)
        outcome = self._outcome(read_back.graph, converted, references)
        if outcome.wrong and not outcome.doubt:
            outcome, references = self._judged_again(outcome, read_back.graph, converted, references)
        if outcome.wrong and not outcome.doubt:
            self._blame(converted, references, outcome.wrong)
        short = outcome.doubt or references.problem or f"{BUDGET_SECONDS:.0f} s were not enough"
        return Comparison(
            inputs=outcome.done,
            asked=self._asked.count,
            engine=f"{references.engine} and {_BY}",
            max_error=self._worst,
            tolerance=self._tolerance,
            problem=short if outcome.done < self._asked.count else "",
            skipped=references.skipped(self._original.graph),
        )

    def _judged_again(
        self, outcome: _Outcome, graph: Graph, converted: Converted, references: References
    ) -> tuple[_Outcome, References]:
        """By the numpy reference, where sums are so long that the order of addition may make such a difference.

        onnxruntime adds millions of elements in float32 one after the other; numpy and our interpreter do not.
        """
        lost = _LAST_BIT * max((_terms(node, converted.registry) for node in graph.nodes), default=0)
        if references.engine != ONNXRUNTIME or not 0 < outcome.apart <= lost:
            return outcome, references
        try:
            run = by_interpreter(self._original, onnx_registry(self._original, self._options))
            pairs = tuple((feed, run(feed)) for feed, _ in references.pairs)
        except (AreniteError, OpError):
            return outcome, references
        engine = f"the numpy reference ({ONNXRUNTIME} loses {outcome.apart:.1e} in long sums)"
        other = replace(references, pairs=pairs, engine=engine)
        judged = self._outcome(graph, converted, other)
        return (outcome, references) if judged.wrong else (judged, other)

    def _outcome(self, graph: Graph, converted: Converted, references: References) -> "_Outcome":
        """Run a core graph on what the original was run on."""
        self._worst = 0.0
        deadline = time.monotonic() + BUDGET_SECONDS
        try:
            interpreter = interpreter_for(graph, converted.registry)
            assert isinstance(interpreter, Interpreter)
            for number, (feed, expected) in enumerate(references.pairs):
                if number and time.monotonic() > deadline:
                    return _Outcome(number)
                self._asked.step(f"comparing with the original: input {number + 1}, by {_BY}")
                taken = into_file(feed, converted.layouts)
                with np.errstate(all="ignore"):
                    found = interpreter.run(taken)
                apart, wrong = self._difference(expected, found, converted.layouts)
                if wrong:
                    doubt = _doubt(interpreter, converted.registry, taken, found, expected, apart)
                    return _Outcome(number, f"{wrong}, with inputs {shapes_text(feed)}", doubt, apart)
                self._worst = max(self._worst, apart)
        except (ModelError, DataError) as error:
            return _Outcome(0, f"{_BY} does not run the result: {error.problems[0].splitlines()[0]}")
        return _Outcome(len(references.pairs))

    def _difference(self, expected: Sequence[Array], found: Sequence[Array], layouts: Layouts) -> tuple[float, str]:
        """The largest error of an output; and which is wrong, if one is."""
        worst = 0.0
        for layout, one, other in zip(layouts.outputs, expected, found, strict=True):
            apart, wrong = difference(one, layout.out_of_file(other), self._tolerance)
            worst = max(worst, apart)
            if wrong:
                return apart, f"output '{layout.name}' {wrong}"
        return worst, ""

    # Blame

    def _blame(self, converted: Converted, references: References, problem: str) -> None:
        """Find the stage that is to blame, write a reproducer, and raise.

        Raises:
            SelfCheckError: always.
        """
        # Each of these raises by itself when it finds the pass.
        again = replace(self._untouched, graph=clone_graph(self._untouched.graph))
        options = replace(self._options, check=len(references.pairs))
        optimize_onnx(again, options, source=self._asked.source, reproducer=self._reproducer, step=self._asked.step)
        samples = [into_file(feed, converted.layouts) for feed, _ in references.pairs]
        if not self._outcome(converted.legalized, converted, references).wrong:
            checks = (Differential(samples, n_random=0, edges=False), Reproduce(self._reproducer, samples))
            graph = clone_graph(converted.legalized)
            run_pipeline(graph, converted.passes, converted.registry, instruments=checks)
            wrong = self._outcome(graph, converted, references).wrong
            stage = "the passes on the converted graph together" if wrong else "writing the file, or reading it back,"
            where = ""
        else:
            stage, where = "the conversion", _first_divergence(converted, references.pairs[0][0], self._tolerance)
        self._write(converted, [feed for feed, _ in references.pairs], f"{problem}{where}")
        raise SelfCheckError(
            [
                f"{stage} changed what the model computes: {problem}{where}",
                f"nothing was written but a reproducer: {self._reproducer}",
            ]
        )

    def _write(self, converted: Converted, feeds: Sequence[Feed], problem: str) -> None:
        folder = self._reproducer
        try:
            folder.mkdir(parents=True, exist_ok=True)
            export_model(converted.onnx, folder / "before.onnx")
            (folder / "after.tflite").write_bytes(converted.data)
            write_feeds(folder, feeds)
            content = {"problem": problem, "inputs": list(feeds[0])}
            (folder / "error.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        except (OSError, ModelError, ValueError) as error:
            raise SelfCheckError(f"the conversion is wrong, and no reproducer can be written: {error}") from None


def _terms(node: Node, registry: Registry) -> float:
    """How many numbers a node adds up for each element of its result, at most."""
    call, definition = OpCall.of(node), registry[node.op]
    macs = 0 if isinstance(definition.cost, NotApplicable) else definition.cost(call).macs
    taken = max((type_.nelem for type_ in call.operands if type_ is not None), default=0)
    return max(macs, taken) / max(1, call.results[0].nelem)


def into_file(feed: Feed, layouts: Layouts) -> list[Array]:
    """Inputs of the onnx model as the file takes them."""
    return [layout.into_file(feed[layout.name]) for layout in layouts.inputs]


def _doubt(
    interpreter: Interpreter,
    registry: Registry,
    taken: Sequence[Array],
    found: Sequence[Array],
    expected: Sequence[Array],
    apart: float,
) -> str:
    """Why outputs that differ so much may both be right; empty when nothing speaks for that.

    Args:
        interpreter: of the converted graph.
        registry: its ops.
        taken: its inputs.
        found: its outputs.
        expected: those of the original.
        apart: how much they differ.
    """
    if not apart:
        return ""
    with np.errstate(all="ignore"):
        values = [array for array in interpreter.trace(taken).values.values() if array.dtype.kind == "f"]
        if any(not (np.abs(array.astype(np.float64)) < _OVERFLOWS).all() for array in values):
            return f"values inside are larger than {_OVERFLOWS:g}, and overflow in one order of addition or another"
        nudged = _run_nudged(interpreter.graph, registry, taken)
        triples = zip(expected, found, nudged, strict=True)
        moved = max((_change(*triple) for triple in triples if triple[0].dtype.kind in "fiu"), default=0.0)
    if moved <= apart / 10:
        return ""
    return f"rounding decides: inputs and weights that differ by {_NUDGE:g} move an output by {moved:.1e} of its peak"


def _run_nudged(graph: Graph, registry: Registry, taken: Sequence[Array]) -> list[Array]:
    """The outputs when inputs and weights are slightly others."""
    rng = np.random.default_rng(0)
    other = clone_graph(graph)
    for value in other.constants():
        if value.constant is not None and value.constant.ndim > 1:
            value.constant = _nudged(value.constant, rng)
    interpreter = interpreter_for(other, registry)
    return interpreter.run([_nudged(array, rng) for array in taken])


def _nudged(array: Array, rng: np.random.Generator) -> Array:
    if array.dtype.kind != "f":
        return array
    return (array.astype(np.float64) * (1 + _NUDGE * rng.uniform(-1, 1, array.shape))).astype(array.dtype)


def _change(reference: Array, one: Array, other: Array) -> float:
    """max|one - other| / max|reference|; 0 where that is no number."""
    peak = np.abs(reference.astype(np.float64)).max(initial=0.0)
    change = np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0)
    change = float(change / peak) if peak else 0.0
    return change if np.isfinite(change) else 0.0


def _first_divergence(converted: Converted, feed: Feed, tolerance: float) -> str:
    """The first value of the converted graph that is not what the onnx value of its name is, as a sentence's end."""
    known = {value.name for value in converted.onnx.graph.inputs}
    given = {name: array for name, array in feed.items() if name in known}
    try:
        with np.errstate(all="ignore"):
            expected = interpreter_for(converted.onnx.graph, converted.onnx_registry).trace(given).values
            found = interpreter_for(converted.legalized, converted.registry).trace(into_file(feed, converted.layouts))
    except AreniteError:
        return ""
    for node in converted.legalized.nodes:
        for value in node.results:
            reference = expected.get(value.name)
            if not isinstance(reference, np.ndarray):
                continue
            lying = alike(reference, found.values[value.name])
            wrong = "has other dimensions" if lying is None else difference(reference, lying, tolerance)[1]
            if wrong:
                origin = f", from {', '.join(repr(name) for name in node.origin)}" if node.origin else ""
                return f"; the first value to differ is '{value.name}' of '{node.name}' ({node.op}{origin}), it {wrong}"
    return ""
