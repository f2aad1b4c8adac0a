"""Inputs made up for an onnx model, what the model makes of them, and how far other results are from that."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError
from arenite.formats.onnx import export_model
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpError
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.engine import has_onnxruntime, whole_model
from arenite.passes.base import Close
from arenite.passes.differential import in_precision, max_error

BUDGET_SECONDS = 60.0
"""Time for running models; what is left undone is said."""

TOLERANCE = 1e-4
"""For floats: max|difference| / max|reference| of an output; more where a model computes in narrow ones."""

ONNXRUNTIME = "onnxruntime"
"""The engine's name."""

# What named dimensions are taken to be, the first dimension of an input and the others, until the model runs.
_SIZES = ((1, 8), (2, 5), (2, 16), (3, 32), (1, 64), (2, 96), (1, 512), (2, 1024), (1, 16000), (2, 20000))
_MOST_NELEM = 1 << 18
_MOST_FIXED_NELEM = 1 << 25
"""Of all inputs whose sizes nobody chose here; there are several of each, and the model makes more of them."""
_MOST_NAMED = 3
"""How many inputs a message gives the sizes of."""

Feed = dict[str, Array]
Run = Callable[[Mapping[str, Array]], list[Array]]


@dataclass(frozen=True)
class References:
    """What a model makes of made-up inputs.

    Attributes:
        pairs: inputs by name, and the outputs in order.
        engine: what ran the model.
        problem: why there are fewer than asked for; else empty.
    """

    pairs: tuple[tuple[Feed, list[Array]], ...]
    engine: str
    problem: str

    def sizes(self, graph: Graph) -> tuple[str, ...]:
        """The shapes of the inputs whose sizes the graph leaves open, each once."""
        found = dict.fromkeys(_sizes(graph, feed) for feed, _ in self.pairs)
        return tuple(size for size in found if size)

    def skipped(self, graph: Graph) -> tuple[str, ...]:
        """Outputs that are no tensors."""
        if not self.pairs:
            return ()
        pairs = zip(graph.outputs, self.pairs[0][1], strict=True)
        return tuple(value.name for value, array in pairs if not isinstance(array, np.ndarray))


@dataclass(frozen=True)
class Asked:
    """How a model is to be tried.

    Attributes:
        count: on how many inputs.
        source: the file that it was read from, if it is the same still.
        step: is told what is being done now.
        deadline: when to stop, of `time.monotonic`.
    """

    count: int
    source: Path | None
    step: Callable[[str], None]
    deadline: float

    @classmethod
    def within_budget(cls, count: int, source: Path | None, step: Callable[[str], None]) -> "Asked":
        return cls(count, source, step, time.monotonic() + BUDGET_SECONDS)


def references_of(model: Model, registry: OnnxRegistry, asked: Asked, folder: Path) -> References:
    """Run a model on made-up inputs, by onnxruntime if it is there and takes it, else by the numpy reference.

    Args:
        model: of the onnx dialect.
        registry: its operators.
        asked: how often, and until when.
        folder: for files on the way.
    """
    try:
        run, engine = by_onnxruntime(model, folder, asked.source), ONNXRUNTIME
    except OpError as error:
        try:
            run, engine = by_interpreter(model, registry), "the numpy reference"
        except AreniteError as other:
            return References((), "", f"{error}; {other.problems[0].splitlines()[0]}")
    found: list[tuple[Feed, list[Array]]] = []
    feeds = made_up(model.graph)
    problem = "nothing else can be made up" if feeds else "the inputs are no tensors, or too large"
    for number, feed in enumerate(feeds):
        if len(found) == asked.count:
            break
        asked.step(f"comparing with the original: input {len(found) + 1} of {asked.count}, by {engine}")
        if time.monotonic() > asked.deadline:
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
            return References((), "", "the model gives other outputs each time")
        found.append((feed, outputs))
    return References(tuple(found), engine, problem if len(found) < asked.count else "")


def by_onnxruntime(model: Model, folder: Path, source: Path | None) -> Run:
    """Runs a model by onnxruntime; `source` is a file that holds it, else one is written into `folder`.

    Raises:
        OpError: onnxruntime is not there, or does not take the model.
    """
    if not has_onnxruntime():
        raise OpError("onnxruntime is not installed")
    path = source
    if path is None:
        path = folder / "model.onnx"
        export_model(model, path)
    return whole_model(path)


def by_interpreter(model: Model, registry: OnnxRegistry) -> Run:
    """Runs a model by the numpy reference.

    Raises:
        ModelError: operators are not known.
    """
    interpreter = OnnxInterpreter(model.graph, registry, getattr(model.details, "defaults", {}))

    def run(feed: Mapping[str, Array]) -> list[Array]:
        names = {value.name for value in model.graph.inputs}
        return interpreter.run({name: array for name, array in feed.items() if name in names})

    return run


def tolerance_for(graph: Graph) -> float:
    """How far the outputs of a graph may be off."""
    allowed = in_precision(Close(TOLERANCE), graph)
    return allowed.tolerance if isinstance(allowed, Close) else TOLERANCE


def difference(one: Array, other: Array, tolerance: float, *, exact: bool = False) -> tuple[float, str]:
    """How far a result is from its reference, and what is wrong with that; empty when nothing is.

    Args:
        one: the reference.
        other: the result.
        tolerance: for floats, see TOLERANCE.
        exact: whether integers must be equal; else a fused float computation may round a quantized result to the step
            beside.
    """
    if not isinstance(one, np.ndarray):
        return 0.0, "" if type(one) is type(other) else "is no tensor any more"
    if one.dtype != other.dtype or one.shape != other.shape:
        return 0.0, f"was {one.dtype}{list(one.shape)} and is {other.dtype}{list(other.shape)}"
    if one.dtype == object or one.dtype.kind not in "fiu" or (exact and one.dtype.kind != "f"):
        return 0.0, "" if np.array_equal(one, other) else "has other elements"
    error = max_error(one, other)
    if one.dtype.kind != "f":
        apart = float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))
        return error, "" if apart <= 1 else f"is off by {apart:g}"
    return error, "" if error <= tolerance else f"is off by {error:g} of its largest element"


def shapes_text(feed: Feed) -> str:
    """The shapes of some inputs."""
    return ", ".join(f"'{key}' {list(array.shape)}" for key, array in feed.items())


def _sizes(graph: Graph, feed: Feed) -> str:
    """The shapes of those inputs whose sizes the model leaves open; of the first few."""
    open_ = [value.name for value in graph.inputs if not value.type.is_static and value.name in feed]
    shown = [f"{name} {'x'.join(map(str, feed[name].shape)) or 'scalar'}" for name in open_[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(open_) - _MOST_NAMED} more" if len(open_) > _MOST_NAMED else "")


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def made_up(graph: Graph) -> list[Feed]:
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
