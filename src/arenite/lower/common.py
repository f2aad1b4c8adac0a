"""What families of kernels ask and read alike."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.lower.kernel import OperandRef, PreparedConstant, ResultRef
from arenite.lower.program import ConstantKind, ParamValue

Params = Mapping[str, ParamValue]
Filled = dict[str, ParamValue]
"""Parameters, as a kernel's `prepare` fills them in."""

Given = dict[str, OperandRef | ResultRef | PreparedConstant | int | None]
"""Arguments, as a kernel's `prepare` gives them."""

Arguments = Mapping[str, "npt.NDArray[np.generic] | None"]


def dtypes(operands: tuple[DType, ...], result: DType) -> Constraint:
    """The leading operands and the result have these dtypes."""

    def holds(call: OpCall) -> bool | str:
        found = tuple(t.dtype for t in call.operands[: len(operands)] if t is not None)
        return (found == operands and call.results[0].dtype == result) or signature_text(call)

    return Constraint(f"dtypes are ({', '.join(map(str, operands))}) -> {result}", holds, ((operands, result),))


def integer(params: Params, name: str) -> int:
    """A scalar integer parameter."""
    value = params[name]
    assert isinstance(value, int), f"parameter {name} is an integer"
    return value


def integers(params: Params, name: str) -> tuple[int, ...]:
    """An array of integer parameters."""
    value = params[name]
    assert isinstance(value, tuple), f"parameter {name} is an array"
    return value


def array(arguments: Arguments, name: str) -> npt.NDArray[Any]:
    """An argument that is not null."""
    value = arguments[name]
    assert value is not None, f"argument {name} is given"
    return value


def bytes_of(call: OpCall, index: int) -> OperandRef | PreparedConstant:
    """An operand for a kernel that moves bytes: a constant one may have any dtype."""
    constant = call.constant(index)
    if constant is None:
        return OperandRef(index)
    return PreparedConstant(np.ascontiguousarray(constant).reshape(-1).view(np.uint8), ConstantKind.WEIGHTS)


PATTERN_NBYTES = 64
"""Constants of fewer bytes are stored whole; of larger ones that repeat one element, a pattern of at most as many."""


def repeats_one_element(call: OpCall, index: int) -> bool:
    """Whether an operand is a constant that is worth being stored as a pattern."""
    constant = call.constant(index)
    if constant is None or constant.nbytes < PATTERN_NBYTES:
        return False
    # By bytes: zeros of both signs are not the same, and one NaN is.
    rows = np.ascontiguousarray(constant).reshape(-1).view(np.uint8).reshape(-1, constant.itemsize)
    return bool((rows == rows[0]).all())
