"""Kernels of functions of one 8-bit operand: tables that their ops' own meaning fills."""

from arenite.ir.opdef import NotApplicable
from arenite.lower.kernel import Kernel
from arenite.lower.lookup import lookup_kernel
from arenite.ops import lookup, rectifiers, unary

KERNELS: tuple[Kernel, ...] = tuple(
    lookup_kernel(definition)
    for definition in (*unary.OPS, *rectifiers.OPS, *lookup.OPS)
    if len(definition.operands) == 1 and not isinstance(definition.evaluate_quantized, NotApplicable)
)
