"""Kernels of comparisons and logic."""

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.opdef import Constraint, OpCall, signature_text
from arenite.kernels.families.comparison import COMPARE, COMPARE_8, LOGICAL
from arenite.lower.broadcast import BROADCASTS_IN_FEW_LOOPS
from arenite.lower.common import Arguments, Filled, Params, array, dtypes, integer
from arenite.lower.kernel import Kernel, OperandRef, Prepared, PreparedConstant
from arenite.lower.lookup import lookup_kernel
from arenite.lower.pairs import PAIR, loops, pair_cost, taken
from arenite.lower.program import ConstantKind
from arenite.ops.comparison import OPS, compared

_EQUAL, _NOT_EQUAL, _LESS, _LESS_EQUAL = range(4)
# The operation, and whether the operands change places.
_OPERATIONS = {
    "equal": (_EQUAL, False),
    "not_equal": (_NOT_EQUAL, False),
    "less": (_LESS, False),
    "less_equal": (_LESS_EQUAL, False),
    "greater": (_LESS, True),
    "greater_equal": (_LESS_EQUAL, True),
}
_REFERENCES = (np.equal, np.not_equal, np.less, np.less_equal)


def _prepared(call: OpCall, tables: tuple[npt.NDArray[np.uint16], ...] = ()) -> tuple[Prepared, ...]:
    operation, exchanged = _OPERATIONS[call.op]
    found = loops(call)
    names = "ba" if exchanged else "ab"
    params: Filled = {"sizes": found["sizes"], "operation": operation}
    params |= {f"strides_{name}": found[f"strides_{place}"] for name, place in zip(names, "ab", strict=True)}
    operands = {name: OperandRef(index) for index, name in enumerate(names)}
    constants = {
        f"table_{name}": PreparedConstant(table, ConstantKind.TABLE) for name, table in zip(names, tables, strict=False)
    }
    return (Prepared(params, {**PAIR, **operands, **constants}),)


def _ranks(call: OpCall) -> tuple[npt.NDArray[np.uint16], ...]:
    """For each byte of each operand, the rank of what it stands for among all that both may stand for."""
    codes = np.arange(256).astype(np.uint8)
    if call.operand(0).dtype is DType.BOOL:
        truth = (codes != 0).astype(np.uint16)
        return truth, truth
    values = [compared(call, index, codes.view(np.int8)) for index in (0, 1)]
    _, ranks = np.unique(np.concatenate(values), return_inverse=True)
    return ranks[:256].astype(np.uint16), ranks[256:].astype(np.uint16)


def _prepare_bytes(call: OpCall) -> tuple[Prepared, ...]:
    return _prepared(call, _ranks(call))


def _bytes_reference(params: Params, arguments: Arguments) -> None:
    a, b = taken(params, arguments)
    compare = _REFERENCES[integer(params, "operation")]
    array(arguments, "output")[:] = compare(array(arguments, "table_a")[a], array(arguments, "table_b")[b])


def _reference(params: Params, arguments: Arguments) -> None:
    array(arguments, "output")[:] = _REFERENCES[integer(params, "operation")](*taken(params, arguments))


def _prepare_logic(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({**loops(call), "either": int(call.op == "logical_or")}, PAIR),)


def _logic_reference(params: Params, arguments: Arguments) -> None:
    combine = np.logical_or if integer(params, "either") else np.logical_and
    array(arguments, "output")[:] = combine(*taken(params, arguments))


_BYTE_PAIRS = tuple(((dtype, dtype), DType.BOOL) for dtype in (DType.INT8, DType.BOOL))


def _are_bytes(call: OpCall) -> bool | str:
    found = {t.dtype for t in call.operands if t is not None}
    return found in ({DType.INT8}, {DType.BOOL}) or signature_text(call)


_LOGICAL_NOT = next(definition for definition in OPS if definition.name == "logical_not")

KERNELS: tuple[Kernel, ...] = (
    *(
        Kernel(
            op,
            "table",
            COMPARE_8,
            (Constraint("the operands are int8 or bool", _are_bytes, _BYTE_PAIRS), BROADCASTS_IN_FEW_LOOPS),
            _prepare_bytes,
            pair_cost(10, 1024 + 120),
            _bytes_reference,
            in_place=(0, 1),
        )
        for op in _OPERATIONS
    ),
    *(
        Kernel(
            op,
            f"int{bits}",
            COMPARE[bits],
            (dtypes((dtype, dtype), DType.BOOL), BROADCASTS_IN_FEW_LOOPS),
            _prepared,
            pair_cost(10, 120),
            _reference,
        )
        for op in _OPERATIONS
        for bits, dtype in ((32, DType.INT32), (64, DType.INT64))
    ),
    *(
        Kernel(
            op,
            "bool",
            LOGICAL,
            (dtypes((DType.BOOL, DType.BOOL), DType.BOOL), BROADCASTS_IN_FEW_LOOPS),
            _prepare_logic,
            pair_cost(10, 120),
            _logic_reference,
            in_place=(0, 1),
        )
        for op in ("logical_and", "logical_or")
    ),
    lookup_kernel(_LOGICAL_NOT),
)
