"""Builds C sources into a shared library for this computer."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from arenite.toolchain.cache import cached_file, content_key
from arenite.toolchain.compilers import Compiler, host_compiler
from arenite.toolchain.process import run_tool

# What all C of this project is clean under.
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")

LIBRARY_SUFFIX = ".dylib" if sys.platform == "darwin" else ".dll" if sys.platform == "win32" else ".so"


def build_host_library(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    output: Path,
    *,
    compiler: Compiler | None = None,
    flags: Sequence[str] = ("-O2",),
    defines: Mapping[str, str] | None = None,
) -> Path:
    """Compiles and links C files into a shared library, with the project's warnings as errors.

    Args:
        sources: the .c files.
        include_dirs: folders for #include, searched in this order.
        output: the library's path; written beside and renamed, so that a failed build leaves nothing.
        compiler: by default the one that `host_compiler()` finds.
        flags: further flags, after the warnings: optimisation, sanitizers, `-Wno-...`.
        defines: preprocessor macros, name to value; an empty value defines the bare name.

    Returns:
        `output`.

    Raises:
        ToolError: no compiler, or the compiler's own first lines.
    """
    compiler = compiler or host_compiler()
    arguments = host_arguments(compiler, include_dirs, flags, defines or {})
    output.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(source.name for source in sources[:3]) + (", ..." if len(sources) > 3 else "")
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as folder:
        made = Path(folder) / output.name
        run_tool(
            (*arguments, *map(str, sources), "-o", str(made)),
            what=f"compiling {names} for this computer with {compiler.name}",
            scratch=Path(folder),
        )
        made.replace(output)
    return output


def cached_host_library(
    name: str,
    sources: Sequence[Path],
    include_dirs: Sequence[Path] = (),
    *,
    compiler: Compiler | None = None,
    flags: Sequence[str] = ("-O2",),
    defines: Mapping[str, str] | None = None,
) -> Path:
    """Like `build_host_library`, kept in the cache folder under a hash of the command, sources and headers.

    `name` is the leading part of the library's file name; the other arguments are those of `build_host_library`.
    Every `*.h` in the include folders (not below them) counts; files that the sources include from elsewhere do not.

    Raises:
        ToolError: no compiler, no cache folder, or the compiler's own first lines.
    """
    compiler = compiler or host_compiler()
    headers = [header for folder in include_dirs for header in sorted(folder.glob("*.h"))]
    program = Path(compiler.command[0])
    stamp = program.stat().st_mtime_ns if program.is_file() else 0
    key = content_key((*host_arguments(compiler, (), flags, defines or {}), str(stamp)), (*sources, *headers))
    return cached_file(
        f"{name}-{key}{LIBRARY_SUFFIX}",
        lambda path: build_host_library(sources, include_dirs, path, compiler=compiler, flags=flags, defines=defines),
    )


def host_arguments(
    compiler: Compiler, include_dirs: Sequence[Path], flags: Sequence[str], defines: Mapping[str, str]
) -> tuple[str, ...]:
    """The command for a host library, up to the names of its sources and output."""
    return (
        *compiler.command,
        *WARNINGS,
        "-fPIC",
        "-shared",
        *flags,
        *define_flags(defines),
        *(f"-I{folder}" for folder in include_dirs),
    )


def define_flags(defines: Mapping[str, str]) -> tuple[str, ...]:
    """`-D` flags for macros; an empty value defines the bare name."""
    return tuple(f"-D{name}={value}" if value else f"-D{name}" for name, value in defines.items())
