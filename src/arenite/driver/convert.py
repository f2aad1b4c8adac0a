"""`convert`: an onnx model becomes a .tflite file that computes the same."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

from arenite._base.errors import ModelError, UsageError
from arenite._base.files import check_outputs, written_whole
from arenite.driver.convert_check import ConvertCheck, Converted
from arenite.driver.convert_extras import Extras
from arenite.driver.convert_hints import hints, listed, with_defaults
from arenite.driver.convert_result import ConvertOptions, ConvertResult, Port
from arenite.driver.load import data_files, load_model
from arenite.driver.onnx_references import Asked
from arenite.driver.optimize_onnx import apply_options, onnx_registry, optimize_onnx
from arenite.driver.optimize_result import Comparison, OptimizeResult
from arenite.driver.optimize_tflite import core_costs
from arenite.driver.toolbox import default_toolbox
from arenite.formats.tflite import MAX_TABLES, Layout, Layouts, TfliteDetails, export_model, import_model
from arenite.formats.tflite.details import GraphFacts, Signature
from arenite.formats.tflite.explicit_padding import with_pad_operators
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.passes.base import Pass
from arenite.passes.instruments import VerifyGraph
from arenite.passes.legalize import Placement, legalize
from arenite.passes.pipeline import PipelineResult, run_pipeline
from arenite.passes.presets import file_passes
from arenite.passes.progress import Progress

Tell = Callable[[str], None]
"""Is told what is being done now."""

_MOST_NODES = MAX_TABLES // 2
"""Operators that a file can have at most: each has a table of its own and one of a result."""

_SIGNATURE = "serving_default"
"""What TensorFlow calls the only entry point of a model, and LiteRT looks for."""


def convert_file(
    path: Path,
    out: Path,
    options: ConvertOptions,
    *,
    explain: Path | None = None,
    also_read: Sequence[Path] = (),
    step: Tell = lambda _: None,
) -> ConvertResult:
    """Convert a .onnx file and write the .tflite file.

    Args:
        path: the model.
        out: where the result goes.
        options: what is asked for.
        explain: where every verdict goes, as JSON.
        also_read: files that the options were read from.
        step: is told what is being done now.

    Raises:
        UsageError: the suffixes are not those of such models, or an option names what is not there.
        ModelError, DataError: the model or a value is at fault, or a file must not be written.
        SelfCheckError: the result is not what the original is; nothing is written but a reproducer.
    """
    if path.suffix.lower() == ".tflite":
        smaller = out if out.suffix.lower() == ".tflite" else "OUT.tflite"
        raise UsageError(f"{path} is a .tflite already; to make it smaller: arenite optimize {path} -o {smaller}")
    if path.suffix.lower() != ".onnx":
        raise UsageError(f"{path}: convert reads .onnx models; the suffix '{path.suffix}' is not theirs")
    if out.suffix.lower() != ".tflite":
        raise UsageError(f"-o {out}: convert writes a .tflite file: give a name that ends in .tflite")
    step("reading the model")
    model = load_model(path)
    read = [path, *(path.parent / name for name in data_files(model)), *also_read]
    check_outputs([out, *([explain] if explain is not None else [])], read)
    result = _convert(model, options, source=path, reproducer=out.with_name(out.name + ".reproducer"), step=step)
    result = result.with_file_sizes(path.stat().st_size, len(result.data))
    step("writing the result")
    result.write(out)
    if explain is not None:
        with written_whole(explain) as temporary:
            content = json.dumps(result.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
            temporary.write_text(content + "\n", encoding="utf-8", errors="surrogatepass")
    return result


def convert_loaded(model: Model, options: ConvertOptions) -> ConvertResult:
    """Convert a model of the onnx dialect, in place.

    Raises:
        UsageError: the model is a .tflite.
        as `convert_file` does.
    """
    if model.format != "onnx":
        raise UsageError(f"{model.name} is a .tflite already; arenite.optimize makes it smaller")
    return _convert(
        model, options, source=None, reproducer=Path(f"{model.name}.tflite.reproducer"), step=lambda _: None
    )


def _convert(
    model: Model, options: ConvertOptions, *, source: Path | None, reproducer: Path, step: Tell
) -> ConvertResult:
    kept = _kept(model.graph, options)
    untouched = replace(model, graph=clone_graph(model.graph))
    original = replace(model, graph=clone_graph(model.graph))
    interface = apply_options(original, options.optimize)
    # The check at the end sees what the passes did to the onnx model, too.
    optimized = optimize_onnx(
        model, replace(options.optimize, check=0), source=source, reproducer=reproducer, step=step
    )
    _refuse_open_sizes(model.graph)
    step("converting")
    converted, written, result = _legalized(optimized, options, kept, step)
    read_back = import_model(converted.data, model.name)
    checked = Comparison(0, options.optimize.check)
    if options.optimize.check:
        asked = Asked.within_budget(options.optimize.check, source if interface.is_empty else None, step)
        checked = ConvertCheck(original, untouched, options.optimize, asked, reproducer).of(converted, read_back)
    extras = Extras(written, original.graph)
    return ConvertResult(
        model=read_back,
        data=converted.data,
        before=optimized.before,
        after=replace(core_costs(written, converted.registry), file_nbytes=len(converted.data)),
        inputs=_ports(converted.layouts.inputs, written.inputs),
        outputs=_ports(converted.layouts.outputs, written.outputs),
        operators=tuple(Counter(node.op for node in read_back.graph.nodes).most_common()),
        transposes=extras.transposes(),
        pads=extras.pads(),
        nodes=extras.heirs(),
        rows=(*optimized.rows, *result.rows),
        remarks=(*optimized.remarks, *result.remarks),
        notes=_notes(optimized, model),
        checked=checked,
    )


def _legalized(
    optimized: OptimizeResult, options: ConvertOptions, kept: frozenset[str], step: Tell
) -> tuple[Converted, Graph, PipelineResult]:
    """The stages of a conversion, the graph that is written, and what the passes did to it."""
    model, registry = optimized.model, default_toolbox().registry
    operators = onnx_registry(model, options.optimize)
    try:
        legalized = legalize(model.graph, operators, registry, keep_layouts=kept, most_nodes=_MOST_NODES)
    except ModelError as error:
        raise ModelError((*error.problems, *hints(optimized, model))) from None
    passes = core_passes(options)
    core = clone_graph(legalized.graph)
    result = run_pipeline(core, passes, registry, instruments=(VerifyGraph(), Progress(step, len(passes))))
    layouts = Layouts(_layouts(legalized.inputs), _layouts(legalized.outputs))
    written = with_pad_operators(core)
    data = export_model(Model(model.name, written, "tflite", _details(written, layouts)))
    return Converted(model, operators, legalized.graph, passes, registry, layouts, data), written, result


def core_passes(options: ConvertOptions) -> list[Pass]:
    """What runs on the converted graph."""
    return list(file_passes(pad_with_taps=options.pad == "taps"))


def _kept(graph: Graph, options: ConvertOptions) -> frozenset[str]:
    """The names of those inputs and outputs whose layout stays.

    Raises:
        UsageError: there is no such input or output; the nearest names are suggested.
    """
    names = [value.name for value in (*graph.inputs, *graph.outputs)]
    problems = []
    for name in options.keep_layouts:
        if name not in names:
            near = get_close_matches(name, names, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(names) or 'none'}"
            problems.append(f"--keep-layout: the model has no input or output '{name}'; {hint}")
    if problems:
        raise UsageError(problems)
    return frozenset(names if options.keep_all_layouts else options.keep_layouts)


def _refuse_open_sizes(graph: Graph) -> None:
    """Refuse inputs of unknown sizes.

    Raises:
        ModelError: one sentence on all of them.
    """
    open_ = [value for value in graph.inputs if not value.type.is_static]
    if not open_:
        return
    listed = ", ".join(f"'{value.name}' is {value.type}" for value in open_)
    typed = " ".join(f"--input-shape {quote(f'{value.name}:{_sizes(value)}')}" for value in open_)
    raise ModelError(
        f"a .tflite file has fixed sizes, and the model leaves some open: {listed}; add {typed}, "
        "with numbers in place of names and question marks (1 for a batch)"
    )


def _sizes(value: Value) -> str:
    dims = value.type.shape
    if dims is None:
        return "?"
    return ",".join("?" if isinstance(dim, str) and dim.startswith("?") else str(dim) for dim in dims)


def _layouts(placements: Sequence[Placement]) -> tuple[Layout, ...]:
    return tuple(Layout(placement.name, placement.order) for placement in placements)


def _details(graph: Graph, layouts: Layouts) -> TfliteDetails:
    """What the file says besides the graph: layouts, and an entry point with the onnx model's names."""
    inputs = tuple((each.name, value.name) for each, value in zip(layouts.inputs, graph.inputs, strict=True))
    outputs = tuple((each.name, value.name) for each, value in zip(layouts.outputs, graph.outputs, strict=True))
    return TfliteDetails(
        main=GraphFacts(graph.name),
        signatures=(Signature(_SIGNATURE, inputs, outputs),),
        metadata=(layouts.metadata(),),
    )


def _ports(layouts: Sequence[Layout], values: Sequence[Value]) -> tuple[Port, ...]:
    return tuple(
        Port(layout.name, str(value.type.dtype), layout.dims_in_onnx(value.type.dims), value.type.dims, layout)
        for layout, value in zip(layouts, values, strict=True)
    )


def _notes(optimized: OptimizeResult, model: Model) -> tuple[str, ...]:
    defaults = with_defaults(model)
    if not defaults:
        return optimized.notes
    return (*optimized.notes, f"a .tflite file has no default values: callers must give {listed(defaults)}")
