"""Processor cores and boards, as data."""

import difflib
from pathlib import Path

from arenite._base.errors import UsageError
from arenite.targets import board
from arenite.targets.cores import CORES
from arenite.targets.target import Feature, Isa, Region, Target

__all__ = ["CORES", "Feature", "Isa", "Region", "Target", "get", "load_board", "names", "table"]


def names() -> tuple[str, ...]:
    """The names of all cores, in the order of the table."""
    return tuple(core.name for core in CORES)


def get(name: str) -> Target:
    """The core of this name.

    Raises:
        UsageError: there is none; the nearest names are suggested.
    """
    for core in CORES:
        if core.name == name:
            return core
    lowered = name.lower().replace("_", "-")
    near = [known for known in names() if known in (lowered, f"cortex-{lowered}")]
    near += [known for known in difflib.get_close_matches(lowered, names(), n=3, cutoff=0.6) if known not in near]
    hint = f"did you mean {' or '.join(near[:3])}?" if near else f"known targets: {', '.join(names())}"
    raise UsageError(f"no target is called {name!r}; {hint}")


def load_board(path: Path) -> Target:
    """Reads a board (a core with memory limits) from a TOML file; see `arenite.targets.board.load_board`.

    Raises:
        UsageError: the file cannot be read, or does not describe a board; every problem is listed.
    """
    return board.load_board(path, get)


def table() -> tuple[tuple[str, str, bool, bool, str], ...]:
    """Rows (name, summary, can firmware be built today, can it be simulated, what is missing), one per core."""
    return tuple(
        (
            core.name,
            core.summary,
            not core.cannot_build,
            not core.cannot_build and not core.cannot_simulate,
            core.cannot_build or core.cannot_simulate,
        )
        for core in CORES
    )
