"""Constant folding, decided in four recorded steps per node: constant, pure, stable, affordable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite._base.remarks import Reason
from arenite.interp.execute import execute
from arenite.ir.content import compact
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import Trait
from arenite.ir.pattern import Mismatch
from arenite.passes.base import Pass, Work

FOLDED = Reason("folded", "{subject} has constant operands, so it was computed now ({gained} bytes for {freed})")
KNOWN_TYPE = Reason(
    "known-type", "{subject} depends on the types of its operands alone, so it was computed now ({gained} bytes)"
)
NOT_CONSTANT = Reason("not-constant", "{subject} depends on %{value}, which is not constant")
STATE = Reason("state", "{subject} depends on %{value}, which is state and changes")
NO_OPERANDS = Reason("no-operands", "{subject} has no operands, so there is nothing to compute it from")
UNKNOWN_OP = Reason("unknown-op", "{subject} is a {op}, which is not known here, so it may have side effects")
NOT_PURE = Reason("not-pure", "{op} depends on more than its operands and attributes")
NOT_DETERMINISTIC = Reason("not-deterministic", "{op} may give another result each time")
SIDE_EFFECT = Reason("side-effect", "{op} has a side effect, which must happen on each invocation")
NESTED = Reason("nested-graphs", "{subject} holds nested graphs, which may read values of this one")
DYNAMIC = Reason("dynamic-result", "the size of the result of {subject} is not known beforehand")
NO_MEANING = Reason("no-meaning", "{subject} cannot be computed: {problem}")
NOT_STABLE = Reason(
    "not-stable",
    "computing {subject} gives {count} elements that are {what}, {element} first, which its operands do not have",
)
TOO_LARGE = Reason(
    "too-large", "the result of {subject} takes {gained} bytes and frees {freed}; it may add at most {limit}"
)
FLOAT16 = Reason("keeps-float16", "{subject} makes {nbytes} bytes of {stored} of float16, which are to be kept")
DIVISION = Reason("division-by-zero", "computing {subject} divides an integer by zero")

_PURITY = (
    (Trait.SIDE_EFFECT, False, SIDE_EFFECT),
    (Trait.PURE, True, NOT_PURE),
    (Trait.DETERMINISTIC, True, NOT_DETERMINISTIC),
)


@dataclass(frozen=True)
class Fold(Pass):
    """Computes nodes whose operands are all constant. Every node is a candidate.

    One sweep in schedule order reaches the fixed point, since the readers of a folded node come after it.

    Attributes:
        max_nbytes: how many bytes one folding may add: its results less what it frees.
        keep_float16: constants of float16 are not made float32, which takes twice the bytes.
    """

    max_nbytes: int = 1 << 20
    keep_float16: bool = False

    name: ClassVar[str] = "fold"
    summary: ClassVar[str] = "Computes now what depends on constants only."
    reasons: ClassVar[tuple[Reason, ...]] = (
        FOLDED,
        KNOWN_TYPE,
        NOT_CONSTANT,
        STATE,
        NO_OPERANDS,
        UNKNOWN_OP,
        NOT_PURE,
        NOT_DETERMINISTIC,
        SIDE_EFFECT,
        NESTED,
        DYNAMIC,
        TOO_LARGE,
        NO_MEANING,
        DIVISION,
        FLOAT16,
        NOT_STABLE,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            candidate = work.consider(node)
            # Size comes before stability, since it needs no computation and bounds the one that follows.
            refused = _operands(node, work) or _purity(node, work) or self._float16(node) or self._size(node)
            if refused is None:
                results = _compute(node, work)
                refused = results if isinstance(results, Mismatch) else _stability(node, results)
            if refused is not None:
                candidate.missed(refused.reason, **refused.arguments)
                continue
            assert not isinstance(results, Mismatch)
            of_types, gained, freed = _of_types(node, work), _nbytes(node.results), _freed(node)
            _replace(node, results, work)
            if of_types:
                candidate.passed(KNOWN_TYPE, gained=gained)
            else:
                candidate.passed(FOLDED, gained=gained, freed=freed)

    def _float16(self, node: Node) -> Mismatch | None:
        if not self.keep_float16 or node.op != "dequantize":
            return None
        stored = node.operand(0).type
        if stored.dtype is not DType.FLOAT16:
            return None
        return Mismatch(FLOAT16, {"nbytes": _nbytes(node.results), "stored": stored.nbytes})

    def _size(self, node: Node) -> Mismatch | None:
        if not all(value.type.is_static for value in node.results):
            return Mismatch(DYNAMIC)
        gained, freed = _nbytes(node.results), _freed(node)
        if gained - freed > self.max_nbytes:
            return Mismatch(TOO_LARGE, {"gained": gained, "freed": freed, "limit": self.max_nbytes})
        return None


def _of_types(node: Node, work: Work) -> bool:
    """Whether the types of the operands are all that the node looks at, and are known."""
    definition = work.registry.get(node.op)
    known = all(value.type.is_static for value in node.present_operands)
    return known and definition is not None and definition.has(Trait.OF_TYPES)


def _operands(node: Node, work: Work) -> Mismatch | None:
    if _of_types(node, work):
        return None
    for value in node.present_operands:
        if value.is_variable:
            return Mismatch(STATE, {"value": value.name})
        if not value.is_constant:
            return Mismatch(NOT_CONSTANT, {"value": value.name})
    return None if node.present_operands else Mismatch(NO_OPERANDS)


def _purity(node: Node, work: Work) -> Mismatch | None:
    definition = work.registry.get(node.op)
    if definition is None:
        return Mismatch(UNKNOWN_OP, {"op": node.op})
    if node.regions:
        return Mismatch(NESTED)
    for trait, wanted, reason in _PURITY:
        if definition.has(trait) is not wanted:
            return Mismatch(reason, {"op": node.op})
    return None


def _nbytes(values: Sequence[Value]) -> int:
    return sum(value.type.nbytes for value in values)


def _freed(node: Node) -> int:
    """Bytes of constants that only this node reads."""
    operands = dict.fromkeys(node.present_operands)
    assert node.graph is not None
    constants = (value for value in operands if value.is_constant)
    own = [v for v in constants if v not in node.graph.outputs and all(use.node is node for use in v.uses)]
    return _nbytes(own)


def _compute(node: Node, work: Work) -> tuple[Array, ...] | Mismatch:
    definition = work.registry[node.op]
    operands = [None if value is None else value.constant for value in node.operands]
    # What a float division by zero gives shows in its result; an integer one leaves no trace there.
    floats = any(value.type.dtype.is_float for value in (*node.present_operands, *node.results))
    try:
        with np.errstate(all="ignore", divide="ignore" if floats else "raise"):
            return execute(node, definition, operands, definition.fold)
    except ModelError as error:
        return Mismatch(NO_MEANING, {"problem": str(error)})
    except (FloatingPointError, ZeroDivisionError):
        return Mismatch(DIVISION)


def _stability(node: Node, results: Sequence[Array]) -> Mismatch | None:
    """Refuses results with NaN or infinity when no operand has any: overflow, division by zero, invalid domains."""
    for what, test in (("NaN", np.isnan), ("infinite", np.isinf)):
        before = any(_count(test, value.constant) for value in node.present_operands)
        after = sum(_count(test, array) for array in results)
        if after and not before:
            element = next(np.argwhere(test(array))[0].tolist() for array in results if _count(test, array))
            return Mismatch(NOT_STABLE, {"count": after, "what": what, "element": element})
    return None


def _count(test: Callable[[Array], Array], array: Array | None) -> int:
    """How many elements pass a test that only floats can pass."""
    if array is None or not (DType.of(array.dtype).is_float or np.iscomplexobj(array)):
        return 0
    return int(np.count_nonzero(test(array)))


def _replace(node: Node, results: Sequence[Array], work: Work) -> None:
    readers = [use.node for value in node.results for use in value.uses]
    constants = [
        work.rewriter.constant(value.name, compact(array), value.type)
        for value, array in zip(node.results, results, strict=True)
    ]
    work.rewriter.replace(node, constants, carry_to=readers, take_names=True)
