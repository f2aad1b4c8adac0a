"""Of each op: on which dtypes `compile` has no kernel, and why; and what decides which results are right."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from arenite._base.dtypes import DType
from arenite.ir.opdef import NotApplicable, OpDef, Trait
from arenite.lower.kernel import Kernel
from arenite.lower.kernelset import KernelSet
from arenite.passes.legalize_uint8 import SAME_ON_INT8

Signature = tuple[tuple[DType, ...], DType]

_FLOAT = "only what quantized networks keep in float32 has kernels there"
_MATH = "it needs a mathematical library on the device"
_FOLDED = "it is of constants, and computed when compiling"
_NO_ORACLE = "TFLite-Micro has none, and quantized networks do not use it"

# What constraints do not list as dtypes.
_MORE: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "add_n": (("int64", _NO_ORACLE),),
        "arg_max": (("int64 and uint64 operands", _NO_ORACLE),),
        "arg_min": (("int64 and uint64 operands", _NO_ORACLE),),
        "cast": (("float16 and float64; float32 to uint64", _NO_ORACLE),),
        "cumsum": (("int64", _NO_ORACLE),),
        "svdf": (("float32", _FLOAT),),
        "transpose_conv": (("float32", _FLOAT),),
        "unidirectional_sequence_lstm": (("float32", _FLOAT),),
    }
)
_BY_MATH = frozenset({"pow", "sin", "cos"})
_OTHER_ORACLES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("exp", "log", "pow", "relu_n1_to_1", "relu_0_to_1"), "LiteRT's reference kernels"),
        "lookup": "the table",
        "space_to_batch_nd": "LiteRT's reference kernels; TFLite-Micro where nothing is padded",
        "tile": "LiteRT's reference kernels",
    }
)


def without_kernel(definition: OpDef, kernels: KernelSet) -> Iterator[tuple[str, str]]:
    """Dtypes that the op has a meaning on and no kernel takes, as text, and why. A view needs none."""
    if definition.has(Trait.VIEW):
        return
    available = tuple(kernels.of_op(definition.name))
    left = [signature for signature in _meanings(definition) if not any(_takes(k, signature) for k in available)]
    reasons: dict[str, list[str]] = {}
    for operands, result in left:
        reason = _reason(definition, (*operands, result))
        reasons.setdefault(reason, []).append(f"({', '.join(map(str, operands))}) -> {result}")
    yield from ((", ".join(texts), reason) for reason, texts in reasons.items())
    yield from _MORE.get(definition.name, ())


def _meanings(definition: OpDef) -> tuple[Signature, ...]:
    return next((each.dtypes for each in definition.constraints if each.dtypes), ())


def _takes(kernel: Kernel, signature: Signature) -> bool:
    """Whether a kernel's dtypes are these, or it says nothing of dtypes."""
    about = [constraint.dtypes for constraint in kernel.constraints if constraint.dtypes]
    operands, result = signature
    return all(any(operands[: len(taken)] == taken and result is given for taken, given in each) for each in about)


def _reason(definition: OpDef, dtypes: tuple[DType, ...]) -> str:
    if DType.UINT8 in dtypes and definition.name in SAME_ON_INT8:
        return "it is compiled as int8, 128 lower"
    if DType.FLOAT16 in dtypes:
        return _FOLDED
    return _MATH if definition.name in _BY_MATH else _FLOAT


def oracle_of(definition: OpDef) -> str:
    """What results are compared with in the tests."""
    if definition.has(Trait.ONCE) or definition.has(Trait.HANDLE):
        return "TFLite-Micro, by whole models"
    dtypes = {dtype for operands, result in _meanings(definition) for dtype in (*operands, result)}
    found = [_OTHER_ORACLES.get(definition.name, "TFLite-Micro")]
    if DType.UINT8 in dtypes and definition.name not in ("quantize", "dequantize", "lookup"):
        found.append("on uint8 LiteRT's reference kernels")
    if DType.FLOAT32 in dtypes and not isinstance(definition.evaluate_float, NotApplicable):
        found.append("on float32 its definition in float64")
    return "; ".join(found)
