"""The generated C, built for this computer and called in this process."""

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from arenite.driver.build import Build
from arenite.toolchain import Compiler, build_host_library

Array = npt.NDArray[np.generic]


class NativeEngine:
    """Runs what `compile` ships on the host. State starts fresh; a context manager, since it owns a folder."""

    def __init__(self, build: Build, compiler: Compiler | None = None) -> None:
        self._program = build.program
        self._names = build.names
        self._folder = tempfile.TemporaryDirectory(prefix="arenite-native-")
        folder = Path(self._folder.name)
        sources = build.write_sources(folder)
        library = build_host_library(sources, [folder], folder / f"lib{build.program.name}.so", compiler=compiler)
        self._library = ctypes.CDLL(str(library))
        self.reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def reset(self) -> None:
        """Forget what was kept between invocations."""
        self._call(self._names.reset)

    def invoke(self, inputs: Sequence[Array]) -> list[Array]:
        """Outputs of one invocation; shapes and dtypes are the ports'."""
        for index, (port, array) in enumerate(zip(self._program.inputs, inputs, strict=True)):
            data = np.ascontiguousarray(array).tobytes()
            assert len(data) == port.nbytes
            ctypes.memmove(self._call(self._names.port("input", index), pointer=True), data, len(data))
        self._call(self._names.invoke)
        return [self._output(index) for index in range(len(self._program.outputs))]

    def _output(self, index: int) -> Array:
        port = self._program.outputs[index]
        data = ctypes.string_at(self._call(self._names.port("output", index), pointer=True), port.nbytes)
        return np.frombuffer(data, port.dtype.numpy).reshape(port.shape)

    def _call(self, name: str, *, pointer: bool = False) -> int:
        function = self._library[name]
        function.argtypes = []
        function.restype = ctypes.c_void_p if pointer else None
        result = function()
        return int(result) if pointer else 0
