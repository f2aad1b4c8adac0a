"""`run`: a model on inputs from a file, by one of three engines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.errors import DataError, ModelError, ToolError, UsageError
from arenite.driver.arrays import PortSpec, load_feeds, port_keys, save_outputs
from arenite.driver.build import build, find_target
from arenite.driver.checks import check_runnable
from arenite.driver.load import load_model, port_names
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import default_toolbox
from arenite.interp.interpreter import Interpreter
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
        registry = default_toolbox().registry
        check_runnable(model, registry)
        self._interpreter = Interpreter(model.graph, registry)

    def invoke(self, inputs: Sequence[Array]) -> list[Array]:
        return list(self._interpreter.run(inputs))


def run_model(
    path: Path, inputs: Path, outputs: Path, *, engine: EngineName, target: str, compiler: str | None
) -> None:
    """Run every invocation that the input file holds, and write the outputs.

    Raises:
        AreniteError: the model, its inputs, or a tool is at fault.
    """
    find_target(target)
    model = load_model(path)
    names_in, names_out = port_names(model)
    ports_in, ports_out = _ports(names_in, model.graph.inputs), _ports(names_out, model.graph.outputs)
    feeds = load_feeds(inputs, ports_in)
    if not outputs.parent.is_dir():
        raise DataError(f"cannot write {outputs}: the folder {outputs.parent} does not exist")
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


def _ports(names: Sequence[str], values: Sequence[Value]) -> list[PortSpec]:
    problems = [
        f"'{value.name}' has the type {value.type}: running needs static shapes of plain numbers"
        for value in values
        if not value.type.is_static or value.type.dtype is DType.STRING
    ]
    if problems:
        raise ModelError(problems)
    return [
        PortSpec(key, value.type.dtype, value.type.dims) for key, value in zip(port_keys(names), values, strict=True)
    ]
