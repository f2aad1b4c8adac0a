"""Runs generated C on the boards that QEMU emulates: a second opinion on bytes and faults.

Behind it stand QEMU's own board code and its checks of faults (LDRD and LDM of unaligned addresses among them). The
model's files and compiler flags are those of the simulated firmware; start-up code and memory map are the board's.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arenite.driver.build import Build
from arenite.targets import Target
from arenite.toolchain import Compiler, cross
from arenite.toolchain.cross import firmware_arguments

Array = npt.NDArray[np.generic]

_HERE = Path(__file__).parent
_SECONDS = 300
FAULT = 99
"""What the firmware ends with when the core takes a fault."""


@dataclass(frozen=True)
class Machine:
    """A board of QEMU's: its name there, where code and RAM are, and how large the stack may be."""

    name: str
    flash: tuple[int, int]
    ram: tuple[int, int]
    stack_nbytes: int = 0x100000


_MPS2 = ((0, 4 << 20), (0x2000_0000, 4 << 20))
# QEMU 7.2, docs/system/arm/mps2.rst and nrf.rst. The an505 starts in the secure state, where addresses have bit 28 set.
MACHINES = {
    "cortex-m0": Machine("microbit", (0, 256 << 10), (0x2000_0000, 16 << 10), 4096),
    "cortex-m0plus": Machine("microbit", (0, 256 << 10), (0x2000_0000, 16 << 10), 4096),
    "cortex-m3": Machine("mps2-an385", *_MPS2),
    "cortex-m4": Machine("mps2-an386", *_MPS2),
    "cortex-m4f": Machine("mps2-an386", *_MPS2),
    "cortex-m7": Machine("mps2-an500", *_MPS2),
    "cortex-m33": Machine("mps2-an505", (0x1000_0000, 4 << 20), (0x3800_0000, 4 << 20)),
}


def run_qemu(
    build: Build, target: Target, compiler: Compiler, feeds: Sequence[Sequence[Array]], folder: Path
) -> list[list[Array]]:
    """Outputs of successive invocations, state fresh at first."""
    program, names = build.program, build.names
    sources = build.write_sources(folder)
    reads = [f"qemu_read({names.port('input', i)}(), {port.nbytes}u);" for i, port in enumerate(program.inputs)]
    writes = [f"qemu_write({names.port('output', i)}(), {port.nbytes}u);" for i, port in enumerate(program.outputs)]
    body = f'#include "{program.name}.h"\n' + loop([*reads, f"{names.invoke}();", *writes], f"{names.reset}();")
    status, output = run_firmware(body, sources, target, compiler, _bytes(feeds), folder, len(feeds))
    assert status == 0
    results, at = [], 0
    for _ in feeds:
        step = []
        for port in program.outputs:
            data = output[at : at + port.nbytes]
            step.append(np.frombuffer(data, port.dtype.numpy).reshape(port.shape))
            at += port.nbytes
        results.append(step)
    assert at == len(output)
    return results


def loop(statements: Sequence[str], first: str = "") -> str:
    """C text of what the start-up code calls."""
    lines = "\n".join(f"        {line}" for line in statements)
    return (
        "#include <stdint.h>\nvoid qemu_run(uint32_t invocations);\nvoid qemu_read(void *to, uint32_t nbytes);\n"
        "void qemu_write(const void *from, uint32_t nbytes);\n"
        f"void qemu_run(uint32_t invocations) {{\n    {first}\n"
        f"    for (; invocations != 0u; --invocations) {{\n{lines}\n    }}\n}}\n"
    )


def run_firmware(
    text: str, sources: Sequence[Path], target: Target, compiler: Compiler, data: bytes, folder: Path, invocations: int
) -> tuple[int, bytes]:
    """Build and run C text that defines `qemu_run`: the exit status, and what was written."""
    machine = MACHINES[target.name]
    elf = _linked(text, sources, target, compiler, machine, folder, invocations)
    (folder / "in.bin").write_bytes(data)
    quiet = ("-display", "none", "-monitor", "none", "-serial", "none")
    files = ("-semihosting-config", "enable=on,target=native")
    done = subprocess.run(
        ["qemu-system-arm", "-M", machine.name, *quiet, *files, "-kernel", str(elf)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode in (0, FAULT), done.stderr
    return done.returncode, (folder / "out.bin").read_bytes()


def _linked(
    text: str,
    sources: Sequence[Path],
    target: Target,
    compiler: Compiler,
    machine: Machine,
    folder: Path,
    invocations: int,
) -> Path:
    firmware = Path(cross.__file__).with_name("firmware")
    script = (firmware / "board.ld").read_text(encoding="utf-8")
    for old, new in (
        ("0x100000", f"{machine.stack_nbytes:#x}"),
        ("ORIGIN = 0x00000000, LENGTH = 16M", f"ORIGIN = {machine.flash[0]:#x}, LENGTH = {machine.flash[1]}"),
        ("ORIGIN = 0x20000000, LENGTH = 16M", f"ORIGIN = {machine.ram[0]:#x}, LENGTH = {machine.ram[1]}"),
    ):
        assert script.count(old) == 1
        script = script.replace(old, new)
    (folder / "machine.ld").write_text(script, encoding="utf-8")
    (folder / "qemu_run.c").write_text(text, encoding="utf-8")
    elf = folder / "qemu.elf"
    done = subprocess.run(
        [
            *firmware_arguments(compiler, target, "speed"),
            f"-DQEMU_INVOCATIONS={invocations}u",
            f"-I{folder}",
            *map(str, sources),
            *(str(path) for path in (folder / "qemu_run.c", _HERE / "semihost.c", firmware / "port.c")),
            *("-nostdlib", "-lcompiler_rt" if compiler.kind == "zig" else "-lgcc", "-Wl,-e,Reset_Handler"),
            *(f"-Wl,-T,{folder / 'machine.ld'}", "-Wl,--gc-sections", "-o", str(elf)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return elf


def _bytes(feeds: Sequence[Sequence[Array]]) -> bytes:
    return b"".join(np.ascontiguousarray(array).tobytes() for feed in feeds for array in feed)
