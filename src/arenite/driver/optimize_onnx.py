"""Optimises models of the onnx dialect, and compares the result with the original."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from arenite._base.errors import ModelError, UsageError
from arenite.driver.onnx_functions import with_inlining, with_smaller_bodies
from arenite.driver.onnx_misuse import refuse_misuse
from arenite.driver.optimize_result import Comparison, Costs, FoldFunction, OptimizeOptions, OptimizeResult
from arenite.formats.onnx import OnnxDetails, model_registry
from arenite.formats.onnx.functions import Functions, without_unused
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, OpError
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OLDEST_OPSET, Evaluator, OnnxRegistry, pure_name, with_fold
from arenite.ops.onnx.names import is_onnx, split_op
from arenite.passes.base import Pass
from arenite.passes.onnx.facts import all_graphs
from arenite.passes.onnx.interface import Interface, apply_interface, drop_dead_inputs
from arenite.passes.onnx.measures import Measures, measured
from arenite.passes.onnx.peaks import run_within_peak
from arenite.passes.onnx.presets import onnx_passes
from arenite.passes.progress import Progress

_MOST_NAMED = 5
"""How many inputs a note names."""


def optimize_onnx(
    model: Model,
    options: OptimizeOptions,
    *,
    source: Path | None,
    reproducer: Path,
    step: Callable[[str], None] = lambda _: None,
) -> OptimizeResult:
    """Optimise a model in place.

    Args:
        model: of the onnx dialect.
        options: what is asked for.
        source: the file that it was read from, if any.
        reproducer: the folder to write when the result is wrong.
        step: is told what is being done now.

    Raises:
        ModelError: nodes have operands or results that their operators do not.
        UsageError, DataError: an option names what is not there, or does not fit.
        SelfCheckError: the result does not compute what the original does.
    """
    registry = onnx_registry(model, options)
    refuse_misuse(model.graph, registry)
    frozen = tuple(name for name in _defaults(model) if name not in options.pins)
    interface = apply_options(model, options)
    unused = _notes_on_pure(model, options)
    before = measured(model.graph, registry)
    original = replace(model, graph=clone_graph(model.graph)) if options.check else None
    opset = registry.opsets.get("", OLDEST_OPSET)
    passes = onnx_passes(
        fold_max_nbytes=options.fold_max_nbytes,
        off=options.without,
        ignore_signed_zeros=options.ignore_signed_zeros,
        opset=opset,
    )
    # Smaller bodies may be small enough to be written out.
    smaller = with_smaller_bodies(model, passes)
    changed = smaller is not model or not interface.is_empty
    model.details = smaller.details
    registry = onnx_registry(model, options)
    passes = with_inlining(passes, model, registry)
    rounds = itertools.count(1)
    within = run_within_peak(
        model.graph,
        passes,
        registry,
        instruments=lambda: (Progress(step, len(passes), f"round {next(rounds)}: "),),
    )
    model.graph, passes, result = within.graph, within.passes, within.result
    settled, gone = without_unused(model)
    model.details = settled.details
    notes = [*_notes(model), *_notes_on_defaults(frozen, options), *unused]
    if opset < OLDEST_OPSET:
        notes.append(
            f"opset {opset} is older than {OLDEST_OPSET}: only nodes that are equal or not needed were removed"
        )
    if gone:
        notes.append(f"functions that nothing calls any more were left out: {', '.join(gone)}")
    if options.outputs and (dead := drop_dead_inputs(model.graph)):
        notes.append(f"inputs that the kept outputs do not depend on were removed: {', '.join(dead)}")
    checked = Comparison(0, options.check)
    if original is not None:
        checked = _checked(
            original, model, registry, passes, options, source if interface.is_empty else None, reproducer, step
        )
    return OptimizeResult(
        model=model,
        changed=changed or bool(gone) or any(row.changed for row in result.rows),
        before=_costs(before),
        after=_costs(measured(model.graph, model_registry(model, pure=tuple(registry.pure)))),
        rows=result.rows,
        remarks=result.remarks,
        notes=tuple(notes),
        checked=checked,
    )


def apply_options(model: Model, options: OptimizeOptions) -> Interface:
    """Change the interface of a model in place as the options say: shapes, pins, outputs, defaults that are frozen.

    Raises:
        UsageError, DataError: an option names what is not there, or does not fit.
    """
    frozen = _defaults(model) if options.freeze_defaults else {}
    pins = {**frozen, **options.pins}
    interface = Interface(options.input_shapes, pins, options.outputs)
    apply_interface(model.graph, interface)
    _forget_defaults(model, tuple(pins))
    return interface


def onnx_registry(model: Model, options: OptimizeOptions) -> OnnxRegistry:
    try:
        registry = model_registry(model, pure=[_custom(text, "--pure") for text in options.pure])
    except TypeError:
        raise ModelError("this model is not of the onnx dialect") from None
    for text, function in options.fold_functions.items():
        registry = with_fold(registry, _custom(text, "fold_functions"), _evaluator(function))
    return registry


def _custom(text: str, option: str) -> str:
    try:
        return pure_name(text)
    except OpError as error:
        raise UsageError(f"{option}: {error}") from None


def _evaluator(function: FoldFunction) -> Evaluator:
    def evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        attributes = call.attrs.as_mapping() if isinstance(call.attrs, OnnxAttrs) else {}
        results = function(*operands, **attributes)
        return (results,) if isinstance(results, np.ndarray) else tuple(results)

    return evaluate


def _defaults(model: Model) -> Mapping[str, Array]:
    """Inputs that a caller may leave out, and what they hold then."""
    return model.details.defaults if isinstance(model.details, OnnxDetails) else {}


def _notes_on_pure(model: Model, options: OptimizeOptions) -> list[str]:
    """A note for each operator that is said to be pure, and that no node of the model has."""
    if not options.pure:
        return []
    there = {node.op for graph in all_graphs(model.graph) for node in graph.nodes} | set(Functions(model).called_ops())
    shown = {_shown(op): op for op in sorted(there)}
    notes = []
    for text in options.pure:
        if pure_name(text) not in there:
            near = get_close_matches(text, list(shown), n=3)
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            notes.append(f"--pure {text}: no node of the model has this operator{meant}")
    return notes


def _shown(op: str) -> str:
    """`DOMAIN::OP`, as it is typed."""
    return "::".join(split_op(op)) if is_onnx(op) else op


def _notes_on_defaults(names: Sequence[str], options: OptimizeOptions) -> list[str]:
    if not names:
        return []
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
    if options.freeze_defaults:
        return [f"inputs with default values became constants: {listed}"]
    if len(names) == 1:
        return [
            f"input '{names[0]}' has a default value, which callers may replace; --freeze-defaults makes it a constant"
        ]
    return [
        f"{len(names)} inputs have default values, which callers may replace: {listed}; --freeze-defaults makes them "
        "constants"
    ]


def _forget_defaults(model: Model, pinned: tuple[str, ...]) -> None:
    details = model.details
    if isinstance(details, OnnxDetails) and pinned:
        kept = {name: array for name, array in details.defaults.items() if name not in pinned}
        model.details = replace(details, defaults=kept)


def _notes(model: Model) -> list[str]:
    details = model.details
    if not isinstance(details, OnnxDetails):
        return []
    notes = list(details.notes)
    if details.unused:
        total = sum(details.unused.values())
        notes.append(f"{len(details.unused)} initialisers that nothing reads were left out ({total:,} bytes)")
    return notes


def _costs(measures: Measures) -> Costs:
    return Costs(
        operators=measures.operators,
        nodes=measures.nodes,
        kernels=measures.kernels,
        weights_nbytes=measures.weights_nbytes,
        file_nbytes=None,
        activations_nbytes=measures.activations_nbytes,
        macs=measures.macs,
    )


def _checked(
    original: Model,
    model: Model,
    registry: OnnxRegistry,
    passes: tuple[Pass, ...],
    options: OptimizeOptions,
    source: Path | None,
    reproducer: Path,
    step: Callable[[str], None],
) -> Comparison:
    from arenite.driver.onnx_check import Check  # noqa: PLC0415 - heavy

    return Check(original, registry, passes, options.check, source, reproducer, step).of(model)
