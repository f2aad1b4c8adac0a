"""Builds generated C for this computer and calls it."""

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from arenite import codegen, kernels
from arenite.codegen import render
from arenite.codegen.names import Names
from arenite.lower.kernel import Array
from arenite.lower.program import Program
from lower.toy import KERNELS

TOY = Path(__file__).parent / "toy"
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")


def render_toy(program: Program) -> dict[str, str]:
    return render(program, KERNELS.manifests, read_toy_header)


def read_toy_header(name: str) -> str:
    folders = (TOY, kernels.include_dir(), codegen.include_dir())
    (path,) = (folder / name for folder in folders if (folder / name).is_file())
    return path.read_text(encoding="ascii")


def write(files: dict[str, str], folder: Path) -> list[str]:
    """Writes the files; the paths of the C sources."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        # Generated C is plain ASCII, whatever the model's names are.
        (folder / name).write_bytes(text.encode("ascii"))
    return [str(folder / name) for name in files if name.endswith(".c")]


def compile_with(command: Sequence[str], sources: Sequence[str], folder: Path, output: Path) -> None:
    done = subprocess.run(
        [*command, f"-I{folder}", *sources, "-o", str(output)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


class HostModel:
    """A generated model as a shared library."""

    def __init__(self, program: Program, files: dict[str, str], folder: Path, flags: Sequence[str] = ("-O2",)) -> None:
        self.program, self.names = program, Names(program.name)
        sources, library = write(files, folder), folder / f"lib{program.name}.so"
        compile_with(["gcc", *STRICT, *flags, "-fPIC", "-shared"], sources, folder, library)
        self._library = ctypes.CDLL(str(library))

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        for index, (port, array) in enumerate(zip(self.program.inputs, inputs, strict=True)):
            ctypes.memmove(self._pointer(self.names.port("input", index)), array.tobytes(), port.nbytes)
        self._function(self.names.invoke)()
        return [
            np.frombuffer(
                ctypes.string_at(self._pointer(self.names.port("output", index)), port.nbytes), port.dtype.numpy
            ).reshape(port.shape)
            for index, port in enumerate(self.program.outputs)
        ]

    def _function(self, name: str) -> Callable[[], None]:
        function = getattr(self._library, name)
        function.restype = None
        return function  # type: ignore[no-any-return]

    def _pointer(self, name: str) -> int:
        function = getattr(self._library, name)
        function.restype = ctypes.c_void_p
        return int(function())
