"""All numpy kernels of the default domain."""

from arenite.ops.onnx.invocation import Kernels


def kernels() -> Kernels:
    """Kernels by operator."""
    from arenite.ops.onnx import (  # noqa: PLC0415
        numpy_elementwise,
        numpy_movement,
        numpy_quantized,
        numpy_reduction,
        numpy_weighted,
    )

    modules = (numpy_elementwise, numpy_movement, numpy_quantized, numpy_reduction, numpy_weighted)
    return {name: kernel for module in modules for name, kernel in module.KERNELS.items()}
