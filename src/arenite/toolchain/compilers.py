"""Which C compilers this computer has, and how each is called."""

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arenite._base.errors import ToolError
from arenite.toolchain.process import run_tool

Kind = Literal["zig", "gcc", "clang"]


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        name: short name for messages and `--cc`: `zig`, `gcc`, `arm-none-eabi-gcc`, or the path that the user gave.
        kind: whose command line it understands; `zig` is clang behind `zig cc`.
        command: program and leading arguments.
        builds_host: it makes shared libraries for this computer.
        builds_firmware: it makes firmware for Cortex-M.
    """

    name: str
    kind: Kind
    command: tuple[str, ...]
    builds_host: bool
    builds_firmware: bool

    def version(self) -> str:
        """The first line that the compiler says of itself; `zig` tells its own version.

        Raises:
            ToolError: the compiler does not start.
        """
        arguments = ("version",) if self.kind == "zig" else ("--version",)
        program = self.command[:1] if self.kind == "zig" else self.command
        line = run_tool((*program, *arguments), what=f"asking {self.name} for its version").splitlines()
        first = line[0].strip() if line else "unknown version"
        return f"zig {first}" if self.kind == "zig" else first


def find_compilers() -> tuple[Compiler, ...]:
    """All compilers found: zig (the Python package, else on PATH), arm-none-eabi-gcc, and the host's gcc and clang."""
    found: list[Compiler] = []
    zig = _find_zig()
    if zig is not None:
        found.append(Compiler("zig", "zig", (str(zig), "cc"), builds_host=True, builds_firmware=True))
    for name, kind, firmware in (
        ("arm-none-eabi-gcc", "gcc", True),
        ("gcc", "gcc", False),
        ("clang", "clang", False),
    ):
        path = shutil.which(name)
        if path is not None:
            kind_: Kind = "gcc" if kind == "gcc" else "clang"
            found.append(Compiler(name, kind_, (path,), builds_host=not firmware, builds_firmware=firmware))
    return tuple(found)


def host_compiler(request: str | None = None) -> Compiler:
    """The compiler for host libraries: the requested one, else gcc, else clang, else zig.

    Args:
        request: a compiler's name or path, as `--cc` takes it.

    Raises:
        ToolError: there is none, or the requested one is missing or cannot do it.
    """
    if request is not None:
        return _checked(request, "builds_host", "libraries for this computer")
    for name in ("gcc", "clang", "zig"):
        for compiler in find_compilers():
            if compiler.name == name:
                return compiler
    raise ToolError("no C compiler for this computer: install gcc or clang, or `pip install ziglang`")


def firmware_compiler(request: str | None = None) -> Compiler:
    """The compiler for firmware: the requested one, else zig, else arm-none-eabi-gcc.

    Raises:
        ToolError: there is none, or the requested one is missing or cannot do it.
    """
    if request is not None:
        return _checked(request, "builds_firmware", "firmware for Cortex-M")
    for compiler in find_compilers():
        if compiler.builds_firmware:
            return compiler
    raise ToolError("no cross compiler: `pip install ziglang`, or install arm-none-eabi-gcc")


def _checked(request: str, ability: Literal["builds_host", "builds_firmware"], what: str) -> Compiler:
    compiler = _requested(request)
    if not getattr(compiler, ability):
        raise ToolError(f"the compiler {request} does not build {what}")
    return compiler


def _requested(request: str) -> Compiler:
    for compiler in find_compilers():
        if compiler.name == request:
            return compiler
    path = shutil.which(request)
    if path is None:
        known = ", ".join(compiler.name for compiler in find_compilers()) or "none"
        raise ToolError(f"the compiler {request} is not there, or cannot be run; found on this computer: {known}")
    if Path(path).stem.startswith("zig"):
        return Compiler(request, "zig", (path, "cc"), builds_host=True, builds_firmware=True)
    version = run_tool((path, "--version"), what=f"asking {request} for its version")
    if "clang" in version:
        return Compiler(request, "clang", (path,), builds_host=True, builds_firmware=False)
    machine = run_tool((path, "-dumpmachine"), what=f"asking {request} for its target").strip()
    firmware = machine.startswith("arm") and machine.endswith("eabi") and "linux" not in machine
    return Compiler(request, "gcc", (path,), builds_host=not firmware, builds_firmware=firmware)


def _find_zig() -> Path | None:
    spec = importlib.util.find_spec("ziglang")
    program = "zig.exe" if os.name == "nt" else "zig"
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        path = Path(folder) / program
        if path.is_file():
            return path
    on_path = shutil.which("zig")
    return None if on_path is None else Path(on_path)
