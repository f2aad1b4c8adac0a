"""From a graph to a program: kernels chosen, constants packed, memory planned. One module per family of kernels."""

from arenite.lower.kernelset import KernelSet


def kernels() -> KernelSet:
    """Every kernel of the core dialect."""
    from arenite.lower import activation, arithmetic, conv, dense, movement, pool, quant, reduce  # noqa: PLC0415

    modules = (activation, arithmetic, conv, dense, movement, pool, quant, reduce)
    return KernelSet(kernel for module in modules for kernel in module.KERNELS)
