"""Kernels of average_pool2d and max_pool2d."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
