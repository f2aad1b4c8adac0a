"""A small family of ops and kernels, to test lowering and printing without the real ones.

All int8 and wrapping: `toy.add` (in place), `toy.scale` (constant table, in place), `toy.reverse` (never in place),
`toy.sum` (scratch), `toy.join` (two calls per node, interleaved), `toy.view` (a view).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import Constraint, NotApplicable, OpCall, OpDef, Operand, Registry, Trait
from arenite.ir.types import TensorType
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role
from arenite.lower.kernel import Array, Kernel, KernelCost, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.kernelset import KernelSet
from arenite.lower.program import ConstantKind, ParamValue

INT8 = DType.INT8
Params = Mapping[str, ParamValue]
Arguments = Mapping[str, "Array | None"]


@dataclass(frozen=True)
class ScaleAttrs(Attrs):
    factor: int = 1


def int8(*shape: int) -> TensorType:
    return TensorType(INT8, shape)


def _op(name: str, operands: int, attrs: type[Attrs] = Attrs, traits: frozenset[Trait] = frozenset()) -> OpDef:
    nothing = NotApplicable("a toy")
    names = tuple(Operand(f"x{index}") for index in range(operands))
    return OpDef(
        name=name,
        summary="A toy.",
        attrs=attrs,
        operands=names,
        result_names=("y",),
        traits=traits | {Trait.PURE, Trait.DETERMINISTIC},
        infer=lambda call: call.results,
        evaluate_float=nothing,
        evaluate_quantized=nothing,
        cost=nothing,
        quantization=nothing,
        canonicalize=nothing,
    )


REGISTRY = Registry(
    (
        _op("toy.add", 2),
        _op("toy.scale", 1, ScaleAttrs),
        _op("toy.reverse", 1),
        _op("toy.sum", 1),
        _op("toy.join", 2),
        _op("toy.view", 1, traits=frozenset({Trait.VIEW})),
    )
)


def _argument(name: str, role: Role, ctype: str = "int8_t", optional: bool = False) -> Argument:
    return Argument(name, ctype, role, optional)


_COUNT = Field("count")
X, Y = _argument("x", Role.INPUT), _argument("y", Role.OUTPUT)
ADD_INFO = KernelInfo("toy_add", "y = a + b", (_COUNT,), (_argument("a", Role.INPUT), _argument("b", Role.INPUT), Y))
SCALE_INFO = KernelInfo(
    "toy_scale",
    "y = table[x + 128] + bias, with no bias a null pointer",
    (_COUNT, Field("gains", "int16_t", 2), Field("unused", "float")),
    (X, _argument("table", Role.CONSTANT, "int16_t"), _argument("bias", Role.CONSTANT, "int32_t", True), Y),
)
REVERSE_INFO = KernelInfo("toy_reverse", "y[i] = x[count - 1 - i]", (_COUNT,), (X, Y))
SUM_INFO = KernelInfo(
    "toy_sum", "running sums, by way of scratch", (_COUNT,), (X, Y, _argument("sums", Role.SCRATCH, "int32_t"))
)
JOIN_INFO = KernelInfo("toy_join", "y[2 * i] = x[i]", (_COUNT,), (X, Y))


def _array(arguments: Arguments, name: str) -> Array:
    found = arguments[name]
    assert found is not None
    return found


def _wrap(values: Array) -> Array:
    return np.asarray(values).astype(np.int64).astype(np.int8)


def add(params: Params, arguments: Arguments) -> None:
    y = _array(arguments, "y")
    y[:] = _wrap(_array(arguments, "a").astype(np.int64) + _array(arguments, "b").astype(np.int64))


def scale(params: Params, arguments: Arguments) -> None:
    table, bias = _array(arguments, "table"), arguments["bias"]
    scaled = table[_array(arguments, "x").astype(np.int64) + 128].astype(np.int64)
    _array(arguments, "y")[:] = _wrap(scaled if bias is None else scaled + bias.astype(np.int64)[0])


def reverse(params: Params, arguments: Arguments) -> None:
    _array(arguments, "y")[:] = _array(arguments, "x")[::-1].copy()


def running_sum(params: Params, arguments: Arguments) -> None:
    sums = _array(arguments, "sums")
    sums[:] = np.cumsum(_array(arguments, "x").astype(np.int32))
    _array(arguments, "y")[:] = _wrap(sums)


def join(params: Params, arguments: Arguments) -> None:
    x = _array(arguments, "x")
    _array(arguments, "y")[: 2 * x.size : 2] = x


def _count(call: OpCall) -> int:
    return call.operand(0).nelem


def _prepare_add(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({"count": _count(call)}, {"a": OperandRef(0), "b": OperandRef(1), "y": ResultRef()}),)


def _prepare_scale(call: OpCall) -> tuple[Prepared, ...]:
    assert isinstance(call.attrs, ScaleAttrs)
    factor = call.attrs.factor
    table = PreparedConstant((np.arange(-128, 128) * factor).astype(np.int16), ConstantKind.TABLE)
    bias = PreparedConstant(np.array([factor], np.int32), ConstantKind.WEIGHTS) if factor % 2 else None
    return (
        Prepared(
            {"count": _count(call), "gains": (factor, -factor), "unused": 0.1},
            {"x": OperandRef(0), "table": table, "bias": bias, "y": ResultRef()},
            macs=_count(call),
        ),
    )


def _prepare_unary(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({"count": _count(call)}, {"x": OperandRef(0), "y": ResultRef()}),)


def _prepare_sum(call: OpCall) -> tuple[Prepared, ...]:
    return (Prepared({"count": _count(call)}, {"x": OperandRef(0), "y": ResultRef(), "sums": 4 * _count(call)}),)


def _prepare_join(call: OpCall) -> tuple[Prepared, ...]:
    return tuple(
        Prepared({"count": _count(call)}, {"x": OperandRef(index), "y": ResultRef(0, index)}) for index in (0, 1)
    )


def cheap(call: OpCall) -> KernelCost:
    return KernelCost(instructions=10.0 * _count(call), flash_nbytes=100)


def is_int8(call: OpCall) -> bool | str:
    found = call.operand(0).dtype
    return found is INT8 or f"found {found}"


TAKES_INT8 = Constraint("the input is int8", is_int8)

KERNELS = KernelSet(
    (
        Kernel("toy.add", "direct", ADD_INFO, (TAKES_INT8,), _prepare_add, cheap, add, in_place=(0, 1)),
        Kernel("toy.scale", "table", SCALE_INFO, (TAKES_INT8,), _prepare_scale, cheap, scale, in_place=(0,)),
        Kernel("toy.reverse", "direct", REVERSE_INFO, (TAKES_INT8,), _prepare_unary, cheap, reverse),
        Kernel("toy.sum", "direct", SUM_INFO, (TAKES_INT8,), _prepare_sum, cheap, running_sum),
        Kernel("toy.join", "direct", JOIN_INFO, (TAKES_INT8,), _prepare_join, cheap, join),
    )
)


def evaluate(op: str, attrs: Attrs, operands: Sequence[Array]) -> Array:
    """What an op means, apart from any kernel: the oracle."""
    if op == "toy.add":
        return _wrap(operands[0].astype(np.int64) + operands[1].astype(np.int64))
    if op == "toy.scale":
        assert isinstance(attrs, ScaleAttrs)
        return _wrap(operands[0].astype(np.int64) * attrs.factor + (attrs.factor if attrs.factor % 2 else 0))
    if op == "toy.reverse":
        return operands[0].reshape(-1)[::-1].reshape(operands[0].shape)
    if op == "toy.sum":
        return _wrap(np.cumsum(operands[0].astype(np.int64)).reshape(operands[0].shape))
    if op == "toy.join":
        return np.stack([operand.reshape(-1) for operand in operands], axis=1).reshape(-1)
    raise AssertionError(op)
