"""Kernels of add and mul."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
