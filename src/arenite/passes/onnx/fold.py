"""Constant folding of onnx graphs: constant, pure, stable, affordable; each decision recorded.

Results are first computed without touching the graph. Then, from the end backwards, those that somebody still needs
become constants where they are affordable; where they are not, the node stays and the same is asked of its operands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.content import compact, is_splat
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import Trait
from arenite.ir.pattern import Mismatch
from arenite.ops.onnx.attrs import OnnxAttrs, TensorAttr
from arenite.ops.onnx.dialect import is_control_flow
from arenite.ops.onnx.names import split_op
from arenite.passes.base import Candidate, Pass, Work
from arenite.passes.fold import (
    DYNAMIC,
    FOLDED,
    KNOWN_TYPE,
    NESTED,
    NO_MEANING,
    NO_OPERANDS,
    NOT_CONSTANT,
    NOT_STABLE,
    TOO_LARGE,
)
from arenite.passes.onnx.compute import compute, narrowed, repeats, stability, stored_nbytes
from arenite.passes.onnx.disputed import disputed
from arenite.passes.onnx.facts import Facts
from arenite.passes.purity import why_impure

BROADCAST = Reason(
    "broadcast", "{subject} was computed now, and its readers repeat what it gives: {kept} of {whole} bytes are kept"
)
NEEDLESS = Reason("needless", "{subject} was computed now, and what is computed from it too, so that nobody reads it")
IMPURE = Reason("impure", "{subject} may not be computed beforehand: {why}")
DISPUTED = Reason("disputed", "{subject} is left to the runtime, as they do not agree on {what}")
KEEPS_QUANTIZED = Reason(
    "keeps-quantized",
    "{subject} dequantizes constants: {gained} bytes of reals for {freed}, and runtimes know quantized layers by it",
)

COMPUTED_NBYTES = 1 << 26
"""The most bytes that a result may take while it is computed."""
LEAST_NBYTES = 4096
BASE_NBYTES = 512
PER_NODE_NBYTES = 256
SPLAT_NBYTES = 64


@dataclass(frozen=True)
class OnnxFold(Pass):
    """Computes nodes whose results are known beforehand. Every node is a candidate, in nested graphs too.

    Attributes:
        max_nbytes: how many bytes of constants one folding may add; None: 4096, or 512 and 256 more for each node that
            goes, and next to nothing for a result whose elements are all the same.
    """

    max_nbytes: int | None = None

    name: ClassVar[str] = "onnx-fold"
    summary: ClassVar[str] = "Computes now what does not depend on the inputs' contents."
    reasons: ClassVar[tuple[Reason, ...]] = (
        FOLDED,
        KNOWN_TYPE,
        BROADCAST,
        NEEDLESS,
        NOT_CONSTANT,
        NO_OPERANDS,
        IMPURE,
        DISPUTED,
        KEEPS_QUANTIZED,
        NESTED,
        DYNAMIC,
        TOO_LARGE,
        NO_MEANING,
        NOT_STABLE,
    )

    def apply(self, work: Work) -> None:
        _Folding(work, self.max_nbytes).run()


@dataclass
class _Verdict:
    """What became of a node: `mismatch` says why it stays."""

    candidate: Candidate
    work: Work
    by_type: bool = False
    mismatch: Mismatch | None = None


class _Folding:
    def __init__(self, work: Work, max_nbytes: int | None) -> None:
        self._work = work
        self._limit = max_nbytes
        self._facts = Facts(work.graph, work.registry)
        self._arrays: dict[Value, Array] = {}
        self._verdicts: dict[Node, _Verdict] = {}
        self._kept: set[Node] = set()

    def run(self) -> None:
        self._look(self._work)
        self._decide(self._work.graph)

    # Forward: what can be computed

    def _look(self, work: Work) -> None:
        for node in work.graph.nodes:
            verdict = self._verdicts[node] = _Verdict(work.consider(node), work)
            verdict.mismatch = self._computed(node, verdict)
            for region in node.regions:
                self._look(work.nested(region))

    def _computed(self, node: Node, verdict: _Verdict) -> Mismatch | None:
        """Compute the results of a node, or say why not."""
        operands = [self._array(value) for value in node.operands]
        missing = [v for v, array in zip(node.operands, operands, strict=True) if v is not None and array is None]
        if is_control_flow(node):
            return Mismatch(NOT_CONSTANT, {"value": missing[0].name}) if missing else Mismatch(NESTED)
        known = {value: array for value in node.results if (array := self._facts.of(value).array) is not None}
        by_type = bool(known) and len(known) == len(node.results)
        if not by_type and missing:
            return Mismatch(NOT_CONSTANT, {"value": missing[0].name})
        if (why := why_impure(node, self._work.registry)) is not None:
            return Mismatch(IMPURE, {"why": why})
        if not node.present_operands:
            return Mismatch(NO_OPERANDS)
        if by_type:
            verdict.by_type = bool(missing)
            self._arrays.update(known)
            return None
        if (refused := self._quantized(node) or self._size(node)) is not None:
            return refused
        if (what := disputed(node, operands)) is not None:
            return Mismatch(DISPUTED, {"what": what})
        results = compute(node, operands, self._work.registry)
        if isinstance(results, str):
            return Mismatch(NO_MEANING, {"problem": results})
        if (unstable := stability([*operands, *_tensors(node)], results)) is not None:
            return Mismatch(NOT_STABLE, unstable)
        self._arrays.update(zip(node.results, results, strict=True))
        return None

    def _array(self, value: Value | None) -> Array | None:
        if value is None:
            return None
        return value.constant if value.constant is not None else self._arrays.get(value)

    def _quantized(self, node: Node) -> Mismatch | None:
        # Biases of 32 bits take no more as reals, and runtimes take either.
        if split_op(node.op)[1] != "DequantizeLinear" or self._facts.of(node.operand(0)).dtype is DType.INT32:
            return None
        dims = self._facts.of(node.result).dims
        freed = sum(v.type.nbytes for v in node.present_operands if v.is_constant)
        return Mismatch(KEEPS_QUANTIZED, {"gained": 4 * int(np.prod(dims or ())), "freed": freed})

    def _size(self, node: Node) -> Mismatch | None:
        """Refuse what would take too much to compute. Views of splats take nothing."""
        operator = split_op(node.op)[1]
        if operator in ("ConstantOfShape", "Expand"):
            return None
        total = 0
        for value in node.results:
            fact = self._facts.of(value)
            total += int(np.prod(fact.dims or (), dtype=np.float64)) * (fact.dtype.itemsize if fact.dtype else 8)
        elementwise = self._work.registry[node.op].has(Trait.ELEMENTWISE)
        if not elementwise and operator != "Slice":
            # Files bound what they store, but not what repeats it.
            total = max(total, sum(array.nbytes for array in self._arrays_of(node) if repeats(array)))
        if total <= COMPUTED_NBYTES or (elementwise and self._is_small(node)):
            return None
        return Mismatch(TOO_LARGE, {"gained": total, "freed": _freed([node], self._kept), "limit": COMPUTED_NBYTES})

    def _arrays_of(self, node: Node) -> list[Array]:
        return [array for value in node.operands if (array := self._array(value)) is not None]

    def _is_small(self, node: Node) -> bool:
        return all(array.size == 1 or is_splat(array) for array in self._arrays_of(node))

    # Backward: what becomes a constant

    def _decide(self, graph: Graph) -> None:
        for node in reversed(list(graph.nodes)):
            verdict = self._verdicts[node]
            needed = [v for v in node.results if self._is_needed(v)]
            if verdict.mismatch is None:
                verdict.mismatch = self._fold(node, needed, verdict)
            if verdict.mismatch is not None:
                self._kept.add(node)
                for region in reversed(node.regions):
                    self._decide(region)
                verdict.candidate.missed(verdict.mismatch.reason, **verdict.mismatch.arguments)

    def _is_needed(self, value: Value) -> bool:
        return bool(value.output_of) or any(use.node in self._kept for use in value.uses)

    def _fold(self, node: Node, needed: Sequence[Value], verdict: _Verdict) -> Mismatch | None:
        work = verdict.work
        if not needed:
            work.rewriter.erase(node)
            verdict.candidate.passed(NEEDLESS)
            return None
        whole = sum(self._arrays[value].nbytes for value in needed)
        kept = {value: self._stored(value) for value in needed}
        gained = sum(map(stored_nbytes, kept.values()))
        cone = self._cone(node)
        freed = _freed(cone, self._kept)
        limit = max(LEAST_NBYTES, BASE_NBYTES + PER_NODE_NBYTES * len(cone)) if self._limit is None else self._limit
        if self._limit is None and all(is_splat(array) for array in kept.values()):
            limit = SPLAT_NBYTES
        if gained - freed > limit:
            return Mismatch(TOO_LARGE, {"gained": gained, "freed": freed, "limit": limit})
        readers = [use.node for value in needed for use in value.uses]
        for value, array in kept.items():
            constant = work.rewriter.constant(value.name, compact(array))
            work.rewriter.replace_value(value, constant, take_name=True)
        for reader in readers:
            work.rewriter.add_origin(reader, node.origin)
        work.rewriter.erase(node)
        if verdict.by_type:
            verdict.candidate.passed(KNOWN_TYPE, gained=gained)
        elif gained < whole:
            verdict.candidate.passed(BROADCAST, kept=gained, whole=whole)
        else:
            verdict.candidate.passed(FOLDED, gained=gained, freed=freed)
        return None

    def _stored(self, value: Value) -> Array:
        """The array that takes a value's place: where every reader repeats it anyway, only what they repeat."""
        array = self._arrays[value]
        if value.output_of:
            return array
        small = narrowed(array)
        if small.size == array.size:
            return array
        users = {use.node: use.index for use in value.uses}
        if len(users) == len(value.uses) and all(self._repeats(n, i, small) for n, i in users.items()):
            return small
        return array

    def _repeats(self, node: Node, index: int, small: Array) -> bool:
        """Whether a node gives the same when an operand is `small`, which broadcasts to what it was."""
        definition = self._work.registry.get(node.op)
        if definition is None or not definition.has(Trait.ELEMENTWISE) or split_op(node.op)[1] == "PRelu":
            return False
        wanted = self._facts.of(node.result).shape
        shapes = [self._facts.of(v).shape for i, v in enumerate(node.operands) if v is not None and i != index]
        if any(shape is None for shape in (wanted, *shapes)):
            return False
        assert wanted is not None
        found: list[object] = [1] * len(wanted)
        for shape in (*shapes, small.shape):
            assert shape is not None
            for place, dim in enumerate(shape, len(wanted) - len(shape)):
                if dim != 1:
                    found[place] = dim
        return found == list(wanted)

    def _cone(self, node: Node) -> list[Node]:
        """The nodes that go when this one does: it, and those before it that serve nothing else."""
        cone = {node: None}
        pending = list(node.present_operands)
        while pending:
            producer = pending.pop().producer
            if producer is None or producer in cone or self._verdicts[producer].mismatch is not None:
                continue
            reads = [use.node for value in producer.results for use in value.uses]
            if any(v.output_of for v in producer.results) or not all(reader in cone for reader in reads):
                continue
            cone[producer] = None
            pending.extend(producer.present_operands)
        return list(cone)


def _tensors(node: Node) -> list[Array]:
    """Tensors among a node's attributes, which may hold infinities as operands may."""
    fields = node.attrs.fields if isinstance(node.attrs, OnnxAttrs) else ()
    return [value.array for _, value in fields if isinstance(value, TensorAttr)]


def _freed(nodes: Sequence[Node], kept: set[Node]) -> int:
    """Bytes of constants that only these nodes read."""
    inside = set(nodes)
    constants = dict.fromkeys(v for node in nodes for v in node.present_operands if v.is_constant)
    return sum(
        value.type.nbytes
        for value in constants
        if not value.output_of and all(use.node in inside for use in value.uses)
    )
