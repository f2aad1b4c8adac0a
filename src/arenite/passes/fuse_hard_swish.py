"""Hard-swish that is written out, x * relu6(x + 3) / 6, becomes one operator."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.attrs import Activation, Attrs
from arenite.ir.graph import Node, Value
from arenite.ir.pattern import Mismatch
from arenite.passes.base import Close, Equivalence, Pass, Work

FUSED = Reason("fused", "{subject} was the last of x * relu6(x + 3) / 6, where x is %{value}")
OTHER_FACTORS = Reason("other-factors", "{subject} multiplies relu6(x + 3) by more than x, or by less")
OTHER_SCALE = Reason("other-scale", "{subject} gives x * relu6(x + 3) times {scale:.4g}, not a sixth")

_SIXTH = 1 / 6


@dataclass(frozen=True)
class FuseHardSwish(Pass):
    """Finds hard-swish of floats, in whatever order its factors are multiplied.

    Candidates are multiplications and divisions, each the last of its kind, of a relu6(x + 3).

    Attributes:
        tolerance: of the last bits of floats.
    """

    tolerance: float = 1e-5

    name: ClassVar[str] = "fuse-hard-swish"
    summary: ClassVar[str] = "Makes one operator of x * relu6(x + 3) / 6."
    reasons: ClassVar[tuple[Reason, ...]] = (FUSED, OTHER_FACTORS, OTHER_SCALE)

    @property
    def equivalence(self) -> Equivalence:
        return Close(self.tolerance)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if not _multiplies(node) or _goes_on(node):
                continue
            factors = _Factors(node)
            gates = [(value, gated) for value in factors.values if (gated := _gated(value)) is not None]
            if not gates:
                continue
            candidate, x = work.consider(node), _swished(factors, gates[0], node)
            if isinstance(x, Mismatch):
                candidate.missed(x.reason, **x.arguments)
                continue
            candidate.passed(FUSED, value=x.name)
            _replace(factors, x, work)


class _Factors:
    """What a node multiplies.

    Attributes:
        nodes: those that do, the last one first.
        values: whose product it is, but for numbers.
        divisors: by which it is divided, but for numbers.
        scale: the product of all numbers.
    """

    def __init__(self, node: Node) -> None:
        self.nodes: list[Node] = []
        self.values: list[Value] = []
        self.divisors: list[Value] = []
        self.scale = 1.0
        self._take_in(node)

    def _take_in(self, node: Node) -> None:
        first, second = node.operand(0), node.operand(1)
        self.nodes.append(node)
        self._multiply(first)
        if node.op == "mul":
            self._multiply(second)
        elif number := _number(second):
            self.scale /= number
        else:
            self.divisors.append(second)

    def _multiply(self, value: Value) -> None:
        number, node = _number(value), value.producer
        if number is not None:
            self.scale *= number
        elif node is not None and _multiplies(node) and _is_sole(value):
            self._take_in(node)
        else:
            self.values.append(value)


def _multiplies(node: Node) -> bool:
    plain = getattr(node.attrs, "activation", None) is Activation.NONE
    return node.op in ("mul", "div") and plain and node.result.type.dtype is DType.FLOAT32


def _goes_on(node: Node) -> bool:
    """Whether another product takes this one in."""
    if not _is_sole(node.result):
        return False
    (use,) = node.result.uses
    return _multiplies(use.node) and (use.node.op == "mul" or use.index == 0)


def _is_sole(value: Value) -> bool:
    return len(value.uses) == 1 and not value.output_of


def _number(value: Value) -> float | None:
    """The one number that a constant holds."""
    if not value.is_constant or value.type.nelem != 1:
        return None
    return float(np.asarray(value.constant).reshape(()))


def _gated(value: Value) -> Value | None:
    """x, where a value is relu6(x + 3) and is read once; else None."""
    node = value.producer
    if node is None or node.op != "add" or getattr(node.attrs, "activation", None) is not Activation.RELU6:
        return None
    a, b = node.operand(0), node.operand(1)
    return next((x for x, other in ((a, b), (b, a)) if _number(other) == 3), None)


def _swished(factors: _Factors, gate: tuple[Value, Value], node: Node) -> Value | Mismatch:
    """The value of which all factors together are hard-swish."""
    value, x = gate
    others = [each for each in factors.values if each is not value]
    if others != [x] or factors.divisors or x.type.shape != node.result.type.shape or not _is_sole(value):
        return Mismatch(OTHER_FACTORS)
    if not math.isclose(factors.scale, _SIXTH, rel_tol=1e-6):
        return Mismatch(OTHER_SCALE, {"scale": factors.scale})
    return x


def _replace(factors: _Factors, x: Value, work: Work) -> None:
    last, *others = factors.nodes
    gate = next(value.producer for value in factors.values if value is not x)
    assert gate is not None, "it is an addition"
    others.append(gate)
    origin = [name for node in (last, *others) for name in node.origin]
    made = work.rewriter.insert(last, "hard_swish", [x], [last.result.type], Attrs(), name=last.name, origin=origin)
    work.rewriter.replace(last, [made.result], take_names=True)
    for node in others:
        work.rewriter.erase(node)
