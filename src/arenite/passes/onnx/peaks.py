"""Passes over onnx graphs that may not raise the peak of activations: what would is not done.

Nothing is weighed beforehand, since what one pass takes another may give back. When the graph is done and its peak is
above the original's, all is run again to find the change that did it; then once more, without that change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from arenite._base.remarks import Reason, Remark, RemarkKind
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry
from arenite.passes.base import Context, Pass
from arenite.passes.onnx.measures import Peaks, peaks_of
from arenite.passes.onnx.presets import run_rounds
from arenite.passes.pipeline import Instrument, PipelineResult, Step

GIVEN_UP = Reason(
    "raises-peak",
    "what {who} would do to {subject} was given up: it takes the peak of activations from {before} to {after} bytes",
)

MOST_KEPT = 6
"""How many changes in a run of a pass are forgone one by one, before all in that run are."""
_MOST_NAMED = 20


@dataclass(frozen=True)
class Within:
    """What came of a run.

    Attributes:
        graph: the optimised graph: the one that was given, unless it had to be done again.
        passes: those that made it, with what they forgo.
        result: their rows and remarks.
    """

    graph: Graph
    passes: tuple[Pass, ...]
    result: PipelineResult


def run_within_peak(
    graph: Graph,
    passes: Sequence[Pass],
    registry: Registry,
    *,
    instruments: Callable[[], Sequence[Instrument]] = tuple,
) -> Within:
    """Run passes in rounds as `run_rounds` does, so that no more bytes are alive at once than before.

    Where sizes are not known beforehand, two are tried for all of them. A pass with a field `kept` is told the names
    of nodes to leave as they are; another one is left out, with a remark.

    Args:
        graph: changed in place; spoilt when it has to be done again.
        passes: what runs in each round.
        registry: the ops.
        instruments: makes new ones for each round.
    """
    original = clone_graph(graph)
    limits = peaks_of(graph, registry)
    chosen = tuple(passes)
    said: list[Remark] = []
    while True:
        result = run_rounds(graph, chosen, registry, instruments=instruments)
        found = peaks_of(graph, registry)
        if not _above(found, limits) or not chosen:
            return Within(graph, chosen, PipelineResult(result.rows, (*said, *result.remarks)))
        blamed, before = _blamed(original, chosen, registry, limits)
        changed = _with_kept(blamed, before, registry, limits)
        said.extend(_given_up(blamed, changed, limits, found))
        chosen = tuple(new for each in chosen if (new := changed if each is blamed else each) is not None)
        graph = clone_graph(original)


def _given_up(blamed: Pass, changed: Pass | None, limits: Peaks, found: Peaks) -> list[Remark]:
    place = next(i for i in range(len(found)) if _above(found[i : i + 1], limits[i : i + 1]))
    arguments = {"who": blamed.name, "before": limits[place], "after": found[place]}
    subjects = ["any node"] if changed is None else sorted(_kept(changed) - _kept(blamed))[:_MOST_NAMED]
    return [Remark(RemarkKind.ANALYSIS, blamed.name, GIVEN_UP, subject, arguments) for subject in subjects]


def _kept(spec: Pass) -> frozenset[str]:
    found: frozenset[str] = getattr(spec, "kept", frozenset())
    return found


def _above(found: Peaks, limits: Peaks) -> bool:
    return any(new is not None and old is not None and new > old for new, old in zip(found, limits, strict=True))


class _Watch(Instrument):
    """Notes after which runs of passes the graph is above its limits."""

    def __init__(self, registry: Registry, limits: Peaks) -> None:
        self.above = [False]
        self._registry = registry
        self._limits = limits

    def after(self, step: Step) -> None:
        now = self.above[-1]
        if step.said.changed:
            now = _above(peaks_of(step.graph, self._registry), self._limits)
        self.above.append(now)


def _blamed(original: Graph, passes: Sequence[Pass], registry: Registry, limits: Peaks) -> tuple[Pass, Graph]:
    """The pass whose run took the graph above its limits for good, and the graph before that run."""
    watch = _Watch(registry, limits)
    run_rounds(clone_graph(original), passes, registry, instruments=lambda: (watch,))
    number = max(i for i, now in enumerate(watch.above) if not now)
    before = clone_graph(original)
    if number:
        run_rounds(before, passes, registry, limit=number)
    return passes[number % len(passes)], before


def _with_kept(blamed: Pass, before: Graph, registry: Registry, limits: Peaks) -> Pass | None:
    """The pass without the changes that take a graph above its limits; None when it cannot do without them."""
    if "kept" not in {field.name for field in fields(blamed)}:
        return None
    changed = blamed
    for _ in range(MOST_KEPT):
        subject, _ = _culprit(changed, before, registry, limits)
        if subject is None or subject in _kept(changed):
            return changed if subject is None and changed is not blamed else None
        changed = replace(changed, kept=_kept(changed) | {subject})  # type: ignore[call-arg]
    subject, others = _culprit(changed, before, registry, limits)
    return changed if subject is None else replace(changed, kept=_kept(changed) | others)  # type: ignore[call-arg]


def _culprit(spec: Pass, before: Graph, registry: Registry, limits: Peaks) -> tuple[str | None, set[str]]:
    """The subject of the change with which a pass crosses the limits, None when it stays within them; and of all."""

    def above_after(count: int | None) -> tuple[bool, list[str]]:
        graph = clone_graph(before)
        result = spec.run(graph, Context(registry, max_changes=count))
        subjects = [remark.subject for remark in result.remarks if remark.kind is RemarkKind.PASSED]
        return _above(peaks_of(graph, registry), limits), subjects

    is_above, subjects = above_after(None)
    if not is_above:
        return None, set()
    low, high = 0, len(subjects)
    while high - low > 1:
        middle = (low + high) // 2
        if above_after(middle)[0]:
            high = middle
        else:
            low = middle
    return subjects[high - 1], set(subjects)
