"""What only the linked firmware and its run can tell: code size, stack, instructions."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from arenite import kernels as c_kernels
from arenite._base.errors import SelfCheckError, ToolError
from arenite.driver.build import Build, Step
from arenite.driver.extras import Extras
from arenite.driver.options import ObjectiveName
from arenite.lower.program import Port
from arenite.targets import Target
from arenite.toolchain import Compiler, firmware_compiler
from arenite.toolchain.cache import cached_file, content_key

if TYPE_CHECKING:
    from arenite.driver.firmware import SimulatorEngine

INSTALL = "pip install 'arenite[sim]'"


@dataclass(frozen=True)
class LayerRun:
    instructions: int
    cycles_estimate: int | None


@dataclass(frozen=True)
class Run:
    """One invocation on the emulated core, inputs at their zero points, state fresh.

    Attributes:
        layers: in schedule order; `invoke` is the invoke function itself.
    """

    cpu: str
    instructions: int
    cycles_estimate: int | None
    stack_nbytes: int
    layers: tuple[LayerRun, ...]
    invoke: LayerRun


@dataclass(frozen=True)
class Measurement:
    """Facts of the linked firmware.

    Attributes:
        functions: bytes of code by symbol, the compiler's suffixes removed.
        full_build_nbytes: code of a firmware with every kernel.
        run: None where the core cannot be emulated.
        selftest_nbytes: flash that the self-test takes when it is called; None when there is none.
        kept: bytes of code of each kept kernel, by the symbol of the kernel.
        kept_nbytes: flash that all kept kernels take.
    """

    compiler: str
    code_nbytes: int
    rodata_nbytes: int
    static_nbytes: int
    functions: dict[str, int]
    full_build_nbytes: int
    run: Run | None
    selftest_nbytes: int | None
    kept: dict[str, int]
    kept_nbytes: int


def why_not_measurable(target: Target, compiler: str | None) -> str | None:
    """What is missing to build and simulate, as a sentence that says what to install; None when nothing is."""
    if target.cannot_build:
        return f"not built for {target.name}: {target.cannot_build}"
    missing = [name for name in ("unicorn", "elftools", "capstone") if importlib.util.find_spec(name) is None]
    if missing:
        return f"not simulated: the emulator is not installed; {INSTALL}"
    if compiler is None:
        try:
            firmware_compiler()
        except ToolError:
            return f"not simulated: no cross compiler is installed; {INSTALL}, or install arm-none-eabi-gcc"
    return None


def measure(build: Build, extras: Extras, step: Step) -> Measurement:
    """Build the firmware, size it, run it once; then with what goes besides, whose price is the difference.

    Raises:
        ToolError: a tool is missing or failed.
        SimulationFault: the firmware did what the hardware forbids.
        SelfCheckError: its self-test fails, or it holds instructions that the core lacks.
    """
    from arenite.driver.firmware import Firmware, SimulatorEngine  # noqa: PLC0415 - needs the sim extra
    from arenite.driver.firmware_check import check_instructions  # noqa: PLC0415 - needs the sim extra
    from arenite.toolchain.elf import section_sizes  # noqa: PLC0415 - needs the sim extra

    compiler = firmware_compiler(build.options.compiler)
    step(f"building firmware with {compiler.name}")
    with Firmware.link(build, build.target, compiler) as firmware:
        check_instructions(firmware.elf, build.target)
        sections = section_sizes(firmware.elf)
        functions = _functions(firmware.elf)
        step("building all kernels for comparison")
        full = full_build_nbytes(build.target, compiler, build.options.objective)
        run = None
        if not build.target.cannot_simulate:
            step(f"simulating on {build.target.name}")
            run = _run_once(build, SimulatorEngine(firmware))
    flash = sections.text_nbytes + sections.rodata_nbytes
    selftest_nbytes = None
    if extras.selftest:
        step("testing the self-test")
        names = [build.names.selftest]
        with Firmware.link(build, build.target, compiler, more=extras.selftest, keep=names) as firmware:
            selftest_nbytes = _flash(firmware.elf) - flash
            if run is not None:
                _check_selftest(build, SimulatorEngine(firmware))
    kept, kept_nbytes = {}, 0
    if extras.kept:
        with Firmware.link(build, build.target, compiler, more=extras.kept, keep=[build.names.kept]) as firmware:
            kept_nbytes = _flash(firmware.elf) - flash
            kept = _kept_sizes(build, extras, _functions(firmware.elf), functions)
    arena = build.program.placement.arena_nbytes
    return Measurement(
        compiler=compiler.version(),
        code_nbytes=sections.text_nbytes,
        rodata_nbytes=sections.rodata_nbytes,
        static_nbytes=max(0, sections.data_nbytes + sections.bss_nbytes - arena),
        functions=functions,
        full_build_nbytes=full,
        run=run,
        selftest_nbytes=selftest_nbytes,
        kept=kept,
        kept_nbytes=kept_nbytes,
    )


def _functions(elf: Path) -> dict[str, int]:
    """Bytes of code by function, start-up left out, the compiler's suffixes removed."""
    from arenite.toolchain.elf import symbols  # noqa: PLC0415 - needs the sim extra

    sizes: dict[str, int] = {}
    for symbol in symbols(elf):
        if symbol.kind == "function" and not symbol.section.startswith(".startup"):
            name = symbol.name.partition(".")[0]
            sizes[name] = sizes.get(name, 0) + symbol.nbytes
    return sizes


