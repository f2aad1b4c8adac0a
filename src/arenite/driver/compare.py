"""`compare`: two models on the same inputs, tensor by tensor, and what each costs."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arenite._base.errors import AreniteError, DataError, ModelError, UsageError
from arenite.driver.arrays import load_feeds, port_specs
from arenite.driver.build import build
from arenite.driver.compare_builds import BuildComparison, compare_builds, is_build
from arenite.driver.compare_log import LogComparison, compare_log
from arenite.driver.inspect import model_macs
from arenite.driver.layouts import Side, alike, line_up
from arenite.driver.load import SUFFIXES, load_model, port_names, registry_for
from arenite.driver.options import CompileOptions
from arenite.interp import interpreter_for
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.types import TensorType
from arenite.passes.differential import max_error
from arenite.passes.feeds import made_up_feeds

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """How far a tensor of B is from the one of A: max|a - b| / max|a|, in real numbers, over all inputs."""

    name: str
    error: float
    differing: int
    nelem: int
    is_output: bool


@dataclass(frozen=True)
class CompiledCost:
    """What `compile` makes of a model: other nodes, weights and multiply-accumulates than are in the file."""

    target: str
    layers: int
    constants_nbytes: int
    arena_nbytes: int
    macs: int


@dataclass(frozen=True)
class Cost:
    """What a model costs.

    Attributes:
        file_nbytes, nodes, weights_nbytes, macs: of the model as it is in the file; macs None where it is not known.
        compiled: None where the model cannot be compiled.
    """

    file_nbytes: int
    nodes: int
    weights_nbytes: int
    macs: int | None
    compiled: CompiledCost | None

    def to_json(self) -> dict[str, object]:
        return {**vars(self), "compiled": None if self.compiled is None else vars(self.compiled)}


_IN_FILE = (("file, bytes", "file_nbytes"), ("nodes", "nodes"), ("weights, bytes", "weights_nbytes"), ("MACs", "macs"))
_COMPILED = (
    ("layers", "layers"),
    ("constants, bytes", "constants_nbytes"),
    ("arena, bytes", "arena_nbytes"),
    ("MACs", "macs"),
)


@dataclass(frozen=True)
class Comparison:
    """Differences of outputs, and of every value that both models name, in A's order of computation."""

    a: Path
    b: Path
    costs: tuple[Cost, Cost]
    differences: tuple[Difference, ...]
    inputs: int

    @property
    def worst_output(self) -> float:
        return max((d.error for d in self.differences if d.is_output), default=0.0)

    def problem(self, limit: float | None) -> str:
        """Why the models are not as much alike as was asked for; empty when they are."""
        worst = self.worst_output
        if limit is None or worst <= limit:
            return ""
        if np.isfinite(worst):
            return f"an output differs by {worst:.3g}, more than {limit:g}"
        return "an output has another shape, or numbers that are not finite where the other's are"

    @property
    def first_divergent(self) -> Difference | None:
        """The first tensor that differs at all."""
        return next((d for d in self.differences if d.differing), None)

    def to_json(self) -> dict[str, object]:
        first = self.first_divergent
        return {
            "a": str(self.a),
            "b": str(self.b),
            "costs": [cost.to_json() for cost in self.costs],
            "inputs": self.inputs,
            "worst_output_error": _finite(self.worst_output),
            "first_divergent": None if first is None else first.name,
            "tensors": [{**vars(d), "error": _finite(d.error)} for d in self.differences],
        }

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"A {self.a}"
        yield f"B {self.b}"
        yield f"{'as it is in the file':20}{'A':>14}{'B':>14}"
        yield from _rows(_IN_FILE, self.costs)
        compiled = [cost.compiled for cost in self.costs]
        targets = [cost.target for cost in compiled if cost is not None]
        if targets:
            yield f"compiled for {targets[0]}"
            yield from _rows(_COMPILED, compiled)
        yield f"tensors that both name, on {self.inputs} inputs (error: max|a - b| / max|a|):"
        for d in self.differences:
            mark = "output " if d.is_output else ""
            same = "equal" if not d.differing else f"error {d.error:.3g}, {d.differing:,} of {d.nelem:,} elements"
            yield f"  {mark}{d.name}: {same}"
        first = self.first_divergent
        yield "all are equal" if first is None else f"the first that differs: {first.name}"


