"""Finds the pass, and in it the change, after which a graph is no longer as it should be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arenite._base.errors import DataError, ModelError
from arenite._base.remarks import Remark, RemarkKind
from arenite.interp import interpreter_for
from arenite.interp.inputs import Inputs
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph
from arenite.ir.opdef import Registry
from arenite.passes.base import Context, Equivalence, Pass
from arenite.passes.differential import agree, named_inputs
from arenite.passes.feeds import Feed, made_up_feeds

Judge = Callable[[Graph], bool]
"""Whether a graph is still good."""


@dataclass(frozen=True)
class Culprit:
    """The first change that makes a good graph a bad one.

    Attributes:
        number: of the pass, from 0.
        change: which of its changes, from 1.
        remark: what it said of that change.
        before, after: the graph without that change, and with it.
    """

    number: int
    spec: Pass
    change: int
    remark: Remark
    before: Graph
    after: Graph

    def __str__(self) -> str:
        origin = f" (from {', '.join(self.remark.origin)})" if self.remark.origin else ""
        return f"pass '{self.spec.name}', change {self.change}: {self.remark.text}{origin}"


def bisect(graph: Graph, passes: Sequence[Pass], registry: Registry, is_good: Judge) -> Culprit | None:
    """The first culprit; None when the graph is good after all passes.

    What is bad is taken to stay bad: as many graphs are judged as halving takes, twice.

    Args:
        graph: a good one; it stays as it is.
        passes: in order.
        registry: the ops.
        is_good: may run the graph, or lower and compile it.

    Raises:
        ValueError: the graph is bad before any pass.
    """
    if not is_good(graph):
        raise ValueError("the graph is bad before the first pass")
    stages = [graph]
    for spec in passes:
        stages.append(clone_graph(stages[-1]))
        spec.run(stages[-1], Context(registry))
    number = _first_bad(len(passes), lambda count: is_good(stages[count]))
    if number is None:
        return None
    spec, start = passes[number - 1], stages[number - 1]
    remarks = [r for r in spec.run(clone_graph(start), Context(registry)).remarks if r.kind is RemarkKind.PASSED]
    change = _first_bad(len(remarks), lambda count: is_good(_partly(spec, start, registry, count)))
    # A pass may break something after its last word on it.
    last = change if change is not None else len(remarks)
    before, after = (_partly(spec, start, registry, count) for count in (last - 1, last))
    return Culprit(number - 1, spec, last, remarks[last - 1], before, after)


def _partly(spec: Pass, start: Graph, registry: Registry, changes: int) -> Graph:
    """The graph after so many changes of a pass."""
    graph = clone_graph(start)
    spec.run(graph, Context(registry, max_changes=changes))
    return graph


def _first_bad(last: int, is_good: Callable[[int], bool]) -> int | None:
    """The least count in [1, last] that is bad, 0 being good; None when `last` is good."""
    if last < 1 or is_good(last):
        return None
    good, bad = 0, last
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_good(middle) else (good, middle)
    return bad


def computes_like(
    reference: Graph, registry: Registry, equivalence: Equivalence, samples: Sequence[Inputs] = ()
) -> Judge:
    """Judges graphs by their outputs on random inputs, on the ends of the range and on `samples`.

    One that cannot be run is bad.

    Raises:
        ModelError: the reference cannot be run.
    """
    feeds = made_up_feeds(reference)
    feeds += [Feed(f"sample {number}", named_inputs(reference, sample)) for number, sample in enumerate(samples)]

    def run(graph: Graph) -> list[Array]:
        interpreter = interpreter_for(clone_graph(graph), registry)
        return [array for feed in feeds for array in interpreter.run(feed.arrays)]

    expected = run(reference)

    def is_good(graph: Graph) -> bool:
        try:
            found = run(graph)
        except (ModelError, DataError):
            return False
        return all(agree(one, other, equivalence) for one, other in zip(expected, found, strict=True))

    return is_good
