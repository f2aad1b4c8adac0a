"""Kernels of pad and concatenation."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
