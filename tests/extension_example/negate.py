"""An op, a kernel and a pass that live outside the package: what a user's extension looks like.

A package ships an `Extension` and names it in its pyproject.toml:

    [project.entry-points."arenite.plugins"]
    negate = "negate:EXTENSION"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.driver.toolbox import Extension
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array
from arenite.ir.opdef import Cost, NotApplicable, OpCall, OpDef, Operand, QuantizationRule, Trait
from arenite.ir.types import TensorType
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role
from arenite.lower.kernel import Kernel, KernelCost, OperandRef, Prepared, ResultRef
from arenite.lower.program import ParamValue
from arenite.passes.base import Pass, Work


def _infer(call: OpCall) -> tuple[TensorType, ...]:
    return (call.operand(0),)


def _evaluate(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    return (np.clip(-np.asarray(operands[0], np.int64), -128, 127).astype(np.int8),)


NEGATE = OpDef(
    name="example.negate",
    summary="The stored number with its sign changed, saturating.",
    attrs=Attrs,
    operands=(Operand("x"),),
    result_names=("y",),
    traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE}),
    infer=_infer,
    evaluate_float=NotApplicable("it is about stored numbers"),
    evaluate_quantized=_evaluate,
    cost=lambda call: Cost(ops=call.operand(0).nelem),
    quantization=QuantizationRule(same_scale=True),
    canonicalize=NotApplicable("it has no attributes"),
)

NEGATE_S8 = KernelInfo(
    symbol="negate_s8",
    summary="y = -x, saturating",
    fields=(Field("count"),),
    arguments=(Argument("x", "int8_t", Role.INPUT), Argument("y", "int8_t", Role.OUTPUT)),
)


def _reference(params: Mapping[str, ParamValue], arguments: Mapping[str, Array | None]) -> None:
    x, y = arguments["x"], arguments["y"]
    assert x is not None
    assert y is not None
    y[:] = np.clip(-x.astype(np.int64), -128, 127).astype(np.int8)


def _prepare(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({"count": call.operand(0).nelem}, {"x": OperandRef(0), "y": ResultRef()}),)


NEGATE_KERNEL = Kernel(
    op="example.negate",
    variant="loop",
    info=NEGATE_S8,
    constraints=(),
    prepare=_prepare,
    cost=lambda call: KernelCost(instructions=6 * call.operand(0).nelem, flash_nbytes=40),
    reference=_reference,
    in_place=(0,),
)

CANCELLED = Reason("cancelled", "'{subject}' undoes the one before it")
SINGLE = Reason("single", "'{subject}' follows no other negate")
SATURATES = Reason("saturates", "'{subject}' cannot be removed: -128 would come back as -127")


@dataclass(frozen=True)
class CancelNegates(Pass):
    """Two negates in a row do nothing, unless the first may have saturated: then they stay."""

    name: ClassVar[str] = "example-cancel-negates"
    summary: ClassVar[str] = "Says of pairs of negates why they stay."
    reasons: ClassVar[tuple[Reason, ...]] = (CANCELLED, SINGLE, SATURATES)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op != NEGATE.name:
                continue
            candidate = work.consider(node)
            before = node.operand(0).producer
            if before is None or before.op != NEGATE.name:
                candidate.missed(SINGLE)
            else:
                candidate.missed(SATURATES)


EXTENSION = Extension(
    name="negate",
    ops=(NEGATE,),
    kernels=(NEGATE_KERNEL,),
    passes=(CancelNegates(),),
    header_folders=(Path(__file__).parent / "include",),
)
