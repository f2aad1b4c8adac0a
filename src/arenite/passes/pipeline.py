"""Runs passes in order, with instruments around each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arenite._base.errors import SelfCheckError
from arenite._base.remarks import Remark
from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry
from arenite.passes.base import Context, Equivalence, Pass, PassResult
from arenite.passes.invariants import Invariant


@dataclass
class Step:
    """One pass's run, as instruments see it.

    Attributes:
        number: from 0.
        spec: the pass.
        graph: before the run, and after it the same object, changed.
        context: what the pass was given.
        nodes_before: how many nodes the graph had.
        nodes_after: how many it has; as before until the pass has run.
        result: what the pass says; None until it has run.
        milliseconds: how long it took, instruments not counted.
        max_error: set by the instrument that measures it.
    """

    number: int
    spec: Pass
    graph: Graph
    context: Context
    nodes_before: int
    nodes_after: int
    result: PassResult | None = None
    milliseconds: float = 0.0
    max_error: float | None = None

    @property
    def said(self) -> PassResult:
        """The result of a pass that has run."""
        assert self.result is not None
        return self.result


class Instrument:
    """Watches passes. One instance serves one run of a pipeline; this one does nothing."""

    def before(self, step: Step) -> None:
        """Called before each pass."""

    def after(self, step: Step) -> None:
        """Called after each pass; raises SelfCheckError, naming the pass, when it did wrong."""

    def failed(self, step: Step, error: SelfCheckError) -> SelfCheckError:
        """Called when a pass did wrong; the error to raise, `error` or one that says more."""
        return error


@dataclass(frozen=True)
class PassRow:
    """What report.json tells of a pass.

    Attributes:
        max_error: max|difference| / max|reference| over the outputs that were compared; None when none were.
    """

    name: str
    changed: bool
    nodes_before: int
    nodes_after: int
    milliseconds: float
    equivalence: Equivalence
    max_error: float | None


@dataclass(frozen=True)
class PipelineResult:
    """Rows in the order of the passes, and every remark."""

    rows: tuple[PassRow, ...]
    remarks: tuple[Remark, ...]


def run_pipeline(
    graph: Graph,
    passes: Sequence[Pass],
    registry: Registry,
    *,
    instruments: Sequence[Instrument] = (),
    sink: Callable[[Remark], None] = lambda remark: None,
) -> PipelineResult:
    """Transform a graph in place.

    Args:
        graph: a sound graph.
        passes: in order.
        registry: the ops.
        instruments: called around each pass, in order.
        sink: receives each remark as it is made.

    Raises:
        SelfCheckError: an instrument caught a pass at fault, or what a pass requires or establishes does not hold.
    """
    remarks: list[Remark] = []

    def record(remark: Remark) -> None:
        remarks.append(remark)
        sink(remark)

    context = Context(registry, record)
    rows = []
    for number, spec in enumerate(passes):
        step = Step(number, spec, graph, context, len(graph), len(graph))
        try:
            _run_step(step, instruments)
        except SelfCheckError as error:
            for instrument in instruments:
                error = instrument.failed(step, error)
            raise error
        rows.append(_row(step))
    return PipelineResult(tuple(rows), tuple(remarks))


def _run_step(step: Step, instruments: Sequence[Instrument]) -> None:
    _require(step, step.spec.requires, "needs")
    for instrument in instruments:
        instrument.before(step)
    start = time.perf_counter()
    step.result = step.spec.run(step.graph, step.context)
    step.milliseconds = (time.perf_counter() - start) * 1e3
    step.nodes_after = len(step.graph)
    for instrument in instruments:
        instrument.after(step)
    _require(step, step.spec.establishes, "claims to leave")


def _row(step: Step) -> PassRow:
    return PassRow(
        step.spec.name,
        step.said.changed,
        step.nodes_before,
        step.nodes_after,
        step.milliseconds,
        step.spec.equivalence,
        step.max_error,
    )


def _require(step: Step, invariants: Sequence[Invariant], verb: str) -> None:
    problems = [
        f"pass '{step.spec.name}' {verb} '{invariant.name}', but {problem}"
        for invariant in invariants
        for problem in invariant.problems(step.graph, step.context.registry)
    ]
    if problems:
        raise SelfCheckError(problems)
