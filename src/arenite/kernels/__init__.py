"""The C kernels: their files and what is known of each. Knows no graphs and no numpy."""

from pathlib import Path

from arenite.kernels.manifest import KernelInfo


def manifests() -> tuple[KernelInfo, ...]:
    """Every C kernel, family by family."""
    from arenite.kernels.families import (  # noqa: PLC0415
        activation,
        arithmetic,
        conv,
        dense,
        movement,
        pool,
        quant,
        reduce,
    )

    modules = (activation, arithmetic, conv, dense, movement, pool, quant, reduce)
    return tuple(info for module in modules for info in module.KERNELS)


def include_dir() -> Path:
    """The folder of the headers: kernel bodies, and what they need."""
    return Path(__file__).parent / "include" / "arenite"


def source_dir() -> Path:
    """The folder of the generic entries, one file per kernel."""
    return Path(__file__).parent / "src"
