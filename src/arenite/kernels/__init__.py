"""The C kernels: their files and what is known of each. Knows no graphs and no numpy."""

from pathlib import Path

from arenite._base.collect import collect
from arenite.kernels.manifest import KernelInfo


def manifests() -> tuple[KernelInfo, ...]:
    """Every C kernel, family by family."""
    found = collect("arenite.kernels.families", "KERNELS")
    return tuple(info for info in found if isinstance(info, KernelInfo))


def include_dir() -> Path:
    """The folder of the headers: kernel bodies, and what they need."""
    return Path(__file__).parent / "include" / "arenite"


def source_dir() -> Path:
    """The folder of the generic entries, one file per kernel."""
    return Path(__file__).parent / "src"
