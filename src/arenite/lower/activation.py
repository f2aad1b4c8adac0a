"""Kernels of relu, relu6, logistic and softmax."""

from arenite.lower.kernel import Kernel

KERNELS: tuple[Kernel, ...] = ()
