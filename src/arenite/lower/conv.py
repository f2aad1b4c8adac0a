"""Kernels of conv2d and depthwise_conv2d."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
