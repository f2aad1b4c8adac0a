"""From a graph to a program: kernels chosen, constants packed, memory planned. One module per family of kernels."""

from functools import cache

from arenite._base.collect import collect
from arenite.lower.kernel import Kernel
from arenite.lower.kernelset import KernelSet


@cache
def kernels() -> KernelSet:
    """Every kernel of the core dialect."""
    return KernelSet(kernel for kernel in collect("arenite.lower", "KERNELS") if isinstance(kernel, Kernel))
