"""The differential instrument: runs the graph before and after each pass, and compares."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError, SelfCheckError
from arenite._base.remarks import Reason, Remark, RemarkKind
from arenite.interp import interpreter_for
from arenite.interp.inputs import Inputs
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import OpCall, Registry
from arenite.ir.types import Quantization, TensorType
from arenite.passes.base import NARROW_ROUNDINGS, BitExact, Close, Equivalence, Lossy
from arenite.passes.feeds import Feed, made_up_feeds
from arenite.passes.pipeline import Instrument, Step

NOT_COMPARED = Reason(
    "not-compared", "what passes did to graph '{subject}' could not be checked by running it: {problem}"
)

Reals = npt.NDArray[np.float64]


def max_error(reference: Array, found: Array) -> float:
    """max|found - reference| / max|reference|; the absolute difference where the reference is all 0.

    Infinite where shapes differ, or one has a NaN or infinity that the other has not; for what are no numbers, where
    they are not equal.
    """
    if reference.shape != found.shape:
        return float("inf")
    if reference.dtype.kind in "OSU" or found.dtype.kind in "OSU":
        return 0.0 if np.array_equal(reference, found) else float("inf")
    ref, new = (np.asarray(a, np.float64) for a in (reference, found))
    finite = np.isfinite(ref)
    if not np.array_equal(ref[~finite], new[~finite], equal_nan=True) or not np.isfinite(new[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(ref[finite]).max())
    with np.errstate(over="ignore"):
        difference = float(np.abs(new[finite] - ref[finite]).max())
    return difference / scale if scale > 0 else difference


def agree(reference: Array, found: Array, equivalence: Equivalence) -> bool:
    """Whether two results are as alike as the equivalence asks. NaN equals NaN, and 0.0 equals -0.0."""
    match equivalence:
        case BitExact():
            same_kind = (reference.dtype, reference.shape) == (found.dtype, found.shape)
            return same_kind and np.array_equal(reference, found, equal_nan=reference.dtype.kind in "fcV")
        case Close(tolerance):
            return max_error(reference, found) <= tolerance
        case Lossy():
            return reference.shape == found.shape


def in_precision(equivalence: Equivalence, graph: Graph) -> Equivalence:
    """What an equivalence allows in a graph, whose floats may be narrower than float32."""
    if not isinstance(equivalence, Close):
        return equivalence
    narrow = (NARROW_ROUNDINGS * dtype.unit_roundoff for dtype in _narrow_floats(graph))
    return Close(max(equivalence.tolerance, *narrow, 0.0))


def _narrow_floats(graph: Graph) -> set[DType]:
    dtypes = {value.type.dtype for value in graph.values()}
    return {dtype for dtype in dtypes if dtype in (DType.FLOAT16, DType.BFLOAT16)}


@dataclass(frozen=True)
class _Run:
    """What one invocation gave, and what every state held after it."""

    outputs: list[Array]
    state: dict[str, Array]


def _run_all(graph: Graph, registry: Registry, feeds: Sequence[Feed]) -> list[_Run]:
    interpreter = interpreter_for(graph, registry)
    return [_Run(interpreter.run(feed.arrays), interpreter.state()) for feed in feeds]


def _state_differences(before: _Run, after: _Run, equivalence: Equivalence) -> Iterator[tuple[str, str]]:
    """States of one name and type whose contents differ: what a lost or a moved write does, long before outputs do."""
    for name, reference in before.state.items():
        found = after.state.get(name)
        if found is None or (found.dtype, found.size) != (reference.dtype, reference.size):
            continue
        found = found.reshape(reference.shape)
        if not agree(reference, found, equivalence):
            yield name, _difference(reference, found)


class Differential(Instrument):
    """Compares outputs before and after each pass that changed the graph.

    On random inputs, with `edges` on inputs at the ends of the range, and on `samples`. One interpreter per graph runs
    all of them in order; what states hold after each is compared too. When outputs differ by more than the pass's
    equivalence allows, it names the pass, and the first value that differs. A graph that cannot be run (ops not known
    here), or that takes more than `most_work` multiply-accumulates and bytes of values to run once, is passed over with
    a remark.
    """

    def __init__(
        self, samples: Sequence[Inputs] = (), *, n_random: int = 2, edges: bool = True, most_work: int | None = None
    ) -> None:
        self._samples = samples
        self._most_work = most_work
        self._n_random = n_random
        self._edges = edges
        self._original: Graph | None = None
        self._feeds: list[Feed] = []
        self._runs: list[_Run] | None = None
        self._told = False
        self._too_much = False

    def before(self, step: Step) -> None:
        self._original = clone_graph(step.graph)
        if step.number == 0:
            self._too_much = (
                self._most_work is not None and work_of(step.graph, step.context.registry) > self._most_work
            )
        if step.number == 0 and not self._too_much:
            self._feeds = made_up_feeds(step.graph, n_random=self._n_random, edges=self._edges)
            self._feeds += [Feed(f"sample {i}", named_inputs(step.graph, s)) for i, s in enumerate(self._samples)]

    def after(self, step: Step) -> None:
        if not step.said.changed:
            step.max_error = 0.0
            return
        original = self._original
        assert original is not None
        # Most passes change nothing, and running a model takes long: it is run once there is something to compare.
        before = self._runs if self._runs is not None else self._run_original(original, step)
        if before is None:
            return
        feeds = [_requantized(feed, original, step.graph) for feed in self._feeds]
        try:
            after = _run_all(step.graph, step.context.registry, feeds)
        except (ModelError, DataError) as error:
            raise SelfCheckError(f"pass '{step.spec.name}' made a graph that cannot be run: {error}") from error
        step.max_error = 0.0
        equivalence = in_precision(step.spec.equivalence, step.graph)
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            pairs = zip(original.outputs, step.graph.outputs, old.outputs, new.outputs, strict=True)
            for source, value, reference, found in pairs:
                apart = max_error(_real(reference, source.type), _real(found, value.type))
                step.max_error = max(step.max_error, apart)
                if not agree(reference, found, equivalence):
                    where = f"output %{value.name} {_difference(reference, found)}"
                    first = _first_divergence(original, step, self._feeds[: number + 1], feeds[: number + 1])
                    raise SelfCheckError(
                        f"pass '{step.spec.name}' ({equivalence}) changed what the model computes: on "
                        f"{feeds[number].name} inputs {where}{first}"
                    )
        for feed, old, new in zip(feeds, before, after, strict=True):
            for name, where in _state_differences(old, new, equivalence):
                raise SelfCheckError(
                    f"pass '{step.spec.name}' ({equivalence}) changed what the model remembers: after {feed.name} "
                    f"inputs state %{name} {where}"
                )
        self._runs, self._feeds = after, feeds

    def _run_original(self, original: Graph, step: Step) -> "list[_Run] | None":
        if self._too_much:
            self._pass_over(step, "it is too large to be run here")
            return None
        try:
            return _run_all(original, step.context.registry, self._feeds)
        except (ModelError, DataError) as error:
            self._pass_over(step, error.problems[0].splitlines()[0].rstrip(":"))
            return None

    def _pass_over(self, step: Step, problem: str) -> None:
        """Say so once."""
        if not self._told:
            arguments = {"problem": problem}
            step.context.sink(Remark(RemarkKind.ANALYSIS, "differential", NOT_COMPARED, step.graph.name, arguments))
        self._told = True


def work_of(graph: Graph, registry: Registry) -> int:
    """What one run takes: multiply-accumulates, and bytes of values of known shapes."""
    total = sum(value.type.nbytes for value in graph.values() if value.type.is_static)
    for node in graph.nodes:
        cost = registry[node.op].cost if node.op in registry else None
        if callable(cost) and all(value.type.is_static for value in (*node.present_operands, *node.results)):
            total += cost(OpCall.of(node)).macs
    return total


def named_inputs(graph: Graph, inputs: Inputs) -> dict[str, Array]:
    """Inputs by name."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    return {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}


