"""Kernels of fully_connected."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
