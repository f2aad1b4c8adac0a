"""Builds firmware: the model's C files with start-up code for the simulated board."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from arenite._base.errors import ToolError
from arenite.targets import Target
from arenite.toolchain.compilers import Compiler, firmware_compiler
from arenite.toolchain.elf import symbols
from arenite.toolchain.host import WARNINGS, define_flags
from arenite.toolchain.process import run_tool

Optimize = Literal["speed", "flash"]

# For zig -O3 makes the same code as -O2.
_LEVEL: Mapping[Optimize, str] = {"speed": "-O2", "flash": "-Os"}
_FIRMWARE = Path(__file__).with_name("firmware")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")


def build_firmware(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    target: Target,
    output: Path,
    *,
    compiler: Compiler | None = None,
    optimize: Optimize = "speed",
    keep_symbols: Sequence[str] = (),
    flags: Sequence[str] = (),
    defines: Mapping[str, str] | None = None,
) -> Path:
    """Compiles and links an ELF for the simulated board: flash 16 MB at 0, RAM 16 MB at 0x20000000.

    Linked in are a vector table, `Reset_Handler` (fills .data and .bss, enables the FPU, ends in
    `arenite_halt`), the memory functions of `<string.h>`, and the compiler's own helpers. What neither these nor
    `keep_symbols` reach is left out.

    Args:
        sources: the .c files.
        include_dirs: folders for #include, searched in this order.
        target: the core; a board's own memory limits do not matter here.
        output: the ELF's path; written beside and renamed, so that a failed build leaves nothing.
        compiler: by default the one that `firmware_compiler()` finds.
        optimize: "speed" is -O2, "flash" is -Os.
        keep_symbols: functions and variables that must be in the firmware.
        flags: further compiler flags, after all others.
        defines: preprocessor macros, name to value; an empty value defines the bare name.

    Returns:
        `output`.

    Raises:
        ToolError: no compiler, one that does not know the target, the compiler's own first lines, or symbols in
            `keep_symbols` that the firmware does not have.
    """
    if target.cannot_build:
        raise ToolError(f"no firmware for {target.name}: {target.cannot_build}")
    compiler = compiler or firmware_compiler()
    if not compiler.builds_firmware:
        raise ToolError(f"the compiler {compiler.name} does not build firmware for {target.name}")
    wrong = [name for name in keep_symbols if not _SYMBOL.fullmatch(name)]
    if wrong:
        raise ToolError(f"these are no names of C symbols: {', '.join(map(repr, wrong))}")
    output.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(source.name for source in sources[:3]) + (", ..." if len(sources) > 3 else "")
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as folder:
        script = Path(folder) / "board.ld"
        keep = f"EXTERN({' '.join(keep_symbols)})\n" if keep_symbols else ""
        script.write_text(keep + (_FIRMWARE / "board.ld").read_text(encoding="utf-8"), encoding="utf-8")
        made = Path(folder) / output.name
        run_tool(
            (
                *firmware_arguments(compiler, target, optimize),
                *define_flags(defines or {}),
                *(f"-I{include}" for include in include_dirs),
                *flags,
                *map(str, sources),
                *(str(_FIRMWARE / source) for source in ("startup.c", "port.c")),
                *_link_arguments(compiler, script),
                "-o",
                str(made),
            ),
            what=f"compiling {names} for {target.name} with {compiler.name}",
            scratch=Path(folder),
        )
        _require(made, keep_symbols)
        made.replace(output)
    return output


def firmware_arguments(compiler: Compiler, target: Target, optimize: Optimize) -> tuple[str, ...]:
    """The command that compiles for a target, up to macros, include folders and files."""
    if compiler.kind == "zig":
        # zig drops the symbol table of an optimised build without -g; the linker script drops the debug sections.
        core: tuple[str, ...] = ("-target", target.zig_target, f"-mcpu={target.zig_cpu}", "-g1")
    else:
        core = target.gcc_flags
    return (
        *compiler.command,
        *core,
        *WARNINGS,
        _LEVEL[optimize],
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables",
    )


def _link_arguments(compiler: Compiler, script: Path) -> tuple[str, ...]:
    return (
        "-nostdlib",
        "-lcompiler_rt" if compiler.kind == "zig" else "-lgcc",
        "-Wl,-e,Reset_Handler",
        f"-Wl,-T,{script}",
        "-Wl,--gc-sections",
        "-Wl,-z,max-page-size=4096",
    )


def _require(elf: Path, names: Sequence[str]) -> None:
    there = {symbol.name for symbol in symbols(elf)}
    missing = [name for name in names if name not in there]
    if missing:
        raise ToolError(f"the firmware lacks {', '.join(missing)}: no source file defines them")