def compare(a: Path, b: Path, inputs: Path | None) -> Comparison | LogComparison | BuildComparison:
    """Compare two models, two builds, or a model with the log of a board.

    Raises:
        DataError: an argument is missing, or none of the two kinds: all of them, those that are missing first.
        AreniteError: see `compare_files`, `compare_builds` and `compare_log`.
    """
    _check_arguments(a, b, inputs)
    if is_build(a) and is_build(b):
        if inputs is not None:
            raise UsageError("--inputs is for models: two builds are compared by their reports")
        return compare_builds(a, b)
    for one, other in ((a, b), (b, a)):
        if is_build(one):
            asked = "give two models, two folders that compile wrote, or a model and a board's log"
            raise UsageError(f"{one} is a folder, and {other} is none: {asked}")
    return compare_files(a, b, inputs) if _is_model(b) else compare_log(a, b, inputs)


def _check_arguments(a: Path, b: Path, inputs: Path | None) -> None:
    problems = [
        f"{path}: there is no such {'file' if path is inputs else 'file or folder'}"
        for path in dict.fromkeys((a, b, None if is_build(a) and is_build(b) else inputs))
        if path is not None and not path.exists()
    ]
    if a.exists() and not is_build(a) and not _is_model(a):
        kinds = f"a file that ends in {' or '.join(SUFFIXES)}, or a folder that 'arenite compile' wrote"
        first = f"; a board's log comes after its model: {_command(b, a, inputs)}" if _is_model(b) else ""
        problems.append(f"{a}: not a model: expected {kinds}{_WITH_ARRAYS if _holds_arrays(a) else first}")
    if b.exists() and _holds_arrays(b) and _is_model(a):
        problems.append(f"{b}: not a model, nor a board's log{_WITH_ARRAYS}")
    if problems:
        raise DataError(problems)


_WITH_ARRAYS = "; for outputs, give both models, and --inputs IN.npz"