def _real(array: Array, type_: TensorType) -> Array:
    """The real numbers that a per-tensor quantized array stands for; others as they are."""
    q = type_.quantization
    return _dequantize(array, q) if q is not None and q.is_per_tensor and type_.dtype.is_integer else array


def _dequantize(array: Array, q: Quantization) -> Reals:
    return (np.asarray(array, np.float64) - q.zero_point) * q.scale


def _requantized(feed: Feed, before: Graph, after: Graph) -> Feed:
    """The same real inputs for a graph whose inputs a pass has given other types."""
    arrays = dict(feed.arrays)
    for old, new in zip(before.inputs, after.inputs, strict=True):
        if old.type == new.type:
            continue
        real: Reals = np.asarray(_real(arrays.pop(old.name), old.type), np.float64)
        q = new.type.quantization
        if q is not None and new.type.dtype.is_integer:
            real = np.clip(np.round(real / q.scale) + q.zero_point, *new.type.dtype.limits)
        arrays[new.name] = real.astype(new.type.dtype.numpy)
    return Feed(feed.name, arrays)


def _difference(reference: Array, found: Array) -> str:
    if (reference.dtype, reference.shape) != (found.dtype, found.shape):
        return f"was {reference.dtype}{list(reference.shape)} and is {found.dtype}{list(found.shape)}"
    nan = np.not_equal(reference, reference) & np.not_equal(found, found)
    differs = np.not_equal(reference, found) & ~nan
    if not np.any(differs):
        return "is the same"
    index = tuple(int(i) for i in np.argwhere(differs)[0])
    return (
        f"differs in {np.count_nonzero(differs)} of {reference.size} elements, first at {list(index)}: "
        f"{reference[index]} before, {found[index]} after"
    )


def _first_divergence(original: Graph, step: Step, feeds_before: Sequence[Feed], feeds_after: Sequence[Feed]) -> str:
    """The first computed value that both graphs have, by name, and that differs, as the end of a sentence."""
    registry, equivalence = step.context.registry, in_precision(step.spec.equivalence, step.graph)
    one, other = interpreter_for(original, registry), interpreter_for(step.graph, registry)
    for before, after in zip(feeds_before[:-1], feeds_after[:-1], strict=True):
        one.run(before.arrays)
        other.run(after.arrays)
    reference, found = one.trace(feeds_before[-1].arrays).values, other.trace(feeds_after[-1].arrays).values
    for node, value in _computed(step.graph):
        if value.name in reference and not agree(reference[value.name], found[value.name], equivalence):
            origin = f", from {', '.join(node.origin)}" if node.origin else ""
            which = _difference(reference[value.name], found[value.name])
            return f"; the first value to differ is %{value.name} of '{node.name}' ({node.op}{origin}), which {which}"
    return ""


def _computed(graph: Graph) -> Iterator[tuple[Node, Value]]:
    for node in graph.nodes:
        for value in node.results:
            yield node, value
