"""The cores, one value each.

Compiler names: LLVM's ARM backend (zig leaves optional features off, hence the `+`) and GCC's ARM options.
"""

from arenite.targets.target import Feature, Isa, Target

_NO_MVE = "the emulator lacks the M-profile vector extension"
_V7 = frozenset[Feature]({"udiv", "unaligned"})
_V7_DSP = _V7 | frozenset[Feature]({"dsp"})
_V7_DSP_FPU = _V7_DSP | frozenset[Feature]({"fpu"})
_V8_MVE = _V7_DSP_FPU | frozenset[Feature]({"mve"})
_SOFT = ("-mfloat-abi=soft",)


def _arm(
    name: str,
    isa: Isa,
    features: frozenset[Feature],
    summary: str,
    *,
    zig_cpu: str,
    gcc_flags: tuple[str, ...],
    unicorn_cpu: str = "",
    cannot_simulate: str = "",
) -> Target:
    return Target(
        name=name,
        core=name,
        summary=summary,
        isa=isa,
        features=features,
        zig_target="thumb-freestanding-eabi" + ("hf" if "fpu" in features else ""),
        zig_cpu=zig_cpu,
        gcc_flags=("-mthumb", *gcc_flags),
        unicorn_cpu=unicorn_cpu,
        cannot_simulate=cannot_simulate,
    )


CORES: tuple[Target, ...] = (
    _arm(
        "cortex-m0",
        "armv6-m",
        frozenset(),
        "ARMv6-M: no division, no wide multiply, aligned accesses only",
        zig_cpu="cortex_m0",
        gcc_flags=("-mcpu=cortex-m0", *_SOFT),
        unicorn_cpu="CORTEX_M0",
    ),
    _arm(
        "cortex-m0plus",
        "armv6-m",
        frozenset(),
        "ARMv6-M, two-stage pipeline",
        zig_cpu="cortex_m0plus",
        gcc_flags=("-mcpu=cortex-m0plus", *_SOFT),
        unicorn_cpu="CORTEX_M0",
    ),
    _arm(
        "cortex-m3",
        "armv7-m",
        _V7,
        "ARMv7-M: Thumb-2, division",
        zig_cpu="cortex_m3",
        gcc_flags=("-mcpu=cortex-m3", *_SOFT),
        unicorn_cpu="CORTEX_M3",
    ),
    _arm(
        "cortex-m4",
        "armv7e-m",
        _V7_DSP,
        "ARMv7E-M: DSP instructions, no FPU",
        zig_cpu="cortex_m4",
        gcc_flags=("-mcpu=cortex-m4", *_SOFT),
        unicorn_cpu="CORTEX_M4",
    ),
    _arm(
        "cortex-m4f",
        "armv7e-m",
        _V7_DSP_FPU,
        "ARMv7E-M: DSP instructions, single-precision FPU",
        zig_cpu="cortex_m4+vfp4d16sp",
        gcc_flags=("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
        unicorn_cpu="CORTEX_M4",
    ),
    _arm(
        "cortex-m7",
        "armv7e-m",
        _V7_DSP_FPU,
        "ARMv7E-M, dual issue, single-precision FPU",
        zig_cpu="cortex_m7+fp_armv8d16sp",
        gcc_flags=("-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
        unicorn_cpu="CORTEX_M7",
    ),
    _arm(
        "cortex-m33",
        "armv8-m",
        _V7_DSP_FPU,
        "ARMv8-M Mainline: DSP instructions, single-precision FPU",
        zig_cpu="cortex_m33+dsp+fp_armv8d16sp",
        gcc_flags=("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
        unicorn_cpu="CORTEX_M33",
    ),
    _arm(
        "cortex-m55",
        "armv8.1-m",
        _V8_MVE,
        "ARMv8.1-M: vectors (MVE), FPU",
        zig_cpu="cortex_m55+mve_fp+fp_armv8d16",
        gcc_flags=("-mcpu=cortex-m55", "-mfloat-abi=hard"),
        cannot_simulate=_NO_MVE,
    ),
    _arm(
        "cortex-m85",
        "armv8.1-m",
        _V8_MVE,
        "ARMv8.1-M: vectors (MVE), FPU",
        zig_cpu="cortex_m85+mve_fp+fp_armv8d16",
        gcc_flags=("-mcpu=cortex-m85", "-mfloat-abi=hard"),
        cannot_simulate=_NO_MVE,
    ),
    Target(
        name="riscv32imc",
        core="riscv32imc",
        summary="RISC-V 32-bit with multiplication, division and compressed instructions",
        isa="rv32imc",
        features=frozenset({"udiv"}),
        cannot_build="there is no start-up code for RISC-V yet; --simulate off writes the C files alone",
        cannot_simulate="there is no start-up code for RISC-V yet",
    ),
    Target(
        name="host",
        core="host",
        summary="this computer: the C files alone",
        isa="host",
        features=frozenset({"udiv", "unaligned", "fpu"}),
        cannot_build="firmware is for microcontrollers; 'arenite run --engine native' builds and runs the C files here",
        cannot_simulate="the host runs its library natively",
    ),
)