def _is_model(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _holds_arrays(path: Path) -> bool:
    return path.suffix.lower() in (".npz", ".npy")


def _command(a: Path, b: Path, inputs: Path | None) -> str:
    given = [] if inputs is None else ["--inputs", str(inputs)]
    return shlex.join(["arenite", "compare", str(a), str(b), *given])


def compare_files(a: Path, b: Path, inputs: Path | None) -> Comparison:
    """Run both models and compare.

    Args:
        a: the reference.
        b: a model with inputs of the same shapes and dtypes.
        inputs: an .npz file as `run` takes it; None: random inputs, and those at the ends of the range.

    Raises:
        DataError: the models do not take the same inputs or give as many outputs.
        ModelError: a model is damaged, or has operators that Arenite lacks.
    """
    models = _load_both(a, b)
    sides = line_up(*models)
    _check_ports(models, sides)
    try:
        feeds = [sides[0].inputs_given(feed) for feed in _feeds(models[0], inputs)]
    except DataError as error:
        if inputs is None or not _takes(models[1], inputs):
            raise
        turned = f"{inputs} holds what {b} takes: the model that the inputs are for comes first"
        raise DataError(f"{turned}: {_command(b, a, inputs)}") from error
    if not feeds:
        where = f"{inputs} holds no invocation" if inputs is not None else "no inputs can be made up; use --inputs"
        raise DataError(f"nothing could be compared: {where}")
    traces = [_run(model, feeds, side) for model, side in zip(models, sides, strict=True)]
    costs = cost_of(a, models[0]), cost_of(b, models[1])
    return Comparison(a, b, costs, tuple(_differences(models, traces, sides)), len(feeds))


def _load_both(a: Path, b: Path) -> tuple[Model, Model]:
    models, problems = [], []
    for path in (a, b):
        try:
            models.append(load_model(path))
        except (DataError, ModelError) as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ModelError(problems)
    return models[0], models[1]


def _check_ports(models: tuple[Model, Model], sides: tuple[Side, Side]) -> None:
    a, b = models
    problems = []
    if len(a.graph.inputs) != len(b.graph.inputs):
        problems.append(f"A has {len(a.graph.inputs)} inputs, B has {len(b.graph.inputs)}")
    if len(a.graph.outputs) != len(b.graph.outputs):
        problems.append(f"A has {len(a.graph.outputs)} outputs, B has {len(b.graph.outputs)}")
    dims = [side.input_dims(model.graph.inputs) for model, side in zip(models, sides, strict=True)]
    pairs = zip(a.graph.inputs, b.graph.inputs, *dims, strict=False)
    for first, second, first_dims, second_dims in pairs:
        if first_dims != second_dims:
            problems.append(f"input '{first.name}' of A is {first.type}, '{second.name}' of B is {second.type}")
    if problems:
        raise DataError(problems)


def _feeds(model: Model, inputs: Path | None) -> list[list[Array]]:
    if inputs is None:
        return [[feed.arrays[v.name] for v in model.graph.inputs] for feed in made_up_feeds(model.graph)]
    return [list(step) for step in load_feeds(inputs, port_specs(port_names(model)[0], model.graph.inputs)).steps]


def _takes(model: Model, inputs: Path) -> bool:
    try:
        _feeds(model, inputs)
    except DataError:
        return False
    return True


@dataclass(frozen=True)
class _Run:
    """Outputs and named values of each input, as real numbers."""

    outputs: Sequence[Sequence[Reals]]
    values: Sequence[Mapping[str, Reals]]


def _run(model: Model, feeds: Sequence[Sequence[Array]], side: Side) -> _Run:
    interpreter = interpreter_for(model.graph, registry_for(model))
    types = {value.name: value.type for value in model.graph.values()}
    outputs, values = [], []
    for feed in feeds:
        taken = zip(side.inputs_taken(feed), model.graph.inputs, strict=True)
        trace = interpreter.trace([_fit(x, v) for x, v in taken])
        given = zip(side.outputs_given(trace.outputs), model.graph.outputs, strict=True)
        outputs.append([_real(x, v.type) for x, v in given])
        values.append({name: _real(array, types[name]) for name, array in trace.values.items()})
    return _Run(outputs, values)


def _fit(array: Array, value: Value) -> Array:
    """An input of A for B.

    Raises:
        DataError: B takes another dtype.
    """
    if array.dtype != value.type.dtype.numpy:
        raise DataError(
            f"input '{value.name}' of B is {value.type}, and A's is {array.dtype}: compare models of one dtype"
        )
    return array


def _differences(models: tuple[Model, Model], traces: Sequence[_Run], sides: tuple[Side, Side]) -> Iterator[Difference]:
    moved = any(side.layouts is not None for side in sides)
    graph: Graph = models[0].graph
    outputs = {value.name for value in graph.outputs} | {value.name for value in models[1].graph.outputs}
    inputs = {value.name for value in graph.inputs}
    shared = [name for name in traces[0].values[0] if name in traces[1].values[0]] if traces[0].values else []
    for name in shared:
        if name not in outputs and name not in inputs:
            pairs = [(x[name], y[name]) for x, y in zip(traces[0].values, traces[1].values, strict=True)]
            if moved:
                lying = [(x, alike(x, y)) for x, y in pairs]
                pairs = [(x, y) for x, y in lying if y is not None]
            if pairs and pairs[0][0].shape == pairs[0][1].shape:
                yield _difference(name, pairs, is_output=False)
    for index, value in enumerate(graph.outputs):
        pairs = [(x[index], y[index]) for x, y in zip(traces[0].outputs, traces[1].outputs, strict=True)]
        yield _difference(value.name, pairs, is_output=True)


def _difference(name: str, pairs: Sequence[tuple[Reals, Reals]], *, is_output: bool) -> Difference:
    if any(x.shape != y.shape for x, y in pairs):
        return Difference(name, float("inf"), pairs[0][0].size, pairs[0][0].size, is_output)
    error = max(max_error(x, y) for x, y in pairs)
    differing = sum(int(np.count_nonzero((x != y) & ~(np.isnan(x) & np.isnan(y)))) for x, y in pairs)
    return Difference(name, error, differing, sum(x.size for x, _ in pairs), is_output)


def _real(array: Array, type_: TensorType) -> Reals:
    """Stored numbers as what they stand for."""
    q = type_.quantization
    values = np.asarray(array).astype(np.float64)
    if q is None or not type_.dtype.is_integer or not q.is_per_tensor:
        return values
    return (values - q.zero_point) * q.scale


def cost_of(path: Path, model: Model) -> Cost:
    """What a model costs, in its file and compiled."""
    weights = sum(value.type.nbytes for value in model.graph.constants())
    return Cost(path.stat().st_size, len(model.graph), weights, model_macs(model), _compiled_cost(model))


def _compiled_cost(model: Model) -> CompiledCost | None:
    options = CompileOptions(simulate="off")
    try:
        program = build(model, options, lambda _: None).program
    except AreniteError:
        return None
    return CompiledCost(
        target=options.target,
        layers=len(program.calls),
        constants_nbytes=sum(constant.data.nbytes for constant in program.constants),
        arena_nbytes=program.placement.arena_nbytes,
        macs=sum(call.macs for call in program.calls),
    )


def _rows(rows: Sequence[tuple[str, str]], costs: Sequence[object]) -> Iterator[str]:
    for label, field in rows:
        cells = [getattr(cost, field, None) for cost in costs]
        yield f"  {label:18}" + "".join(f"{'-' if cell is None else format(cell, ','):>14}" for cell in cells)


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if np.isfinite(value) else None