def _kept_sizes(build: Build, extras: Extras, sizes: dict[str, int], without: dict[str, int]) -> dict[str, int]:
    """Of each kept kernel: its entry, and what the compiler left a function of its own."""
    kept = {}
    for symbol in extras.kept_kernels:
        own = [name for name in sizes if name == symbol or name.startswith(f"{symbol}_")]
        shared = sum(max(0, sizes[name] - without.get(name, 0)) for name in own)
        kept[symbol] = sizes.get(build.names.kept_kernel(symbol), 0) + shared
    return kept


def _flash(elf: Path) -> int:
    from arenite.toolchain.elf import section_sizes  # noqa: PLC0415 - needs the sim extra

    sizes = section_sizes(elf)
    return sizes.text_nbytes + sizes.rodata_nbytes


def _check_selftest(build: Build, engine: "SimulatorEngine") -> None:
    """The interpreter's outputs must be the firmware's; not where floats are computed, whose last bits may differ."""
    wrong = engine.call(build.names.selftest)
    if wrong and not any(value.type.dtype.is_float for value in build.graph.values()):
        raise SelfCheckError(
            f"the firmware for {build.target.name} gives {wrong} output elements that are not those of the model, "
            "or has other constants"
        )


def _run_once(build: Build, engine: "SimulatorEngine") -> Run:
    engine.invoke([zero_point_input(port) for port in build.program.inputs])
    result = engine.last
    assert result is not None
    names = build.names
    buckets = {name: LayerRun(bucket.instructions, bucket.cycles) for name, bucket in result.buckets.items()}
    idle = LayerRun(0, 0)
    return Run(
        cpu=build.target.core,
        instructions=result.instructions,
        cycles_estimate=result.cycles_estimate,
        stack_nbytes=result.stack_nbytes,
        layers=tuple(buckets.get(names.layer(index), idle) for index in range(len(build.program.calls))),
        invoke=buckets.get(names.invoke, idle),
    )


def zero_point_input(port: Port) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The input that stands for the real number 0 everywhere."""
    return np.full(port.shape, port.zero_point or 0, port.dtype.numpy)


def full_build_nbytes(target: Target, compiler: Compiler, objective: ObjectiveName) -> int:
    """Bytes of code of a firmware that links every kernel; kept between runs, since it depends on no model."""
    from arenite.toolchain.cross import build_firmware, firmware_arguments  # noqa: PLC0415 - needs the sim extra
    from arenite.toolchain.elf import section_sizes  # noqa: PLC0415 - needs the sim extra

    optimize: Literal["flash", "speed"] = "flash" if objective == "flash" else "speed"
    sources = sorted(c_kernels.source_dir().glob("*.c"))
    headers = sorted(c_kernels.include_dir().glob("*.h"))
    key = content_key([compiler.version(), *firmware_arguments(compiler, target, optimize)], [*sources, *headers])

    def make(path: Path) -> None:
        elf = build_firmware(
            sources,
            [c_kernels.include_dir()],
            target,
            path.with_suffix(".elf"),
            compiler=compiler,
            optimize=optimize,
            keep_symbols=[f"{info.symbol}_entry" for info in c_kernels.manifests()],
        )
        path.write_text(str(section_sizes(elf).text_nbytes), encoding="ascii")

    return int(cached_file(f"full-{key}.txt", make).read_text(encoding="ascii"))
