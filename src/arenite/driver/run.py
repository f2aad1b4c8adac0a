"""`run`: a model on inputs from a file, by one of three engines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError, ToolError, UsageError
from arenite._base.files import check_outputs
from arenite.driver.arrays import PortSpec, load_feeds, port_specs, save_outputs
from arenite.driver.build import build, find_target
from arenite.driver.checks import check_compilable, check_runnable
from arenite.driver.load import data_files, input_defaults, load_model, port_names, registry_for
from arenite.driver.options import CompileOptions
from arenite.interp import interpreter_for
from arenite.ir.graph import Value
from arenite.ir.model import Model

Array = npt.NDArray[np.generic]
EngineName = Literal["interpreter", "native", "simulator"]


class Engine(Protocol):
    """Runs one loaded model; state, where there is any, is kept from one invocation to the next."""

    def invoke(self, inputs: Sequence[Array]) -> list[Array]:
        """Outputs of one invocation, in the model's order."""


class InterpreterEngine:
    """The model as it was read: no passes."""

    def __init__(self, model: Model) -> None:
        registry = registry_for(model)
        if model.format != "onnx":
            check_runnable(model, registry)
        self._graph = model.graph
        self._interpreter = interpreter_for(model.graph, registry)

    def invoke(self, inputs: Sequence[Array]) -> list[Array]:
        outputs = self._interpreter.run(inputs)
        odd = [
            v.name for v, array in zip(self._graph.outputs, outputs, strict=True) if not isinstance(array, np.ndarray)
        ]
        if odd:
            raise DataError(f"output '{name}' is no tensor, and an .npz file holds nothing else" for name in odd)
        return outputs


def run_model(
    path: Path,
    inputs: Path,
    outputs: Path,
    *,
    engine: EngineName,
    target: str,
    compiler: str | None,
    input_shapes: Mapping[str, tuple[int, ...]] | None = None,
    pins: Mapping[str, Array] | None = None,
    also_read: Sequence[Path] = (),
) -> None:
    """Run every invocation that the input file holds, and write the outputs.

    Args:
        path: the model.
        inputs: a .npz file.
        outputs: the .npz file to write, or, of a model with one output, a .npy file.
        engine: what runs it.
        target: core or board, for the simulator.
        compiler: cross compiler, for the simulator; None: the first one found.
        input_shapes: static shapes of inputs, by name (.onnx).
        pins: inputs that become constants, which the input file does not hold (.onnx).
        also_read: files that the options were read from.

    Raises:
        AreniteError: the model, its inputs, or a tool is at fault.
    """
    if outputs.suffix.lower() not in (".npz", ".npy"):
        raise UsageError(f"--outputs takes FILE.npz, or FILE.npy for a model with one output, not '{outputs}'")
    find_target(target)
    model = load_model(path)
    check_outputs([outputs], [path, inputs, *(path.parent / name for name in data_files(model)), *also_read])
    dynamic = model.format == "onnx"
    if input_shapes or pins:
        if not dynamic:
            raise UsageError("--input-shape and --pin are for .onnx models; this one is a .tflite")
        from arenite.passes.onnx.interface import Interface, apply_interface  # noqa: PLC0415 - heavy

        apply_interface(model.graph, Interface(input_shapes or {}, pins or {}))
    if dynamic and engine != "interpreter":
        check_compilable(model, registry_for(model))
    names_in, names_out = port_names(model)
    ports_in = _ports(names_in, model.graph.inputs, input_defaults(model), dynamic=dynamic)
    ports_out = _ports(names_out, model.graph.outputs, {}, dynamic=dynamic)
    if outputs.suffix.lower() == ".npy" and len(ports_out) != 1:
        raise UsageError(
            f"--outputs {outputs}: the model has {len(ports_out)} outputs; give FILE.npz, which holds them all"
        )
    feeds = load_feeds(inputs, ports_in)
    with open_engine(model, engine, target=target, compiler=compiler) as opened:
        steps = [[np.array(array) for array in opened.invoke(step)] for step in feeds.steps]
    save_outputs(outputs, ports_out, steps, stacked=feeds.stacked)


@contextmanager
def open_engine(model: Model, engine: EngineName, *, target: str, compiler: str | None = None) -> Iterator[Engine]:
    """An engine for a model; native and simulator run what `compile` ships.

    Raises:
        AreniteError: the model cannot be compiled, or a tool is missing or failed.
    """
    if engine == "interpreter":
        yield InterpreterEngine(model)
        return
    built = build(model, CompileOptions(target=target, compiler=compiler), lambda _: None)
    if engine == "native":
        from arenite.driver.native import NativeEngine  # noqa: PLC0415

        with NativeEngine(built) as native:
            yield native
        return
    if built.target.cannot_build or built.target.cannot_simulate:
        raise UsageError(
            f"cannot simulate {built.target.name}: {built.target.cannot_build or built.target.cannot_simulate}"
        )
    from arenite.driver.measure import why_not_measurable  # noqa: PLC0415

    if missing := why_not_measurable(built.target, compiler):
        raise ToolError(missing)
    from arenite.driver.firmware import Firmware, SimulatorEngine  # noqa: PLC0415 - needs the sim extra
    from arenite.toolchain import firmware_compiler  # noqa: PLC0415

    with Firmware.link(built, built.target, firmware_compiler(compiler)) as firmware:
        yield SimulatorEngine(firmware)


def _ports(
    names: Sequence[str], values: Sequence[Value], defaults: Mapping[str, Array], *, dynamic: bool
) -> list[PortSpec]:
    problems = [
        f"'{value.name}' has the type {value.type}: running needs static shapes of plain numbers"
        for value in values
        if not dynamic and (not value.type.is_static or value.type.dtype is DType.STRING)
    ]
    if problems:
        raise ModelError(problems)
    return port_specs(names, values, defaults)
