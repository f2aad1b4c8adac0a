"""The public surface of Arenite for Python."""

from os import PathLike
from pathlib import Path

from arenite.driver.compile import CompileResult, compile_loaded
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions, ObjectiveName, Simulate
from arenite.interp.facade import Interpreter
from arenite.ir.model import Model

__all__ = ["CompileResult", "Interpreter", "Model", "compile", "load"]


def load(path: str | PathLike[str]) -> Model:
    """The model in a file, as it is: nothing is optimised.

    Raises:
        arenite.AreniteError: the file cannot be read or is damaged.
    """
    return load_model(Path(path))


def compile(  # noqa: A001 - the verb of the command line
    model: Model,
    *,
    target: str = "cortex-m4",
    name: str | None = None,
    optimize: ObjectiveName = "speed",
    ram_limit_nbytes: int | None = None,
    flash_limit_nbytes: int | None = None,
    simulate: Simulate = "auto",
    compiler: str | None = None,
) -> CompileResult:
    """Compile a model into C99; `result.write(folder)` writes the bundle, `result.report` holds the figures.

    Args:
        model: what `load` gave; it stays as it is.
        target: a core's name, or the path of a board's .toml.
        name: prefix of every symbol and file; default: the model's name.
        optimize: what to prefer.
        ram_limit_nbytes: bytes that arena, static data and stack may take.
        flash_limit_nbytes: bytes that code, weights and tables may take.
        simulate: whether to build the firmware and run it on the emulated core; `auto`: when the tools are there.
        compiler: `zig`, or the path of a cross compiler.

    Raises:
        arenite.AreniteError: the model cannot be compiled within the limits, or a tool failed.
    """
    options = CompileOptions(target, name, optimize, ram_limit_nbytes, flash_limit_nbytes, simulate, compiler)
    return compile_loaded(model, options, lambda _: None)
