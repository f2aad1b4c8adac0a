"""The generated C as firmware: built for a target, measured, and run on the emulated core."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from arenite._base.errors import ToolError
from arenite.driver.build import Build
from arenite.simulator import hook_source
from arenite.simulator.board import Board, CallResult
from arenite.targets import Target
from arenite.toolchain import Compiler, cached_host_library, host_compiler
from arenite.toolchain.cross import build_firmware

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Firmware:
    """A linked firmware of a build. The ELF lies in a temporary folder that `close` removes."""

    build: Build
    target: Target
    compiler: Compiler
    elf: Path
    folder: "tempfile.TemporaryDirectory[str]"

    @staticmethod
    def link(
        build: Build,
        target: Target,
        compiler: Compiler,
        *,
        more: Mapping[str, bytes] | None = None,
        keep: Sequence[str] = (),
        defines: Mapping[str, str] | None = None,
    ) -> "Firmware":
        """Compile and link for the target.

        Args:
            build: the network.
            target: the core.
            compiler: a cross compiler.
            more: further C files, by name, and those that take the place of the network's own.
            keep: further symbols that must be in the firmware.
            defines: macros.

        Raises:
            ToolError: the compiler is missing or failed.
        """
        folder = tempfile.TemporaryDirectory(prefix="arenite-firmware-")
        path = Path(folder.name)
        sources = build.write_sources(path, more)
        elf = build_firmware(
            sources,
            [path],
            target,
            path / f"{build.program.name}.elf",
            compiler=compiler,
            optimize="flash" if build.options.objective == "flash" else "speed",
            keep_symbols=(*build.public_symbols, *keep),
            defines=defines,
        )
        return Firmware(build, target, compiler, elf, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


class SimulatorEngine:
    """Runs firmware on the emulated core. State starts fresh.

    Attributes:
        last: what the last invocation cost.
    """

    def __init__(self, firmware: Firmware) -> None:
        self._program = firmware.build.program
        names = firmware.build.names
        self._invoke = names.invoke
        self._roots = (names.invoke, *(names.layer(index) for index in range(len(self._program.calls))))
        self._board = Board(firmware.elf, firmware.target, hook_library())
        self._reset = names.reset
        self.reset()
        self._inputs = [self._board.call(names.port("input", i)).value for i in range(len(self._program.inputs))]
        self._outputs = [self._board.call(names.port("output", i)).value for i in range(len(self._program.outputs))]
        self.last: CallResult | None = None

    def reset(self) -> None:
        """Forget what was kept between invocations."""
        self._board.call(self._reset)

    def call(self, symbol: str) -> int:
        """What a function without arguments returns."""
        return self._board.call(symbol).value

    def invoke(self, inputs: Sequence[Array]) -> list[Array]:
        """Outputs of one invocation; shapes and dtypes are the ports'."""
        for address, array in zip(self._inputs, inputs, strict=True):
            self._board.write(address, np.ascontiguousarray(array).tobytes())
        self.last = self._board.call(self._invoke, roots=self._roots)
        return [
            np.frombuffer(self._board.read(address, port.nbytes), port.dtype.numpy).reshape(port.shape)
            for address, port in zip(self._outputs, self._program.outputs, strict=True)
        ]


def hook_library() -> Path | None:
    """The emulator's block counter, built for this computer and kept; None where no host compiler is found."""
    try:
        compiler = host_compiler()
    except ToolError:
        return None
    return cached_host_library("arenite_hook", [hook_source()], compiler=compiler)
