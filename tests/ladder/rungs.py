"""A network that several engines run one after the other: each must give the oracle's bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import oracle
from arenite.driver.build import Build, build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.model import Model
from arenite.lower import arena, kernels
from arenite.lower.lower import lower
from arenite.ops import core_registry
from arenite.toolchain import firmware_compiler, host_compiler

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True)
class Rungs:
    """A network, and what TFLite-Micro makes of its inputs.

    Attributes:
        model: the network, before any pass.
        feeds: inputs, for each invocation.
        expected: outputs, for each invocation.
        labels: of the outputs, for messages.
    """

    model: Model
    feeds: list[list[AnyArray]]
    expected: list[list[AnyArray]]
    labels: Sequence[str]

    @classmethod
    def of(cls, model: Model, feeds: list[list[AnyArray]], labels: Sequence[str] | None = None) -> "Rungs":
        names = [value.name for value in model.graph.outputs] if labels is None else labels
        return cls(model, feeds, oracle.run_wheel(export_model(model), feeds), names)

    def check(self, run: Callable[[list[AnyArray]], Sequence[Any]]) -> None:
        for feed, wanted in zip(self.feeds, self.expected, strict=True):
            for label, found, one in zip(self.labels, run(feed), wanted, strict=True):
                np.testing.assert_array_equal(found, one, label, strict=True)

    def build(self, target: str = "host") -> Build:
        return build(self.model, CompileOptions(target=target), lambda _: None)

    def check_interpreter(self) -> None:
        self.check(Interpreter(self.model.graph, core_registry()).run)

    def check_arena(self, *, passes: bool) -> None:
        """In the poisoned arena, with or without passes before lowering."""
        available = kernels()
        plain = self.model.graph
        program = self.build().program if passes else lower(plain, core_registry(), available, name="m")
        self.check(lambda feed: arena.run(program, available, feed))

    def check_host_c(self, compiler: str = "gcc") -> None:
        with NativeEngine(self.build(), host_compiler(compiler)) as engine:
            self.check(engine.invoke)

    def check_simulated(self, compiler: str, target: str) -> None:
        built = self.build(target)
        with Firmware.link(built, built.target, firmware_compiler(compiler)) as firmware:
            self.check(SimulatorEngine(firmware).invoke)
