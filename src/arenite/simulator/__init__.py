"""Runs firmware on an emulated Cortex-M; given an ELF and a target, it knows no compiler and no model.

`arenite.simulator.board.Board` needs unicorn, capstone and pyelftools, and is imported from its own module.
"""

from pathlib import Path

__all__ = ["hook_source"]


def hook_source() -> Path:
    """The C file of the fast block counter; build it for this computer and give the library to `Board`."""
    return Path(__file__).with_name("hook.c")
