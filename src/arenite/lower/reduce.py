"""Kernels of mean."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
