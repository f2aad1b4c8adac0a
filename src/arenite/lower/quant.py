"""Kernels of quantize and dequantize."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
