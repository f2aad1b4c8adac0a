"""Optimises models of the onnx dialect, and compares the result with the original."""

from dataclasses import replace
from pathlib import Path

from arenite._base.errors import ModelError, UsageError
from arenite.driver.optimize_result import Costs, OptimizeOptions, OptimizeResult
from arenite.formats.onnx import OnnxDetails, model_registry
from arenite.ir.clone import clone_graph
from arenite.ir.model import Model
from arenite.ir.opdef import OpError
from arenite.ops.onnx.dialect import OnnxRegistry, pure_name
from arenite.passes.base import Pass
from arenite.passes.onnx.interface import Interface, apply_interface, drop_dead_inputs
from arenite.passes.onnx.measures import Measures, measured
from arenite.passes.onnx.presets import onnx_passes, run_rounds


def optimize_onnx(model: Model, options: OptimizeOptions, *, source: Path | None, reproducer: Path) -> OptimizeResult:
    """Optimise a model in place.

    Args:
        model: of the onnx dialect.
        options: what is asked for.
        source: the file that it was read from, if any.
        reproducer: the folder to write when the result is wrong.

    Raises:
        UsageError, DataError: an option names what is not there, or does not fit.
        SelfCheckError: the result does not compute what the original does.
    """
    registry = _registry(model, options)
    interface = Interface(options.input_shapes, options.pins, options.outputs)
    apply_interface(model.graph, interface)
    before = measured(model.graph, registry)
    _forget_defaults(model, tuple(options.pins))
    original = replace(model, graph=clone_graph(model.graph)) if options.check else None
    passes = onnx_passes(fold_max_nbytes=options.fold_max_nbytes, off=options.without)
    result = run_rounds(model.graph, passes, registry)
    notes = _notes(model)
    if options.outputs and (dead := drop_dead_inputs(model.graph)):
        notes.append(f"inputs that the kept outputs do not depend on were removed: {', '.join(dead)}")
    checked = "not compared"
    if original is not None:
        checked = _checked(
            original, model, registry, passes, options, source if interface.is_empty else None, reproducer
        )
    return OptimizeResult(
        model=model,
        changed=any(row.changed for row in result.rows) or not interface.is_empty,
        before=_costs(before),
        after=_costs(measured(model.graph, registry)),
        rows=result.rows,
        remarks=result.remarks,
        notes=tuple(notes),
        checked=checked,
    )


def with_file_sizes(result: OptimizeResult, before: int, after: int) -> OptimizeResult:
    """The same result with the sizes of the files."""
    return replace(
        result,
        before=replace(result.before, file_nbytes=before),
        after=replace(result.after, file_nbytes=after),
    )


def _registry(model: Model, options: OptimizeOptions) -> OnnxRegistry:
    names = []
    for text in options.pure:
        try:
            names.append(pure_name(text))
        except OpError as error:
            raise UsageError(f"--pure: {error}") from None
    try:
        return model_registry(model, pure=names)
    except TypeError:
        raise ModelError("this model is not of the onnx dialect") from None


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
) -> str:
    from arenite.driver.onnx_check import Check  # noqa: PLC0415 - heavy

    return Check(original, registry, passes, options.check, source, reproducer).of(model)
