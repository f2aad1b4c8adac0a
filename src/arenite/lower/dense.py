"""Kernels of fully_connected."""

from collections.abc import Mapping

from arenite.ir.opdef import OpCall
from arenite.kernels.families.dense import FULLY_CONNECTED_S8
from arenite.lower.kernel import Kernel, KernelCost, Prepared
from arenite.lower.program import ParamValue
from arenite.lower.weighted import (
    CONSTRAINTS,
    Int8Array,
    arguments,
    deinterleaved,
    finish,
    given,
    interleaved,
    number,
    output_range,
    tables,
    weight_of,
)
from arenite.ops.weighted import INPUT, Numbers, exact_product

GROUP = 4
_PER_MAC = 2.34
_PER_RESULT = 28.0
_CODE_NBYTES = 700


def prepare_rows(call: OpCall, weight: Int8Array) -> tuple[Prepared, ...]:
    """A matrix product of the input, taken as rows, with weights (outputs, K)."""
    outputs, inputs = weight.shape
    rows = call.operand(INPUT).nelem // inputs
    table = tables(call, weight, GROUP)
    params: dict[str, ParamValue] = {
        "rows": rows,
        "inputs": inputs,
        "outputs": outputs,
        **output_range(call),
        "narrow": int(table.narrow),
    }
    return (Prepared(params, arguments(interleaved(weight, GROUP), table), rows * inputs * outputs),)


def cost_rows(call: OpCall, outputs: int, inputs: int) -> KernelCost:
    """Estimate for `prepare_rows`."""
    rows = call.operand(INPUT).nelem // inputs
    groups = -(-outputs // GROUP)
    instructions = rows * groups * GROUP * (_PER_MAC * inputs + _PER_RESULT)
    return KernelCost(instructions, _CODE_NBYTES + groups * GROUP * (inputs + 9))


def reference_rows(params: Mapping[str, ParamValue], found: Mapping[str, "Numbers | None"]) -> None:
    """arenite_fully_connected_s8 in numpy."""
    inputs, outputs = number(params, "inputs"), number(params, "outputs")
    weight = deinterleaved(given(found, "weights"), outputs, inputs, GROUP)
    rows = given(found, "input").reshape(-1, inputs)
    finish(params, found, exact_product(rows, weight))


KERNELS: tuple[Kernel, ...] = (
    Kernel(
        op="fully_connected",
        variant="dense",
        info=FULLY_CONNECTED_S8,
        constraints=CONSTRAINTS,
        prepare=lambda call: prepare_rows(call, weight_of(call)),
        cost=lambda call: cost_rows(call, *weight_of(call).shape),
        reference=reference_rows,
    ),
)
