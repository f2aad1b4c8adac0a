"""Optimises models of the core dialect that go back into a .tflite file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from arenite._base.errors import UsageError
from arenite._base.remarks import Remark
from arenite.driver.load import registry_for
from arenite.driver.optimize_result import Comparison, Costs, OptimizeOptions, OptimizeResult
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import NotApplicable, OpCall, Registry, Trait
from arenite.passes.base import Close, Pass
from arenite.passes.copy_state import CopyState, ReadInPlace
from arenite.passes.differential import NOT_COMPARED, Differential
from arenite.passes.feeds import made_up_feeds
from arenite.passes.fold import FOLDED
from arenite.passes.instruments import VerifyGraph
from arenite.passes.pipeline import Instrument, PipelineResult, run_pipeline
from arenite.passes.presets import file_passes, with_state_copied
from arenite.passes.progress import Progress
from arenite.passes.reproduce import Reproduce


def optimize_tflite(
    model: Model, options: OptimizeOptions, *, reproducer: Path, step: Callable[[str], None] = lambda _: None
) -> OptimizeResult:
    """Optimise a model in place, if that makes it smaller: fewer nodes or multiply-accumulates.

    A pass that would raise the most that activations take at once is left out.

    Raises:
        UsageError: an option is not for this format.
        SelfCheckError: a pass changed what the model computes.
    """
    asked = (options.input_shapes, options.pins, options.outputs, options.pure, options.fold_functions)
    if any(asked) or options.freeze_defaults or options.ignore_signed_zeros:
        names = "--input-shape, --pin, --outputs, --pure, --freeze-defaults, --ignore-signed-zeros"
        raise UsageError(f"{names} (in Python fold_functions, too) are for .onnx models; this one is a .tflite")
    registry, original = registry_for(model), model.graph
    passes = _passes(options, original)
    before = core_costs(original, registry)
    graph, result = _run(original, passes, registry, [Progress(step, len(passes))])
    notes: list[str] = []
    if _peak(graph) > _peak(original):
        passes, notes = _without_those_that_raise(original, passes, registry)
        graph, result = _run(original, passes, registry)
    after = core_costs(graph, registry)
    smaller = (after.nodes, after.macs or 0) != (before.nodes, before.macs or 0)
    changed = smaller and after.nodes <= before.nodes and (after.macs or 0) <= (before.macs or 0)
    if changed:
        if options.check:
            # Running a model takes long: what is thrown away is not compared.
            samples = [feed.arrays for feed in made_up_feeds(original, n_random=options.check, edges=False)]
            checks = (Differential(samples, n_random=0, edges=False), Reproduce(reproducer, samples))
            graph, result = _run(original, passes, registry, (*checks, Progress(step, len(passes), "checking ")))
        model.graph = graph
        notes += _grown(original, graph, result.remarks)
    return OptimizeResult(
        model=model,
        changed=changed,
        before=before,
        after=after if changed else before,
        rows=result.rows,
        remarks=result.remarks,
        notes=tuple(notes),
        checked=_checked(result, options.check) if changed else Comparison(0, options.check, problem=_SAME),
    )


_SAME = "the graph is the same"


def _checked(result: PipelineResult, inputs: int) -> Comparison:
    problem = next((str(each.arguments["problem"]) for each in result.remarks if each.reason is NOT_COMPARED), "")
    if problem or not inputs:
        return Comparison(0, inputs, problem=problem)
    promises = (row.equivalence for row in result.rows)
    return Comparison(
        inputs=inputs,
        asked=inputs,
        engine="the interpreter, after each pass",
        max_error=max((row.max_error or 0.0 for row in result.rows), default=0.0),
        tolerance=max((each.tolerance for each in promises if isinstance(each, Close)), default=0.0),
    )


def _passes(options: OptimizeOptions, graph: Graph) -> list[Pass]:
    limit = {} if options.fold_max_nbytes is None else {"fold_max_nbytes": options.fold_max_nbytes}
    found = file_passes(
        keep_float16=options.keep_float16, fold_channels=options.fold_channels, pad_with_taps=False, **limit
    )
    chosen = tuple(each for each in found if each.name not in options.without)
    return list(with_state_copied(chosen) if any(value.is_variable for value in graph.values()) else chosen)


def _run(
    original: Graph, passes: Sequence[Pass], registry: Registry, checks: Sequence[Instrument] = ()
) -> tuple[Graph, PipelineResult]:
    graph = clone_graph(original)
    return graph, run_pipeline(graph, passes, registry, instruments=(VerifyGraph(), *checks))


def _without_those_that_raise(
    original: Graph, passes: Sequence[Pass], registry: Registry
) -> tuple[list[Pass], list[str]]:
    """The passes that do not raise the peak, each run after those that are left, and a note for each of the others.

    Those around all others stay: they are there so that the others are right.
    """
    kept: list[Pass] = []
    notes = []
    graph, peak = clone_graph(original), _peak(original)
    for each in passes:
        trial = clone_graph(graph)
        run_pipeline(trial, [each], registry)
        if _peak(trial) > peak and not isinstance(each, CopyState | ReadInPlace):
            notes.append(
                f"pass '{each.name}' was left out: activations would take {_peak(trial):,} bytes, not {peak:,}"
            )
        else:
            graph, peak = trial, _peak(trial)
            kept.append(each)
    return kept, notes


def _grown(original: Graph, graph: Graph, remarks: Sequence[Remark]) -> list[str]:
    before, after = _weights_nbytes(original), _weights_nbytes(graph)
    folded = sum(remark.reason is FOLDED for remark in remarks)
    if after <= before or not folded:
        return []
    return [
        f"constants take {after - before:,} bytes more, since {folded} nodes were computed; --keep-fp16 keeps float16 "
        "weights with the DEQUANTIZE behind them, --fold-max-bytes and --no-fold-constants bound the rest"
    ]


def core_costs(graph: Graph, registry: Registry) -> Costs:
    """What a graph of the core dialect costs."""
    macs, kernels = 0, 0
    nodes = list(graph.nodes)
    for node in nodes:
        definition = registry.get(node.op)
        kernels += definition is None or not definition.has(Trait.VIEW)
        if definition is not None and not isinstance(definition.cost, NotApplicable):
            macs += definition.cost(OpCall.of(node)).macs
    operators = len({node.op for node in nodes})
    return Costs(operators, len(nodes), kernels, _weights_nbytes(graph), None, _peak(graph), macs)


def _weights_nbytes(graph: Graph) -> int:
    return sum(value.type.nbytes for value in graph.constants())


def _peak(graph: Graph) -> int:
    """The most bytes that operands, results and what is kept for later take while one node runs."""
    nodes = list(graph.nodes)
    last: dict[Value, int] = dict.fromkeys(graph.inputs, -1)
    for number, node in enumerate(nodes):
        read = (value for value in node.present_operands if not value.is_constant and not value.is_variable)
        last.update(dict.fromkeys((*read, *node.results), number))
    last.update(dict.fromkeys((value for value in graph.outputs if not value.is_constant), len(nodes)))
    ends: dict[int, list[Value]] = {}
    for value, number in last.items():
        ends.setdefault(number, []).append(value)
    alive = peak = sum(value.type.nbytes for value in graph.inputs)
    for number, node in enumerate(nodes):
        alive += sum(value.type.nbytes for value in node.results)
        peak = max(peak, alive)
        alive -= sum(value.type.nbytes for value in ends.get(number, ()))
    return peak
