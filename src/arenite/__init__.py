"""Arenite makes trained neural networks run on microcontrollers.

    import arenite

    model = arenite.load("model.tflite")
    result = arenite.compile(model, target="cortex-m4")
    result.write("build")

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arenite._base.errors import AreniteError
    from arenite.api import (
        CompileResult,
        ConvertResult,
        Interpreter,
        Model,
        OptimizeResult,
        compile,  # noqa: A004
        convert,
        load,
        optimize,
    )

__all__ = [
    "AreniteError",
    "CompileResult",
    "ConvertResult",
    "Interpreter",
    "Model",
    "OptimizeResult",
    "compile",
    "convert",
    "load",
    "optimize",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to import, rarely wanted

        return version("arenite")
    if name not in __all__:
        raise AttributeError(f"module 'arenite' has no attribute '{name}'")
    from arenite import api  # noqa: PLC0415
    from arenite._base.errors import AreniteError  # noqa: PLC0415

    return AreniteError if name == "AreniteError" else getattr(api, name)
