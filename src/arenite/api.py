"""The public surface of Arenite for Python."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arenite.codegen.project import BundleKind
from arenite.driver.asked import check_compile_options, check_convert_options, check_optimize_options
from arenite.driver.compile import CompileResult, compile_loaded
from arenite.driver.convert_result import ConvertOptions, ConvertResult, PadAs
from arenite.driver.load import load_model
from arenite.driver.optimize import optimize_loaded
from arenite.driver.optimize_result import FoldFunction, OptimizeOptions, OptimizeResult
from arenite.driver.options import CompileOptions, ObjectiveName, Simulate
from arenite.interp.facade import Interpreter
from arenite.ir.clone import clone_graph
from arenite.ir.model import Model, check_loaded

__all__ = [
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
    fold_max_nbytes: int | None = None,
    without: Sequence[str] = (),
    bundle: BundleKind = "cmake",
    keep: Sequence[str] = (),
    debug_layers: bool = False,
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
        fold_max_nbytes: how many bytes of constants one folding may add; default: the pass's own limit.
        without: names of passes that do not run.
        bundle: for which build system the files are laid out: `cmake`, `arduino`, `zephyr` or `esp-idf`.
        keep: operators whose kernels the firmware keeps for later models.
        debug_layers: the firmware logs what each layer computes (docs/debugging-a-board.md).

    Raises:
        arenite.AreniteError: the model cannot be compiled within the limits, or a tool failed.
    """
    check_loaded(model)
    options = CompileOptions(
        target=target,
        name=name,
        objective=optimize,
        ram_limit_nbytes=ram_limit_nbytes,
        flash_limit_nbytes=flash_limit_nbytes,
        simulate=simulate,
        compiler=compiler,
        fold_max_nbytes=fold_max_nbytes,
        without=tuple(without),
        bundle=bundle,
        keep=tuple(keep),
        debug_layers=debug_layers,
    )
    check_compile_options(options)
    return compile_loaded(model, options, lambda _: None)


def optimize(
    model: Model,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] = (),
    pins: Mapping[str, npt.ArrayLike] | None = None,
    fold_max_nbytes: int | None = None,
    without: Sequence[str] = (),
    pure: Sequence[str] = (),
    fold_functions: Mapping[str, FoldFunction] | None = None,
    freeze_defaults: bool = False,
    ignore_signed_zeros: bool = False,
    check: int = 3,
) -> OptimizeResult:
    """Make a model smaller without changing what it computes; `result.write(path)` writes it, `result.model` is it.

    Args:
        model: what `load` gave; it stays as it is.
        input_shapes: static shapes of inputs, by name (.onnx).
        outputs: those to keep; all when empty (.onnx).
        pins: what inputs are taken to hold: they become constants (.onnx).
        fold_max_nbytes: how many bytes of constants one folding may add; default: it depends on how many nodes go.
        without: names of passes that do not run.
        pure: custom operators, as `DOMAIN::OP`, that have no side effects and always give the same.
        fold_functions: what computes custom operators beforehand, by `DOMAIN::OP`: a function that takes a node's
            operands as arrays and its attributes by name, and gives its result, or several (.onnx).
        freeze_defaults: inputs with default values, which callers may replace, become constants (.onnx).
        ignore_signed_zeros: -0.0 may become 0.0, so that x + 0 is x (.onnx).
        check: on how many inputs original and result are compared; 0: not at all.

    Raises:
        arenite.AreniteError: an option does not fit the model, or the result is not what the original is.
    """
    check_loaded(model)
    options = OptimizeOptions(
        input_shapes={name: tuple(shape) for name, shape in (input_shapes or {}).items()},
        outputs=tuple(outputs),
        pins={name: np.asarray(value) for name, value in (pins or {}).items()},
        fold_max_nbytes=fold_max_nbytes,
        without=tuple(without),
        pure=tuple(pure),
        fold_functions=fold_functions or {},
        freeze_defaults=freeze_defaults,
        ignore_signed_zeros=ignore_signed_zeros,
        check=check,
    )
    check_optimize_options(options)
    return optimize_loaded(replace(model, graph=clone_graph(model.graph)), options)


def convert(
    model: Model,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] = (),
    pins: Mapping[str, npt.ArrayLike] | None = None,
    fold_max_nbytes: int | None = None,
    freeze_defaults: bool = False,
    pure: Sequence[str] = (),
    fold_functions: Mapping[str, FoldFunction] | None = None,
    keep_layouts: Sequence[str] | bool = (),
    pad: PadAs = "taps",
    check: int = 3,
) -> ConvertResult:
    """Convert an onnx model into a .tflite file that computes the same; `result.write(path)` writes it.

    Args:
        model: what `load` gave for a .onnx file; it stays as it is.
        input_shapes: static shapes of inputs, by name: the file has fixed sizes.
        outputs: those to keep; all when empty.
        pins: what inputs are taken to hold: they become constants.
        fold_max_nbytes: how many bytes of constants one folding may add; default: it depends on how many nodes go.
        freeze_defaults: inputs with default values, which callers may replace, become constants.
        pure: custom operators, as `DOMAIN::OP`, that have no side effects and always give the same.
        fold_functions: what computes custom operators beforehand, as for `optimize`.
        keep_layouts: inputs and outputs whose dimensions stay in the order that ONNX has them in; True: all.
        pad: how margins are said that a .tflite lacks: as weights of zero where that is cheap (`taps`), or by PAD
            operators (`operators`).
        check: on how many inputs original and result are compared; 0: not at all.

    Raises:
        arenite.AreniteError: an option does not fit the model, something in it has no counterpart, or the result is
            not what the original is.
    """
    check_loaded(model)
    options = ConvertOptions(
        optimize=OptimizeOptions(
            input_shapes={name: tuple(shape) for name, shape in (input_shapes or {}).items()},
            outputs=tuple(outputs),
            pins={name: np.asarray(value) for name, value in (pins or {}).items()},
            fold_max_nbytes=fold_max_nbytes,
            freeze_defaults=freeze_defaults,
            pure=tuple(pure),
            fold_functions=fold_functions or {},
            check=check,
        ),
        keep_layouts=() if isinstance(keep_layouts, bool) else tuple(keep_layouts),
        keep_all_layouts=keep_layouts is True,
        pad=pad,
    )
    check_convert_options(options)
    from arenite.driver.convert import convert_loaded  # noqa: PLC0415 - heavy

    return convert_loaded(replace(model, graph=clone_graph(model.graph)), options)
