"""What the compiler and the simulator must know of a processor core, and of a board that carries one."""

from dataclasses import dataclass
from typing import Literal

Isa = Literal["armv6-m", "armv7-m", "armv7e-m", "armv8-m", "armv8.1-m", "rv32imc", "host"]
Feature = Literal["dsp", "fpu", "mve", "udiv", "unaligned"]


@dataclass(frozen=True)
class Region:
    """One piece of a board's memory.

    Attributes:
        kind: "flash" holds code and constants, "ram" the arena, other data and the stack.
        origin: first address.
        nbytes: size in bytes, at least 1.
    """

    kind: Literal["flash", "ram"]
    origin: int
    nbytes: int


@dataclass(frozen=True)
class Target:
    """A core, or a board (a core with memory limits).

    Attributes:
        name: as users write it, `cortex-m4`.
        core: the core's name; equal to `name` unless this is a board.
        summary: one line for `arenite targets`.
        isa: the instruction set that the firmware may use.
        features: `dsp` (the SIMD and saturating instructions), `fpu` (single precision), `mve` (vectors),
            `udiv` (hardware division), `unaligned` (single loads and stores may be unaligned).
        zig_target: for `zig cc -target`; empty where there is no cross build.
        zig_cpu: for `zig cc -mcpu`.
        gcc_flags: the same core, for arm-none-eabi-gcc and clang.
        unicorn_cpu: the suffix of unicorn's `UC_CPU_ARM_*` constant; empty where unicorn lacks the core.
        cannot_build: why no firmware can be built today; empty when it can.
        cannot_simulate: why no firmware can be run today; empty when it can.
        regions: a board's memories, empty for a core.
    """

    name: str
    core: str
    summary: str
    isa: Isa
    features: frozenset[Feature]
    zig_target: str = ""
    zig_cpu: str = ""
    gcc_flags: tuple[str, ...] = ()
    unicorn_cpu: str = ""
    cannot_build: str = ""
    cannot_simulate: str = ""
    regions: tuple[Region, ...] = ()

    def limit_nbytes(self, kind: Literal["flash", "ram"]) -> int | None:
        """Bytes of all memories of a kind, or None for a core, which has no limits."""
        sizes = [region.nbytes for region in self.regions if region.kind == kind]
        return sum(sizes) if sizes else None

    def largest_nbytes(self, kind: Literal["flash", "ram"]) -> int | None:
        """Bytes of the largest stretch of memories of a kind that lie side by side, or None for a core."""
        found = end = nbytes = 0
        for region in sorted((r for r in self.regions if r.kind == kind), key=lambda r: r.origin):
            nbytes = region.nbytes + (nbytes if region.origin == end else 0)
            end = region.origin + region.nbytes
            found = max(found, nbytes)
        return found or None
